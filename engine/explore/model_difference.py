"""Differences between two models on the same texts.

Shapes: N texts, L layers, H heads, T tokens, Q of them that are not special, D hidden size.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from engine.config.tasks import get_head
from engine.data.columns.words import word_spans
from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.explore.head_statistics import histograms
from engine.explore.layers import iter_layers
from engine.explore.over_texts import Arrays, ArrayStore, compute_texts, group_size
from engine.explore.text_scores import learner_for_rows, predict_rows
from engine.explore.word_vectors import tokens_between
from engine.messages.explore.head_measures import TokenKinds, head_sums
from engine.messages.explore.text_set import CompareModels, ModelsDiffered
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.models.encoder import Encoded
from engine.serving.serving import Serving
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs, encode_text, max_tokens

MAX_VECTORS = 4_000  # over all texts, for the CKA
MIN_COSINE = 0.5  # minimum mean cosine of the token embeddings of related models
SEED = 7
MIN_VECTORS = 4  # vectors needed by the HSIC estimator


def compare(
    a: Serving, b: Serving, question: CompareModels, scratch: Path, emit: Callable[[Answer], object]
) -> ModelsDiffered:
    """Compare two models on texts; `emit` gets the means of the texts so far."""
    rows = load_rows(question.texts)
    pairs = typed_pairs(rows)
    is_comparable = are_comparable(a.exact, b.exact, question) and all(
        same_tokens(a.exact, b.exact, *pair) for pair in pairs
    )
    spec = a.exact.network.spec, b.exact.network.spec
    layers = _layer_pairs(spec[0].layers + 1, spec[1].layers + 1)
    max_vectors = max(2, -(-MAX_VECTORS // len(pairs)))
    sums: Arrays = {}

    def compute(start: int, stop: int) -> Arrays:
        parts = [
            measure_text(a.exact, b.exact, *pairs[n], max_vectors, is_comparable)
            for n in range(start, stop)
        ]
        arrays = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        return arrays | _predict(a, b, rows.take(range(start, stop)), arrays["kl"])

    def answer(arrays: Arrays, done: int, is_whole: bool) -> ModelsDiffered:
        difference = summary(arrays, is_whole)
        with tempfile.NamedTemporaryFile(
            dir=scratch, prefix="difference-", suffix=".npz", delete=False
        ) as file:
            np.savez(file, layers=layers, **difference.arrays)  # type: ignore[arg-type]
        predictions = zip(arrays["said_a"].tolist(), arrays["said_b"].tolist(), strict=True)
        return ModelsDiffered(
            to=question.number,
            done=done,
            total=len(pairs),
            file=Path(file.name),
            comparable=is_comparable,
            vectors=difference.vectors,
            of_words=difference.of_words,
            predictions=tuple(predictions) if is_whole else (),
        )

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        for name in ("js", "sums_a", "sums_b", "offsets_a", "offsets_b", "queries"):
            if name in arrays:
                added = arrays[name].sum(0, dtype=np.float64)[None]
                sums[name] = added if not first or name not in sums else sums[name] + added
        for name in ("kl", "said_a", "said_b"):
            before = [sums[name]] if first and name in sums else []
            sums[name] = np.concatenate([*before, arrays[name]])
        if done < len(pairs):
            emit(answer(sums, done, False))

    arrays = compute_texts(ArrayStore(question), len(pairs), compute, on_part, group_size(pairs))
    return answer(arrays, len(pairs), True)


def are_comparable(a: Checkpoint, b: Checkpoint, question: CompareModels) -> bool:
    """True if the heads correspond: both models are of one run, or most token embeddings agree.
    Embeddings of models that were trained independently are almost orthogonal."""
    spec, other = a.network.spec, b.network.spec
    if (spec.layers, spec.heads, spec.family) != (other.layers, other.heads, other.family):
        return False
    folders = question.checkpoint, question.other
    are_of_runs = all(folder.parent.name == "checkpoints" for folder in folders)
    if are_of_runs and folders[0].parent == folders[1].parent:
        return True
    first, second = (c.network.encoder.embeddings.token.weight.detach() for c in (a, b))
    if first.shape != second.shape:
        return False
    return float(F.cosine_similarity(first, second, dim=-1).mean()) >= MIN_COSINE


def same_tokens(a: Checkpoint, b: Checkpoint, text: str, pair: str | None) -> bool:
    """True if both models tokenise a text identically."""
    first, second = (c.tokenizer.encode(text, pair, max_tokens(c)).ids for c in (a, b))
    return first == second


# ── one text ─────────────────────────────────────────────────────────────────────────────────


@torch.inference_mode()
def measure_text(
    a: Checkpoint, b: Checkpoint, text: str, pair: str | None, max_vectors: int, heads: bool
) -> Arrays:
    """Measurements of one text, by name.

    js: float64 [L, H], summed over the query tokens. sums_a, sums_b: float64 [L, H, 11].
    offsets_a, offsets_b: int32 [L, H, offsets]. queries: int. kl: float64, of the predictions of
    MLM heads. vectors_a, vectors_b: float16 [layers, max_vectors, D], of which `vectors` are used;
    by_word: bool.
    """
    first, second = encode_text(a, text, pair), encode_text(b, text, pair)
    same = [t.id for t in first.records] == [t.id for t in second.records]
    arrays: dict[str, np.ndarray] = {"by_word": np.array(not same)}
    hidden = [
        a.network.encoder(first.tokens, first.segments, keep_hidden=True),
        b.network.encoder(second.tokens, second.segments, keep_hidden=True),
    ]
    groups = _groups(first, second, text, same)
    rng = np.random.default_rng(SEED + len(text))
    chosen = np.sort(rng.permutation(len(groups))[:max_vectors])
    pairs = _layer_pairs(len(hidden[0].hidden), len(hidden[1].hidden))
    for name, encoded, side, indices in zip("ab", hidden, (0, 1), pairs.tolist(), strict=True):
        layers = [require_finite(encoded.hidden[index][0]) for index in indices]
        vectors = np.zeros((len(layers), max_vectors, layers[0].size(-1)), np.float16)
        for row, group in enumerate(chosen):
            tokens = groups[group][side]
            vectors[:, row] = torch.stack([layer[tokens].mean(0) for layer in layers]).cpu().numpy()
        arrays[f"vectors_{name}"] = vectors
    arrays["vectors"] = np.array(len(chosen))
    arrays["kl"] = np.array(_token_kl(a, b, first, same, hidden))
    if heads and same:
        arrays |= _compare_heads(a, b, first, second)
    return arrays


def _compare_heads(a: Checkpoint, b: Checkpoint, first: Inputs, second: Inputs) -> Arrays:
    kinds = TokenKinds.from_tokens(first.records, a.network.spec.is_causal)
    by_layer: dict[str, list[np.ndarray]] = {}
    passes = [
        iter_layers(checkpoint.network, inputs.tokens, inputs.segments)
        for checkpoint, inputs in ((a, first), (b, second))
    ]
    for layers in zip(*passes, strict=True):
        weights = [layer.weights[0].float().cpu().numpy() for layer in layers]
        rows = [layer[:, kinds.queries].astype(np.float64) for layer in weights]
        by_layer.setdefault("js", []).append(jensen_shannon(*rows).sum(-1))
        for name, layer in zip("ab", weights, strict=True):
            sums, offsets = head_sums(layer, kinds)
            by_layer.setdefault(f"sums_{name}", []).append(sums)
            by_layer.setdefault(f"offsets_{name}", []).append(histograms(offsets))
    arrays = {name: np.stack(layers) for name, layers in by_layer.items()}
    return arrays | {"queries": np.array(len(kinds.queries))}


def jensen_shannon(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """½ KL(p ‖ m) + ½ KL(q ‖ m), m = (p + q) / 2, in nats, from 0 to ln 2; float64 [..., T] to
    [...] (Lin 1991)."""
    middle = (p + q) / 2  # exact for equal ones

    def part(side: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(side > 0, side * np.log(side / middle), 0.0)
        total: np.ndarray = terms.sum(-1)
        return total

    divergence: np.ndarray = (part(p) + part(q)) / 2
    return divergence


def _groups(a: Inputs, b: Inputs, text: str, same: bool) -> list[tuple[list[int], list[int]]]:
    """Corresponding token indices of A and B; by word if the tokens differ."""
    if same:
        return [([n], [n]) for n, token in enumerate(a.records) if not token.special]
    groups = []
    for start, end in word_spans(text):
        first, second = (tokens_between(inputs.records, start, end) for inputs in (a, b))
        if first and second:
            groups.append((first, second))
    return groups


def _layer_pairs(first: int, second: int) -> np.ndarray:
    """Layers that are compared, int [2, layers]: all of the shallower model, and those at the same
    relative depth of the other."""
    depth = min(first, second)
    return np.stack(
        [np.round(np.linspace(0, count - 1, depth)).astype(int) for count in (first, second)]
    )


def _token_kl(
    a: Checkpoint, b: Checkpoint, inputs: Inputs, same: bool, hidden: list[Encoded]
) -> float:
    """Mean KL(A ‖ B) of the MLM predictions at each unmasked token; NaN if a model has no MLM head,
    or the vocabularies differ."""
    first, second = a.network.mlm, b.network.mlm
    if not same or first is None or second is None or a.spec.vocab_size != b.spec.vocab_size:
        return float("nan")
    ordinary = [n for n, token in enumerate(inputs.records) if not token.special]
    if not ordinary:
        return float("nan")
    logs = [
        head(encoded.last[0, ordinary]).float().log_softmax(-1)
        for head, encoded in zip((first, second), hidden, strict=True)
    ]
    return float((logs[0].exp() * (logs[0] - logs[1])).sum(-1).mean())


def _predict(a: Serving, b: Serving, rows: Rows, kl: np.ndarray) -> Arrays:
    """The predictions of fine-tuned models, and KL(A ‖ B) of their classes, float64 [N]."""
    first, second = (learner_for_rows(serving.exact, rows) for serving in (a, b))
    empty = np.full(len(rows), "")
    if first is None or second is None:
        return {"kl": kl, "said_a": empty, "said_b": empty}
    predicted = [predict_rows(serving, rows.without_targets()) for serving in (a, b)]
    texts = [np.array([text[:200] for text in result.predicted]) for result in predicted]
    p, q = (result.scores for result in predicted)
    if first.labels == second.labels and p is not None and q is not None and p.shape == q.shape:
        independent = get_head(first.task.kind).is_multi_label
        kl = class_kl(p.astype(np.float64), q.astype(np.float64), independent)
    return {"kl": kl, "said_a": texts[0], "said_b": texts[1]}


def class_kl(p: np.ndarray, q: np.ndarray, independent: bool) -> np.ndarray:
    """KL(p ‖ q) of each row, float64 [N]; for `independent` labels the sum over the labels."""
    tiny = np.finfo(np.float32).tiny
    p, q = np.maximum(p, tiny), np.maximum(q, tiny)
    terms = p * np.log(p / q)
    if independent:
        r, s = np.maximum(1 - p, tiny), np.maximum(1 - q, tiny)
        terms = terms + r * np.log(r / s)
    total: np.ndarray = terms.sum(-1)
    return total


# ── all texts ────────────────────────────────────────────────────────────────────────────────


class Difference(NamedTuple):
    arrays: Arrays  # see `ModelsDiffered`
    vectors: int
    of_words: bool


def summary(arrays: Arrays, is_whole: bool = True) -> Difference:
    """Means over all query tokens; the CKA only after all texts."""
    result: Arrays = {"kl": arrays["kl"]}
    if "js" in arrays:
        queries = arrays["queries"].sum()
        result["divergence"] = arrays["js"].sum(0) / queries
        means = [
            np.concatenate([sums.sum(0), offsets.sum(0).max(-1)[..., None]], -1) / queries
            for sums, offsets in (
                (arrays["sums_a"], arrays["offsets_a"]),
                (arrays["sums_b"], arrays["offsets_b"]),
            )
        ]
        result["columns"] = means[1] - means[0]
    if not is_whole:
        return Difference(result | {"cka": np.zeros(0)}, 0, False)
    used = [(n, row) for n, count in enumerate(arrays["vectors"].tolist()) for row in range(count)]
    texts, rows = (np.array([pair[i] for pair in used], int) for i in (0, 1))
    first, second = (arrays[f"vectors_{name}"][texts, :, rows] for name in "ab")  # [N, layers, D]
    result["cka"] = np.array([linear_cka(first[:, n], second[:, n]) for n in range(first.shape[1])])
    return Difference(result, len(used), bool(arrays["by_word"].any()))


def hsic(x: np.ndarray, y: np.ndarray) -> float:
    """Unbiased HSIC of linear kernels (Song et al. 2012, §2.3); float64 [N, D] and [N, E].

    HSIC₁ = (tr(K̃L̃) + 1ᵀK̃1 · 1ᵀL̃1 / ((N−1)(N−2)) − 2 · 1ᵀK̃L̃1 / (N−2)) / (N(N−3)), with K̃ =
    XXᵀ and L̃ = YYᵀ without their diagonals; computed from the vectors, without any [N, N] matrix.
    """
    count = len(x)
    diagonal_x, diagonal_y = (x * x).sum(1), (y * y).sum(1)  # the diagonals
    rows_x = x @ x.sum(0) - diagonal_x  # K̃1
    rows_y = y @ y.sum(0) - diagonal_y
    trace = float(((x.T @ y) ** 2).sum() - diagonal_x @ diagonal_y)
    product = float(rows_x.sum() * rows_y.sum()) / ((count - 1) * (count - 2))
    cross_term = 2 * float(rows_x @ rows_y) / (count - 2)
    return (trace + product - cross_term) / (count * (count - 3))


def linear_cka(x: np.ndarray, y: np.ndarray) -> float:
    """Linear centred kernel alignment of two views of the same N items, float [N, D] and [N, E].

    With the unbiased estimator of HSIC (Kornblith et al. 2019, §3; Nguyen et al. 2021, §3.2).
    NaN for fewer than four items, or if all vectors of one side are the same.
    """
    if len(x) < MIN_VECTORS:
        return float("nan")
    x, y = (values.astype(np.float64) - values.mean(0, dtype=np.float64) for values in (x, y))
    # centred first, so that the sums have small terms
    norm = hsic(x, x) * hsic(y, y)
    return hsic(x, y) / norm**0.5 if norm > 0 else float("nan")
