"""Rows of a data set are taken by their numbers and found by what is in them."""

from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.progress import Cancelled


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    file = tmp_path / "reviews.csv"
    lines = [f"The {'GOOD' if n % 3 else 'bad'} film {n},{n % 2}" for n in range(100)]
    file.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    recognised = recognise(file)
    assert recognised.mapping is not None
    import_dataset(
        "reviews", {"all": file}, recognised.reading, recognised.mapping, Split(), tmp_path / "v"
    )
    return open_dataset(tmp_path / "v")


def test_rows_are_taken_by_their_numbers(dataset: Dataset) -> None:
    rows = dataset.take(np.array([3, 50, 99]))
    assert [row["text"] for row in rows] == [
        "The bad film 3",
        "The GOOD film 50",
        "The bad film 99",
    ]
    assert [row["_line"] for row in rows] == [5, 52, 101]


def test_only_the_columns_that_are_asked_for_are_read(dataset: Dataset) -> None:
    assert dataset.take(np.array([7]), ["label"]) == [{"label": "1"}]


def test_a_text_is_found_in_any_case(dataset: Dataset) -> None:
    assert len(dataset.find("good")) == 66
    assert list(dataset.find("FILM 42")) == [42]
    assert not len(dataset.find("no such words"))


def test_signs_of_regular_expressions_stand_for_themselves(dataset: Dataset) -> None:
    assert not len(dataset.find(".*"))


def test_a_label_and_a_part_narrow_what_is_found(dataset: Dataset) -> None:
    odd = dataset.find(label="1")
    assert list(odd) == list(range(1, 100, 2))
    dev = dataset.find(split="validation")
    assert len(dev) == dataset.spec.rows["validation"]
    both = dataset.find("good", "validation", "1")
    assert set(both) == set(odd) & set(dev) & set(dataset.find("good"))


def test_nothing_asked_gives_all_rows(dataset: Dataset) -> None:
    assert list(dataset.find()) == list(range(100))


def test_a_search_can_be_cancelled(dataset: Dataset) -> None:
    with pytest.raises(Cancelled):
        dataset.find("good", cancelled=lambda: True)
