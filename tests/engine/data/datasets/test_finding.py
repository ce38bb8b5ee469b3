"""Rows of a data set are taken by their numbers and found by what is in them."""

from pathlib import Path

import numpy as np
import pytest

from engine.data.datasets.store import Dataset
from engine.progress import Cancelled
from tests.engine.data.imported import imported, write_lines


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    lines = [f"The {'GOOD' if n % 3 else 'bad'} film {n},{n % 2}" for n in range(100)]
    return imported(write_lines(tmp_path / "reviews.csv", "text,label", *lines), tmp_path / "v")


def test_rows_are_taken_by_their_numbers(dataset: Dataset) -> None:
    rows = dataset.take(np.array([3, 50, 99]))
    assert [row["text"][4:] for row in rows] == ["bad film 3", "GOOD film 50", "bad film 99"]
    assert [row["_line"] for row in rows] == [5, 52, 101]
    assert dataset.take(np.array([7]), ["label"]) == [{"label": "1"}]


def test_a_text_is_found_in_any_case_and_is_no_expression(dataset: Dataset) -> None:
    assert len(dataset.find("good")) == 66
    assert list(dataset.find("FILM 42")) == [42]
    assert not len(dataset.find("no such words")) and not len(dataset.find(".*"))
    assert list(dataset.find()) == list(range(100))


def test_a_label_and_a_part_narrow_what_is_found(dataset: Dataset) -> None:
    odd = dataset.find(label="1")
    assert list(odd) == list(range(1, 100, 2))
    dev = dataset.find(split="validation")
    assert len(dev) == dataset.spec.rows["validation"]
    both = dataset.find("good", "validation", "1")
    assert set(both) == set(odd) & set(dev) & set(dataset.find("good"))


def test_a_search_can_be_cancelled(dataset: Dataset) -> None:
    with pytest.raises(Cancelled):
        dataset.find("good", cancelled=lambda: True)
