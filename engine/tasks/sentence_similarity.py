"""Sentence vectors whose cosine is a similarity (Reimers and Gurevych 2019).

Each row is two or three inputs of the network: the text, the second one, and the negative one. The
losses are those of sentence-transformers: the squared error of the cosine, multiple negatives
ranking (Henderson et al. 2017, §4) and the triplet loss. Shapes: B rows, E inputs of each, D
size of a vector, N rows of a data set.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.sentence import SentenceSpec
from engine.config.task import Aggregation
from engine.config.tasks.sentence_similarity import Objective, SentenceSimilarity
from engine.data.columns.numbers import parse_number, parse_numbers
from engine.data.columns.roles import MissingRole
from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import open_cached, tokenize_examples
from engine.data.tokenized.windows import tokenize_windows
from engine.errors import StudioError
from engine.evaluation.report import Report
from engine.evaluation.sentence_similarity import (
    candidate_ranks,
    cosine_report,
    normalise,
    search_report,
    triplet_report,
)
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.models.heads import Heads
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.baselines import EPSILON, add_word, tfidf
from engine.tasks.evaluating import collect_predictions
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs, max_tokens
from engine.tasks.learner import (
    Baseline,
    Batch,
    Counts,
    Examples,
    Learner,
    Losses,
    PredictionCollector,
    TaskPredictions,
    WindowGroups,
    first_windows,
    pool_rows,
    pool_windows,
)
from engine.tasks.learner import random_tokens as random_ids
from engine.tasks.regression import format_numbers, value_range
from engine.tasks.row_predictions import RowPredictions
from engine.tokenizers.tokenizer import Tokenizer

RANK_CHUNK = 32  # texts that a baseline ranks at a time
CANDIDATES = 32  # candidates of the validation loss
LENGTH_TOLERANCE = 1e-4
VECTOR = "vector"  # record name of the vector of a single text
METRICS: dict[Objective, tuple[str, ...]] = {
    "cosine": ("spearman", "pearson", "loss"),
    "in_batch_negatives": ("mrr", "accuracy", "recall_at_10", "loss"),
    "triplets": ("accuracy", "loss"),
}


@dataclass
class TextGroups(Examples):
    """Rows of two or three texts.

    `targets` are float32 [N], the target cosines; or int64 [N, E], equal for equal texts.
    """

    objective: Objective = "in_batch_negatives"


@dataclass
class RowsInWindows(TextGroups):
    """Rows whose texts are read in windows, which are the examples.

    `owners` is the text of each window, and `texts_per_row` their number in a row; `targets` are
    those of rows.
    """

    texts_per_row: int = 1


class SentenceSimilarityLearner(Learner):
    """Pooled vectors, with a loss of their cosines or distances."""

    task: SentenceSimilarity

    def __init__(self, task: SentenceSimilarity) -> None:
        super().__init__(task)
        self._objective: Objective = "cosine" if task.objective == "auto" else task.objective
        self._range = task.range or (0.0, 1.0)
        self._prompt, self._is_fitted = "", False

    @property
    def heads(self) -> Heads:
        modes = self.task.poolings
        sentence = None if modes is None else SentenceSpec(pooling=modes)
        return Heads(outputs=1, kind=self.task.kind, sentence=sentence)

    @property
    def best_metric(self) -> str:
        return METRICS[self._objective][0]

    @property
    def metric_names(self) -> tuple[str, ...]:
        return METRICS[self._objective]

    @property
    def needs_whole_batch(self) -> bool:
        return self._objective == "in_batch_negatives"

    @property
    def tokenization(self) -> str:
        windows = f"windows-{self.task.doc_stride} " if self.task.reads_windows else ""
        return f"{windows}sentences {self._objective} {self._prompt}"

    def fit_network(self, network: Network) -> None:
        sentence = network.heads.sentence
        self._prompt = "" if sentence is None else sentence.prompt

    def fit_labels(self, rows: Rows) -> None:
        if rows.pairs is None:
            raise MissingRole("pair")
        self._objective, self._is_fitted = self.choose_objective(rows), True
        if self._objective == "cosine" and self.task.range is None:
            values = [parse_number(cell) for cell in rows.labels or ()]
            self._range = cosine_range([number for number in values if number is not None])
            self.task = self.task.model_copy(update={"range": self._range})

    def choose_objective(self, rows: Rows) -> Objective:
        objective = self.task.objective
        if objective == "auto":
            objective = "cosine" if rows.labels is not None else "in_batch_negatives"
            objective = (
                "triplets" if rows.labels is None and rows.negatives is not None else objective
            )
        if objective == "triplets" and rows.negatives is None:
            raise MissingRole("negative")
        if objective == "cosine" and rows.labels is None:
            raise MissingRole("label")
        return objective

    def can_evaluate(self, rows: Rows) -> bool:
        """Pairs need no labels."""
        return rows.labels is not None or self.task.objective != "cosine"

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        unlabelled = rows.labels is None and self.task.objective == "cosine"
        single = rows.pairs is None
        objective: Objective = "cosine" if unlabelled or single else self.choose_objective(rows)
        columns = text_columns(rows, objective)
        targets = self._targets(rows, objective, columns)
        count = len(columns)
        if self.task.reads_windows:
            texts = [self._prompt + text for row in zip(*columns, strict=True) for text in row]
            length, stride = self.task.with_window(max_length).window_length, self.task.doc_stride
            cut = tokenize_windows(texts, None, tokenizer, length, stride, folder, progress)
            return RowsInWindows(
                cut.tokenized, targets, owners=cut.owners, objective=objective, texts_per_row=count
            )
        tokenized = open_cached(folder)
        if tokenized is None:
            texts = [self._prompt + text for row in zip(*columns, strict=True) for text in row]
            tokenized = tokenize_examples(texts, None, tokenizer, max_length, folder, progress)
        return TextGroups(tokenized, targets, count, objective=objective)

    def row(self, examples: Examples, index: int) -> int | None:
        row = super().row(examples, index)
        if isinstance(examples, RowsInWindows) and row is not None:
            return row // examples.texts_per_row
        return row

    def training_examples(self, examples: Examples) -> Examples:
        if not isinstance(examples, RowsInWindows):
            return examples
        return WindowGroups(
            examples.tokenized,
            examples.targets,
            examples.texts_per_row,
            owners=examples.owners,
            limit=self.task.windows_per_text,
        )

    def batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        if isinstance(examples, RowsInWindows):  # windows have no targets
            examples = Examples(examples.tokenized)
        return super().batch(examples, indices, tokenizer, rng)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        names = [phrase("text"), phrase("belongs to it"), phrase("does not belong to it")]
        texts = [""] * len(batch.tokens)
        for row in range(batch.size):
            for position in range(batch.inputs_per_example):
                index = row * batch.inputs_per_example + position
                texts[index] = names[position]
                if batch.targets.is_floating_point() and position == 1:
                    texts[index] = phrase("cosine {number:.3g}", number=float(batch.targets[row]))
        return texts

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        inputs = 3 if self._objective == "triplets" else 2
        tokens = torch.from_numpy(random_ids(count * inputs, width, tokenizer, rng))
        targets = torch.arange(count * inputs).view(count, inputs)
        if self._objective == "cosine":
            targets = torch.from_numpy(rng.random(count, dtype=np.float32))
        segments = torch.zeros_like(tokens)
        return Batch(tokens, segments, None, targets, None, inputs_per_example=inputs)

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        vectors = network.logits(*batch.inputs)  # [B * E, D]
        if batch.windows is not None:
            vectors = pool_windows(vectors, batch.windows, self.task.aggregate)
            vectors = F.normalize(vectors, dim=-1) if _normalises(network) else vectors
        texts = vectors.view(batch.size, batch.inputs_per_example, -1).unbind(1)  # E of [B, D]
        if self._objective == "cosine":
            losses = (F.cosine_similarity(texts[0], texts[1]) - batch.targets) ** 2  # [B]
        elif self._objective == "triplets":
            losses = triplet_losses(texts, self.task.margin)
        else:
            losses = ranking_losses(texts, batch.targets, self.task.scale)
        return {self._objective: losses.sum() / counts[self._objective]}

    def counts(self, batch: Batch) -> dict[str, float]:
        return {self._objective: batch.size or 1}

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        if not (question.pair or "").strip():
            raise StudioError("This model compares two texts.", "Type a second text.")
        texts = [question.text, question.pair or ""]
        if self.task.reads_windows:
            rows = Rows(texts)
            collector = collect_predictions(checkpoint, self, rows, max_tokens(checkpoint))
            records = collector.predictions()
            first, second = (torch.from_numpy(record[VECTOR]) for record in records)
        else:
            first, second = text_vectors(checkpoint, texts)
        return Predicted(
            task=self.task.kind,
            tokens=inputs.records,
            truncated=inputs.truncated and self.task.truncates,
            value=float(F.cosine_similarity(first, second, dim=0)),
            range=(0.0, 1.0),
        )

    def baselines(self) -> tuple[Baseline, ...]:
        return (Baseline("tfidf", "TF-IDF cosine", _fit_tfidf),)

    def make_metrics(self, examples: Examples) -> PredictionCollector:
        """Rows of a single text get their vectors only."""
        assert isinstance(examples, TextGroups)
        count, inputs = len(examples), examples.inputs_per_example
        if isinstance(examples, RowsInWindows):
            assert examples.owners is not None
            inputs = examples.texts_per_row
            count = len(first_windows(examples.owners)) // inputs
        collector: VectorCollector | SimilarityCollector = VectorCollector(count)
        if inputs > 1:
            arguments = count, inputs, examples.targets, examples.objective, self.task
            collector = SimilarityCollector(*arguments)
        if not isinstance(examples, RowsInWindows):
            return collector
        return WindowVectors(collector, examples, self.task.aggregate)

    def make_collector(self, rows: Rows) -> "SimilarityCollector":
        """Make a collector for rows that are not run through a network."""
        objective = self.choose_objective(rows)
        columns = text_columns(rows, objective)
        targets = self._targets(rows, objective, columns)
        return SimilarityCollector(len(rows), len(columns), targets, objective, self.task)

    def _targets(
        self, rows: Rows, objective: Objective, columns: Sequence[Sequence[str]]
    ) -> NDArray[Any] | None:
        if objective != "cosine":
            ids: dict[str, int] = {}  # a code for each text, equal for equal texts
            codes = [[ids.setdefault(text, len(ids)) for text in column] for column in columns]
            return np.array(codes, dtype=np.int64).T.copy()
        if rows.labels is None or rows.pairs is None:
            return None
        if self.task.range is None and not self._is_fitted:  # imported models do not store it
            values = [number for cell in rows.labels if (number := parse_number(cell)) is not None]
            if len(set(values)) > 1:
                return target_cosines(rows, cosine_range(values))
        return target_cosines(rows, self._range)


class SimilarityCollector(PredictionCollector):
    """Collects the cosines of rows, and the vectors or losses that the metrics need."""

    def __init__(
        self,
        count: int,
        inputs: int,
        targets: NDArray[Any] | None,
        objective: Objective,
        task: SentenceSimilarity,
    ) -> None:
        """Collect for `count` rows of `inputs` texts each; `targets` as in `TextGroups`."""
        self._targets, self._objective, self._task = targets, objective, task
        self._inputs = inputs
        self.cosines = np.zeros((count, inputs - 1), dtype=np.float32)
        self._losses = np.zeros(count, dtype=np.float64)
        self._vectors: NDArray[np.float32] | None = None  # [N, E, D], only for ranking
        self._ranking: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        vectors = network.logits(*batch.inputs).view(batch.size, self._inputs, -1)
        self.add_vectors(batch.indices.numpy(), vectors)

    def add_vectors(self, indices: NDArray[np.int64], vectors: Tensor) -> None:
        """Add the vectors of rows, float32 [B, E, D]."""
        texts = vectors.unbind(1)
        cosines = [F.cosine_similarity(texts[0], other) for other in texts[1:]]
        self.cosines[indices] = torch.stack(cosines, dim=1).cpu().numpy()
        if self._objective == "triplets":
            self._losses[indices] = triplet_losses(texts, self._task.margin).cpu().numpy()
        elif self._objective == "in_batch_negatives":
            if self._vectors is None:
                shape = (len(self.cosines), self._inputs, vectors.size(-1))
                self._vectors = np.zeros(shape, dtype=np.float32)
            self._vectors[indices] = vectors.cpu().numpy()

    def report(self) -> Report:
        if self._targets is None:
            raise MissingRole("label")
        match self._objective:
            case "cosine":
                return cosine_report(self.cosines[:, 0], self._targets)
            case "triplets":
                return triplet_report(self._is_correct(), self._losses)
        ranks, losses = self._rank()
        return search_report(ranks, self._targets[:, 0], losses)

    def set_results(
        self,
        cosines: NDArray[np.floating[Any]],
        ranks: NDArray[np.int64] | None,
        losses: NDArray[np.float64],
    ) -> None:
        """Set results without a network: cosines [N, E - 1], ranks of pairs and losses [N]."""
        self.cosines[:], self._losses[:] = cosines, losses
        if ranks is not None:
            self._ranking = ranks, losses

    def _is_correct(self) -> NDArray[np.bool_]:
        return self.cosines[:, 0] > self.cosines[:, 1]

    def _rank(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rank of each second text among all, int64 [N], and the loss of each row, float64."""
        if self._ranking is None:
            assert self._targets is not None
            count = len(self.cosines)
            if self._vectors is None:
                return np.zeros(0, dtype=np.int64), np.zeros(0)
            pool = self._vectors[:, 1:].reshape(-1, self._vectors.shape[-1])  # [N * (E - 1), D]
            _, first, inverse = np.unique(
                self._targets[:, 1:].reshape(-1), return_index=True, return_inverse=True
            )
            correct = inverse.reshape(count, -1)[:, 0]
            ranks = candidate_ranks(normalise(self._vectors[:, 0]), normalise(pool[first]), correct)
            losses = np.zeros(count)
            for start in range(0, count, CANDIDATES):
                chunk = slice(start, start + CANDIDATES)
                texts = torch.from_numpy(self._vectors[chunk]).unbind(1)
                targets = torch.from_numpy(self._targets[chunk])
                losses[chunk] = ranking_losses(texts, targets, self._task.scale).numpy()
            self._ranking = ranks, losses
        return self._ranking

    def predictions(self) -> list[dict[str, Any]]:
        """The cosine of each pair, and with the negative text if there is one."""
        names = ("cosine", "cosine_negative")
        return [
            {name: float(cosine) for name, cosine in zip(names, row, strict=False)}
            for row in self.cosines
        ]

    def row_predictions(self) -> RowPredictions:
        """Predict the cosine for numbers, the nearer text for triplets, and the rank for pairs."""
        if self._targets is None:
            return RowPredictions(format_numbers(self.cosines[:, 0]), scores=self.cosines)
        match self._objective:
            case "cosine":
                errors = self.cosines[:, 0].astype(np.float64) - self._targets
                predicted, gold = format_numbers(self.cosines[:, 0]), format_numbers(self._targets)
                return RowPredictions(predicted, gold, loss=errors**2, scores=self.cosines)
            case "triplets":
                is_correct = self._is_correct()
                names = [
                    phrase("second text") if correct else phrase("negative text")
                    for correct in is_correct
                ]
                gold = [phrase("second text")] * len(is_correct)
                score = is_correct.astype(np.float64)
                return RowPredictions(
                    names, gold, loss=self._losses, score=score, scores=self.cosines
                )
        ranks, losses = self._rank()
        score = (ranks == 1).astype(np.float64)
        predicted = [str(rank) for rank in ranks]
        return RowPredictions(
            predicted, ["1"] * len(ranks), loss=losses, score=score, scores=self.cosines
        )


class VectorCollector(PredictionCollector):
    """Collects the vectors of single texts."""

    def __init__(self, count: int) -> None:
        self._vectors: list[NDArray[np.float32] | None] = [None] * count

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        self.add_vectors(batch.indices.numpy(), network.logits(*batch.inputs)[:, None])

    def add_vectors(self, indices: NDArray[np.int64], vectors: Tensor) -> None:
        """Add the vectors of texts, float32 [B, 1, D]."""
        for index, vector in zip(indices.tolist(), vectors[:, 0].cpu().numpy(), strict=True):
            self._vectors[index] = vector

    def report(self) -> Report:
        raise MissingRole("pair")

    def predictions(self) -> list[dict[str, Any]]:
        """The vector of each text, float32 [D]."""
        return [{VECTOR: vector} for vector in self._vectors]

    def row_predictions(self) -> RowPredictions:
        raise MissingRole("pair")


class WindowVectors(PredictionCollector):
    """Collects the vectors of windows, and gives those of whole texts to another collector."""

    def __init__(
        self,
        collector: SimilarityCollector | VectorCollector,
        examples: RowsInWindows,
        aggregate: Aggregation,
    ) -> None:
        self._collector, self._examples, self._aggregate = collector, examples, aggregate
        self._vectors: NDArray[np.float32] | None = None  # [windows, D]
        self._lock, self._normalises = threading.Lock(), False

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        vectors = network.logits(*batch.inputs).cpu().numpy()  # [B, D]
        with self._lock:
            if self._vectors is None:
                self._vectors = np.zeros((len(self._examples), vectors.shape[1]), np.float32)
        self._vectors[batch.indices.numpy()] = vectors

    def report(self) -> Report:
        return self._filled.report()

    def predictions(self) -> list[dict[str, Any]]:
        return self._filled.predictions()

    def row_predictions(self) -> RowPredictions:
        return self._filled.row_predictions()

    @cached_property
    def _filled(self) -> PredictionCollector:
        """The other collector, with the vectors of all texts."""
        examples = self._examples
        if self._vectors is not None:
            assert examples.owners is not None
            pooled = pool_vectors(self._vectors, examples.owners, self._aggregate)
            texts = torch.from_numpy(pooled)
            rows = texts.view(-1, examples.texts_per_row, texts.size(1))
            self._collector.add_vectors(np.arange(len(rows)), rows)
        return self._collector


def pool_vectors(
    vectors: NDArray[np.float32], owners: NDArray[np.int64], aggregate: Aggregation
) -> NDArray[np.float32]:
    """Pool the vectors of windows, float32 [W, D], to those of texts; `owners` as in `pool_rows`.

    If all windows have length 1, so have the texts.
    """
    scores = np.zeros(len(owners), dtype=np.float32)
    pooled = pool_rows(vectors, owners, scores, aggregate)
    has_length_1 = np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < LENGTH_TOLERANCE
    return normalise(pooled) if has_length_1 else pooled


def _normalises(network: Network) -> bool:
    """True if the head gives vectors of length 1."""
    sentence = network.heads.sentence
    return sentence is not None and sentence.normalize


def triplet_losses(texts: Sequence[Tensor], margin: float) -> Tensor:
    """max(0, |a - p| - |a - n| + margin) of E = 3 times [B, D] (Reimers and Gurevych 2019, §3.1).

    The Euclidean distance is that of `torch.nn.functional.pairwise_distance`.
    """
    anchor, positive, negative = texts
    near = F.pairwise_distance(anchor, positive)
    return F.relu(near - F.pairwise_distance(anchor, negative) + margin)


def ranking_losses(texts: Sequence[Tensor], targets: Tensor, scale: float) -> Tensor:
    """Cross-entropy of each row's second text among all others, float32 [B].

    Equal texts, and second texts of equal first texts, do not count as negatives.

    Args:
        texts: E times [B, D].
        targets: int64 [B, E], equal for equal texts.
    """
    first = F.normalize(texts[0], dim=-1)
    others = F.normalize(torch.cat(list(texts[1:])), dim=-1)  # [B * (E - 1), D]
    scores = first @ others.T * scale
    diagonal = torch.arange(len(first), device=first.device)
    codes = targets.T[1:].reshape(-1)  # [B * (E - 1)]
    equal = codes[None] == targets[:, 1, None]
    same_query = targets[:, 0, None] == targets[None, :, 0]  # [B, B]
    equal[:, : len(first)] |= same_query
    equal[diagonal, diagonal] = False
    return F.cross_entropy(scores.masked_fill(equal, float("-inf")), diagonal, reduction="none")


def cosine_range(numbers: Sequence[float]) -> tuple[float, float]:
    """Numbers that correspond to a cosine of 0 and of 1.

    Raises StudioError if all are the same.
    """
    low, high = value_range(numbers)
    return (0.0, 1.0) if low >= -1 and high <= 1 else (min(low, 0.0), high)


def target_cosines(rows: Rows, limits: tuple[float, float]) -> NDArray[np.float32]:
    """The target cosine of each row, float32 [N]."""
    assert rows.labels is not None
    low, high = limits
    scaled: NDArray[np.float32] = (parse_numbers(rows.labels, rows.lines) - low) / (high - low)
    return scaled.astype(np.float32)


def text_columns(rows: Rows, objective: Objective) -> list[Sequence[str]]:
    """The columns whose texts are inputs of the network."""
    columns = [rows.texts, *([] if rows.pairs is None else [rows.pairs])]
    if rows.negatives is not None and objective != "cosine":
        columns.append(rows.negatives)
    return columns


@torch.inference_mode()
def text_vectors(checkpoint: Checkpoint, texts: Sequence[str]) -> Tensor:
    """The vectors of a few texts, float32 [B, D]. Raises StudioError if they are not finite."""
    network, tokenizer = checkpoint.network, checkpoint.tokenizer
    sentence = network.heads.sentence
    max_length, prompt = max_tokens(checkpoint), "" if sentence is None else sentence.prompt
    device = next(network.parameters()).device
    vectors = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(prompt + text, None, max_length).ids], device=device)
        vectors.append(require_finite(network.logits(ids, torch.zeros_like(ids)))[0])
    return torch.stack(vectors)


def _fit_tfidf(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
    """The TF-IDF cosine of two texts, and the rank of the second one among all."""
    assert isinstance(learner, SentenceSimilarityLearner)
    collector = learner.make_collector(rows)
    vectorizer = tfidf().fit(add_word(list(train.all_texts())))
    columns = text_columns(rows, learner.choose_objective(rows))
    first, *others = (vectorizer.transform(column) for column in columns)
    cosines = np.hstack([np.asarray(first.multiply(column).sum(axis=1)) for column in others])
    ranks, losses = np.ones(len(rows), dtype=np.int64), np.zeros(len(rows))
    if learner.metric_names[0] == "mrr":
        for start in range(0, len(rows), RANK_CHUNK):
            chunk = slice(start, start + RANK_CHUNK)
            scores = (first[chunk] @ others[0].T).toarray()  # [RANK_CHUNK, N]
            cosine = cosines[chunk, :1]
            is_nearer = scores > cosine + EPSILON
            ranks[chunk] = 1 + is_nearer.sum(axis=1)
            logits = scores[:, chunk] * learner.task.scale
            targets = cosine[:, 0] * learner.task.scale
            losses[chunk] = np.log(np.exp(logits).sum(axis=1)) - targets
    collector.set_results(cosines, ranks, losses)
    return collector
