"""One data set's page: rows, search, labels, lengths, deleting."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.pages.data.dataset import state
from app.pages.data.dataset.checks.card import ChecksCard
from app.pages.data.dataset.table import RowsModel
from app.pages.data.dataset.view import DatasetView
from app.pages.data.split_fields import SplitFields
from app.pages.data.texts import summary_line
from app.pages.data.view import DataPage
from app.widgets.forms.label_keys import LabelKeys
from app.widgets.label_bars import LabelsModel
from app.widgets.text.tagged import CHIPS, ChipDelegate
from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question
from tests.app.pages.train.conftest import write_model
from tests.often import times

PATIENCE = 30_000  # ms


def store(page: DataPage, file: Path) -> Path:
    """Import a file as the engine does."""
    recognised = recognise(file)
    path = page._studio.home.datasets / file.stem / "1"
    import_dataset(file.stem, {"all": file}, recognised.reading, recognised.mapping, Split(), path)
    return path


def open_view(qtbot, page: DataPage, file: Path) -> DatasetView:
    """The page of a data set, with its rows loaded."""
    page.arrive(store(page, file))
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    view = page.dataset
    qtbot.waitUntil(lambda: view.state.dataset is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: view.model.index(0, 2).data() != "…", timeout=PATIENCE)
    return view


def row_texts(view: DatasetView) -> list[str]:
    return [view.model.index(row, 2).data() for row in range(view.model.rowCount())]


def test_rows_are_filtered_by_words_split_and_label(qtbot, page, reviews, qtmodeltester):
    view = open_view(qtbot, page, reviews)
    assert view.train.text() == "Fine-&tune on this…"
    cells = [view.model.index(0, column).data() for column in range(4)]
    assert cells[0] == "2"
    assert cells[1] in ("Training", "Validation")
    assert cells[2:] == ["the film was very bad 0", "0"]
    assert view.model.rowCount() == 120
    qtbot.keyClicks(view.search, "BAD 1")
    qtbot.waitUntil(lambda: view.count.text() == "9 of 120 rows", timeout=PATIENCE)
    qtbot.waitUntil(lambda: "…" not in row_texts(view), timeout=PATIENCE)
    assert all("bad 1" in text for text in row_texts(view))
    qtbot.keyClicks(view.search, " or so")
    qtbot.waitUntil(view.empty.isVisible, timeout=PATIENCE)
    view._show_all()
    qtbot.waitUntil(view.table.isVisible, timeout=PATIENCE)
    assert view.model.rowCount() == 120
    qtbot.mouseClick(view.splits.group.button(2), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.count.text() == "12 of 120 rows", timeout=PATIENCE)
    assert not view.splits.group.button(3).isVisible(), "there are no rows for testing"
    qtbot.mouseClick(view.splits.group.button(0), Qt.MouseButton.LeftButton)
    view.labels.bars.selectRow(1)
    qtbot.waitUntil(lambda: view.count.text() == "40 of 120 rows", timeout=PATIENCE)
    view.labels.show_all.click()
    qtbot.waitUntil(lambda: view.model.rowCount() == 120, timeout=PATIENCE)
    qtmodeltester.check(RowsModel(view.state))
    qtmodeltester.check(LabelsModel({"a": 3, "b": 1, "": 2}))


def test_lengths_are_counted_and_cached(qtbot, page, reviews):
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(lambda: view.state.lengths is not None, timeout=PATIENCE)
    lengths = view.state.lengths
    assert lengths.rows == 120
    assert view.lengths.histogram.isVisible()
    assert str(lengths.median()) in view.lengths.summary.text()
    assert "No row is longer than 128 tokens" in view.lengths.truncated.text()
    files = list(page._studio.home.cache.glob("lengths-*.npy"))
    assert len(files) == 1
    page.show_list()
    page.open_dataset(page.state.all_entries()[0].folder)
    qtbot.waitUntil(lambda: page.dataset.state.lengths is not None, timeout=PATIENCE)
    assert np.array_equal(page.dataset.state.lengths.counts, lengths.counts)
    assert list(page._studio.home.cache.glob("lengths-*.npy")) == files
    reopened = page.dataset.state
    reopened.measure_with(write_model(page._studio.home.models / "smaller", pieces=34))
    qtbot.waitUntil(lambda: reopened.lengths and reopened.lengths.maximum > lengths.maximum)


def test_a_long_row_is_shown_in_full_and_counted_as_truncated(qtbot, page, write):
    long = "very " * 300
    view = open_view(
        qtbot, page, write("mixed.csv", f"text,label\n{long},1\nshort,0\na b,1\nc,0\n")
    )
    qtbot.waitUntil(lambda: view.state.lengths is not None, timeout=PATIENCE)
    assert view.lengths.truncated.text().startswith("25.0 % of the rows (1)")
    view.table.selectRow(0)
    shown = view.row_text.toPlainText
    qtbot.waitUntil(lambda: shown().startswith(long.strip()))
    assert shown().endswith("\n\nlabel: 1"), "the text comes first, without its column"


def test_text_without_labels_offers_to_pre_train(qtbot, page, studio, write):
    view = open_view(qtbot, page, write("book.txt", "One line.\n\nAnother one.\n\nA third.\n"))
    assert view.train.text() == "Pre-&train on this…"
    with qtbot.waitSignal(studio.navigate) as signal:
        qtbot.mouseClick(view.train, Qt.MouseButton.LeftButton)
    assert signal.args == ["train", {"data": view.state.folder, "target": None}]
    assert not view.labels.bars.isVisible()


def test_questions_without_an_answer_are_counted(qtbot, page, write):
    answers = [{"text": "Paris", "answer_start": 0}]
    questions = [
        {"id": "1", "question": "Which city?", "answers": answers},
        {"id": "2", "question": "Which river?", "answers": [], "is_impossible": True},
    ]
    paragraph = {"context": "Paris is a city.", "qas": questions}
    squad = {"version": "v2.0", "data": [{"title": "Paris", "paragraphs": [paragraph]}]}
    view = open_view(qtbot, page, write("squad.json", json.dumps(squad)))
    assert view.labels.title.text() == "Answers"
    assert view.labels.balance.text() == "1 question(s) without an answer in the passage."
    assert view.train.text() == "Fine-&tune on this…"


def test_labels_in_several_spellings_are_reported(qtbot, page, write):
    rows = ["text,label", *(f"a film {n},{('Good', 'good', 'bad', '')[n % 4]}" for n in range(40))]
    view = open_view(qtbot, page, write("films.csv", "\n".join(rows)))
    assert view.labels.title.text() == "3 label(s)", "an empty cell is no label"
    assert "“good” and “Good” may be the same" in view.labels.spellings.text()
    assert view.labels.spellings.isVisible()


def test_deleting_asks_first_and_can_be_undone(qtbot, page, studio, reviews, trash):
    view = open_view(qtbot, page, reviews)
    folder = view.state.folder
    qtbot.mouseClick(view.delete, Qt.MouseButton.LeftButton)
    question(qtbot).reject()
    assert folder.is_dir()
    qtbot.waitUntil(lambda: QApplication.activeModalWidget() is None)
    qtbot.mouseClick(view.delete, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    text = " ".join(label.text() for label in dialog.findChildren(type(view.count)))
    assert "120 row" in text
    assert "not affected" in text
    qtbot.mouseClick(dialog.buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.stack.currentWidget() is page.list, timeout=PATIENCE)
    assert not folder.exists()
    assert list(trash.iterdir())
    notice = studio.notices.shown[-1]
    notice.act()
    qtbot.waitUntil(lambda: folder.is_dir() and bool(page.state.all_entries()), timeout=PATIENCE)


def test_a_damaged_data_set_is_reported(qtbot, page, reviews):
    folder = store(page, reviews)
    (folder / "data.parquet").write_bytes(b"PAR1 nothing")
    page.open_dataset(folder)
    qtbot.waitUntil(page.dataset.problem.isVisible, timeout=PATIENCE)
    assert "damaged" in page.dataset.problem.text.text()


@times(7_000, 10_000_000)  # 35 pages, of which 30 are kept
def test_many_rows_scroll(qtbot, page, tmp_path, count):
    file = tmp_path / "many.csv"
    with file.open("w", encoding="utf-8") as stream:
        stream.write("text,label\n")
        stream.writelines(f"film number {n} was fine,{n % 5}\n" for n in range(count))
    view = open_view(qtbot, page, file)
    view.table.scrollToBottom()
    last = view.model.index(count - 1, 2)
    qtbot.waitUntil(lambda: last.data() == f"film number {count - 1} was fine", timeout=PATIENCE)
    for row in range(0, count, count // 40):
        view.table.scrollTo(view.model.index(row, 0))
        QApplication.processEvents()
    qtbot.waitUntil(lambda: len(view.model._pages) <= 30)


def test_rows_scrolled_past_are_not_read(qtbot, page, write, monkeypatch):
    """One page at a time, the most recently requested first; others when scrolling back."""
    rows = [f"film number {n},{n % 2}" for n in range(10 * state.PAGE_ROWS)]
    view = open_view(qtbot, page, write("many.csv", "\n".join(["text,label", *rows])))
    pages: list[int] = []
    running, max_running = 0, 0
    may_read, read_cells = threading.Event(), state._cells

    def slow(dataset: Dataset, indices: state.Rows, columns: tuple[str, ...]) -> list[Any]:
        nonlocal running, max_running
        running += 1
        max_running = max(max_running, running)
        pages.append(int(indices[0]) // state.PAGE_ROWS)
        assert may_read.wait(PATIENCE / 1000)
        running -= 1
        return read_cells(dataset, indices, columns)

    monkeypatch.setattr(state, "_cells", slow)

    def first_text(number: int) -> str:
        return view.model.index(number * state.PAGE_ROWS, 2).data()

    for number in range(1, 10):
        assert first_text(number) == "…"
    may_read.set()
    qtbot.waitUntil(lambda: len(pages) == 3, timeout=PATIENCE)
    qtbot.waitUntil(lambda: first_text(8) != "…", timeout=PATIENCE)
    assert (pages, max_running) == ([1, 9, 8], 1)
    qtbot.waitUntil(lambda: first_text(4) == f"film number {4 * state.PAGE_ROWS}", timeout=PATIENCE)


def test_an_unreadable_page_is_reported_once(qtbot, page, studio, write, monkeypatch):
    rows = [f"film number {n},{n % 2}" for n in range(3 * state.PAGE_ROWS)]
    view = open_view(qtbot, page, write("many.csv", "\n".join(["text,label", *rows])))
    read_cells = state._cells

    def broken(dataset: Dataset, indices: state.Rows, columns: tuple[str, ...]) -> list[Any]:
        if indices[0] == state.PAGE_ROWS:
            raise StudioError("It is damaged.", "Import it again.")
        return read_cells(dataset, indices, columns)

    monkeypatch.setattr(state, "_cells", broken)
    cells = [view.model.index(number * state.PAGE_ROWS, 2) for number in (2, 1)]
    qtbot.waitUntil(lambda: cells[1].data() == "…" and bool(studio.notices.shown), timeout=PATIENCE)
    qtbot.waitUntil(lambda: cells[0].data() != "…", timeout=PATIENCE)
    for _ in range(3):
        assert cells[1].data() == "…"
        QApplication.processEvents()
    assert [notice.problem for notice in studio.notices.shown] == ["It is damaged."]


def test_the_page_is_accessible_in_both_themes(qtbot, page, set_theme, screen, reviews):
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(lambda: view.state.lengths is not None, timeout=PATIENCE)
    assert_accessible(page)
    assert "Median" in view.lengths.histogram.accessibleDescription()
    qtbot.waitUntil(lambda: view.checks_state.findings is not None, timeout=PATIENCE)
    view.editing.state.set_label([0], "1")
    qtbot.waitUntil(view.editing.bar.isVisible)
    assert_distinct_keys(view, LabelKeys, ChecksCard)
    for theme in ("light", "dark"):
        set_theme(theme)
        screen(page, f"data-set-{theme}")


def test_tags_are_counted_by_type(qtbot, page, tagged, screen):
    view = open_view(qtbot, page, tagged)
    assert row_texts(view)[0] == "Ada Lovelace saw Paris"
    assert view.model.index(0, 3).data() == "B-person I-person O B-place"
    spans = view.model.index(0, 3).data(CHIPS)
    assert [span[:2] for span in spans] == [("Ada Lovelace", "person"), ("Paris", "place")]
    assert spans[0].color != spans[1].color and view.model.index(0, 2).data(CHIPS) is None
    assert isinstance(view.table.itemDelegateForColumn(3), ChipDelegate)
    assert "2 type(s) of tags" in view.labels.title.text()
    assert view.labels.bars.model().rows == [("person", 40), ("place", 40)]
    assert "“tags”" in view.labels.balance.text()
    assert view.train.text() == "Fine-&tune on this…"
    view.labels.bars.selectRow(0)
    assert view.labels.choice is None
    assert_accessible(view)
    screen(page, "data tags")


def test_numbers_are_shown_as_a_histogram(qtbot, page, write, screen):
    rows = "".join(f"a film that is {n},{(n * n % 101) / 10}\n" for n in range(101))
    view = open_view(qtbot, page, write("scores.csv", "text,score\n" + rows))
    assert view.labels.title.text() == "Numbers"
    assert view.labels.bars.isHidden() and view.labels.scale.isVisible()
    assert view.labels.balance.text().startswith("Range 0 to 10; median")
    assert view.labels.scale.chart.series[0].y.sum() == 101
    assert "numbers from 0 to 10" in summary_line(view.state.spec)
    assert sum(view.state.spec.rows.values()) == 101 and view.state.spec.rows["validation"] == 10
    assert_accessible(view)
    screen(view, "data scale")


def test_multiple_labels_are_counted_and_filter_the_rows(qtbot, page, write):
    cells = ("good|long", "good", "long", "", "odd|good")
    rows = "".join(f"a film that is {n},{cells[n % 5]}\n" for n in range(50))
    view = open_view(qtbot, page, write("topics.csv", "text,label\n" + rows))
    assert view.labels.title.text() == "3 label(s)"
    assert "1.2 on average" in view.labels.balance.text()
    model = view.labels.bars.model()
    assert [model.index(row, 0).data() for row in range(3)] == ["good", "long", "odd"]
    assert model.index(0, 1).data() == "30  60.0 %"
    view.labels.bars.selectRow(1)
    qtbot.waitUntil(lambda: len(view.state.indices) == 20, timeout=PATIENCE)
    assert view.count.text() == "20 of 50 rows"


def test_a_version_is_split_again_from_its_page_and_the_split_is_undone(qtbot, page, write):
    rows = [f"film {n},{n % 2},author {n % 10}" for n in range(60)]
    view = open_view(qtbot, page, write("films.csv", "text,label,author\n" + "\n".join(rows)))
    folder = view.state.folder
    first = open_dataset(folder).splits
    view.details.split.click()
    asked = question(qtbot, "Split again")
    fields = asked.findChild(SplitFields)
    assert fields.test.isVisible() and not fields.by.isVisible()
    fields.column.setCurrentText("author")
    fields.column.activated.emit(fields.column.currentIndex())
    assert fields.by.currentData() == "group", "its cells are neither splits nor times"
    fields.test.setValue(0.2)
    assert_accessible(asked)
    asked.buttons["split"].click()
    qtbot.waitUntil(lambda: page.dataset.state.folder == folder.parent / "2", timeout=PATIENCE)
    new = open_dataset(folder.parent / "2")
    assert new.spec.split == Split(test=0.2, column="author", by="group")
    assert page._studio.notices.shown[-1].problem == "Version 2: Split again: 70/10/20 by “author”."
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
    assert page.dataset.undo.isVisibleTo(page), "as of every version made from another"
    page._studio.notices.shown[-1].act()
    qtbot.waitUntil(lambda: page.dataset.state.folder == folder, timeout=PATIENCE)
    assert (open_dataset(folder).splits == first).all()
    qtbot.waitUntil(lambda: not (folder.parent / "2").exists(), timeout=PATIENCE)


def test_estimates_are_offered_for_predictions(qtbot, page, write):
    """Only if a column has them; they are those of the rows of the version."""
    rows = [f"row {n},{'x' if n % 4 == 0 else ''},{'xy'[n % 2]}" for n in range(80)]
    view = open_view(
        qtbot, page, write("coded.csv", "\n".join(["text,label,predicted_label", *rows]))
    )
    assert view.labels.estimate.isVisibleTo(view)
    columns = {"columns": ("text", "label")}
    view.labels.show_spec(view.state.spec.model_copy(update=columns))
    assert not view.labels.estimate.isVisibleTo(view)
    view.editing.state.set_cells([1], "label", ["y"])
    view.labels.estimate.click()
    assert not hasattr(view, "estimating"), "the new hand code is not in the version yet"
    view.editing.state.discard()
    view.labels.estimate.click()
    state = view.estimating.state
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    assert state.table.rows[0].estimate.rows == 80
    view.estimating.close()
