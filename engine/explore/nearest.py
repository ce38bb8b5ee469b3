"""Nearest rows of a data set to a text; the vectors of the rows are computed once and cached."""

from collections.abc import Callable

import numpy as np

from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.files.regular_file import check_regular
from engine.messages.explore.nearest import (
    EncodeRows,
    FindNearest,
    NearestRows,
    NearRow,
    RowsEncoded,
)
from engine.messages.question import Working
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.similarity import nearest, save_array, sentence_vectors
from engine.tasks.vector_cache import text_vectors

MAX_TEXT_CHARACTERS = 500  # per row


def encode_rows(
    model: Checkpoint, question: EncodeRows, emit: Callable[[Working], object]
) -> RowsEncoded:
    """Write the vectors of the rows, atomically. Raises StudioError if there are no rows."""
    rows = _rows(question)
    stage = phrase("Computing vectors")

    def progress(done: int, total: int) -> None:
        emit(Working(to=question.number, stage=stage, done=done, total=total))

    vectors = text_vectors(model, question.checkpoint, rows.plain_texts, progress)
    question.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    save_array(question.file, vectors)
    return RowsEncoded(to=question.number, rows=len(rows))


def find_nearest(model: Checkpoint, question: FindNearest) -> NearestRows:
    """Find the nearest rows. Raises StudioError if vectors are missing or do not match the rows."""
    rows = _rows(question)
    try:
        vectors = np.load(check_regular(question.file), mmap_mode="r")
    except (OSError, ValueError) as error:
        raise _no_vectors_error() from error
    query = sentence_vectors(model, [question.text])[0]  # [D]
    if vectors.shape != (len(rows), len(query)) or vectors.dtype != np.float32:
        raise _no_vectors_error()
    neighbours, texts = nearest(query, vectors, question.top), rows.plain_texts
    return NearestRows(
        to=question.number,
        rows=len(rows),
        nearest=tuple(
            NearRow(number=n + 1, text=texts[n][:MAX_TEXT_CHARACTERS], cosine=float(cosine))
            for n, cosine in zip(neighbours.indices.tolist(), neighbours.cosines, strict=True)
        ),
    )


def _rows(question: EncodeRows | FindNearest) -> Rows:
    rows = open_dataset(question.data).rows(question.part)
    if not len(rows):
        raise StudioError("The data set has no rows in this split.", "Choose another split.")
    return rows


def _no_vectors_error() -> StudioError:
    return StudioError("The vectors of these rows are no longer available.", "Compute them again.")
