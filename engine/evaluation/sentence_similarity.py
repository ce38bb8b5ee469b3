"""Metrics of sentence vectors; N rows, Q queries, C candidates, D dimensions.

They are those of the evaluators of sentence-transformers: correlations with the cosine for numbers,
search metrics for pairs, and the fraction in the right order for triplets.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.config.task import percent
from engine.evaluation import regression
from engine.evaluation.measures import Measure, ScoredRows, mean, mean_measure
from engine.evaluation.regression import pearson, spearman
from engine.evaluation.report import Report

CUTOFF = 10  # rank, of the search metrics
CHUNK = 256  # queries whose cosines are in memory at a time


class CosineReport(Report):
    """The cosine of pairs against their gold numbers; 0 without rows."""

    examples: int
    spearman: float = Field(description="Rank correlation, from -1 to 1.")
    pearson: float = Field(description="Linear correlation, from -1 to 1.")
    loss: float = Field(description="Mean squared error of the cosine.")

    def lines(self) -> list[str]:
        return [
            f"Spearman {self.spearman:.4f}, Pearson {self.pearson:.4f} ({self.examples} rows)",
            f"mean squared error of the cosine {self.loss:.4f}",
        ]


class SearchReport(Report):
    """Search for the second text of each pair among all second texts; 0 without rows."""

    examples: int
    accuracy: float = Field(
        description="Fraction of first texts whose nearest text belongs to them."
    )
    mrr: float = Field(description="Mean of 1 / rank, up to rank ten.")
    recall_at_10: float = Field(description="Fraction of correct texts among the ten nearest.")
    loss: float = Field(description="Mean cross-entropy of the correct text.")

    def lines(self) -> list[str]:
        return [
            f"accuracy {percent(self.accuracy)} ({self.examples} rows)",
            f"MRR@{CUTOFF} {percent(self.mrr)}, recall@{CUTOFF} {percent(self.recall_at_10)}",
            f"loss {self.loss:.4f}",
        ]


class TripletReport(Report):
    """The order of triplets; 0 without rows."""

    examples: int
    accuracy: float = Field(description="Fraction of rows whose second text is nearer, by cosine.")
    loss: float = Field(description="Mean triplet loss.")

    def lines(self) -> list[str]:
        return [
            f"accuracy {percent(self.accuracy)} ({self.examples} rows)",
            f"loss {self.loss:.4f}",
        ]


def cosine_report(cosines: ArrayLike, numbers: ArrayLike) -> CosineReport:
    """All metrics of N pairs, float [N] each; the numbers are on the scale of the cosine."""
    predicted = np.asarray(cosines, dtype=np.float64)
    true = np.asarray(numbers, dtype=np.float64)
    errors = (predicted - true) ** 2
    return CosineReport(
        examples=len(true),
        spearman=spearman(predicted, true),
        pearson=pearson(predicted, true),
        loss=mean(errors),
    )


def search_report(ranks: ArrayLike, owners: ArrayLike, losses: ArrayLike) -> SearchReport:
    """The metrics of N pairs, by the rank of each second text for its first text, from 1.

    Args:
        ranks: int [N].
        owners: int [N], the index of the first text; equal texts are one query.
        losses: float [N].
    """
    positions, query_ids = np.asarray(ranks), np.asarray(owners)
    loss = np.asarray(losses, dtype=np.float64)
    if not len(positions):
        return SearchReport(examples=0, accuracy=0.0, mrr=0.0, recall_at_10=0.0, loss=0.0)
    _, query = np.unique(query_ids, return_inverse=True)
    best = np.full(query.max() + 1, positions.max())
    np.minimum.at(best, query, positions)
    counts = np.bincount(query)
    hits = np.bincount(query, weights=positions <= CUTOFF)
    return SearchReport(
        examples=len(positions),
        accuracy=float((best == 1).mean()),
        mrr=float(np.where(best <= CUTOFF, 1 / best, 0).mean()),
        recall_at_10=float((hits / counts).mean()),
        loss=float(loss.mean()),
    )


def triplet_report(right: ArrayLike, losses: ArrayLike) -> TripletReport:
    """The metrics of N triplets: whether each is in the right order, and its loss."""
    ordered, loss = np.asarray(right, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    return TripletReport(examples=len(ordered), accuracy=mean(ordered), loss=mean(loss))


def candidate_ranks(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The rank of each query's right candidate by cosine, from 1: int64 [Q].

    Equal cosines keep the order of the candidates.

    Args:
        queries: [Q, D], candidates: [C, D], both of length 1.
        right: int64 [Q], index of the right candidate.
    """
    result = np.zeros(len(queries), dtype=np.int64)
    indices = np.arange(len(candidates))
    for start in range(0, len(queries), CHUNK):
        chunk = slice(start, start + CHUNK)
        cosines = queries[chunk] @ candidates.T  # [CHUNK, C]
        right_cosines = np.take_along_axis(cosines, right[chunk, None], axis=1)
        before = (cosines == right_cosines) & (indices < right[chunk, None])
        result[chunk] = 1 + ((cosines > right_cosines) | before).sum(axis=1)
    return result


def normalise(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalise vectors to length 1, float32 [N, D]; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: NDArray[np.float32] = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return normalised


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """Both correlations if rows have numbers; else the metrics of a search, or of triplets.

    Each row counts, even with equal first texts.
    """
    if "spearman" in rows.metrics:
        by_value, by_rank, _ = regression.measures(rows)
        return by_rank, by_value
    accuracy = mean_measure("accuracy", rows.figure("score"))
    if "mrr" not in rows.metrics:
        return (accuracy,)
    ranks = rows.figure("predicted").astype(np.float64)
    reciprocal = np.where(ranks <= CUTOFF, 1 / np.maximum(ranks, 1), 0)
    recall = mean_measure("recall_at_10", ranks <= CUTOFF)
    return mean_measure("mrr", reciprocal), accuracy, recall
