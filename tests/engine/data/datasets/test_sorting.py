"""Rows are sorted by a column, and equal ones keep their order."""

import csv
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import SPLITS, Mapping, Split
from engine.data.columns.numbers import parse_number
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.sorting import EMPTY, MAX_COMPARED_CHARACTERS, column_ranks, sort_rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.progress import Cancelled

Store = Callable[[Sequence[str]], Dataset]
ALPHABET = ("a", "B", "b", "Ä", "ä", "é", "ß", "Z", "Ж", "ж", "水", "1", "2,5", "-3", " ", "")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """`store(cells)` makes a data set with the column “other”, in groups of seven rows."""
    monkeypatch.setattr("engine.data.datasets.row_writer.GROUP_ROWS", 7)

    def make(cells: Sequence[str]) -> Dataset:
        file, into = tmp_path / "rows.csv", tmp_path / str(len(list(tmp_path.iterdir())))
        with file.open("w", encoding="utf-8", newline="") as lines:
            rows = ([f"text number {n}", cell] for n, cell in enumerate(cells))
            csv.writer(lines).writerows([["text", "other"], *rows])
        reading, split = recognise(file).reading, Split(validation=0.2, test=0.1)
        import_dataset("rows", {"all": file}, reading, Mapping(text="text"), split, into)
        return open_dataset(into)

    return make


def sort_cells(dataset: Dataset, descending: bool = False) -> list[str]:
    """The cells of “other”, sorted."""
    order = sort_rows(np.arange(len(dataset)), column_ranks(dataset, "other"), descending)
    return [row["other"] or "" for row in dataset.take(order)]


def test_texts_are_sorted_case_insensitively_and_numbers_by_value(store):
    dataset = store(["pear", "", "Fig", "apple", "fig", "Öl", "zoo"])
    assert sort_cells(dataset, descending=True) == ["Öl", "zoo", "pear", "Fig", "fig", "apple", ""]
    numbers = ["-2,5", " .5", "9", "9.0", "10", "+1e3", ""]
    assert sort_cells(store([numbers[n] for n in (4, 2, 6, 0, 5, 3, 1)])) == [*numbers]
    assert sort_cells(store([*"9876543", "10", "n/a"])) == ["10", *"3456789", "n/a"]


def test_sorting_equals_that_of_python(store):
    rng = random.Random(4)
    cells = ["".join(rng.choices(ALPHABET, k=rng.randint(0, 3))) for _ in range(400)]
    dataset = store(cells)
    assert dataset.group_count > 50
    rows, ranks = np.array(rng.sample(range(400), 300)), column_ranks(dataset, "other")
    assert any(parse_number(cell) for cell in cells) and not all(map(parse_number, cells))
    for descending in (False, True):
        filled = [row for row in rows if cells[row].strip()]
        expected = sorted(filled, key=lambda row: cells[row].lstrip().lower(), reverse=descending)
        order = sort_rows(rows, ranks, descending)
        assert order.tolist() == [*expected, *(row for row in rows if not cells[row].strip())]


def test_rows_are_sorted_by_line_or_split(store):
    dataset = store([str(n % 3) for n in range(30)])
    rows = np.arange(30)[::-1].copy()
    assert sort_rows(rows, column_ranks(dataset, "_line")).tolist() == list(range(30))
    by_split = sort_rows(rows, column_ranks(dataset, "_split"))
    splits = [row["_split"] for row in dataset.take(by_split)]
    assert splits == sorted(splits, key=SPLITS.index) and len(set(splits)) == 3
    train = by_split[np.equal(dataset.splits[by_split], 0)]
    assert train.tolist() == sorted(train, reverse=True), "the sort is stable"


def test_texts_that_begin_alike_keep_their_order(store):
    prefix = "w" * MAX_COMPARED_CHARACTERS
    dataset = store([f"{prefix} z", f"{prefix} a", "w"])
    assert sort_cells(dataset) == ["w", f"{prefix} z", f"{prefix} a"]
    assert column_ranks(dataset, "other").tolist() == [1, 1, 0]
    assert column_ranks(store(["", " ", ""]), "other").tolist() == [EMPTY] * 3


def test_sorting_reports_progress_and_can_be_cancelled(store):
    dataset = store(list("abcdefghijklmnop"))
    progress: list[tuple[int, int]] = []
    column_ranks(dataset, "other", lambda *now: progress.append(now))
    assert progress == [(n + 1, dataset.group_count) for n in range(dataset.group_count)]
    with pytest.raises(Cancelled):
        column_ranks(dataset, "other", cancelled=lambda: True)


def test_reading_many_groups_keeps_few_in_memory(store, monkeypatch):
    dataset = store([str(n) for n in range(200)])
    size = dataset._group(0).nbytes
    monkeypatch.setattr("engine.data.datasets.store.CACHE_BYTES", 5 * size)
    order = np.random.default_rng(3).permutation(200)
    for rows in (order[:90], order[90:], order):
        assert [row["other"] for row in dataset.take(rows)] == [str(n) for n in rows]
        assert dataset._cached_bytes == sum(table.nbytes for table in dataset._groups.values())
        assert dataset._cached_bytes <= 5 * size and len(dataset._groups) > 1
