"""Texts without labels are coded: codebook, one key a row, marks, orders, and later changes."""

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.pages.data.dataset.editing.codebook_dialog import CodebookDialog
from app.pages.data.dataset.editing.codebook_draft import CodebookDraft
from app.pages.data.dataset.view import DatasetView
from app.pages.data.view import DataPage
from app.widgets.forms.label_keys import LabelKeys
from engine.config.codebook import Code, Codebook
from engine.config.dataset import SPLITS
from engine.data.datasets.codebooks import read_codebook
from engine.data.datasets.coding import read_coding
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.editing import PendingEdits, read_edits
from engine.data.datasets.store import open_dataset
from engine.messages.labelling import LabelsSuggested, Suggestion, SuggestLabels
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question
from tests.app.conftest import StubWorker
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view, store

BOOK = Codebook(
    codes=(
        Code(label="price", definition="What it costs", examples=("far too dear",)),
        Code(label="staff", key="s", counterexamples=("a staff room",)),
        Code(label="food", deprecated=True),
    )
)


def open_coded(
    qtbot, page: DataPage, file: Path, book: Codebook = BOOK, **others: Codebook
) -> DatasetView:
    """The page of texts with an empty column to code, and codebooks of other columns."""
    first = store(page, file)
    edits = Edits(coded_column="topic", codebooks={"topic": book, **others})
    derive(first, first.parent / "2", 2, edits=edits)
    page.arrive(first.parent / "2")
    qtbot.waitUntil(lambda: _is_open(page, first.parent / "2"), timeout=PATIENCE)
    view = page.dataset
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    qtbot.waitUntil(lambda: view.model.index(0, 2).data() not in (None, "…"), timeout=PATIENCE)
    view.table.setFocus()
    view.table.selectRow(0)
    return view


def _is_open(page: DataPage, folder: Path) -> bool:
    return page.dataset is not None and page.dataset.state.folder == folder


@pytest.fixture
def answers(write) -> Path:
    return write("answers.txt", "".join(f"the answer of person {n}\n" for n in range(60)))


def on_disk(view: DatasetView) -> PendingEdits:
    state = view.editing.state
    return read_edits(state.file, state.spec.fingerprint)


def test_texts_without_labels_get_a_codebook_and_a_version_to_code(qtbot, page, answers):
    view = open_view(qtbot, page, answers)
    assert "no labels" in view.labels.balance.text() and not view.editing.codebook.isVisible()
    qtbot.waitUntil(view.code.isVisible, timeout=PATIENCE)
    qtbot.mouseClick(view.code, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    qtbot.waitExposed(dialog)
    assert not dialog.accept_button.isEnabled() and "two labels" in dialog.problem.text()
    assert dialog.note.isHidden(), "the rows have no other labels"
    qtbot.keyClicks(dialog.new, "price, staff,price")
    qtbot.keyClick(dialog.new, Qt.Key.Key_Return)
    assert [dialog.list.item(n).text() for n in range(dialog.list.count())] == ["price", "staff"]
    dialog.list.setCurrentRow(1)
    dialog.form.key.clear()
    qtbot.keyClicks(dialog.form.key, "s")
    dialog.form.definition.setPlainText("How people served us")
    dialog.form.examples.setPlainText("rude\n\nslow")
    dialog.column.setText("text")
    assert "another name" in dialog.problem.text() and not dialog.accept_button.isEnabled()
    dialog.column.setText("topic")
    assert_accessible(dialog)
    assert_distinct_keys(dialog)
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    page.activateWindow()  # a window manager does it after a dialog
    qtbot.waitUntil(page.dataset.table.hasFocus, timeout=PATIENCE)
    QTest.keyClicks(page.dataset.table, "1")
    assert on_disk(page.dataset).rows[0].cells == {"topic": "price"}, "from the first key on"
    spec = open_dataset(page.dataset.state.folder).spec
    meaning = "How people served us"
    staff = Code(label="staff", key="s", definition=meaning, examples=("rude", "slow"))
    assert spec.codebooks == {"topic": Codebook(codes=(Code(label="price"), staff))}
    assert spec.mapping.label == "topic" and sum(spec.unlabelled.values()) == 60


def test_a_row_takes_one_key_and_is_in_the_file_before_the_next_one_shows(qtbot, page, answers):
    view = open_coded(qtbot, page, answers)
    without_label = view.editing.card.introduction
    assert without_label.text() == "60 row(s) have no label."
    page._studio.settings.set("coder", "Ada")
    rows: list[int] = []
    view.table.selectionModel().currentRowChanged.connect(
        lambda *_: rows.append(len(on_disk(view).rows))  # as the next row shows
    )
    for key in ("1", "s", "1"):
        QTest.keyClicks(view.table, key)
    assert rows == [1, 2, 3]
    edits = on_disk(view).rows
    assert [edits[n].cells["topic"] for n in range(3)] == ["price", "staff", "price"]
    coding = edits[1].coding["topic"]
    assert (coding.coder, coding.drawn, coding.chance) == ("Ada", "file", 1) and coding.at
    assert len(view.editing.state.file.read_text().splitlines()) == 3, "a line for each decision"
    qtbot.waitUntil(lambda: without_label.text() == "57 row(s) have no label.", timeout=PATIENCE)
    meaning = view.editing.codebook.definition
    assert meaning.isHidden(), "the next row has no label"
    assert view.editing.codebook.meanings.text() == "price: What it costs"
    assert view.editing.codebook.new.text().replace("&", "") == "Label another column…"
    assert view.undo.isHidden(), "there are edits to undo"
    view.table.selectRow(0)
    qtbot.waitUntil(lambda: meaning.text() == "What it costs" and not meaning.isHidden())
    view.editing.keys.hovered.emit("staff")
    assert view.editing.codebook.examples.text() == "not: “a staff room”"

    # marks
    view.table.selectRow(3)
    QTest.keyClicks(view.table, "?!")
    place = view.table.mapTo(view, view.table.rect().topLeft())
    QTest.keyClicks(view.table, "#")
    assert view.editing.marks.field.hasFocus()
    assert view.table.mapTo(view, view.table.rect().topLeft()) == place, "nothing is moved"
    QTest.keyClicks(view.editing.marks.field, "What is meant?")
    QTest.keyClick(view.editing.marks.field, Qt.Key.Key_Return)
    assert view.table.hasFocus() and view.table.currentIndex().row() == 3
    coding = on_disk(view).rows[3].coding["topic"]
    assert (coding.unsure, coding.flagged, coding.note) == (True, True, "What is meant?")
    marks = view.model.index(3, view.model.mark_column).data()
    assert marks == "Unsure · Flagged · What is meant?"
    QTest.keyClicks(view.table, "!")
    assert not on_disk(view).rows[3].coding["topic"].flagged
    QTest.keyClicks(view.table, " ")
    assert on_disk(view).rows[3].coding["topic"].skipped and view.table.currentIndex().row() == 4
    view.editing.state.stack.undo()
    assert not on_disk(view).rows[3].coding["topic"].skipped
    assert_accessible(view)
    assert_distinct_keys(view, LabelKeys)

    # the version keeps them, and its table lists them
    view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "3", timeout=PATIENCE)
    again = page.dataset
    assert read_coding(again.state.folder)[3]["topic"].note == "What is meant?"
    qtbot.waitUntil(again.editing.codebook.lists.isVisible, timeout=PATIENCE)
    menu = again.editing.codebook.menu
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions()]
    assert texts[1:4] == ["Without a label (57)", "Skipped (0)", "Unsure (1)"]
    menu.actions()[3].trigger()
    qtbot.waitUntil(lambda: again.model.rowCount() == 1, timeout=PATIENCE)
    assert again.finding_text.text() == "Unsure" and again.state.indices.tolist() == [3]


def test_a_label_without_a_key_is_found_by_typing(qtbot, page, answers):
    labels = [f"code {n:02}" for n in range(30)]
    view = open_coded(qtbot, page, answers, Codebook(codes=tuple(Code(label=x) for x in labels)))
    QTest.keyClicks(view.table, "/")
    finder = view.editing.keys.finder
    assert finder.hasFocus()
    QTest.keyClicks(finder, "27")
    QTest.keyClick(finder, Qt.Key.Key_Return)
    assert on_disk(view).rows[0].cells["topic"] == "code 27"
    assert view.table.hasFocus() and view.table.currentIndex().row() == 1
    QTest.keyClicks(view.table, "/")
    QTest.keyClick(finder, Qt.Key.Key_Escape)
    assert view.table.hasFocus() and len(on_disk(view).rows) == 1
    page.resize(1016, 636)  # in the smallest window
    marks = view.editing.marks.widgets[:-1]
    whole = lambda: all(b.visibleRegion().boundingRect() == b.rect() for b in marks)  # noqa: E731
    qtbot.waitUntil(lambda: whole() and view.table.viewport().height() > 80, timeout=PATIENCE)
    QTest.keyClicks(view.table, "p")  # the last of 19 keys
    assert on_disk(view).rows[1].cells["topic"] == "code 18"


def test_paths_are_chosen_level_by_level_and_renamed_as_a_branch(qtbot, page, answers):
    labels = ("sport", "sport > football", "sport > football > cup", "news")
    codes = tuple(Code(label=label) for label in labels)
    view = open_coded(qtbot, page, answers, Codebook(codes=codes))
    tree = view.editing.keys.tree
    QTest.keyClicks(view.table, ">")
    qtbot.waitUntil(tree.isVisible)
    tree.close()
    sport, news = tree.actions()
    own, football = sport.menu().actions()
    assert (sport.text(), own.text(), news.text()) == ("sport", "sport", "news")
    assert [action.text() for action in football.menu().actions()] == ["sport > football", "cup"]
    football.menu().actions()[1].trigger()
    own.trigger()
    cells = [edit.cells["topic"] for edit in on_disk(view).rows.values()]
    assert cells == ["sport > football > cup", "sport"]

    qtbot.mouseClick(view.editing.codebook.edit, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    dialog.list.setCurrentRow(3)
    assert not dialog.rename.isVisible(), "a label of one level has its own field"
    dialog.list.setCurrentRow(2)
    assert dialog.rename.isVisible()
    assert_accessible(dialog)
    assert_distinct_keys(dialog)
    dialog.nodes.aboutToShow.emit()
    dialog.nodes.actions()[0].trigger()
    asked = question(qtbot, "Rename “sport”")
    asked.findChild(QLineEdit).setText("Sports")
    qtbot.mouseClick(asked.buttons["rename"], Qt.MouseButton.LeftButton)
    for new in ("Sports", "Sports > football > cup"):
        assert f"1 row(s) become “{new}”." in dialog.consequences.text()
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    book = view.editing.state.codebook
    assert [code.label for code in book.codes] == [
        *("Sports", "Sports > football", "Sports > football > cup", "news")
    ]
    cells = [edit.cells["topic"] for edit in on_disk(view).rows.values()]
    assert cells == ["Sports > football > cup", "Sports"]


def test_several_labels_and_numbers_of_a_long_scale_are_coded(qtbot, page, answers, write):
    view = open_coded(qtbot, page, answers, BOOK.model_copy(update={"kind": "labels"}))
    QTest.keyClicks(view.table, "1s")
    assert view.table.currentIndex().row() == 0, "until Enter"
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    QTest.keyClick(view.table, Qt.Key.Key_Return)  # none
    edits = on_disk(view).rows
    assert [json.loads(edits[n].cells["topic"]) for n in (0, 1)] == [["price", "staff"], []]
    assert view.model.index(0, 3).data() == "price, staff"
    view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "3", timeout=PATIENCE)
    dataset = open_dataset(page.dataset.state.folder)
    assert len(dataset.unlabelled()) == 58 and dataset.spec.sets_are_coded

    other = write("others.txt", "".join(f"the answer of person {n}\n" for n in range(20)))
    view = open_coded(qtbot, page, other, Codebook(kind="number", lowest=0, highest=100))
    QTest.keyClicks(view.table, "7")
    assert view.editing.keys.finder.text() == "7"
    QTest.keyClicks(view.editing.keys.finder, "5")
    QTest.keyClick(view.editing.keys.finder, Qt.Key.Key_Return)
    assert on_disk(view).rows[0].cells["topic"] == "75"


def test_rows_come_up_at_random_with_a_control_sample(qtbot, page, answers, one_time_workers):
    view = open_coded(qtbot, page, answers)
    card = view.editing.card
    card.orders.setCurrentIndex(card.orders.findData("random"))
    assert not card.model.isVisible(), "no model is needed"
    card.control.setChecked(True)
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(view.editing.state.draws) == 60, timeout=PATIENCE)
    rows = [int(row) for row in view.state.indices]
    assert sorted(rows) == list(range(60)) and rows != sorted(rows) and not one_time_workers
    qtbot.waitUntil(lambda: view.model.index(0, 2).data() not in (None, "…"), timeout=PATIENCE)
    qtbot.waitUntil(view.table.hasFocus, timeout=PATIENCE)
    for _ in range(5):
        QTest.keyClicks(view.table, "1")
    edits = on_disk(view).rows
    coding = [edits[row].coding["topic"] for row in rows[:5]]
    assert [c.drawn for c in coding] == ["random"] * 5 and coding[0].chance == 1 / 60
    control = {row for row, edit in edits.items() if edit.coding["topic"].control}
    assert rows[4] in control and coding[4].chance == 1 / 56
    splits = view.state.dataset.splits
    now = {row: edit.split or SPLITS[splits[row]] for row, edit in edits.items()}
    assert {row for row in now if now[row] == "test"} == control, "the others leave the test set"
    assert card.decisions.text() == "5 labelled"
    fifth = view.model.index(9, view.model.suggestion_column)
    assert fifth.data() == "Control sample" and "random row" in fifth.data(
        Qt.ItemDataRole.ToolTipRole
    )


def test_the_model_suggests_from_the_codebook_and_what_was_labelled_since(
    qtbot, page, answers, one_time_workers: list[StubWorker]
):
    view = open_coded(qtbot, page, answers)
    card = view.editing.card
    QTest.keyClicks(view.table, "1")
    card.orders.setCurrentIndex(card.orders.findData("likely"))
    assert card.likely.isVisible() and card.model.isVisible()
    card.likely.setCurrentIndex(1)
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(one_time_workers), timeout=PATIENCE)
    asked = one_time_workers[-1].question
    assert isinstance(asked, SuggestLabels)
    assert (asked.order, asked.label, asked.labels) == ("likely", "staff", {0: "price"})
    assert asked.codebook == BOOK and asked.target == "topic"
    found = tuple(Suggestion(row=row, label="staff", probability=0.7) for row in (9, 4, 0))
    answer = LabelsSuggested(suggestions=found, rows=59, from_codebook=True)
    one_time_workers[-1].done(answer)
    assert (
        view.state.indices.tolist() == [1, 9, 4] and "names and definitions" in card.result.text()
    )
    qtbot.waitUntil(lambda: view.model.index(0, 2).data() not in (None, "…"), timeout=PATIENCE)
    qtbot.waitUntil(view.table.hasFocus, timeout=PATIENCE)
    QTest.keyClick(view.table, Qt.Key.Key_1)  # the row that was in hand
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    edit = on_disk(view).rows[9]
    assert edit.cells == {"topic": "staff"} and edit.coding["topic"].drawn == "likely"


def test_the_dialog_says_that_labels_of_another_column_are_kept(qtbot, page, reviews):
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(view.editing.codebook.new.isVisible, timeout=PATIENCE)
    qtbot.mouseClick(view.editing.codebook.new, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    assert dialog.note.isVisible() and "also keeps “label”" in dialog.note.text()
    assert dialog.column.text() == "label 2"
    dialog.reject()


def test_changes_of_the_codebook_say_what_happens_to_the_rows_and_are_undone(qtbot, page, answers):
    view = open_coded(qtbot, page, answers)
    QTest.keyClicks(view.table, "111s")
    state = view.editing.state
    qtbot.mouseClick(view.editing.codebook.edit, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    assert dialog.list.item(0).text() == "price  (3 row(s))"
    dialog.form.label.setText("")
    qtbot.keyClicks(dialog.form.label, "cost")
    assert dialog.consequences.text() == "3 row(s) become “cost”."
    dialog._on_merge(1)
    assert dialog.consequences.text() == "3 row(s) become “staff”."
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    assert {edit.cells["topic"] for edit in state.rows.values()} == {"staff"}
    assert [code.label for code in on_disk(view).codebooks["topic"].codes] == ["staff", "food"]
    state.stack.undo()
    assert [edit.cells["topic"] for edit in state.rows.values()] == ["price"] * 3 + ["staff"]
    assert state.codebook == BOOK and view.editing.keys.find_label(ord("1")) == "price"
    assert on_disk(view).codebooks.get("topic", BOOK) == BOOK

    # a split label: its rows are listed to be labelled again
    qtbot.mouseClick(view.editing.codebook.edit, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    qtbot.mouseClick(dialog.split, Qt.MouseButton.LeftButton)
    asked = question(qtbot, "Split")
    asked.findChild(QLineEdit).setText("too dear, cheap")
    qtbot.mouseClick(asked.buttons["split"], Qt.MouseButton.LeftButton)
    assert "3 row(s) keep “price” until you label them again" in dialog.consequences.text()
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    assert view.state.indices.tolist() == [0, 1, 2]
    assert [c.label for c in state.codebook.active] == ["staff", "too dear", "cheap"]


def test_a_changed_codebook_is_an_edit_that_is_discarded_and_restored(qtbot, page, answers):
    numbers = Codebook(kind="number")
    view = open_coded(qtbot, page, answers, text=numbers)
    state = view.editing.state
    changed = {"topic": Codebook(codes=BOOK.codes[:2]), "text": Codebook(codes=BOOK.codes[:1])}
    state._do({}, "Change", changed)
    assert state.codebooks == changed and not state.rows
    assert view._has_edits(), "no version without them is made"
    state.discard()
    assert not state.is_edited
    state.stack.undo()
    assert state.codebooks == changed
    state.stack.undo()
    assert not state.is_edited and state.codebook == BOOK


def test_a_draft_removes_imports_and_deprecates(page):
    book = Codebook(codes=(Code(label="1"), Code(label="2"), Code(label="old")))
    draft = CodebookDraft(book, {"1": 4, "2": 3, "old": 2})
    new = Codebook(codes=(Code(label="price", key="1"), Code(label="staff", key="2")))
    assert draft.counts.keys() == {"1", "2", "old"}
    draft.read(new)
    assert draft.renamed() == {}, "one of the labels has no key in the file"
    assert [entry.code.label for entry in draft.entries] == ["price", "staff", "1", "2", "old"]
    draft = CodebookDraft(Codebook(codes=book.codes[:2]), {"1": 4, "2": 3})
    draft.read(new)
    assert draft.renamed() == {"1": "price", "2": "staff"}
    draft.remove(1)
    draft.update(0, deprecated=True)
    assert draft.consequences() == [
        "4 row(s) become “price”.",
        "3 row(s) lose the label “2”.",
        "4 row(s) keep “price”, which has no key any more.",
    ]


def test_the_dialog_exports_and_imports_files(qtbot, page, tmp_path):
    dialog = CodebookDialog(page, CodebookDraft(BOOK, {"price": 2}), lambda *_: None)
    qtbot.addWidget(dialog)
    dialog.write(tmp_path / "book.xlsx")
    assert read_codebook(tmp_path / "book.xlsx") == BOOK
    (tmp_path / "other.csv").write_text("label,definition\nprice,cost\nnew,\n")
    dialog.read(tmp_path / "other.csv")
    assert [entry.code.label for entry in dialog.draft.entries] == ["price", "new", "staff", "food"]
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    dialog.read(tmp_path / "bad.csv")
    assert "no column has the labels" in dialog.problem.text()
    assert np.isfinite(dialog.sizeHint().width())


def test_the_first_row_without_a_label_is_in_sight_after_reopening(qtbot, page, answers):
    first = store(page, answers)
    cells = {row: {"topic": "price"} for row in range(45)}
    derive(
        first, first.parent / "2", 2, edits=Edits(coded_column="topic", codebooks={"topic": BOOK})
    )
    derive(first.parent / "2", first.parent / "3", 3, edits=Edits(cells=cells))
    page.resize(1016, 636)
    page.arrive(first.parent / "3")
    qtbot.waitUntil(lambda: _is_open(page, first.parent / "3"), timeout=PATIENCE)
    table = page.dataset.table
    qtbot.waitUntil(lambda: table.currentIndex().row() == 45 and table.hasFocus())

    def seen() -> bool:
        return table.viewport().rect().contains(table.visualRect(table.currentIndex()))

    for height in (636, 560, 800):
        page.resize(1016, height)
        qtbot.waitUntil(seen)
    QTest.keyClicks(table, "1")
    assert on_disk(page.dataset).rows[45].cells == {"topic": "price"}
