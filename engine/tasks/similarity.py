"""Vectors of many texts, their similarities, and nearest neighbours.

Sentence encoders compute them; for other encoders they are means of the last hidden states, as in
sentence-transformers. Shapes: N texts, M others, D size of a vector.
"""

import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.sentence import SentenceSpec
from engine.config.task import AggregatingTask
from engine.data.tokenized.dataset import tokenize_examples
from engine.data.tokenized.windows import tokenize_windows
from engine.errors import StudioError
from engine.evaluation.sentence_similarity import normalise
from engine.files.atomic_write import write_file
from engine.models.checkpoint import Checkpoint
from engine.models.heads import pool
from engine.progress import ProgressCallback, no_progress
from engine.tasks import task_in
from engine.tasks.evaluating import batches_by_length, for_each, uses_two_threads
from engine.tasks.inputs import max_tokens
from engine.tasks.learner import pad
from engine.tasks.sentence_similarity import pool_vectors

BATCH = 32  # texts per batch
CHUNK = 4_096  # vectors that are compared at a time


class Nearest(NamedTuple):
    """Texts by their cosine with a query, the highest first."""

    indices: NDArray[np.int64]  # [K]
    cosines: NDArray[np.float32]  # [K]


def sentence_vectors(
    loaded: Checkpoint,
    texts: Sequence[str],
    max_length: int | None = None,
    batch: int = BATCH,
    progress: ProgressCallback = no_progress,
    on_truncated: Callable[[int, int], object] | None = None,
) -> NDArray[np.float32]:
    """The vector of each text, float32 [N, D]; equal texts are computed once.

    Long texts are read in windows if the model was trained so.

    Args:
        max_length: maximum tokens of a text; None: the model's.
        on_truncated: receives the number of texts with at least the maximum tokens, and that
            maximum.

    Raises StudioError if a vector is not finite.
    """
    network, tokenizer = loaded.network, loaded.tokenizer
    sentence = network.heads.sentence or SentenceSpec()
    device = next(network.parameters()).device
    usual = loaded.max_length if network.heads.pools else max_tokens(loaded)
    limit = min(max_length or usual, loaded.spec.max_positions)
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    width = sentence.size(loaded.spec.hidden_size)
    if not places:
        return np.zeros((0, width), dtype=np.float32)
    task = task_in(loaded) if network.heads.pools else None
    rows = np.array([places[text] for text in texts])
    network.eval()
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        prompted = [sentence.prompt + text for text in places]
        folder = Path(scratch) / "tokenized"
        owners = None
        if isinstance(task, AggregatingTask) and task.reads_windows:
            length, stride = task.with_window(limit).window_length, task.doc_stride
            tokenized, owners = tokenize_windows(prompted, None, tokenizer, length, stride, folder)
        else:
            tokenized = tokenize_examples(prompted, None, tokenizer, limit, folder, no_progress)
            truncated = int((tokenized.lengths[rows] == limit).sum())
            if on_truncated is not None and truncated:
                on_truncated(truncated, limit)
        vectors = np.zeros((len(tokenized), width), dtype=np.float32)

        def add(indices: NDArray[np.int64]) -> None:
            tokens, segments, mask = pad(tokenized, indices, tokenizer.pad)
            mask = None if mask is None else mask.to(device)
            tokens, segments = tokens.to(device), segments.to(device)
            if network.heads.pools:
                pooled = network.logits(tokens, segments, mask)
            else:
                pooled = pool(network.encode(tokens, segments, mask).last, mask, "mean")
            vectors[indices] = pooled.cpu().numpy()

        batches = batches_by_length(tokenized.lengths, batch)[::-1]
        for_each(batches, add, nullcontext, progress, uses_two_threads(device))
    if not np.isfinite(vectors).all():
        raise StudioError(
            "The model outputs vectors with NaN or infinite values.", "Choose another checkpoint."
        )
    if owners is not None and isinstance(task, AggregatingTask):
        vectors = pool_vectors(vectors, owners, task.aggregate)
    all_vectors: NDArray[np.float32] = vectors[rows]
    return all_vectors


def pairwise_cosines(
    first: NDArray[np.float32], second: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Cosines of vectors [N, D] and [M, D], float32 [N, M]."""
    return normalise(first) @ normalise(second).T


def nearest(query: NDArray[np.float32], vectors: NDArray[np.float32], count: int) -> Nearest:
    """The `count` vectors [N, D] nearest to the query [D] by cosine; ties in order."""
    cosines = np.zeros(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), CHUNK):
        chunk = slice(start, start + CHUNK)
        cosines[chunk] = pairwise_cosines(vectors[chunk], query[None])[:, 0]
    order = np.argsort(-cosines, kind="stable")[:count]
    return Nearest(order, cosines[order])


def save_array(path: Path, array: NDArray[np.float32]) -> None:
    """Write an array as .npy, atomically."""
    content = io.BytesIO()
    np.save(content, array)
    write_file(path, content.getvalue(), shared=True)


def vector_table(
    cells: Mapping[str, Sequence[str]], vectors: NDArray[np.float32], name: str
) -> pa.Table:
    """All cells by column, and the vectors as a list of float32 in the column `name`.

    Raises StudioError if that column exists already.
    """
    if name in cells:
        raise StudioError(
            "The rows already have a column “{name}”.",
            "Rename it, or write the vectors as .npy.",
            name=name,
        )
    count, size = vectors.shape
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel(), pa.float32())
    lists = pa.FixedSizeListArray.from_arrays(flat, size)
    columns = {column: pa.array(list(texts), pa.string()) for column, texts in cells.items()}
    assert len(lists) == count
    return pa.table({**columns, name: lists})
