"""Map of many texts in the plane, and separation of their labels in each layer.

Shapes: N texts, D hidden size, L layers; layer 0 is the embeddings.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.explore.over_texts import (
    Arrays,
    ArrayStore,
    batches,
    compute_texts,
    concatenate,
    group_size,
    write_array,
)
from engine.explore.text_scores import learner_for_rows, predict_by_task
from engine.messages.explore.text_set import PlaceTexts, Pooling, TextsPlaced
from engine.messages.question import Answer, Working
from engine.models.checkpoint import Checkpoint
from engine.serving.serving import Serving
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs, encode_text, stack_inputs

MAX_TSNE = 1_000  # texts placed by t-SNE itself
MAX_EXACT = 300  # texts up to which all pairs are computed; beyond, the Barnes-Hut approximation
MAX_MEASURED = 1_000  # texts used for silhouettes and neighbours
MAP_GROWTH = 1.25  # growth of the number of texts after which the map is recomputed
NEIGHBOURS = 10  # for the k-nearest-neighbour accuracy
PLACING_NEIGHBOURS = 5  # neighbours that place a text that t-SNE did not
SHUFFLES, SEED = 5, 7
MIN_PERPLEXITY, PERPLEXITY = 2.0, 30.0


def map_texts(
    serving: Serving, question: PlaceTexts, scratch: Path, emit: Callable[[Answer], object]
) -> TextsPlaced:
    """Place texts on a map; `emit` gets a PCA of the texts so far, and the progress in between.

    Raises StudioError if there are fewer than three texts, or no pooler.
    """
    checkpoint = serving.exact
    rows = load_rows(question.texts)
    if len(rows) < 3:
        raise StudioError("A map needs at least three texts.", "Choose more texts.")
    if question.pooling == "pooled" and checkpoint.network.encoder.pooler is None:
        raise StudioError("This model has no pooler.", "Choose the mean of the tokens, or [CLS].")
    labels = row_labels(rows)
    parts: list[Arrays] = []  # the requested vectors, and the predictions and labels of their texts
    mapped_count = 0  # number of texts of the last map

    def compute(start: int, stop: int) -> Arrays:
        return encode_texts(serving, rows.take(range(start, stop)))

    def answer(arrays: Arrays, done: int) -> TextsPlaced:
        is_whole = done == len(rows)
        pairs = zip(arrays["label"].tolist(), labels, strict=False)
        names = [gold or typed for gold, typed in pairs]
        vectors = arrays["vectors"]
        placed: np.ndarray | None = None
        if question.method == "tsne" and is_whole:
            points, placed = tsne(vectors)
            explained = None
        else:
            points, explained = pca(vectors)
        placement = TextsPlaced(
            to=question.number,
            done=done,
            total=len(rows),
            file=write_array(scratch, points.astype(np.float32)),
            explained=explained,
            placed=None if placed is None else tuple(placed.tolist()),
            labels=tuple(names),
            predictions=tuple(arrays["prediction"].tolist()),
            layers=checkpoint.spec.layers + 1,
        )
        return (
            placement
            if not is_whole
            else placement.model_copy(update=_separation(arrays, names, question))
        )

    def select(arrays: Arrays) -> Arrays:
        vectors = vectors_at_layer(arrays, question.pooling, question.layer)
        return {"vectors": vectors, "label": arrays["label"], "prediction": arrays["prediction"]}

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        nonlocal mapped_count
        if not first:
            parts.clear()
        parts.append(select(arrays))
        if done < 3 or done == len(rows):
            return
        if done < MAP_GROWTH * mapped_count:  # not worth it for a few more
            emit(Working(to=question.number, stage="", done=done, total=len(rows)))
            return
        mapped_count = done
        emit(answer(concatenate(parts), done))

    step = group_size(typed_pairs(rows))
    arrays = compute_texts(ArrayStore(question), len(rows), compute, on_part, step)
    return answer(arrays | select(arrays), len(rows))


def row_labels(rows: Rows) -> list[str]:
    """The label of each row; “” if unlabelled."""
    return [""] * len(rows) if rows.labels is None else [cell.strip() for cell in rows.labels]


@torch.inference_mode()
def encode_texts(serving: Serving, rows: Rows) -> Arrays:
    """Encode texts. cls, mean: float16 [N, layers, D], of [CLS] and of the ordinary tokens; pooled:
    float16 [N, D], zeros without a pooler; prediction, label: [N], in the model's names.

    Texts of similar length are batched, since reading the weights takes most of the time.
    """
    checkpoint, learner = serving.exact, learner_for_rows(serving.exact, rows)
    inputs = [encode_text(checkpoint, *pair) for pair in typed_pairs(rows)]
    results: list[Arrays] = [{} for _ in inputs]
    for indices in batches([len(text.records) for text in inputs]):
        batch = _encode_batch(checkpoint, [inputs[index] for index in indices])
        for index, arrays in zip(indices, batch, strict=True):
            results[index] = arrays
    vectors = {name: np.stack([arrays[name] for arrays in results]) for name in results[0]}
    if learner is None:
        return vectors | {"prediction": np.full(len(rows), ""), "label": np.full(len(rows), "")}
    try:
        predictions = predict_by_task(serving, learner, rows)
    except StudioError:  # the labels are not those of the model
        predictions = predict_by_task(serving, learner, rows.without_targets())
    return vectors | {"prediction": predictions["prediction"], "label": predictions["label"]}


def _encode_batch(checkpoint: Checkpoint, inputs: Sequence[Inputs]) -> list[Arrays]:
    encoded = checkpoint.network.encoder(*stack_inputs(checkpoint, inputs), keep_hidden=True)
    hidden = torch.stack(encoded.hidden, 1)  # [B, layers, T, D]
    results = []
    for row, text in enumerate(inputs):
        states = require_finite(hidden[row, :, : len(text.records)])
        ordinary = [n for n, token in enumerate(text.records) if not token.special]
        mean = states[:, ordinary or [0]].mean(1)
        pooled = encoded.pooled
        pooled = torch.zeros_like(mean[0]) if pooled is None else pooled[row].float()
        arrays = {"cls": states[:, 0], "mean": mean, "pooled": pooled}
        results.append(
            {name: values.cpu().numpy().astype(np.float16) for name, values in arrays.items()}
        )
    return results


def vectors_at_layer(arrays: Arrays, pooling: Pooling, layer: int) -> np.ndarray:
    """Vectors of a layer, float64 [N, D]; −1 is the last one. The pooler has only one."""
    vectors: np.ndarray
    if pooling == "pooled":
        vectors = arrays["pooled"]
    else:
        layers = arrays[pooling]
        vectors = layers[:, min(layer, layers.shape[1] - 1)]
    return vectors.astype(np.float64)


def pca(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """The first two principal components, float64 [N, 2], and their fractions of the variance.

    Signs are fixed: the loading with the largest absolute value of each axis is positive.
    """
    centred = vectors - vectors.mean(0)
    if centred.shape[0] < centred.shape[1]:  # the smaller of both products has the same axes
        squares, sides = np.linalg.eigh(centred @ centred.T)
        axes = sides[:, :-3:-1].T @ centred
        axes /= np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), np.finfo(float).tiny)
    else:
        squares, sides = np.linalg.eigh(centred.T @ centred)
        axes = sides[:, :-3:-1].T
    if len(axes) < 2:
        axes, squares = np.vstack([axes, np.zeros_like(axes)]), np.append(0.0, squares)
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])
    axes = axes * np.where(signs == 0, 1, signs)[:, None]
    squares = np.maximum(squares[::-1], 0)  # the largest first; rounding can make it negative
    fractions = squares[:2] / (float(squares.sum()) or 1.0)
    return centred @ axes.T, (float(fractions[0]), float(fractions[1]))


def tsne(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """t-SNE (van der Maaten and Hinton 2008) of up to 1,000 texts, float64 [N, 2], and their
    indices. The others are placed at the mean of their five nearest neighbours among these."""
    from sklearn.manifold import TSNE

    count = len(vectors)
    rng = np.random.default_rng(SEED)
    placed = np.sort(rng.permutation(count)[:MAX_TSNE])
    subset = vectors[placed]
    perplexity = min(PERPLEXITY, max(MIN_PERPLEXITY, (len(subset) - 1) / 3))
    perplexity = min(perplexity, len(subset) - 1.0)
    method = "exact" if len(subset) <= MAX_EXACT else "barnes_hut"
    model = TSNE(perplexity=perplexity, init="pca", random_state=SEED, method=method)
    embedded = model.fit_transform(subset)
    points = np.zeros((count, 2))
    points[placed] = embedded
    others = np.setdiff1d(np.arange(count), placed)
    if len(others):
        between = distances(vectors[others], subset)
        nearest = np.argsort(between, axis=1, kind="stable")[:, :PLACING_NEIGHBOURS]
        points[others] = embedded[nearest].mean(1)
    return points, placed


def distances(first: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Euclidean distances, float64 [N, M]."""
    squares = (first**2).sum(1)[:, None] + (other**2).sum(1) - 2 * first @ other.T
    result: np.ndarray = np.sqrt(np.maximum(squares, 0))
    return result


# ── separation of labels ─────────────────────────────────────────────────────────────────────


class LabelSeparation(NamedTuple):
    """Separation of the labels in one layer."""

    silhouette: float
    neighbours: float  # k-nearest-neighbour accuracy


def _separation(arrays: Arrays, labels: Sequence[str], question: PlaceTexts) -> dict[str, object]:
    """Separation in each layer; empty unless two labels occur at least twice."""
    counts = Counter(label for label in labels if label)
    ids_by_label = {label: n for n, label in enumerate(sorted(counts)) if counts[label] > 1}
    rows = np.array([n for n, label in enumerate(labels) if label in ids_by_label], int)
    if len(ids_by_label) < 2 or len(rows) <= len(ids_by_label):
        return {}
    rng = np.random.default_rng(SEED)
    rows = np.sort(rng.permutation(rows)[:MAX_MEASURED])
    ids = np.array([ids_by_label[labels[row]] for row in rows])
    if len(set(ids.tolist())) < 2:
        return {}
    measured, shuffled = list[LabelSeparation](), list[LabelSeparation]()
    orders = [rng.permutation(ids) for _ in range(SHUFFLES)]
    pooling = "mean" if question.pooling == "pooled" else question.pooling
    for layer in range(arrays["mean"].shape[1]):
        vectors = vectors_at_layer(arrays, pooling, layer)[rows]
        between = distances(vectors, vectors)
        np.fill_diagonal(between, 0)
        measured.append(label_separation(between, ids))
        others = np.mean([label_separation(between, order) for order in orders], axis=0)
        shuffled.append(LabelSeparation(float(others[0]), float(others[1])))
    return {
        "silhouettes": tuple(separation.silhouette for separation in measured),
        "neighbours": tuple(separation.neighbours for separation in measured),
        "silhouettes_shuffled": tuple(separation.silhouette for separation in shuffled),
        "neighbours_shuffled": tuple(separation.neighbours for separation in shuffled),
    }


def label_separation(between: np.ndarray, ids: np.ndarray) -> LabelSeparation:
    """Separation of labels.

    The silhouette is the mean of (b − a) / max(a, b), with the mean distance a to texts of the same
    label and b to those of the nearest other one (Rousseeuw 1987). The accuracy is that of
    predicting the most frequent label of the ten nearest other texts; the nearest breaks ties.

    Args:
        between: float64 [N, N], distances.
        ids: int [N], label indices from 0.
    """
    count, labels = len(ids), np.unique(ids)
    sums = np.stack([between[:, ids == label].sum(1) for label in labels], 1)  # [N, labels]
    sizes = np.array([(ids == label).sum() for label in labels])
    label_indices = np.searchsorted(labels, ids)
    rows = np.arange(count)
    is_single = sizes[label_indices] == 1
    own_mean = sums[rows, label_indices] / np.maximum(sizes[label_indices] - 1, 1)
    means = sums / sizes
    means[rows, label_indices] = np.inf
    other_mean = means.min(1)
    larger = np.maximum(own_mean, other_mean)
    silhouettes = np.where(
        is_single | (larger == 0), 0.0, (other_mean - own_mean) / np.where(larger, larger, 1)
    )
    others = between.copy()
    np.fill_diagonal(others, np.inf)
    nearest = np.argsort(others, axis=1, kind="stable")[:, : min(NEIGHBOURS, count - 1)]
    votes = label_indices[nearest]  # [N, K]
    counts = np.stack([(votes == label).sum(1) for label in range(len(labels))], 1)
    ties = counts == counts.max(1, keepdims=True)
    chosen = votes[rows, np.take_along_axis(ties, votes, 1).argmax(1)]
    return LabelSeparation(float(silhouettes.mean()), float((chosen == label_indices).mean()))
