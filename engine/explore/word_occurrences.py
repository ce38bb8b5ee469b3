"""Vectors of all occurrences of a word in many texts, written to a file with their texts.

Shapes: N occurrences, D hidden size.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.explore.word_vectors import find_occurrences, hidden_states, tokens_between
from engine.files.table_files import check_suffix, write_table
from engine.messages.explore.word_vectors import SUFFIXES, TEXTS, SaveWordVectors, WordVectorsSaved
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.progress import ProgressCallback
from engine.tasks.similarity import save_array, vector_table

VECTOR = "vector"
REPORTED = 50  # texts between reports


class Occurrences(NamedTuple):
    """The occurrences, and their vectors, the means of their tokens, float32 [N, D]."""

    vectors: NDArray[np.float32]
    rows: list[int]  # index of the text or pair
    texts: list[str]  # the one of a pair that has the word
    spans: list[tuple[int, int]]  # characters
    unread: int  # further occurrences, which the model does not read: their texts are truncated


@torch.inference_mode()
def find_vectors(
    checkpoint: Checkpoint,
    word: str,
    texts: Sequence[tuple[str, str | None]],
    layer: int | None,
    progress: ProgressCallback,
) -> Occurrences:
    """Find a whole word, ignoring case, and its vectors after a layer; None: the last.

    Raises StudioError if no text has the word, or the model has no such layer.
    """
    layers = checkpoint.spec.layers
    if layer is not None and not 0 <= layer <= layers:
        raise StudioError(
            "The model has no layer {layer}.",
            "Choose one from 0, the embeddings, to {layers}.",
            layer=layer,
            layers=layers,
        )
    layer = layers if layer is None else layer
    vectors, rows, unread = list[NDArray[np.float32]](), list[int](), 0
    found, spans = list[str](), list[tuple[int, int]]()
    for row, pair in enumerate(texts):
        progress(row, len(texts))
        places = [find_occurrences(word, text or "") for text in pair]
        if not any(places):
            continue
        tokens, hidden = hidden_states(checkpoint, *pair, layer)
        for segment, (text, own) in enumerate(zip(pair, places, strict=True)):
            for span in own:
                if indices := tokens_between(tokens, *span, segment):
                    vectors.append(hidden[0, indices].mean(0).float().numpy())
                    rows.append(row)
                    found.append(text or "")
                    spans.append(span)
                else:
                    unread += 1
    if not vectors:
        raise StudioError(
            "The model reads the word “{word}” in none of the {n:,} texts.",
            "Choose another word or other texts.",
            word=word,
            n=len(texts),
        )
    return Occurrences(np.stack(vectors), rows, found, spans, unread)


def save(path: Path, found: Occurrences, cells: Mapping[str, Sequence[str]]) -> None:
    """Write the vectors with their texts, atomically: a table, or a .npy and a table next to it.

    Args:
        cells: further columns of all rows, by name; ours have precedence.
    """
    suffix = check_suffix(path, SUFFIXES)
    starts, ends = zip(*found.spans, strict=True)
    table: dict[str, Sequence[object]] = {
        "row": [row + 1 for row in found.rows],
        "word": [text[slice(*span)] for text, span in zip(found.texts, found.spans, strict=True)],
        "start": starts,
        "end": ends,
        "text": found.texts,
    }
    others = {
        name: [column[row] for row in found.rows]
        for name, column in cells.items()
        if name not in (*table, VECTOR)
    }
    sentences = pa.table({**table, **others})
    if suffix == ".npy":
        write_table(path.with_suffix(TEXTS), sentences.schema, [sentences])
        save_array(path, found.vectors)
        return
    vectors = vector_table({}, found.vectors, VECTOR)
    rows = sentences.append_column(vectors.schema.field(0), vectors.column(0))
    write_table(path, rows.schema, [rows])


def save_occurrences(
    checkpoint: Checkpoint, question: SaveWordVectors, emit: Callable[[Answer], object]
) -> WordVectorsSaved:
    """Write the vectors of a word in many texts. Raises StudioError as `find_vectors`."""
    texts = typed_pairs(load_rows(question.texts))
    check_suffix(question.file, SUFFIXES)

    def answer(done: int) -> WordVectorsSaved:
        return WordVectorsSaved(to=question.number, done=done, total=len(texts), file=question.file)

    def progress(done: int, _: int) -> None:
        if done % REPORTED == 0:
            emit(answer(done))

    found = find_vectors(checkpoint, question.word, texts, question.layer, progress)
    save(question.file, found, {})
    update = {"vectors": len(found.rows), "unread": found.unread}
    return answer(len(texts)).model_copy(update=update)
