"""Text normalisation for equality in splits and checks, and the columns that are compared."""

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.dataset import Mapping
from engine.data.formats.batches import string_buffers

_Strings: Any = pa.StringArray  # `from_buffers` has no type stub


def plain_text(text: str) -> str:
    """Normal form of a text: NFKC, case-folded, white space collapsed."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def plain_cells(cells: "pa.Array[Any]") -> list[str]:
    """`plain_text` of each cell of a column of strings.

    Printable ASCII with single spaces between words is processed in one pass.
    """
    bounds, content = string_buffers(cells)
    if not len(cells):
        return []
    first, last = int(bounds[0]), int(bounds[-1])
    content = content[first:last]
    lowered = pa.py_buffer(content.tobytes().lower())
    offsets = pa.py_buffer((bounds - first).tobytes())
    plain: list[str] = _Strings.from_buffers(len(cells), offsets, lowered).to_pylist()
    for index in _special_cells(bounds - first, content):
        plain[index] = plain_text(cells[index].as_py())
    return plain


def _special_cells(bounds: NDArray[np.int32], content: NDArray[np.uint8]) -> list[int]:
    """Cells that need `plain_text`: other characters, or spaces that are not single and inner."""
    if not len(content):
        return []
    is_space = content == ord(" ")
    is_special = np.zeros(len(content), dtype=bool)
    np.logical_and(is_space[1:], is_space[:-1], out=is_special[1:])
    if content.min() < 32 or content.max() > 126:
        is_special |= (content < 32) | (content > 126)
    filled = np.flatnonzero(np.diff(bounds))
    begins, ends = bounds[:-1][filled], bounds[1:][filled] - 1
    edge_cells = filled[is_space[begins] | is_space[ends]]
    if not is_special.any():
        return [int(index) for index in edge_cells]
    inner_cells = np.searchsorted(bounds, np.flatnonzero(is_special), side="right") - 1
    return [int(index) for index in np.union1d(inner_cells, edge_cells)]


def text_columns(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose texts identify a row."""
    others = (name for name in (mapping.beginning, mapping.negative) if name is not None)
    return (*mapping.texts, *others, *mapping.endings)


def grouping_columns(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose equal texts keep rows in one split: the passage of a question, else all."""
    if mapping.pair is not None and mapping.answers is not None:
        return (mapping.pair,)
    return text_columns(mapping)
