"""Span classification: spans of words with labels, nested and overlapping ones too.

Each span of at most W words has a logit for each label, from the outputs of the first tokens of
its first and last words: Efficient GlobalPointer (Su et al. 2022, arXiv:2208.03054).

Shapes: B sequences, T tokens in each, C labels, N words of a batch, W words of a span, K size of
the two vectors of a word, S spans.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.tasks.span_classification import MAX_WORDS, PRIOR, SPAN_SIZE, SpanClassification
from engine.data.columns.lists import parse_texts
from engine.data.columns.roles import MissingRole
from engine.data.columns.tags import Span
from engine.data.columns.text_spans import (
    SpannedWords,
    TextSpan,
    spaced_words,
)
from engine.data.columns.words import split_words, word_spans
from engine.data.datasets.rows import Rows
from engine.data.tokenized.words import CUT, tokenize_words
from engine.errors import StudioError
from engine.evaluation.span_classification import SpanReport, report, row_f1
from engine.messages.explore.prediction import Predict, Predicted, SpanPrediction
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs
from engine.tasks.learner import (
    Baseline,
    Batch,
    Counts,
    Examples,
    Learner,
    Losses,
    PredictionCollector,
    TaskPredictions,
    count_targets,
    pad,
    random_tokens,
)
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.token_classification import DECIMALS, Sentences, encode_words, lost_note
from engine.tasks.whole_text import label_sort_key, label_weights, quote_labels
from engine.tokenizers.tokenizer import Tokenizer

BASE = 10_000  # of the wavelengths of rotary positions
DUMMY_WIDTH = 8  # words of a span, before `fit_labels`
Floats = NDArray[np.float64]


@dataclass
class SpannedRows(Sentences):
    """Rows with words: `targets` is int64 [S, 3], of each span its first word among those of all
    rows that have tokens, its length in such words less one, and its label, row by row."""

    spanned: Sequence[SpannedWords] = ()
    # int64 [rows + 1], the first target of each row
    target_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    # int64 [words + 1], of the words of all rows: how many before each have tokens
    kept: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def batch_targets(self, indices: np.ndarray, count: int, width: int, labels: int) -> Tensor:
        """Targets of the words of these rows, uint8 [`count`, `width`, `labels`]."""
        targets = torch.zeros(count, width, labels, dtype=torch.uint8)
        if self.targets is None:
            return targets
        first = 0  # word of the batch
        for row in indices.tolist():
            begin, end = self.kept[self.starts[row : row + 2]].tolist()
            part = self.targets[slice(*self.target_starts[row : row + 2])]
            words, lengths, names = torch.from_numpy(part).T
            targets[words - begin + first, lengths, names] = 1
            first += end - begin
        return targets


class SpanCollector(PredictionCollector):
    """Predicts every span whose probability is above one half."""

    def __init__(self, examples: SpannedRows, labels: tuple[str, ...], max_words: int) -> None:
        self._examples, self._labels, self._max_words = examples, labels, max_words
        count = len(examples.spanned)
        self._found: list[list[tuple[Span, float]]] = [[] for _ in range(count)]
        self._certainties = np.full(count, np.nan)  # [rows]; NaN without a word
        self._losses = np.zeros(count)  # sums over the words of each row
        self._words = np.diff(examples.kept[examples.starts])  # with tokens, int64 [rows]

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None and batch.positions is not None
        indices = batch.indices.numpy()
        words, rows = self._examples.tokenized_words(indices)
        logits, is_span = batch_logits(network, batch, self._max_words)
        losses = _word_losses(logits, is_span, batch.targets, None).cpu().numpy()  # [N]
        logits, is_span = logits.cpu(), is_span.cpu()
        margins = logits.abs().masked_fill(~is_span[..., None], torch.inf).flatten(1).amin(1)
        self._losses[indices] = np.bincount(rows, losses, minlength=batch.size)
        least = np.full(batch.size, np.inf)
        np.minimum.at(least, rows, margins.numpy())
        has_words = np.isfinite(least)
        self._certainties[indices[has_words]] = 1 / (1 + np.exp(-least[has_words]))
        starts = self._examples.starts
        for n, length, label in (is_span[..., None] & (logits > 0)).nonzero().tolist():
            row = int(indices[rows[n]])
            first, last = (int(words[at] - starts[row]) for at in (n, n + length))
            probability = float(logits[n, length, label].double().sigmoid())
            self._found[row].append((Span(self._labels[label], first, last + 1), probability))

    def set_predictions(self, row: int, spans: Iterable[Span]) -> None:
        """Set the spans of a row, each certain."""
        self._found[row] = [(span, 1.0) for span in spans]

    def predicted_spans(self) -> list[list[Span]]:
        return [[span for span, _ in row] for row in self._found]

    @property
    def rows(self) -> Sequence[SpannedWords]:
        return self._examples.spanned

    def report(self) -> SpanReport:
        if self._examples.targets is None:
            raise MissingRole("tags")
        metrics = report([row.spans for row in self.rows], self.predicted_spans())
        loss = float(self._losses.sum() / max(1, self._words.sum()))
        return metrics.model_copy(update={"loss": loss})

    def certainties(self) -> Floats:
        """The smallest probability of a decision on a span of each row, float64 [rows]."""
        return self._certainties

    def text_spans(self) -> list[list[tuple[TextSpan, float]]]:
        """The predicted spans of each row by their characters, with their probabilities."""
        return [
            sorted((row.of_characters(span), p) for span, p in found)
            for row, found in zip(self.rows, self._found, strict=True)
        ]

    def predictions(self) -> list[dict[str, Any]]:
        """The spans of each row; start and end count characters from 0, the end is excluded."""
        return [
            {
                "spans": [
                    {
                        "label": span.label,
                        "text": row.text[span.start : span.end],
                        "start": span.start,
                        "end": span.end,
                        "probability": p,
                    }
                    for span, p in found
                ],
                "probability": None if np.isnan(certainty) else float(certainty),
            }
            for row, found, certainty in zip(
                self.rows, self.text_spans(), self.certainties(), strict=True
            )
        ]

    def row_predictions(self) -> RowPredictions:
        """The loss of a row is the mean over its words, its probability its certainty."""
        predicted = self.predicted_spans()
        details: list[dict[str, Any]] = [
            {
                "words": row.words,
                "places": row.places,
                "predicted": [[*span] for span, _ in found],
                "probabilities": [round(p, DECIMALS) for _, p in found],
            }
            for row, found in zip(self.rows, self._found, strict=True)
        ]
        result = RowPredictions(
            [row.cell(spans) for row, spans in zip(self.rows, predicted, strict=True)],
            probability=self.certainties(),
            details=[_details_json(detail) for detail in details],
        )
        if self._examples.targets is None:
            return result
        gold = [row.spans for row in self.rows]
        losses = np.full(len(self._losses), np.nan)
        np.divide(self._losses, self._words, out=losses, where=self._words > 0)
        return replace(
            result,
            gold=[row.cell(row.spans) for row in self.rows],
            loss=losses,
            score=np.array([row_f1(*pair) for pair in zip(gold, predicted, strict=True)]),
            details=[
                _details_json(detail | {"gold": [[*span] for span in spans]})
                for detail, spans in zip(details, gold, strict=True)
            ],
        )


def _details_json(detail: dict[str, Any]) -> str:
    return json.dumps(detail, ensure_ascii=False)


# ── logits ───────────────────────────────────────────────────────────────────────────────────────


def batch_logits(network: Network, batch: Batch, max_words: int) -> tuple[Tensor, Tensor]:
    """Logits of all spans of a batch, see `span_logits`."""
    assert batch.positions is not None
    outputs = network.logits(*batch.inputs)  # [B, T, 2 (C + K)]
    width = outputs.size(1)
    return span_logits(outputs.flatten(0, 1)[batch.positions], batch.positions, width, max_words)


def span_logits(
    outputs: Tensor, positions: Tensor, width: int, max_words: int
) -> tuple[Tensor, Tensor]:
    """Logits of the spans from each word to itself and the next ones.

    The logit of a span from word i to word j and of label c is q_i · R(j - i) k_j / √K + s_ic +
    e_jc - 5 (Su et al. 2022, eq. 8 and 9, with s and e straight from the token vectors), R being
    the rotation of rotary positions (Su et al. 2021).

    Args:
        outputs: float32 [N, 2 (C + K)] of the first tokens of words: s, e, q, k.
        positions: int64 [N], ascending, of these tokens in the flattened [B * T].
        width: T.
        max_words: W.

    Returns:
        float32 [N, W, C] and bool [N, W], true if the span is within one sequence. Positions of
        [CLS], which pad a batch, have no spans.
    """
    size, count = SPAN_SIZE, len(outputs)
    labels = outputs.size(1) // 2 - size
    starts, ends, queries, keys = outputs.split([labels, labels, size, size], dim=1)
    rows, inner = positions // width, positions % width
    places = _places(rows)
    queries, keys = _rotate(queries, places) * size**-0.5, _rotate(keys, places)
    logits, is_span = list[Tensor](), list[Tensor]()
    for length in range(max_words):
        n = max(0, count - length)  # words with a last word
        scores = (queries[:n] * keys[count - n :]).sum(1, keepdim=True)
        both = starts[:n] + ends[count - n :] + scores - PRIOR
        same = (rows[:n] == rows[count - n :]) & (inner[:n] > 0)
        same &= inner[count - n :] >= inner[:n] + length
        logits.append(F.pad(both, (0, 0, 0, count - n)))
        is_span.append(F.pad(same, (0, count - n)))
    return torch.stack(logits, 1), torch.stack(is_span, 1)


def _places(rows: Tensor) -> Tensor:
    """The place of each word among those of its sequence, int64 [N], from their sequences [N].

    Rotations by it do not depend on the rest of the batch, as those by the place in it would.
    """
    order = torch.arange(len(rows), device=rows.device)
    is_first = rows != F.pad(rows, (1, 0), value=-1)[:-1]
    return order - torch.where(is_first, order, 0).cummax(0).values if len(rows) else order


def _rotate(vectors: Tensor, places: Tensor) -> Tensor:
    """Rotate pairs of numbers by angles in proportion to the place, float [N, K] (Su et al. 2021,
    eq. 34)."""
    size = vectors.size(1)
    steps = torch.arange(0, size, 2, device=vectors.device)
    angles = places[:, None] * BASE ** (-steps / size)  # [N, K / 2]
    cos, sin = angles.cos(), angles.sin()
    a, b = vectors[:, 0::2], vectors[:, 1::2]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], 1)


def _word_losses(
    logits: Tensor, is_span: Tensor, targets: Tensor, weights: Tensor | None
) -> Tensor:
    """Binary cross-entropy of the spans that begin at each word, summed, float32 [N]."""
    losses = F.binary_cross_entropy_with_logits(
        logits, targets.to(logits.dtype), reduction="none", pos_weight=weights
    )
    return losses.masked_fill(~is_span[..., None], 0).sum((1, 2))


# ── the learner ──────────────────────────────────────────────────────────────────────────────────


class SpanClassificationLearner(Learner):
    """Linear outputs of each word's first token, and binary cross-entropy of all spans.

    The loss of a word is the sum over the spans that begin at it.
    """

    task: SpanClassification
    term = "spans"
    ignore_index = 0
    _longest = 0  # words of a span of the training rows, if it sets the limit

    @property
    def tokenization(self) -> str:
        return "spans-1"

    @property
    def _max_words(self) -> int:
        return self.task.max_words or DUMMY_WIDTH

    def fit_labels(self, rows: Rows) -> None:
        if rows.tags is None:
            raise MissingRole("tags")
        spans = [span for row in rows.spanned for span in row.spans]
        names = {span.type for span in spans}
        if not names:
            raise StudioError(
                "No training row has a span.",
                "Choose another column of spans, or add rows with spans.",
            )
        if "" in names:
            raise StudioError(
                "The tags name no labels.", "Write a label in each tag, such as B-person."
            )
        if not self._labels:
            self._labels = tuple(sorted(names, key=label_sort_key))
        if not self.task.max_words:
            self._longest = min(max(span.end - span.start for span in spans), MAX_WORDS)
            self.task = self.task.model_copy(update={"max_words": self._longest})
        self._weights = label_weights(self._labels, self.task.class_weights, None)

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> SpannedRows:
        spanned = rows.spanned if rows.tags is not None else _without_spans(rows)
        tokenized, first_tokens, starts, _, input_starts = tokenize_words(
            (row.words for row in spanned), len(rows), tokenizer, max_length, folder, progress
        )
        kept = np.concatenate([[0], np.cumsum(first_tokens >= 0)])
        examples = SpannedRows(
            tokenized,
            first_tokens=first_tokens,
            starts=starts,
            input_starts=input_starts,
            spanned=spanned,
            kept=kept,
        )
        notes = [*map(lost_note, Counter(r for row in spanned for r in row.remarks).items())]
        count, cut = len(first_tokens), int((first_tokens == CUT).sum())
        if cut:
            notes.append(
                phrase(
                    "{cut:,} of {count:,} words are beyond the maximum length of {max_length} "
                    "tokens; no span is found there.",
                    cut=cut,
                    count=count,
                    max_length=max_length,
                )
            )
        if self._longest:  # said once
            longest, self._longest = self._longest, 0
            notes.append(
                phrase(
                    "The longest span of the training rows has {n:,} word(s); no longer one is "
                    "predicted.",
                    n=longest,
                )
            )
        if rows.tags is not None and (long := self._set_targets(examples)):
            notes.append(
                phrase(
                    "{n:,} span(s) are longer than {words:,} words and cannot be found.",
                    n=long,
                    words=self._max_words,
                )
            )
        examples.notes = tuple(notes)
        return examples

    def _set_targets(self, examples: SpannedRows) -> int:
        """Set the targets of rows, and return the number of spans that are too long.

        Raises StudioError if the model knows none of the labels.
        """
        ids = {label: index for index, label in enumerate(self._labels)}
        given = Counter(span.type for row in examples.spanned for span in row.spans)
        if given and not given.keys() & ids.keys():
            raise StudioError(
                "The rows have labels such as “{label}”, but the model knows none of them.",
                "Its labels are {labels}. Choose the right column.",
                label=min(given),
                labels=quote_labels(self._labels),
            )
        self.new_labels = Counter({name: n for name, n in given.items() if name not in ids})
        targets, counts, long = list[tuple[int, int, int]](), [0], 0
        kept, firsts = examples.kept.tolist(), examples.first_tokens
        starts = examples.starts[:-1].tolist()
        for row, start in zip(examples.spanned, starts, strict=True):
            for span in row.spans:
                first, last = start + span.start, start + span.end - 1
                length = kept[last] - kept[first]
                if firsts[first] < 0 or firsts[last] < 0 or span.type not in ids:
                    continue
                if length >= self._max_words:
                    long += 1
                else:
                    targets.append((kept[first], length, ids[span.type]))
            counts.append(len(targets))
        examples.targets = np.array(targets, dtype=np.int64).reshape(-1, 3)
        examples.target_starts = np.array(counts, dtype=np.int64)
        return long

    def target_counts(self, examples: Examples) -> Counter[str]:
        targets = examples.targets
        return count_targets(None if targets is None else targets[:, 2], self._labels)

    def batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        assert isinstance(examples, SpannedRows)
        padded = pad(examples.tokenized, indices, tokenizer.pad)
        words, rows = examples.tokenized_words(indices)
        positions = rows * padded.tokens.size(1) + examples.first_tokens[words]
        shape = len(words), self._max_words, len(self._labels)
        return Batch(
            *padded,
            targets=examples.batch_targets(indices, *shape),
            positions=torch.from_numpy(positions),
        )

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        assert batch.positions is not None
        width, places = batch.tokens.size(1), batch.positions.tolist()
        rows: list[list[str]] = [[] for _ in batch.tokens]
        for n, length, label in batch.targets.nonzero().tolist():
            row, first = divmod(places[n], width)
            ids = batch.tokens[row, first : places[n + length] % width + 1].tolist()
            rows[row].append(f"{self._labels[label]}: {tokenizer.decode_many([ids])[0]}")
        return ["; ".join(row) or phrase("no span") for row in rows]

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        tokens = torch.from_numpy(random_tokens(count, width, tokenizer, rng))
        shape = tokens.numel(), self._max_words, len(self._labels)
        targets = torch.from_numpy(rng.integers(0, 2, shape, dtype=np.uint8))
        return Batch(tokens, torch.zeros_like(tokens), None, targets, torch.arange(tokens.numel()))

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        logits, is_span = batch_logits(network, batch, self._max_words)
        weights = self.weights_on(logits.device)
        summed = _word_losses(logits, is_span, batch.targets, weights).sum()
        return {self.term: summed / counts[self.term]}

    def counts(self, batch: Batch) -> dict[str, float]:
        assert batch.positions is not None
        return {self.term: len(batch.positions) or 1}

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """The spans of the first text, outer ones before those in them."""
        places = word_spans(question.text)
        tokens, first_tokens = encode_words(checkpoint, inputs, question.text)
        outputs = require_finite(checkpoint.network.logits(tokens, torch.zeros_like(tokens)))[0]
        kept = [word for word, token in enumerate(first_tokens) if token]
        positions = torch.tensor(
            [first_tokens[word] for word in kept], dtype=torch.int64, device=outputs.device
        )
        width = outputs.size(0)
        logits, is_span = span_logits(outputs[positions], positions, width, self._max_words)
        found = list[SpanPrediction]()
        for n, length, label in (is_span[..., None] & (logits > 0)).nonzero().tolist():
            start, end = places[kept[n]][0], places[kept[n + length]][1]
            found.append(
                SpanPrediction(
                    text=question.text[start:end],
                    start=start,
                    end=end,
                    probability=float(logits[n, length, label].double().sigmoid()),
                    label=self._labels[label],
                )
            )
        found.sort(key=lambda span: (span.start, -span.end, span.label))
        least = logits.abs()[is_span].amin() if bool(is_span.any()) else None
        return Predicted(
            task=self.task.kind,
            tokens=inputs.records,
            truncated=inputs.truncated,
            spans=tuple(found),
            certainty=None if least is None else float(least.double().sigmoid()),
        )

    def baselines(self) -> tuple[Baseline, ...]:
        return (Baseline("known-spans", "Spans of the training rows", _predict_known_spans),)

    def make_metrics(self, examples: Examples) -> SpanCollector:
        assert isinstance(examples, SpannedRows)
        return SpanCollector(examples, self._labels, self._max_words)


def _without_spans(rows: Rows) -> list[SpannedWords]:
    """The words of rows without tags: lists of words, or natural texts."""
    if rows.words is not None:
        return [spaced_words(split_words(cell)) for cell in rows.words]
    lists = (parse_texts(t.strip()) if t.lstrip().startswith("[") else None for t in rows.texts)
    return [
        SpannedWords(text, word_spans(text), [], []) if words is None else spaced_words(words)
        for text, words in zip(rows.texts, lists, strict=True)
    ]


def _predict_known_spans(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
    """Spans whose words are a span of a label in most of their places in the training rows."""
    assert isinstance(learner, SpanClassificationLearner)
    labelled, places = Counter[tuple[tuple[str, ...], str]](), Counter[tuple[str, ...]]()
    spanned = [(row.words, row.spans) for row in train.spanned]
    for words, spans in spanned:
        labelled.update((tuple(words[span.start : span.end]), span.type) for span in spans)
    known = {words for words, _ in labelled}
    longest = max(map(len, known), default=0)

    def parts(words: Sequence[str]) -> Iterable[tuple[int, tuple[str, ...]]]:
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                if (part := tuple(words[start:end])) in known:
                    yield start, part

    for words, _ in spanned:
        places.update(part for _, part in parts(words))
    names: dict[tuple[str, ...], list[str]] = {}
    for (part, label), count in labelled.items():
        if 2 * count > places[part] and label in learner.labels:
            names.setdefault(part, []).append(label)
    others = rows.spanned if rows.tags is not None else _without_spans(rows)
    starts = np.cumsum([0, *(len(row.places) for row in others)])
    examples = SpannedRows(
        tokenized=None,  # type: ignore[arg-type]  # no network reads it
        targets=None if rows.tags is None else np.zeros((0, 3), np.int64),
        first_tokens=np.zeros(int(starts[-1]), dtype=np.int32),
        starts=starts,
        input_starts=starts,
        spanned=others,
        kept=np.arange(int(starts[-1]) + 1),
    )
    collector = learner.make_metrics(examples)
    for index, row in enumerate(others):
        found = (
            Span(label, start, start + len(part))
            for start, part in parts(row.words)
            for label in names.get(part, ())
        )
        collector.set_predictions(index, found)
    return collector
