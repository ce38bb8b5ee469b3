"""Counted label column, as tasks query it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.spellings import match_labels


@dataclass(frozen=True)
class CountedLabels:
    """Rows with each cell, and derived facts: a `LabelColumn`."""

    cells: Mapping[str, int]

    @cached_property
    def sets(self) -> dict[str, int] | None:
        return count_label_sets(self.cells)

    @cached_property
    def is_scale(self) -> bool:
        return is_scale(self.cells)

    @cached_property
    def not_numbers(self) -> dict[str, int]:
        cells = self.cells.items()
        return {cell: rows for cell, rows in cells if cell.strip() and parse_number(cell) is None}

    @cached_property
    def numbers(self) -> frozenset[float]:
        found = (parse_number(cell) for cell in self.cells)
        return frozenset(number for number in found if number is not None)

    def strangers(self, known: tuple[str, ...]) -> list[str]:
        _, found = match_labels((label for label in self.sets or self.cells if label), known)
        return sorted(found)
