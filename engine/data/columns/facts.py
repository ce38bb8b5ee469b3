"""Facts about the columns of a table: type of the cells, fraction filled, and examples."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from engine.data.columns.label_sets import is_mark, parse_yes_no
from engine.data.columns.lists import parse_texts
from engine.data.columns.numbers import are_ids, parse_number

Kind = Literal["empty", "yes/no", "number", "list", "category", "text"]
MAX_EXAMPLES = 3
MAX_CATEGORY_CHARACTERS = 60
MAX_CATEGORY_FRACTION = 0.2  # distinct cells of the filled ones


class ColumnFacts(NamedTuple):
    """One column of the first rows of a table."""

    name: str
    kind: Kind
    filled: float  # fraction of the cells
    distinct: int
    examples: tuple[str, ...]  # the first distinct cells


def describe_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[ColumnFacts, ...]:
    """Describe each column by its cells in these rows."""
    return tuple(
        _describe(name, [row[index] for row in rows]) for index, name in enumerate(columns)
    )


def _describe(name: str, cells: Sequence[str]) -> ColumnFacts:
    filled = [cell for cell in cells if cell.strip()]
    distinct = tuple(dict.fromkeys(filled))
    fraction = len(filled) / max(len(cells), 1)
    return ColumnFacts(
        name, _kind(name, filled, distinct), fraction, len(distinct), distinct[:MAX_EXAMPLES]
    )


def _kind(name: str, filled: Sequence[str], distinct: Sequence[str]) -> Kind:
    if not filled:
        return "empty"
    if all(is_mark(cell, name) for cell in distinct):
        return "yes/no"
    if len(distinct) > 1 and all(parse_yes_no(cell) is not None for cell in distinct):
        return "yes/no"
    if are_ids(distinct):
        return "list"
    if all(parse_number(cell) is not None for cell in distinct):
        return "number"
    if all(cell.lstrip().startswith("[") and parse_texts(cell) is not None for cell in distinct):
        return "list"
    is_short = max(map(len, distinct)) <= MAX_CATEGORY_CHARACTERS
    return (
        "category" if is_short and len(distinct) <= MAX_CATEGORY_FRACTION * len(filled) else "text"
    )
