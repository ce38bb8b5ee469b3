"""How even labels are, in a sentence."""

import pytest

from app.pages.data.dataset.labels import Balance


@pytest.mark.parametrize(
    "labels, begins",
    [
        ({"a": 10, "b": 11}, "Balanced"),
        ({"a": 90, "b": 10}, "Imbalanced: “a” is 9.0 × as frequent"),
        ({"a": 90}, "There is only one label"),
    ],
)
def test_imbalance_is_named(labels: dict[str, int], begins: str) -> None:
    assert Balance().sentence(labels).startswith(begins)
