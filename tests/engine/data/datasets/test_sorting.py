"""Rows are put in the order of a column, without moving those that are equal in it."""

import csv
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import SPLITS, Mapping, Split
from engine.data.columns.numbers import parse_number
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.sorting import EMPTY, SORTED_CHARACTERS, column_ranks, sort_rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.progress import Cancelled

Store = Callable[[Sequence[str]], Dataset]
ALPHABET = ("a", "B", "b", "Ä", "ä", "é", "ß", "Z", "Ж", "ж", "水", "1", "2,5", "-3", " ", "")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """`store(cells)` keeps these as the column “other” of a data set, in groups of seven rows."""
    monkeypatch.setattr("engine.data.datasets.row_writer.GROUP_ROWS", 7)

    def made(cells: Sequence[str]) -> Dataset:
        file, into = tmp_path / "rows.csv", tmp_path / str(len(list(tmp_path.iterdir())))
        with file.open("w", encoding="utf-8", newline="") as lines:
            rows = ([f"text number {n}", cell] for n, cell in enumerate(cells))
            csv.writer(lines).writerows([["text", "other"], *rows])
        reading, split = recognise(file).reading, Split(validation=0.2, test=0.1)
        import_dataset("rows", {"all": file}, reading, Mapping(text="text"), split, into)
        return open_dataset(into)

    return made


def listed(dataset: Dataset, descending: bool = False) -> list[str]:
    """The cells of “other” in its order."""
    order = sort_rows(np.arange(len(dataset)), column_ranks(dataset, "other"), descending)
    return [row["other"] or "" for row in dataset.take(order)]


def test_texts_are_sorted_in_any_case_and_numbers_as_numbers(store):
    dataset = store(["pear", "", "Fig", "apple", "fig", "Öl", "zoo"])
    assert listed(dataset, descending=True) == ["Öl", "zoo", "pear", "Fig", "fig", "apple", ""]
    numbers = ["-2,5", " .5", "9", "9.0", "10", "+1e3", ""]
    assert listed(store([numbers[n] for n in (4, 2, 6, 0, 5, 3, 1)])) == [*numbers]
    assert listed(store([*"9876543", "10", "n/a"])) == ["10", *"3456789", "n/a"]


def test_any_cells_are_sorted_as_python_sorts_them(store):
    chance = random.Random(4)
    cells = ["".join(chance.choices(ALPHABET, k=chance.randint(0, 3))) for _ in range(400)]
    dataset = store(cells)
    assert dataset.group_count > 50
    rows, ranks = np.array(chance.sample(range(400), 300)), column_ranks(dataset, "other")
    assert any(parse_number(cell) for cell in cells) and not all(map(parse_number, cells))
    for descending in (False, True):
        written = [row for row in rows if cells[row].strip()]
        right = sorted(written, key=lambda row: cells[row].lstrip().lower(), reverse=descending)
        order = sort_rows(rows, ranks, descending)
        assert order.tolist() == [*right, *(row for row in rows if not cells[row].strip())]


def test_lines_and_splits_have_an_order(store):
    dataset = store([str(n % 3) for n in range(30)])
    rows = np.arange(30)[::-1].copy()
    assert sort_rows(rows, column_ranks(dataset, "_line")).tolist() == list(range(30))
    by_split = sort_rows(rows, column_ranks(dataset, "_split"))
    splits = [row["_split"] for row in dataset.take(by_split)]
    assert splits == sorted(splits, key=SPLITS.index) and len(set(splits)) == 3
    first = by_split[np.equal(dataset.splits[by_split], 0)]
    assert first.tolist() == sorted(first, reverse=True), "equal ones are as they were"


def test_texts_that_begin_alike_keep_their_order(store):
    same = "w" * SORTED_CHARACTERS
    dataset = store([f"{same} z", f"{same} a", "w"])
    assert listed(dataset) == ["w", f"{same} z", f"{same} a"]
    assert column_ranks(dataset, "other").tolist() == [1, 1, 0]
    assert column_ranks(store(["", " ", ""]), "other").tolist() == [EMPTY] * 3


def test_sorting_reports_progress_and_can_be_cancelled(store):
    dataset = store(list("abcdefghijklmnop"))
    progress: list[tuple[int, int]] = []
    column_ranks(dataset, "other", lambda *now: progress.append(now))
    assert progress == [(n + 1, dataset.group_count) for n in range(dataset.group_count)]
    with pytest.raises(Cancelled):
        column_ranks(dataset, "other", cancelled=lambda: True)


def test_rows_of_many_groups_are_read_with_few_of_them_in_memory(store, monkeypatch):
    dataset = store([str(n) for n in range(200)])
    size = dataset._group(0).nbytes
    monkeypatch.setattr("engine.data.datasets.store.CACHE_BYTES", 5 * size)
    order = np.random.default_rng(3).permutation(200)
    for rows in (order[:90], order[90:], order):
        assert [row["other"] for row in dataset.take(rows)] == [str(n) for n in rows]
        assert dataset._cached_bytes == sum(table.nbytes for table in dataset._groups.values())
        assert dataset._cached_bytes <= 5 * size and len(dataset._groups) > 1
