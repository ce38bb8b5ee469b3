"""Predicted tags of the words of sentences.

Shapes: B sequences, T tokens in each, C tags, W words of all examples, N words of a batch.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from engine.data.columns.roles import MissingRole
from engine.data.columns.tags import are_spans, spans_from_tags
from engine.data.columns.words import split_words
from engine.data.tokenized.words import NOWHERE
from engine.evaluation.token_classification import TagReport, report, row_f1
from engine.models.network import Network
from engine.tasks.learner import Batch, Examples, PredictionCollector
from engine.tasks.row_predictions import RowPredictions

OUTSIDE = "O"
UNKNOWN = -1  # a tag that the model does not know
PLACES_KEPT = 4  # decimals of word probabilities


class TagNumbers(NamedTuple):
    """The tags of all words of some rows, as indices."""

    names: tuple[str, ...]  # distinct tags, in order of appearance
    numbers: np.ndarray  # int32 [W]


@dataclass
class Sentences(Examples):
    """Examples of words; `targets` is int64 [W], the tag index of each word, UNKNOWN for none."""

    cells: Sequence[str] = ()  # the words of each example
    tags: TagNumbers | None = None  # of the rows
    # [W], position in its input
    firsts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # [examples + 1]

    def seen(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words of these examples that have a token: their indices and their rows of the batch,
        both int64 [N]."""
        counts = self.starts[numbers + 1] - self.starts[numbers]
        rows = np.repeat(np.arange(len(numbers)), counts)
        begins = np.cumsum(counts) - counts
        words = np.arange(len(rows)) + np.repeat(self.starts[numbers] - begins, counts)
        chosen = self.firsts[words] != NOWHERE
        return words[chosen], rows[chosen]


class TagCollector(PredictionCollector):
    """Predicts the most likely tag of each word; O for words without a token."""

    def __init__(self, examples: Sentences, tags: tuple[str, ...]) -> None:
        self._examples, self._tags = examples, tags
        count = len(examples.firsts)
        self._guesses = np.full(count, UNKNOWN, dtype=np.int64)  # [W]
        self._probabilities = np.zeros(count, dtype=np.float32)  # [W], of the predicted tags
        self._losses = np.zeros(count)  # [W]; 0 if unlabelled

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.numbers is not None
        words, _ = self._examples.seen(batch.numbers.numpy())
        logits = word_logits(network, batch)  # [N, C]
        best = logits.softmax(-1).max(-1)
        losses = F.cross_entropy(logits, batch.targets, reduction="none", ignore_index=UNKNOWN)
        found = (best.indices, best.values, losses)
        self.put(words, *(one.cpu().numpy() for one in found))

    def put(
        self, words: np.ndarray, tags: np.ndarray, probabilities: np.ndarray, losses: np.ndarray
    ) -> None:
        """Set the predictions of words, int64 [N]: tags, probabilities and losses (0 if
        unlabelled), [N] each."""
        self._guesses[words] = tags
        self._probabilities[words] = probabilities
        self._losses[words] = losses

    def report(self) -> TagReport:
        true = self._examples.tags
        if true is None:
            raise MissingRole("tags")
        assert self._examples.targets is not None
        wanted = [true.names[number] for number in true.numbers.tolist()]
        found = report(self._by_row(wanted), self.predicted(), are_spans=are_spans(self._tags))
        unseen = self._guesses == UNKNOWN
        losses = self._losses[~unseen & (self._examples.targets != UNKNOWN)]
        loss = float(losses.mean()) if len(losses) else 0.0
        return found.model_copy(update={"loss": loss, "unseen": int(unseen.sum())})

    def predicted(self) -> list[list[str]]:
        return self._by_row(
            [OUTSIDE if n == UNKNOWN else self._tags[n] for n in self._guesses.tolist()]
        )

    def _by_row(self, tags: list[str]) -> list[list[str]]:
        return [tags[a:b] for a, b in pairwise(self._examples.starts.tolist())]

    def predictions(self) -> list[dict[str, Any]]:
        """Words, their tags with probabilities, and the spans of these tags.

        First and last words of a span count from 0, the last one is excluded; its probability is
        the mean over its words.
        """
        records = []
        starts, spans_too = self._examples.starts.tolist(), are_spans(self._tags)
        sentences = map(split_words, self._examples.cells)
        for number, (words, tags) in enumerate(zip(sentences, self.predicted(), strict=True)):
            shares = self._probabilities[starts[number] : starts[number + 1]].tolist()
            record = {"tags": tags, "words": words, "probabilities": shares}
            if spans_too:
                record["spans"] = [
                    {
                        "type": span.type,
                        "text": " ".join(words[span.start : span.end]),
                        "start": span.start,
                        "end": span.end,
                        "probability": float(np.mean(shares[span.start : span.end])),
                    }
                    for span in spans_from_tags(tags)
                ]
            records.append(record)
        return records

    def row_predictions(self) -> RowPredictions:
        """Probability and loss of a row are the means over its words."""
        starts, told = self._examples.starts, self.predicted()
        cells = list(map(split_words, self._examples.cells))
        shares = np.where(self._guesses == UNKNOWN, np.nan, self._probabilities)  # [W]
        details: list[dict[str, Any]] = [
            {
                "words": words,
                "predicted": tags,
                "probabilities": np.round(shares[a:b], PLACES_KEPT).tolist(),
            }
            for words, tags, (a, b) in zip(cells, told, pairwise(starts.tolist()), strict=True)
        ]
        found = RowPredictions(
            list(map(" ".join, told)),
            probability=mean_of_rows(shares, starts),
            details=list(map(_details, details)),
        )
        true, targets = self._examples.tags, self._examples.targets
        if true is None or targets is None:
            return found
        gold = self._by_row([true.names[number] for number in true.numbers.tolist()])
        known = (self._guesses != UNKNOWN) & (targets != UNKNOWN)
        spans_too = are_spans(self._tags)
        return replace(
            found,
            gold=list(map(" ".join, gold)),
            loss=mean_of_rows(np.where(known, self._losses, np.nan), starts),
            score=np.array(
                [row_f1(*both, are_spans=spans_too) for both in zip(gold, told, strict=True)]
            ),
            details=[
                _details(one | {"gold": tags}) for one, tags in zip(details, gold, strict=True)
            ],
        )


def mean_of_rows(numbers: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The mean of the numbers [W] of each row, ignoring NaN, float64 [rows]; NaN for none.

    `starts` is int64 [rows + 1]: the first word of each row.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    known = ~np.isnan(numbers)
    counts = np.bincount(owners[known], minlength=len(starts) - 1)
    sums = np.bincount(owners[known], numbers[known], minlength=len(starts) - 1)
    means = np.full(len(counts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _details(one: dict[str, Any]) -> str:
    known = [None if np.isnan(share) else share for share in one["probabilities"]]
    return json.dumps(one | {"probabilities": known}, ensure_ascii=False)


def word_logits(network: Network, batch: Batch) -> torch.Tensor:
    """Logits of the first token of each word, float32 [N, C]."""
    assert batch.positions is not None
    logits = network.logits(*batch.inputs)  # [B, T, C]
    return logits.flatten(0, 1)[batch.positions]
