"""Token classification: a tag for each word (Devlin et al. 2019, §5.3).

Shapes: B sequences, T tokens in each, C tags, W words of all examples, N words of a batch.
"""

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator

from engine.config.tasks.token_classification import MAX_TAGS, TokenClassification
from engine.data.columns.roles import MissingRole
from engine.data.columns.tag_column import ADVICE
from engine.data.columns.tags import Span, are_spans, spans_from_tags, tag_type
from engine.data.columns.words import join_words, parse_words, split_words, word_spans
from engine.data.datasets.rows import Rows
from engine.data.tokenized.words import CUT, tokenize_words
from engine.errors import StudioError
from engine.evaluation.token_classification import TagReport, report, row_f1
from engine.messages.explore.prediction import Predict, Predicted, SpanPrediction
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.baselines import Floats, log_probabilities
from engine.tasks.evaluating import collect_predictions
from engine.tasks.finite import softmax
from engine.tasks.inputs import Inputs, max_tokens
from engine.tasks.learner import (
    Baseline,
    Batch,
    Counts,
    Examples,
    Learner,
    Losses,
    PredictionCollector,
    count_targets,
    pad,
    random_tokens,
    scaled_cross_entropy,
)
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.whole_text import quote_labels
from engine.tokenizers.tokenizer import Tokenizer

OUTSIDE = "O"
UNKNOWN = -1  # a tag that the model does not know
DECIMALS = 4  # of word probabilities


class TagIds(NamedTuple):
    """The tags of all words of some rows, as indices."""

    names: tuple[str, ...]  # distinct tags, in order of appearance
    ids: np.ndarray  # int32 [W]


@dataclass
class Sentences(Examples):
    """Sentences, with a tag for each word: `targets` is int64 [W], UNKNOWN for none."""

    cells: Sequence[str] = ()  # the words of each example
    tags: TagIds | None = None  # of the rows
    # int32 [W], position of the first token of each word in its input
    first_tokens: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # [rows + 1]
    # int64 [examples + 1], first word of each; examples are rows, or windows of them
    input_starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    def tokenized_words(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words of these examples that have a token: their indices and their rows of the batch,
        both int64 [N]."""
        starts = self.input_starts
        counts = starts[indices + 1] - starts[indices]
        rows = np.repeat(np.arange(len(indices)), counts)
        row_starts = np.cumsum(counts) - counts
        words = np.arange(len(rows)) + np.repeat(starts[indices] - row_starts, counts)
        has_token = self.first_tokens[words] >= 0
        return words[has_token], rows[has_token]


class TagCollector(PredictionCollector):
    """Predicts the most likely tag of each word; O for words without a token."""

    def __init__(self, examples: Sentences, tags: tuple[str, ...]) -> None:
        self._examples, self._tags = examples, tags
        count = len(examples.first_tokens)
        self._tag_ids = np.full(count, UNKNOWN, dtype=np.int64)  # [W]
        self._probabilities = np.zeros(count, dtype=np.float32)  # [W], of the predicted tags
        self._losses = np.zeros(count)  # [W]; 0 if unlabelled

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        words, _ = self._examples.tokenized_words(batch.indices.numpy())
        logits = word_logits(network, batch)  # [N, C]
        best = logits.softmax(-1).max(-1)
        losses = F.cross_entropy(logits, batch.targets, reduction="none", ignore_index=UNKNOWN)
        columns = (best.indices, best.values, losses)
        self.set_predictions(words, *(column.cpu().numpy() for column in columns))

    def set_predictions(
        self, words: np.ndarray, tags: np.ndarray, probabilities: np.ndarray, losses: np.ndarray
    ) -> None:
        """Set the predictions of words, int64 [N]: tags, probabilities and losses (0 if
        unlabelled), [N] each."""
        self._tag_ids[words] = tags
        self._probabilities[words] = probabilities
        self._losses[words] = losses

    def word_predictions(self) -> tuple[list[int], list[float]]:
        """The index of the tag of each word, UNKNOWN without a token, and its probability."""
        return self._tag_ids.tolist(), self._probabilities.tolist()

    def report(self) -> TagReport:
        tags = self._examples.tags
        if tags is None:
            raise MissingRole("tags")
        assert self._examples.targets is not None
        true_tags = [tags.names[index] for index in tags.ids.tolist()]
        gold, has_spans = self._by_row(true_tags), are_spans(self._tags)
        metrics = report(gold, self.predicted_tags(), are_spans=has_spans)
        cut = int((self._examples.first_tokens == CUT).sum())
        is_unknown = self._tag_ids == UNKNOWN
        losses = self._losses[~is_unknown & (self._examples.targets != UNKNOWN)]
        loss = float(losses.mean()) if len(losses) else 0.0
        empty = int(is_unknown.sum()) - cut
        return metrics.model_copy(update={"loss": loss, "cut": cut, "empty": empty})

    @property
    def words(self) -> list[list[str]]:
        """The words of each row."""
        return list(map(split_words, self._examples.cells))

    def predicted_tags(self) -> list[list[str]]:
        return self._by_row(
            [OUTSIDE if n == UNKNOWN else self._tags[n] for n in self._tag_ids.tolist()]
        )

    def word_probabilities(self) -> list[np.ndarray]:
        """Probabilities of the predicted tags, float32, by row; 1 for words without a token."""
        known = np.where(self._tag_ids == UNKNOWN, np.float32(1), self._probabilities)
        return np.split(known, self._examples.starts[1:-1])

    def _by_row(self, tags: list[str]) -> list[list[str]]:
        return [tags[a:b] for a, b in pairwise(self._examples.starts.tolist())]

    def predictions(self) -> list[dict[str, Any]]:
        """Words, their tags with probabilities, and the spans of these tags.

        The start and end of a span count words from 0; the end is excluded. The probability of a
        span is the mean over its words.
        """
        records = []
        starts, has_spans = self._examples.starts.tolist(), are_spans(self._tags)
        for index, (words, tags) in enumerate(zip(self.words, self.predicted_tags(), strict=True)):
            probabilities = self._probabilities[starts[index] : starts[index + 1]].tolist()
            record = {"tags": tags, "words": words, "probabilities": probabilities}
            if has_spans:
                record["spans"] = [
                    {
                        "type": span.type,
                        "text": " ".join(words[span.start : span.end]),
                        "start": span.start,
                        "end": span.end,
                        "probability": float(np.mean(probabilities[span.start : span.end])),
                    }
                    for span in spans_from_tags(tags)
                ]
            records.append(record)
        return records

    def row_predictions(self) -> RowPredictions:
        """Probability and loss of a row are the means over its words."""
        starts, predicted = self._examples.starts, self.predicted_tags()
        probabilities = np.where(self._tag_ids == UNKNOWN, np.nan, self._probabilities)  # [W]
        details: list[dict[str, Any]] = [
            {
                "words": words,
                "predicted": tags,
                "probabilities": np.round(probabilities[a:b], DECIMALS).tolist(),
            }
            for words, tags, (a, b) in zip(
                self.words, predicted, pairwise(starts.tolist()), strict=True
            )
        ]
        result = RowPredictions(
            list(map(" ".join, predicted)),
            probability=row_means(probabilities, starts),
            details=list(map(_details_json, details)),
        )
        true, targets = self._examples.tags, self._examples.targets
        if true is None or targets is None:
            return result
        gold = self._by_row([true.names[number] for number in true.ids.tolist()])
        is_known = (self._tag_ids != UNKNOWN) & (targets != UNKNOWN)
        has_spans = are_spans(self._tags)
        return replace(
            result,
            gold=list(map(" ".join, gold)),
            loss=row_means(np.where(is_known, self._losses, np.nan), starts),
            score=np.array(
                [row_f1(*pair, are_spans=has_spans) for pair in zip(gold, predicted, strict=True)]
            ),
            details=[
                _details_json(detail | {"gold": tags})
                for detail, tags in zip(details, gold, strict=True)
            ],
        )


def row_means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The mean of the `values` [W] of each row that are not NaN, float64 [rows]; NaN for none.

    `starts` is int64 [rows + 1]: the first word of each row.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    is_known = ~np.isnan(values)
    counts = np.bincount(owners[is_known], minlength=len(starts) - 1)
    sums = np.bincount(owners[is_known], values[is_known], minlength=len(starts) - 1)
    means = np.full(len(counts), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _details_json(detail: dict[str, Any]) -> str:
    probabilities = [None if np.isnan(p) else p for p in detail["probabilities"]]
    return json.dumps(detail | {"probabilities": probabilities}, ensure_ascii=False)


def word_logits(network: Network, batch: Batch) -> torch.Tensor:
    """Logits of the first token of each word, float32 [N, C]."""
    assert batch.positions is not None
    logits = network.logits(*batch.inputs)  # [B, T, C]
    return logits.flatten(0, 1)[batch.positions]


class TokenClassificationLearner(Learner):
    """A linear layer on the vector of each word's first token, with cross-entropy."""

    task: TokenClassification
    ignore_index = UNKNOWN

    def __init__(self, task: TokenClassification) -> None:
        super().__init__(task)
        self._fitted: tuple[Rows, TagIds] | None = None

    @property
    def tokenization(self) -> str:
        windows = f"-windows-{self.task.doc_stride}" if self.task.reads_windows else ""
        return f"words-4{windows}"  # version 3 stored no windows

    @property
    def best_metric(self) -> str:
        return "f1" if are_spans(self._labels) else "accuracy"

    @property
    def metric_names(self) -> tuple[str, ...]:
        return super().metric_names if are_spans(self._labels) else ("accuracy", "loss")

    def fit_labels(self, rows: Rows) -> None:
        self._fitted = (rows, read_tags(rows))
        tags = set(self._fitted[1].names)
        if not self._labels:
            self._labels = tuple(sorted(tags, key=lambda tag: (tag != OUTSIDE, tag)))
        if len(tags) < 2:
            labels = phrase("all have “{tag}”", tag=min(tags)) if tags else phrase("there are none")
            raise StudioError(
                "The words of the training rows need at least two different tags, but {labels}.",
                "Choose another tag column, or add rows with other tags.",
                labels=labels,
            )
        if len(tags) > MAX_TAGS:
            raise StudioError(
                "There are {count:,} different tags, too many to learn.",
                "Choose another tag column.",
                count=len(tags),
            )
        self._weights = tag_weights(self._labels, self.task.class_weights)

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Sentences:
        cells = rows.tagged.words if rows.words is None else rows.words
        if rows.tags is None and rows.words is None:
            cells = [join_words(parse_words(text)) for text in rows.texts]
        length, stride = max_length, None
        if self.task.reads_windows:
            length, stride = self.task.with_window(max_length).window_length, self.task.doc_stride
        tokenized, first_tokens, starts, inputs, input_starts = tokenize_words(
            map(split_words, cells), len(rows), tokenizer, length, folder, progress, stride
        )
        notes = [*map(lost_note, rows.tagged.remarks.items())]
        count, cut = len(first_tokens), int((first_tokens == CUT).sum())
        if cut:
            notes.append(
                phrase(
                    "{cut:,} of {count:,} words are beyond the maximum length of {max_length} "
                    "tokens; they count as {outside}.",
                    cut=cut,
                    count=count,
                    max_length=max_length,
                    outside=OUTSIDE,
                )
            )
        if empty := int((first_tokens < 0).sum()) - cut:
            notes.append(
                phrase(
                    "{empty:,} of {count:,} words have no token, such as a lone soft hyphen; "
                    "they count as {outside}.",
                    empty=empty,
                    count=count,
                    outside=OUTSIDE,
                )
            )
        targets, tags = None, None
        if rows.tags is not None:
            fitted, self._fitted = self._fitted, None  # cached when the labels were fitted
            tags = fitted[1] if fitted and fitted[0] is rows else read_tags(rows)
            targets = self.targets(tags)
            if unknown := int((targets == UNKNOWN).sum()):
                notes.append(
                    phrase(
                        "{unknown:,} words have a tag that the model does not know.",
                        unknown=unknown,
                    )
                )
        return Sentences(
            tokenized,
            targets,
            notes=tuple(notes),
            cells=cells,
            tags=tags,
            first_tokens=first_tokens,
            starts=starts,
            input_starts=input_starts,
            owners=None if stride is None else np.repeat(np.arange(len(rows)), np.diff(inputs)),
        )

    def target_counts(self, examples: Examples) -> Counter[str]:
        return count_targets(examples.targets, self._labels)

    def targets(self, tags: TagIds) -> np.ndarray:
        """The index of each tag, int64 [W].

        Raises StudioError if the model knows none of the tags except O.
        """
        ids = {tag: index for index, tag in enumerate(self._labels)}
        names = set(tags.names) - {OUTSIDE}
        if names and not names & set(ids):
            raise StudioError(
                "The rows have tags such as “{tag}”, but the model knows none of them.",
                "Its tags are {tags}. Choose the right tag column.",
                tag=min(names),
                tags=", ".join(self._labels[:10]),
            )
        indices = np.array([ids.get(name, UNKNOWN) for name in tags.names], dtype=np.int64)
        counts = np.bincount(tags.ids, minlength=len(tags.names)).tolist()
        pairs = zip(tags.names, counts, strict=True)
        self.new_labels = Counter({name: n for name, n in pairs if name not in ids and n})
        return indices[tags.ids] if len(indices) else np.zeros(0, dtype=np.int64)

    def batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        assert isinstance(examples, Sentences)
        padded = pad(examples.tokenized, indices, tokenizer.pad)
        words, rows = examples.tokenized_words(indices)
        targets = np.full(len(words), UNKNOWN)
        if examples.targets is not None:
            targets = examples.targets[words]
        positions = rows * padded.tokens.size(1) + examples.first_tokens[words]
        return Batch(
            *padded, targets=torch.from_numpy(targets), positions=torch.from_numpy(positions)
        )

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        tokens = torch.from_numpy(random_tokens(count, width, tokenizer, rng))
        targets = torch.from_numpy(rng.integers(0, len(self._labels), tokens.numel()))
        return Batch(tokens, torch.zeros_like(tokens), None, targets, torch.arange(tokens.numel()))

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        logits = word_logits(network, batch)  # [N, C]
        weights, smoothing = self.weights_on(logits.device), self.task.label_smoothing
        tags = scaled_cross_entropy(
            logits, batch.targets, counts["tags"], weights, smoothing, UNKNOWN
        )
        return {"tags": tags}

    def counts(self, batch: Batch) -> dict[str, float]:
        targets = batch.targets[batch.targets != UNKNOWN].cpu()
        weights = self._weights
        return {"tags": (len(targets) if weights is None else float(weights[targets].sum())) or 1}

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """The spans of the first text, or a tag for each of its words, up to the maximum length.

        A word has the tag of its first token; without one it is O. The probability of a span is
        the mean over its words.
        """
        words = word_spans(question.text)
        if self.task.reads_windows and not inputs.masked:
            cell = join_words([question.text[a:b] for a, b in words])
            rows = Rows([question.text], words=[cell])
            collected = collect_predictions(checkpoint, self, rows, max_tokens(checkpoint))
            assert isinstance(collected, TagCollector)
            tag_ids, probabilities = collected.word_predictions()
        else:
            tokens, first_tokens = encode_words(checkpoint, inputs, question.text)
            logits = checkpoint.network.logits(tokens, torch.zeros_like(tokens))  # [1, T, C]
            best = softmax(logits)[0].max(-1)  # [T]
            indices, values = best.indices.tolist(), best.values.tolist()
            tag_ids = [indices[token] if token else UNKNOWN for token in first_tokens]
            probabilities = [values[token] if token else 0.0 for token in first_tokens]
        tags = [OUTSIDE if number == UNKNOWN else self._labels[number] for number in tag_ids]
        if are_spans(self._labels):
            spans = spans_from_tags(tags)
        else:
            spans = [Span(tag, n, n + 1) for n, tag in enumerate(tags) if tag_ids[n] != UNKNOWN]
        return Predicted(
            task=self.task.kind,
            tokens=inputs.records,
            truncated=inputs.truncated and self.task.truncates,
            spans=tuple(
                SpanPrediction(
                    text=question.text[words[span.start][0] : words[span.end - 1][1]],
                    start=words[span.start][0],
                    end=words[span.end - 1][1],
                    probability=fmean(probabilities[span.start : span.end]),
                    label=span.type,
                )
                for span in spans
            ),
            certainty=min(probabilities, default=None),
        )

    def baselines(self) -> tuple[Baseline, ...]:
        return (Baseline("word-tags", "Most frequent tag of each word", _predict_frequent_tags),)

    def make_metrics(self, examples: Examples) -> TagCollector:
        assert isinstance(examples, Sentences)
        return TagCollector(examples, self._labels)


def encode_words(
    checkpoint: Checkpoint, inputs: Inputs, text: str
) -> tuple[torch.Tensor, list[int]]:
    """Tokens of a typed text, int64 [1, T], and the first token of each word; 0 without one.

    Words are tokenized one by one, as those of a file, unless a token is masked.
    """
    words, tokenizer = word_spans(text), checkpoint.tokenizer
    if inputs.masked:
        starts = {
            token.start: n
            for n, token in reversed([*enumerate(inputs.records)])
            if not token.special and token.segment == 0 and token.start < token.end
        }
        return inputs.tokens, [starts.get(start, 0) for start, _ in words]
    ids, owners = tokenizer.encode_words([[text[a:b] for a, b in words]])[0]
    room = max_tokens(checkpoint) - tokenizer.count_special(1)
    firsts = {word: n for n, word in reversed([*enumerate(owners[:room], start=1)])}
    ids = [tokenizer.cls, *ids[:room], tokenizer.sep]
    tokens = torch.tensor([ids], device=inputs.tokens.device)
    return tokens, [firsts.get(word, 0) for word in range(len(words))]


def lost_note(remark: tuple[str, int]) -> str:
    """A sentence on spans of characters that tags of words do not hold."""
    what, times = remark
    return phrase("{what}: {n:,} time(s).", what=what, n=times)


def tag_weights(tags: Sequence[str], given: dict[str, float]) -> torch.Tensor | None:
    """The weight of each tag, float32 [C]; a name that is not a tag is a span type.

    None if `given` is empty. Raises StudioError if a weight names neither.
    """
    if not given:
        return None
    types = {tag: tag_type(tag) for tag in tags} if are_spans(tags) else {}
    if unknown := sorted(set(given) - set(tags) - set(types.values())):
        raise StudioError(
            "There is a weight for “{unknown}”, but no tag or entity type has this name.",
            "Use one of the tags {tags}, or remove this weight.",
            unknown=unknown[0],
            tags=quote_labels(tags),
        )
    weights = [given.get(tag, given.get(types.get(tag, tag), 1.0)) for tag in tags]
    return torch.tensor(weights, dtype=torch.float32)


def read_tags(rows: Rows) -> TagIds:
    """The tags of the rows.

    Raises StudioError if tags and words of a row differ in number, or tags are missing.
    """
    if rows.tags is None:
        raise MissingRole("tags")
    names: dict[str, int] = {}
    ids = array("i")
    tagged = rows.tagged
    for row, (text, cell) in enumerate(zip(tagged.words, tagged.tags or (), strict=True)):
        tags, words = split_words(cell), len(split_words(text))
        if words != len(tags):
            line = rows.lines[row] if rows.lines else row + 1
            raise StudioError(
                "The row in line {line} has {words} words and {count} tags.",
                ADVICE,
                line=line,
                words=words,
                count=len(tags),
            )
        ids.extend([names.setdefault(tag, len(names)) for tag in tags])
    return TagIds(tuple(names), np.array(ids, dtype=np.int32))


def _predict_frequent_tags(learner: Learner, train: Rows, rows: Rows) -> TagCollector:
    """The most frequent tag of each word in the training rows; for unknown words, the most
    frequent tag of the word in lower case, or of all words."""
    assert isinstance(learner, TokenClassificationLearner)
    counters = _tag_counts(learner, train)
    words = [split_words(cell) for cell in rows.tagged.words]
    sentences = _sentences(learner, rows, words)
    keys = (
        next(key for key in (word, word.lower(), "") if key in counters)
        for sentence in words
        for word in sentence
    )
    counts = np.array([counters[key] for key in keys]).reshape(-1, len(learner.labels))  # [W, C]
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    predicted, indices = probabilities.argmax(axis=1), np.arange(len(probabilities))
    losses = np.zeros(len(probabilities))
    if sentences.targets is not None:
        gold = sentences.targets
        losses = np.where(gold == UNKNOWN, 0, -log_probabilities(probabilities[indices, gold]))
    collector = TagCollector(sentences, learner.labels)
    collector.set_predictions(indices, predicted, probabilities[indices, predicted], losses)
    return collector


def _tag_counts(learner: TokenClassificationLearner, train: Rows) -> dict[str, Floats]:
    """Counts of the tags of each word, float64 [C]; “” counts all words."""
    ids = {tag: index for index, tag in enumerate(learner.labels)}
    counts: dict[str, Floats] = defaultdict(lambda: np.zeros(len(ids)))
    words, tags = train.tagged.words, train.tagged.tags
    assert tags is not None
    for text, cell in zip(words, tags, strict=True):
        for word, tag in zip(split_words(text), split_words(cell), strict=True):
            if tag in ids:
                for key in {word, word.lower(), ""}:
                    counts[key][ids[tag]] += 1
    return dict(counts)


def _sentences(
    learner: TokenClassificationLearner, rows: Rows, words: Sequence[Sequence[str]]
) -> Sentences:
    starts = np.cumsum([0, *map(len, words)])
    tags = None if rows.tags is None else read_tags(rows)
    targets = None if tags is None else learner.targets(tags)
    return Sentences(
        tokenized=None,  # type: ignore[arg-type]  # no network reads it
        targets=targets,
        cells=rows.tagged.words,
        tags=tags,
        first_tokens=np.zeros(int(starts[-1]), dtype=np.int32),
        starts=starts,
        input_starts=starts,
    )
