"""Predicted tags as a CoNLL file: words and tags only."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from engine.applying.vectors import write_vectors
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.errors import StudioError
from engine.files.atomic_write import atomic_file
from engine.files.table_files import TABLE_WRITERS, Tables, iter_records, write_table
from engine.phrases import phrase

SUFFIX = ".conll"
VECTORS = ".npy"
WRITERS = (*TABLE_WRITERS, SUFFIX, VECTORS)


def write(path: Path, schema: pa.Schema, tables: Tables, raw: bool) -> None:
    """Write rows and predictions in the format of the suffix; see `write_table`."""
    if path.suffix.lower() == VECTORS:
        write_vectors(path, schema, tables)
        return
    if path.suffix.lower() != SUFFIX:
        write_table(path, schema, tables, raw)
        return
    words, tags = _column(schema, "words"), _column(schema, "tags")
    with atomic_file(path, shared=True) as file, open(file, "w", encoding="utf-8") as out:
        between = ""
        for row in iter_records(tables):
            if row[words]:
                out.write(between + "".join(_lines(row[words], row[tags])))
                between = "\n"


def _column(schema: pa.Schema, part: str) -> str:
    """The last column with this name, which has the prediction. Raises StudioError if there is
    none."""
    found = [
        field.name
        for field in schema
        if field.name.removeprefix("predicted_") == part and pa.types.is_list(field.type)
    ]
    if not found:
        raise StudioError(
            phrase("The model does not predict tags, and .conll files hold nothing else."),
            phrase("Choose another suffix, or a token classification model."),
        )
    return str(found[-1])


def _lines(words: Iterable[str], tags: Iterable[str]) -> Iterable[str]:
    """White space in a word becomes a no-break space, and an empty word “_”."""
    for word, tag in zip(words, tags, strict=True):
        yield f"{NO_BREAK_SPACE.join(word.split()) or EMPTY}\t{tag}\n"
