"""Likely label errors and rows without a label are reviewed with one key each."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.pages.data.dataset.editing.part import SUGGESTION_WIDTH
from app.pages.data.dataset.view import DatasetView
from app.pages.data.view import DataPage
from app.theme import SPACE
from engine.messages.labelling import (
    FindLabelErrors,
    LabelErrorsFound,
    LabelsSuggested,
    Suggestion,
    SuggestLabels,
)
from engine.messages.question import Answer, Refused, Working
from tests.app.accessible import assert_accessible
from tests.app.asking import question
from tests.app.conftest import StubWorker
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view


@pytest.fixture
def view(qtbot, page: DataPage, reviews: Path, one_time_workers: list[StubWorker]) -> DatasetView:
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    return view


def list_errors(
    qtbot, view: DatasetView, one_time_workers: list[StubWorker], answer: Answer
) -> None:
    one_time_workers[-1].done(answer)
    qtbot.waitUntil(lambda: "…" not in texts(view), timeout=PATIENCE)


def texts(view: DatasetView) -> list[str]:
    return [view.model.index(row, 2).data() for row in range(view.model.rowCount())]


def suggestions(view: DatasetView) -> list[str]:
    column = view.model.suggestion_column
    return [view.model.index(row, column).data() for row in range(view.model.rowCount())]


ERRORS = LabelErrorsFound(
    suggestions=(
        Suggestion(row=60, label="1", probability=0.93),
        Suggestion(row=3, label="1", probability=0.8),
        Suggestion(row=31, label="0", probability=0.6),
    ),
    rows=120,
    likely=2,
)


def test_a_search_for_errors_is_cancelled_refused_and_reviewed(qtbot, view, one_time_workers):
    card = view.editing.card
    wide = view.table.columnWidth(2)
    # a search for errors can be cancelled or refused
    qtbot.mouseClick(card.find_errors, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(card.progress.cancel, Qt.MouseButton.LeftButton)
    assert (
        one_time_workers[-1].cancelled
        and card.find_errors.isVisible()
        and not card.progress.isVisible()
    )
    card.fine_tune.setChecked(True)
    qtbot.mouseClick(card.find_errors, Qt.MouseButton.LeftButton)
    folds = view._studio.home.cache / "folds"
    assert [worker.question.fine_tune_in for worker in one_time_workers] == [None, folds]
    one_time_workers[-1].refused(Refused(problem="There is nothing.", advice="Try again."))
    assert card.find_errors.isVisible()
    assert view._studio.notices.shown[-1].problem == "There is nothing."
    card.fine_tune.setChecked(False)

    # likely errors are listed, corrected and confirmed
    qtbot.mouseClick(card.find_errors, Qt.MouseButton.LeftButton)
    question = one_time_workers[-1].question
    assert isinstance(question, FindLabelErrors) and question.data == view.state.folder
    assert question.checkpoint is not None and card.progress.isVisible()
    one_time_workers[-1].working(Working(stage="Reading the rows", done=3, total=10))
    assert card.progress.stage.text() == "Reading the rows"
    list_errors(qtbot, view, one_time_workers, ERRORS)
    narrow = max(wide - SUGGESTION_WIDTH, 80 * SPACE)
    qtbot.waitUntil(lambda: view.table.columnWidth(2) == narrow)
    assert texts(view) == [f"the film was very {x}" for x in ("bad 60", "bad 3", "good 31")]
    assert suggestions(view) == ["1  93 %", "1  80 %", "0  60 %"]
    assert view.table.hasFocus() and view.table.currentIndex().row() == 0
    assert "About 2 of 120 labels" in card.result.text()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)  # correct
    qtbot.keyClick(view.table, Qt.Key.Key_Space)  # confirm
    qtbot.keyClick(view.table, Qt.Key.Key_0)  # the key of a label that is a digit
    assert [view.model.index(row, 3).data() for row in range(3)] == ["1", "0", "0"]
    assert suggestions(view)[1] == "1  80 % · label kept"
    assert card.decisions.text() == "2 corrected, 1 kept"
    assert view.editing.state.rows.keys() == {60, 31}
    assert_accessible(view)
    qtbot.mouseClick(card.end, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.model.rowCount() == 120, timeout=PATIENCE)
    assert view.model.columnCount() == view.model.suggestion_column
    qtbot.waitUntil(lambda: view.table.columnWidth(2) == wide)
    assert view.editing.bar.count.text()[:2] == "2 "


def test_confirming_undoes_a_correction_and_a_search_ends_the_review(qtbot, view, one_time_workers):
    qtbot.mouseClick(view.editing.card.find_errors, Qt.MouseButton.LeftButton)
    list_errors(qtbot, view, one_time_workers, ERRORS)
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    qtbot.keyClick(view.table, Qt.Key.Key_Up)
    qtbot.keyClick(view.table, Qt.Key.Key_Space)
    assert not view.editing.state.rows
    assert view.editing.card.decisions.text() == "0 corrected, 1 kept"
    qtbot.keyClicks(view.search, "bad 1")
    qtbot.waitUntil(lambda: view.count.text() == "9 of 120 rows", timeout=PATIENCE)
    view._show_all()
    qtbot.waitUntil(lambda: view.model.rowCount() == 120, timeout=PATIENCE)


def test_rows_without_a_label_are_labelled_and_used(qtbot, page, one_time_workers, write):
    rows = [f"film {n},{('', 'good', 'bad')[n % 3]}" for n in range(30)]
    view = open_view(qtbot, page, write("films.csv", "text,label\n" + "\n".join(rows) + "\n"))
    card = view.editing.card
    qtbot.waitUntil(card.suggest.isVisible, timeout=PATIENCE)
    card.orders.setCurrentIndex(card.orders.findData("diverse"))
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(one_time_workers), timeout=PATIENCE)
    question = one_time_workers[-1].question
    assert isinstance(question, SuggestLabels) and question.order == "diverse"
    labels = tuple(Suggestion(row=row, label="good", probability=0.5) for row in (9, 0, 21))
    list_errors(qtbot, view, one_time_workers, LabelsSuggested(suggestions=labels, rows=10))
    assert texts(view) == ["film 0", "film 9", "film 21"], "film 0 was in hand"
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    qtbot.keyClick(view.table, Qt.Key.Key_1)  # bad
    assert card.decisions.text() == "2 labelled, 50.0 % as suggested"
    requests: list[tuple[str, object]] = []
    page._studio.navigate.connect(lambda *args: requests.append(args))
    qtbot.mouseClick(card.train, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(requests), timeout=PATIENCE)
    assert requests == [("train", {"data": view.state.folder.parent / "2", "target": None})]


def test_changes_since_the_previous_version_are_listed(qtbot, page, view):
    view.editing.state.set_label([4], "0")
    view.editing.state.set_cells([7], "sentence", ["another text"])
    view.editing.state.move([4], "test")
    view.editing.state.delete([0, 1])
    assert not view.changes.isVisible(), "the first version has no predecessor"
    view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    new = page.dataset
    qtbot.waitUntil(new.changes.isVisible, timeout=PATIENCE)
    qtbot.waitUntil(new.editing.keys.isVisible, timeout=PATIENCE)
    assert new.changes.accessibleName() == "Show changes since version 1"
    assert_accessible(new)
    qtbot.mouseClick(new.changes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: new.model.rowCount() == 2, timeout=PATIENCE)
    qtbot.waitUntil(lambda: "…" not in texts(new), timeout=PATIENCE)
    assert texts(new) == ["the film was very good 4", "another text"]
    before = new.model.suggestion_column
    assert new.model.headerData(before, Qt.Orientation.Horizontal) == "Before"
    assert [new.model.index(row, before).data() for row in (0, 1)] == [
        "label: 1⏎Training",
        "sentence: the film was very good 7",
    ]
    assert new.finding_text.text() == "Since version 1: 2 changed, 0 added, 2 deleted"
    assert "the film was very good 4" in new.row_text.toPlainText(), "the first row is shown"
    qtbot.keyClicks(new.search, "another")
    qtbot.waitUntil(new.finding_line.isHidden, timeout=PATIENCE)
    qtbot.waitUntil(lambda: texts(new) == ["another text"], timeout=PATIENCE)
    assert new.model.columnCount() == before, "the column Before disappears with the list"
    qtbot.mouseClick(new.changes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(new.deleted_rows.isVisible, timeout=PATIENCE)
    qtbot.mouseClick(new.deleted_rows, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "1", timeout=PATIENCE)
    old = page.dataset
    qtbot.waitUntil(lambda: old.count.text() == "2 of 120 rows", timeout=PATIENCE)
    qtbot.waitUntil(lambda: old.model.rowCount() == 2, timeout=PATIENCE)
    qtbot.waitUntil(lambda: "…" not in texts(old), timeout=PATIENCE)
    assert texts(old) == ["the film was very bad 0", "the film was very good 1"]
    assert old.finding_text.text() == "Rows deleted in version 2"
    qtbot.keyClicks(old.search, "good 9")
    qtbot.waitUntil(old.finding_line.isHidden, timeout=PATIENCE)


def test_a_version_made_by_editing_can_be_undone(qtbot, page, view, trash):
    """Immediately, with the previous edits, or later on the page of the version."""
    original = view.state.folder
    view.editing.state.set_label([4], "0")
    view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    version = page.dataset.state.folder
    notice = page._studio.notices.shown[-1]
    assert notice.problem == "Saved as version 2 of “reviews”." and notice.action == "Undo"
    notice.act()
    qtbot.waitUntil(lambda: page.dataset.state.folder == original, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not version.exists(), timeout=PATIENCE)
    restored = page.dataset
    qtbot.waitUntil(lambda: list(restored.editing.state.rows) == [4], timeout=PATIENCE)
    restored.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder == version, timeout=PATIENCE)
    page.show_list()
    page.open_dataset(version)
    reopened = page.dataset
    qtbot.waitUntil(reopened.undo.isVisible, timeout=PATIENCE)
    assert reopened.undo.accessibleName() == "Undo this version: go back to version 1"
    qtbot.mouseClick(reopened.undo, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    assert dialog.windowTitle() == "Go back to version 1?"
    qtbot.mouseClick(dialog.buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder == original, timeout=PATIENCE)
    assert not version.exists() and original.is_dir()
    qtbot.waitUntil(page.dataset.editing.keys.isVisible, timeout=PATIENCE)
    assert not page.dataset.undo.isVisible(), "the first version has no predecessor"
