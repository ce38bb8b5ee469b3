"""Suggestions for the labels of a stored data set: likely errors, and the rows to label next.

Errors are found by confident learning (Northcutt, Jiang, Chuang 2021): a row is suspicious if a
model that never saw it is confident of another label. The threshold of confidence of each label is
the mean probability that its own rows give it (equation 2 of the paper), so that errors in hard
labels are found too.

Shapes: N rows, C classes, D size of a vector.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS
from engine.config.tasks.text_classification import TextClassification
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.data.tokenized.dataset import tokenize_examples
from engine.errors import StudioError
from engine.messages.labelling import (
    LabelErrorsFound,
    Suggestion,
)
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress
from engine.results.out_of_sample import EXACT_ROWS, out_of_sample
from engine.tasks.evaluating import (
    batches_by_length,
    for_each,
    uses_two_threads,
)
from engine.tasks.learner import pad

MAX_SUGGESTIONS = 1_000
LISTED_FRACTION = 0.1  # fraction of rows to list, unless more are likely errors
MAX_LAYERS = 6  # for leave-one-out models
LAYER_ROWS = 100_000  # above this, vectors of several layers may not fit into memory
MAX_LENGTH = 128  # tokens of a row
BATCH = 32  # rows
TOLERANCE = 1e-6  # of a threshold of confidence, as in cleanlab

Report = Callable[[str, int, int], None]


Scorer = Callable[[NDArray[np.int64], NDArray[np.int64], list[str]], NDArray[np.float64]]
"""From rows, their labels and the label names to out-of-sample probabilities, float64 [N, C]."""


def find_label_errors(
    dataset: Dataset, loaded: Checkpoint | None, report: Report, scorer: Scorer | None = None
) -> LabelErrorsFound:
    """Find the training and validation rows with the least credible labels.

    Probabilities come from `scorer`, or from quick models, which also read the vectors of a
    `loaded` encoder.

    Raises StudioError if rows do not have one label each.
    """
    indices = _select_rows(dataset, labelled=True)
    labels = _labels(dataset, indices)
    names = sorted(set(labels))
    if len(names) < 2:
        raise StudioError(
            "The rows have fewer than two different labels.", "Label some rows of each kind first."
        )
    ids = {name: index for index, name in enumerate(names)}
    classes = np.array([ids[label] for label in labels], dtype=np.int64)
    if scorer is None:
        rows, fitting = _rows(dataset, indices), phrase("Fitting models to all other rows")
        vectors = None if loaded is None else vectors_for_errors(loaded, rows, report)
        p = out_of_sample(
            _texts(rows), classes, len(names), vectors, lambda d, t: report(fitting, d, t)
        )
    else:
        p = scorer(indices, classes, names)
    errors = label_errors(p, classes)
    likely_count = int(errors.is_likely.sum())
    listed = errors.order[
        : min(MAX_SUGGESTIONS, max(likely_count, round(LISTED_FRACTION * len(classes))))
    ]
    return LabelErrorsFound(
        suggestions=_suggestions(listed, indices, errors.suggested, names, p),
        likely=likely_count,
        rows=len(classes),
    )


def vectors_for_errors(loaded: Checkpoint, rows: Rows, report: Report) -> NDArray[np.float32]:
    """Vectors of a frozen encoder for finding label errors, float32 [N, layers, D]."""
    stage, is_small = phrase("Reading the rows with the model"), len(rows) <= EXACT_ROWS
    layers = spread_layers(loaded, MAX_LAYERS) if is_small else _layers(loaded, rows)
    return layer_vectors(loaded, rows, layers, lambda d, t: report(stage, d, t))


def _suggestions(
    listed: NDArray[np.int64],
    indices: NDArray[np.int64],
    labels: NDArray[np.int64],
    names: Sequence[str],
    p: NDArray[np.float64],
) -> tuple[Suggestion, ...]:
    """A suggestion for each of the `listed` rows. Shapes: indices and labels [N], p [N, C]."""
    return tuple(
        Suggestion(
            row=int(indices[n]),
            label=names[labels[n]],
            probability=float(np.clip(p[n, labels[n]], 0, 1)),
        )
        for n in listed
    )


def _max_length(loaded: Checkpoint) -> int:
    return min(MAX_LENGTH, loaded.max_length)


def _layers(loaded: Checkpoint, rows: Rows) -> tuple[int, ...]:
    return spread_layers(loaded) if len(rows) <= LAYER_ROWS else (-1,)


def _texts(rows: Rows) -> list[str]:
    pairs = rows.pairs or [""] * len(rows)
    return [" ".join(parts) for parts in zip(rows.texts, pairs, strict=True)]


def _labels(dataset: Dataset, indices: NDArray[np.int64]) -> list[str]:
    return _cells(dataset, _require_label_column(dataset), indices)


def _require_label_column(dataset: Dataset) -> str:
    column = dataset.spec.mapping.label
    if column is None:
        raise StudioError(
            "The rows have no column of labels.",
            "Choose a data set in which each row has one label.",
        )
    return column


def _select_rows(dataset: Dataset, labelled: bool) -> NDArray[np.int64]:
    """The labelled rows outside the test part, or all unlabelled rows; int64 [N]."""
    _require_label_column(dataset)
    unlabelled = dataset.unlabelled(TextClassification())
    if not labelled:
        return unlabelled
    return np.setdiff1d(np.flatnonzero(dataset.splits != SPLITS.index("test")), unlabelled)


def _rows(dataset: Dataset, indices: NDArray[np.int64]) -> Rows:
    mapping = dataset.spec.mapping
    columns = [_cells(dataset, name, indices) for name in mapping.texts]
    return Rows(columns[0], columns[1] if len(columns) > 1 else None)


def _cells(dataset: Dataset, column: str, indices: NDArray[np.int64]) -> list[str]:
    return [cell or "" for cell in dataset.column(column).take(indices).to_pylist()]


def spread_layers(loaded: Checkpoint, count: int = 3) -> tuple[int, ...]:
    """At most `count` layers at even distances; the last is always -1."""
    last = loaded.spec.layers
    layers = {round(last * (index + 1) / count) for index in range(count)} - {0, last}
    return (*sorted(layers), -1)


def layer_vectors(
    loaded: Checkpoint, rows: Rows, layers: Sequence[int], progress: ProgressCallback = no_progress
) -> NDArray[np.float32]:
    """The mean hidden states of these layers, float32 [N, len(layers), D].

    Args:
        layers: 0 is the output of the embeddings, 1 the first layer, -1 the last one.
    """
    network, tokenizer = loaded.network, loaded.tokenizer
    device = next(network.parameters()).device
    vectors = np.zeros((len(rows), len(layers), loaded.spec.hidden_size), dtype=np.float32)
    keep_hidden = tuple(layers) != (-1,)
    network.eval()
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        folder = Path(scratch) / "tokenized"
        tokenized = tokenize_examples(
            rows.texts, rows.pairs, tokenizer, _max_length(loaded), folder, no_progress
        )

        def add(positions: NDArray[np.int64]) -> None:
            tokens, segments, mask = pad(tokenized, positions, tokenizer.pad)
            mask = None if mask is None else mask.to(device)
            encoded = network.encoder(
                tokens.to(device), segments.to(device), mask, keep_hidden=keep_hidden
            )
            hidden = encoded.hidden if keep_hidden else (encoded.last,)
            for index, layer in enumerate(layers):
                states = hidden[layer].float()  # [B, T, D]
                if mask is None:
                    mean = states.mean(dim=1)
                else:
                    weights = mask.unsqueeze(-1)  # [B, T, 1]
                    mean = (states * weights).sum(dim=1) / weights.sum(dim=1)  # [B, D]
                vectors[positions, index] = mean.cpu().numpy()

        batches = batches_by_length(tokenized.lengths, BATCH)[::-1]
        for_each(batches, add, nullcontext, progress, uses_two_threads(device))
    return vectors


@dataclass(frozen=True)
class LabelErrors:
    """Likely label errors.

    Args:
        joint: int64 [C, C], the confident joint: rows by given label and confidently predicted
            label. Likely errors are off the diagonal.
        suggested: int64 [N], the most probable label other than the given one; among the
            confident ones if there are any.
        confidence: float64 [N], probability of the given label (the self-confidence).
        is_likely: bool [N], the rows off the diagonal whose other label is also more probable than
            the given one. Without this, a label with a row or two has a threshold near 0 and claims
            all rows of which the model is a little unsure.
        order: int64 [N], all rows, the least self-confidence first.
    """

    joint: NDArray[np.int64]
    suggested: NDArray[np.int64]
    confidence: NDArray[np.float64]
    is_likely: NDArray[np.bool_]
    order: NDArray[np.int64]


def label_errors(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> LabelErrors:
    """Find rows whose label is probably wrong, most suspicious first.

    Args:
        probabilities: float64 [N, C], of a model that was not fitted on the row; rows sum to 1.
        labels: int64 [N], index of each row's current label.

    Raises ValueError if the shapes do not fit, or there are fewer than two classes.
    """
    p = np.asarray(probabilities, dtype=np.float64)  # [N, C]
    if p.ndim != 2 or p.shape[1] < 2 or labels.shape != p.shape[:1]:
        raise ValueError("probabilities must be [rows, classes], with at least two classes")
    rows = np.arange(len(p))
    confidence = p[rows, labels]
    # of equal probabilities, the mean may be rounded up
    confident = np.where(p >= thresholds(p, labels) - TOLERANCE, p, -1.0)  # [N, C]
    best = confident.argmax(axis=1)
    is_confident = confident[rows, best] >= 0
    joint = np.zeros((p.shape[1], p.shape[1]), dtype=np.int64)
    np.add.at(joint, (labels[is_confident], best[is_confident]), 1)
    is_likely = is_confident & (p[rows, best] > confidence)
    others = p.copy()
    others[rows, labels] = -1.0
    suggested = np.where(is_likely, best, others.argmax(axis=1))
    return LabelErrors(
        joint, suggested, confidence, is_likely, np.argsort(confidence, kind="stable")
    )


def thresholds(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean self-confidence of each class, float64 [C]; above 1 if no row has its label."""
    classes = p.shape[1]
    self_confidence = p[np.arange(len(p)), labels]
    counts = np.bincount(labels, minlength=classes)
    sums = np.bincount(labels, weights=self_confidence, minlength=classes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), 2.0)
