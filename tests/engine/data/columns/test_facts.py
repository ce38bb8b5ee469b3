"""Facts of columns for the table of the import page."""

import pytest

from engine.data.columns.facts import describe_columns


@pytest.mark.parametrize(
    "cells, kind, filled, distinct",
    [
        (["", " "], "empty", 0.0, 0),
        (["yes", "no", "", "no"], "yes/no", 0.75, 2),
        (["x", "", "x"], "yes/no", 2 / 3, 1),
        (["1", "1"], "number", 1.0, 1),
        (["1,5", "-2", "3e1"], "number", 1.0, 3),
        (["['a', 'b']", "[]"], "list", 1.0, 2),
        (["15", "2,23", "2", "23"], "list", 1.0, 4),
        (["red", "blue"] * 5, "category", 1.0, 2),
        (["red", "blue"], "text", 1.0, 2),
        (["a long answer " * 9] * 20, "text", 1.0, 1),
    ],
)
def test_the_type_of_a_column_is_that_of_all_its_cells(cells, kind, filled, distinct):
    (facts,) = describe_columns(["name"], [[cell] for cell in cells])
    assert (facts.name, facts.kind, facts.filled, facts.distinct) == (
        "name",
        kind,
        filled,
        distinct,
    )
    assert facts.examples == tuple(dict.fromkeys(cell for cell in cells if cell.strip()))[:3]
