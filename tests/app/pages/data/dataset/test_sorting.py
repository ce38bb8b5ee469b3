"""Rows are sorted by the column whose header is clicked, and the search is kept."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.pages.data.dataset import state as dataset_state
from app.pages.data.dataset.view import DatasetView
from engine.data.datasets.store import Dataset
from engine.progress import ProgressCallback
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view, row_texts
from tests.often import times

LINE, SPLIT, TEXT, LABEL = range(4)


def click(qtbot, view: DatasetView, section: int) -> None:
    """Click a header with the mouse."""
    header = view.table.horizontalHeader()
    view.table.scrollTo(view.model.index(0, section))
    point = header.rect().center()
    point.setX(header.sectionViewportPosition(section) + 12)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=point)


def read_texts(qtbot, view: DatasetView) -> list[str]:
    """All texts, once they are sorted and read."""
    qtbot.waitUntil(lambda: not view.state.is_searching, timeout=PATIENCE)
    qtbot.waitUntil(lambda: "…" not in row_texts(view), timeout=PATIENCE)
    return row_texts(view)


@pytest.fixture
def films(write) -> Path:
    rows = [f"film {n % 7},{('good', 'bad', '')[n % 3]}\n" for n in range(60)]
    return write("films.csv", "text,label\n" + "".join(rows))


def test_a_header_sorts_rows_and_search_results_until_the_file_is_damaged(
    qtbot, page, studio, reviews
):
    view = open_view(qtbot, page, reviews)
    before, header = read_texts(qtbot, view), view.table.horizontalHeader()
    click(qtbot, view, TEXT)
    assert read_texts(qtbot, view) == sorted(before)
    assert header.sortIndicatorSection() == TEXT
    assert header.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
    click(qtbot, view, TEXT)
    assert read_texts(qtbot, view) == sorted(before, reverse=True)
    assert header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
    click(qtbot, view, TEXT)
    assert read_texts(qtbot, view) == before
    assert header.sortIndicatorSection() == -1

    # search results and listed rows
    click(qtbot, view, LINE)
    click(qtbot, view, LINE)
    qtbot.keyClicks(view.search, "BAD 1")
    qtbot.waitUntil(lambda: view.count.text() == "9 of 120 rows", timeout=PATIENCE)
    matches = read_texts(qtbot, view)
    assert matches[0] == "the film was very bad 117" and matches[-1] == "the film was very bad 12"
    click(qtbot, view, TEXT)
    assert read_texts(qtbot, view) == sorted(matches)
    assert view.count.text() == "9 of 120 rows"
    view.search.clear()
    qtbot.waitUntil(lambda: view.model.rowCount() == 120, timeout=PATIENCE)
    texts = read_texts(qtbot, view)
    assert texts == sorted(texts), "the order is kept after the search"
    view.show_listed(np.array([9, 3, 30]), "Some rows")
    assert [text.split()[-1] for text in read_texts(qtbot, view)] == ["9", "3", "30"]
    assert header.sortIndicatorSection() == -1
    click(qtbot, view, LINE)
    assert [text.split()[-1] for text in read_texts(qtbot, view)] == ["3", "9", "30"]
    assert view.finding_line.isVisible()

    # edits follow their rows
    view._show_all()
    qtbot.waitUntil(lambda: view.model.rowCount() == 120, timeout=PATIENCE)
    click(qtbot, view, TEXT)
    number = 5
    view.editing.state.set_cells([number], "sentence", ["a text of my own"])
    click(qtbot, view, LINE)
    click(qtbot, view, LINE)
    assert read_texts(qtbot, view)[119 - number] == "a text of my own"
    click(qtbot, view, LINE)

    # a damaged file leaves the rows unchanged
    before = read_texts(qtbot, view)
    qtbot.waitUntil(lambda: view.checks_state.findings is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: view.state.lengths is not None, timeout=PATIENCE)
    os.truncate(view.state.folder / "data.parquet", 4)
    click(qtbot, view, TEXT)
    qtbot.waitUntil(lambda: not view.state.is_searching, timeout=PATIENCE)
    assert "damaged" in studio.notices.shown[-1].problem
    assert row_texts(view) == before and view.count.text() == "120 row(s)"
    assert header.sortIndicatorSection() == -1


def test_the_keyboard_sorts_a_column_and_equal_rows_stay_in_order(qtbot, page, films):
    view = open_view(qtbot, page, films)
    click(qtbot, view, TEXT)
    read_texts(qtbot, view)
    assert "Ctrl+Shift+S" in view.table.accessibleDescription()
    view.table.setFocus()
    view.table.setCurrentIndex(view.model.index(2, LABEL))
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(view.table, Qt.Key.Key_S, keys)
    texts = read_texts(qtbot, view)
    labels = [view.model.index(row, LABEL).data() for row in range(60)]
    assert labels == ["bad"] * 20 + ["good"] * 20 + [""] * 20
    assert all(texts[n : n + 20] == sorted(texts[n : n + 20]) for n in (0, 20, 40))


def test_sorting_reports_progress_and_can_be_cancelled(qtbot, page, reviews, monkeypatch):
    column_ranks = dataset_state.column_ranks
    resume, cancellations = threading.Event(), list[bool]()

    def slow(dataset: Dataset, column: str, progress: ProgressCallback, cancelled):
        """The real function, after the test has seen its progress."""
        progress(1, 4)
        assert resume.wait(20)
        cancellations.append(cancelled())
        return column_ranks(dataset, column, progress, cancelled)

    view = open_view(qtbot, page, reviews)
    before = read_texts(qtbot, view)
    monkeypatch.setattr(dataset_state, "column_ranks", slow)
    click(qtbot, view, TEXT)
    qtbot.waitUntil(view.stop_sorting.isVisible, timeout=PATIENCE)
    assert view.count.text() == "Sorting… 25 %"
    assert row_texts(view) == before, "the rows stay visible"
    qtbot.mouseClick(view.stop_sorting, Qt.MouseButton.LeftButton)
    resume.set()
    assert read_texts(qtbot, view) == before
    qtbot.waitUntil(lambda: cancellations == [True], timeout=PATIENCE)
    assert view.table.horizontalHeader().sortIndicatorSection() == -1
    assert view.stop_sorting.isHidden() and view.count.text() == "120 row(s)"


@times(1_000, 1_000_000)
def test_many_rows_are_sorted(qtbot, page, tmp_path, count):
    file = tmp_path / "many.csv"
    with file.open("w", encoding="utf-8") as stream:
        stream.write("text,label\n")
        stream.writelines(f"film {n * 7919 % count},{n % 5}\n" for n in range(count))
    view = open_view(qtbot, page, file)
    click(qtbot, view, TEXT)
    qtbot.waitUntil(lambda: not view.state.is_searching, timeout=PATIENCE)
    qtbot.waitUntil(lambda: view.model.index(1, TEXT).data() == "film 1", timeout=PATIENCE)
    assert sorted(view.state.indices) == list(range(count))
