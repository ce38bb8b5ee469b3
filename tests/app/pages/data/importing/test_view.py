"""The import page by mouse and keyboard, with hostile and huge files."""

from pathlib import Path

import pytest
import xlsxwriter
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog

from app.pages.data.importing.roles import Roles
from app.pages.data.importing.view import ImportView, PreviewModel
from app.pages.data.texts import dataset_facts
from app.pages.data.view import DataPage
from app.theme import CHART, colour
from app.widgets.forms.controls import ColumnsBox
from app.widgets.text.tagged import CHIPS
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import FirstRows
from engine.data.formats.rows import Row
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.engine.data.formats.hostile import CASES
from tests.often import times

PATIENCE = 30_000  # ms
MARKUP = '<img src="file:///CANARY.png"><b>x</b>&amp;'


def load(qtbot, page: DataPage, *files: Path) -> ImportView:
    """Open files and wait until their rows are counted or a problem is reported."""
    page.import_from(files)
    view = page.importing
    state = view.state
    qtbot.waitUntil(
        lambda: bool(state.count.split_rows or state.count.problem or state.preview_problem),
        timeout=PATIENCE,
    )
    return view


def choose(qtbot, box: QComboBox, text: str) -> None:
    """Choose an item with the keyboard."""
    box.setFocus()
    row = box.findText(text)
    assert row >= 0, f"{text} is not among the items"
    while box.currentIndex() != row:
        key = Qt.Key.Key_Down if box.currentIndex() < row else Qt.Key.Key_Up
        qtbot.keyClick(box, key)


def test_a_file_is_imported_with_the_mouse(qtbot, page, studio, reviews):
    view = load(qtbot, page, reviews)
    assert page.stack.currentWidget() is view
    assert view.rows.rowCount() == 120
    assert view.start.isEnabled()
    assert view.count.text().startswith("120")
    qtbot.waitUntil(lambda: len(view.examples.rows) == 5)
    qtbot.mouseClick(view.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    assert page.stack.currentWidget() is page.dataset
    assert [entry.name for entry in studio.datasets()] == ["reviews"]
    page.show_list()
    qtbot.waitUntil(lambda: bool(page.state.all_entries()))
    section = load(qtbot, page, reviews).name
    assert "version 2" in section.note.text()
    section.name.selectAll()
    qtbot.keyClicks(section.name, "others")
    assert not section.note.text()


def test_columns_are_guessed_and_marked_until_they_are_chosen(qtbot, page, write):
    rows = [f"{n},a film number {n},{word}\n" for n in range(10) for word in ("good", "bad")]
    view = load(qtbot, page, write("films.csv", "place,opinion,verdict\n" + "".join(rows)))
    note = view.columns.note
    assert note.isVisibleTo(view) and "We guessed" in note.text()
    assert "We guessed" not in view.format.note.text()
    choose(qtbot, view.columns.label, "place")
    assert not note.isVisibleTo(view)

    # choosing the text column guesses the other roles
    rows = [f"{n};{word}\n" for n in ("very good", "quite bad") for word in "yyyyynnnnn"]
    page.import_from([write("opinions.csv", "opinion;verdict\n" + "".join(rows))])
    view, columns = page.importing, page.importing.columns
    qtbot.waitUntil(lambda: view.state.preview is not None, timeout=PATIENCE)
    assert "No column looks like text" in columns.note.text()
    choose(qtbot, columns.text, "opinion")
    assert view.state.roles == Roles("opinion", None, "verdict")
    assert columns.label.currentText() == "verdict"
    assert "We guessed the label column" in columns.note.text()
    qtbot.waitUntil(view.start.isEnabled, timeout=PATIENCE)
    choose(qtbot, columns.label, "none")
    choose(qtbot, columns.text, "verdict")
    assert view.state.roles == Roles("verdict"), "only the first choice guesses the others"
    assert not columns.note.isVisibleTo(view)


def test_texts_of_an_unknown_language_lead_to_multilingual_models(qtbot, page, write, studio):
    rows = "".join(f"玛丽亚住在巴黎喜欢晚上看书 {n},{n % 2}\n" for n in range(20))
    view = load(qtbot, page, write("chinese.csv", "text,label\n" + rows))
    examples = view.examples
    qtbot.waitUntil(examples.multilingual.isVisible, timeout=PATIENCE)
    assert examples.note.text().startswith("Scripts: Chinese 100 %\n")
    assert "unknown to the model" in examples.note.text()
    assert_accessible(view)
    with qtbot.waitSignal(studio.navigate) as signal:
        examples.multilingual.click()
    assert signal.args == ["models", {"get": "multilingual"}]
    view = load(qtbot, page, write("english.csv", "text,label\n" + "a b c,1\nd e f,0\n" * 9))
    qtbot.waitUntil(lambda: examples.note.text() == "Scripts: Latin 100 %", timeout=PATIENCE)
    assert not examples.multilingual.isVisible()


def test_delimiter_and_encoding_are_changed_by_keyboard(qtbot, page, write):
    view = load(qtbot, page, write("bars.csv", "text|label\none; two|1\nthree; four|0\n"))
    assert view.format.delimiter.currentText() == "Vertical bar  |"
    choose(qtbot, view.format.delimiter, "Semicolon  ;")
    qtbot.waitUntil(lambda: view.state.preview_problem is not None, timeout=PATIENCE)
    assert view.table_stack.currentWidget() is view.unreadable
    assert "line 2" in view.unreadable.title.text()
    assert view.side.isVisible(), "the problem can be fixed here"
    choose(qtbot, view.format.delimiter, "Vertical bar  |")
    qtbot.waitUntil(lambda: view.rows.columnCount() == 2, timeout=PATIENCE)
    assert view.table_stack.currentWidget() is view.table
    view = load(qtbot, page, write("chinese.csv", "text,label\nκαλό,1\nκακό,0\n", "cp1253"))
    box = view.format.encoding
    box.setFocus()
    box.lineEdit().selectAll()
    qtbot.keyClicks(box.lineEdit(), "cp1253")
    qtbot.waitUntil(
        lambda: view.rows.rowCount() > 0 and view.rows.index(0, 0).data() == "καλό",
        timeout=PATIENCE,
    )
    assert view.state.reading.encoding == "cp1253"


def tick(columns: ColumnsBox, *names: str) -> None:
    """Open the menu of a button and tick these entries."""
    columns.fill()
    for action in columns.menu.actions():
        if action.text() in names:
            action.trigger()


def test_several_flag_columns_and_endings_are_ticked_in_one_menu(qtbot, page, write):
    rows = "".join(f"a film {n},{n % 2},{('yes', 'no')[n % 4 > 0]},{n % 5}\n" for n in range(40))
    view = load(qtbot, page, write("flags.csv", "text,rude,long,other\n" + rows))
    view.columns.more.setChecked(True)
    choose(qtbot, view.columns.label, "none")
    box = view.columns.lists["flags"]
    qtbot.keyClick(box, Qt.Key.Key_Space)
    qtbot.waitUntil(box.menu.isVisible)
    points = [box.menu.actionGeometry(action).center() for action in box.menu.actions()]
    qtbot.mouseClick(box.menu, Qt.MouseButton.LeftButton, pos=points[1])
    qtbot.keyClick(box.menu, Qt.Key.Key_Down)
    qtbot.keyClick(box.menu, Qt.Key.Key_Space)
    assert box.menu.isVisible() and box.currentText() == "rude, long"
    assert view.state.roles == Roles("text", flags=("rude", "long"))
    qtbot.keyClick(box.menu, Qt.Key.Key_Escape)
    assert not box.menu.isVisible()
    qtbot.waitUntil(lambda: view.state.count.collected is not None, timeout=PATIENCE)
    assert view.state.count.collected.flags == {"rude": 20, "long": 10}
    assert view.state.problems() == []

    # a cell that is neither yes nor no is reported with its line
    view = load(qtbot, page, write("flags.csv", "text,rude\na film,1\nb film,maybe\n"))
    choose(qtbot, view.columns.label, "none")
    tick(view.columns.lists["flags"], "rude")
    qtbot.waitUntil(lambda: view.state.count.problem is not None, timeout=PATIENCE)
    assert "line 3: “maybe” in the column “rude”" in view.state.count.problem.problem

    # endings are chosen by hand
    rows = "".join(f"film {n},it was good,it was bad,{n % 2}\n" for n in range(20))
    view = load(qtbot, page, write("swag.csv", "text,one,other,label\n" + rows))
    assert view.state.roles.endings == ()
    tick(view.columns.lists["endings"], "one", "other")
    qtbot.waitUntil(lambda: view.state.count.collected is not None, timeout=PATIENCE)
    assert view.state.roles == Roles("text", label="label", endings=("one", "other"))
    assert view.state.problems() == []


def test_an_unreadable_file_is_reported_on_the_page(qtbot, page, write):
    view = load(qtbot, page, write("table.xlsx", "PK\x03\x04 xl/"))
    assert page.stack.currentWidget() is view
    assert "cannot be unpacked" in view.unreadable.title.text()
    assert view.unreadable.isVisible()
    assert not view.side.isVisible()
    assert not view.start.isEnabled()
    assert "table.xlsx" in view.start.accessibleDescription()


def test_roles_and_the_split_are_chosen_and_shown(qtbot, page, set_theme, screen, reviews):
    view = load(qtbot, page, reviews)
    qtbot.waitUntil(lambda: bool(view.state.examples.examples))
    assert_accessible(page)
    assert_distinct_keys(page, QCheckBox)
    for theme in ("light", "dark"):
        set_theme(theme)
        assert screen(page, f"data-import-{theme}").stat().st_size > 10_000
    assert view.side.widget().minimumSizeHint().width() <= view.side.viewport().width()
    corner = view.start.mapTo(page, QPoint(view.start.width(), view.start.height()))
    assert page.rect().contains(corner)
    qtbot.waitUntil(lambda: "validation 12" in view.split.note.text())
    view.split.validation.setFocus()
    for text in ("50", "0.5"):
        view.split.validation.selectAll()
        qtbot.keyClicks(view.split.validation, text)
        assert view.state.split.validation == 0.5 and view.split.validation.text() == text
        qtbot.waitUntil(lambda: "validation 60" in view.split.note.text(), timeout=PATIENCE)
    view.split.validation.setValue(0)
    qtbot.waitUntil(lambda: "Without a validation set" in view.split.note.text(), timeout=PATIENCE)
    horizontal = Qt.Orientation.Horizontal
    role = Qt.ItemDataRole.AccessibleTextRole
    assert view.rows.headerData(0, horizontal, role) == "sentence, Text"
    choose(qtbot, view.columns.label, "none")
    qtbot.waitUntil(lambda: view.state.roles.label is None)
    assert view.rows.headerData(1, horizontal, role) is None


def test_rows_are_split_by_the_time_or_the_group_of_a_column(qtbot, page, write):
    rows = [f"a film {n},{n % 2},2024-01-{1 + n % 28:02},author {n % 6},{n % 3}" for n in range(60)]
    view = load(qtbot, page, write("films.csv", "\n".join(["text,label,sent,author,id", *rows])))
    split, state = view.split, view.state
    assert not split.by.isVisible()
    for column, by in (("sent", "time"), ("author", "group"), ("id", "group")):
        choose(qtbot, split.column, column)
        split.column.activated.emit(split.column.currentIndex())
        assert (state.split.column, state.split.by, split.by.currentData()) == (column, by, by)
        assert split.by.isVisible() and split.validation.isVisible()
        assert split.seed.isVisible() == split.stratify.isVisible() == (by == "group")
        qtbot.waitUntil(lambda: "validation" in split.note.text(), timeout=PATIENCE)
    choose(qtbot, split.by, "times")
    choose(qtbot, split.column, "author")
    choose(qtbot, split.by, "times")
    qtbot.waitUntil(lambda: state.count.problem is not None, timeout=PATIENCE)
    assert "No format of dates" in state.count.problem.problem and not view.start.isEnabled()
    choose(qtbot, split.column, "sent")
    qtbot.waitUntil(view.start.isEnabled, timeout=PATIENCE)
    qtbot.mouseClick(view.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    (entry,) = page._studio.datasets()
    assert (entry.spec.split.column, entry.spec.split.by) == ("sent", "time")
    facts = dict(fact[:2] for fact in dataset_facts(entry.spec, entry.folder, ""))
    assert facts["Split by"] == "By the time in “sent”, newest last: Validation 10 %"


def test_a_column_of_splits_is_named_until_it_is_chosen(qtbot, page, write):
    names = ("train", "dev", "test")
    rows = "".join(f"a film of note {n},{'ab'[n % 2]},{names[n % 3]}\n" for n in range(30))
    view = load(qtbot, page, write("rows.csv", "text,label,part\n" + rows))
    qtbot.waitUntil(lambda: "“part” has the split of each row" in view.split.note.text())
    choose(qtbot, view.split.column, "part")
    view.split.column.activated.emit(view.split.column.currentIndex())
    assert view.state.split.by == "name"
    qtbot.waitUntil(lambda: "has the split" not in view.split.note.text())


def test_each_file_has_a_box_for_its_split(qtbot, page, write):
    rows = "text,label\n" + "".join(f"a film {n},{n % 2}\n" for n in range(9))
    view = load(qtbot, page, write("train.csv", rows), write("test.csv", rows))
    assert [box.currentData() for box in view.files.boxes] == ["train", "test"]
    assert view.file_tabs.isVisible()
    choose(qtbot, view.files.boxes[1], "Don't import")
    qtbot.waitUntil(lambda: view.state.sources == {"all": (view.state.files[0],)})


def test_sheets_are_tabs_with_their_sizes(qtbot, page, tmp_path):
    book = tmp_path / "survey.xlsx"
    with xlsxwriter.Workbook(book) as workbook:
        for name, rows in (("Codes", 3), ("Answers", 30)):
            sheet = workbook.add_worksheet(name)
            for row in range(rows):
                sheet.write_row(row, 0, (f"{name} number {row}", row % 2))
    view = load(qtbot, page, book)
    tabs = view.file_tabs
    assert [tabs.tabText(n) for n in range(tabs.count())] == ["Answers (30 × 2)", "Codes (3 × 2)"]
    assert_accessible(view)
    qtbot.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(1).center())
    qtbot.waitUntil(lambda: view.rows.index(0, 0).data() == "Codes number 0", timeout=PATIENCE)
    assert view.state.sources == {"all": (view.state.files[0],)}, "only shown"


def test_the_file_dialog_starts_an_import_and_back_cancels_it(qtbot, page, reviews):
    qtbot.mouseClick(page.list.import_button, Qt.MouseButton.LeftButton)
    dialog = page.findChild(QFileDialog)
    dialog.filesSelected.emit([str(reviews)])
    dialog.close()
    qtbot.waitUntil(lambda: page.importing.state.preview is not None, timeout=PATIENCE)
    assert page.stack.currentWidget() is page.importing
    qtbot.mouseClick(page.importing.back, Qt.MouseButton.LeftButton)
    assert page.stack.currentWidget() is page.list
    assert not page.state.all_entries()


# ── hostile and huge files ──────────────────────────────────────────────────────────────────


def test_markup_is_shown_literally(qtbot, page, write):
    cell = MARKUP.replace('"', '""')
    rows = "".join(f'"{cell} {n}","{cell} {n % 2}"\n' for n in range(6))
    view = load(qtbot, page, write("&<b>bold<b>.csv", f'sentence,"{cell}"\n{rows}'))
    view.state.set_roles(Roles("sentence", None, MARKUP))
    qtbot.waitUntil(lambda: bool(view.state.examples.examples))
    assert view.rows.index(0, 0).data() == f"{MARKUP} 0"
    tip = view.rows.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "&lt;img" in tip
    assert "<img" not in tip
    assert MARKUP in view.examples.rows[0][2].text()
    assert MARKUP in [view.columns.text.itemText(n) for n in range(view.columns.text.count())]
    assert "<b>bold<b>" in view.title.text()
    assert_accessible(view)


def test_a_cell_of_a_million_characters_does_not_block_the_window(qtbot, page, write):
    huge = "word " * 200_000
    view = load(qtbot, page, write("long.csv", f"text,label\n{huge},1\nshort one,0\n"))
    assert view.start.isEnabled()
    assert len(view.rows.index(0, 0).data()) < 400
    view.table.selectRow(0)
    view.table.scrollToBottom()
    qtbot.waitUntil(lambda: bool(view.state.examples.examples))
    assert view.state.examples.examples[0].truncated
    view.grab()
    view.state.start_import()
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    stored = open_dataset(page.dataset.state.folder)
    texts = [text for part in ("train", "validation") for text in stored.rows(part).texts]
    assert sorted(text.strip() for text in texts) == ["short one", huge.strip()]


@times(300, 3_000)
def test_many_columns_do_not_block_the_window(qtbot, page, write, count):
    names = ",".join(f"column{n}" for n in range(count))
    rows = [",".join([f"a long text {n}", *[str(n % 2)] * (count - 1)]) for n in range(30)]
    view = load(qtbot, page, write("wide.csv", "\n".join([names, *rows]) + "\n"))
    assert view.rows.columnCount() == 200
    assert view.columns.pair.count() == count + 1
    assert any(f"200 of {count:,}" in note for note in view.state.preview.table.notes)
    view.state.set_roles(Roles(f"column{count - 1}", None, "column250"))
    qtbot.waitUntil(lambda: view.state.count.split_rows is not None, timeout=PATIENCE)
    assert not view.state.obstacle(), "a column beyond those shown may be the text"
    view.state.start_import()
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
    assert page.dataset.state.columns[:2] == (f"column{count - 1}", "column250")
    page.dataset.table.scrollTo(page.dataset.model.index(10, 150))


@times(500, 30_000)
def test_many_labels_do_not_block_the_window(qtbot, page, write, count):
    rows = "".join(f"text number {n} is one,label {n % count}\n" for n in range(2 * count))
    view = load(qtbot, page, write("labels.csv", f"text,label\n{rows}"))
    view.state.set_roles(Roles("text", None, "label"))
    qtbot.waitUntil(lambda: view.state.count.split_rows is not None, timeout=PATIENCE)
    view.state.start_import()
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
    bars = page.dataset.labels.bars
    qtbot.waitUntil(lambda: bars.model().rowCount() == count, timeout=PATIENCE)
    bars.scrollToBottom()
    bars.selectRow(count - 1)
    qtbot.waitUntil(lambda: page.dataset.model.rowCount() == 2, timeout=PATIENCE)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_hostile_file_blocks_the_window(qtbot, page, tmp_path, watchdog):
    """The real page shows the rows of each file, or a problem."""
    watchdog.be_strict(0.2)
    for case in CASES:
        path = tmp_path / case.name
        case.make(path)
        view = load(qtbot, page, path)
        assert view.state.preview_problem or view.state.count.problem or view.rows.rowCount()
        page.show_list()
        qtbot.wait(1)
    print(f"{len(CASES)} files, none blocked the window for more than 200 ms")


def test_the_preview_model_is_valid(qtmodeltester):
    model = PreviewModel()
    model.show_preview(FirstRows(("a", "b"), [Row(1, ("x", "y")), Row(2, ("z\nz", ""))], ()))
    model.show_roles(Roles("a", None, "b"))
    qtmodeltester.check(model)
    assert model.index(1, 0).data() == "z⏎z"
    spans = '[[0, 14, "ORG"], [0, 8, "LOC"]]'
    model.show_preview(FirstRows(("text", "spans"), [Row(1, ("New York Times", spans))], ()))
    model.show_roles(Roles("text", tags="spans"))
    shown = [(chip.text, chip.type, chip.color) for chip in model.index(0, 1).data(CHIPS)]
    assert shown == [("New York Times", "ORG", 1), ("New York", "LOC", 0)], "nested ones are seen"


def test_fixes_are_checked_together_and_unchecked_one_by_one(qtbot, page, duplicates):
    more = ["", " ,1", "caf\u00c3\u00a9,1", "a &quot;film&quot;,0"]
    duplicates.write_text(duplicates.read_text() + "\n".join(more), encoding="utf-8")
    view = load(qtbot, page, duplicates)
    state = view.state.findings
    qtbot.waitUntil(lambda: len(state.listed) > 2, timeout=PATIENCE)
    qtbot.mouseClick(view.below.group.button(1), Qt.MouseButton.LeftButton)
    assert view.below.group.button(1).text() == f"Findings ({len(state.listed)})"
    assert_accessible(view)
    boxes = {box.accessibleName(): box for box, _ in view.findings.boxes}
    drop, broken = boxes["Exact duplicates: Drop the duplicates"], view.findings.boxes[-1][0]
    positions = [box.y() for box, _ in view.findings.boxes]
    for box in (drop, broken):
        box.click()
    assert ("exact_duplicates", "drop") in state.chosen_fixes and len(state.chosen_fixes) == 2
    assert [box.y() for box, _ in view.findings.boxes] == positions, "nothing moves"
    broken.click()
    assert state.chosen_fixes == {("exact_duplicates", "drop")} and drop.isChecked()


def test_one_of_several_fixes_is_chosen_in_a_box(qtbot, page, write):
    rows = "".join(f"a film number {n} of {n % 7} and {n * n},{'ab'[n % 2]}\n" for n in range(40))
    view = load(
        qtbot, page, write("rows.csv", "text,label\nthe same film,a\nthe same film,b\n" + rows)
    )
    state = view.state.findings
    qtbot.waitUntil(lambda: bool(state.listed), timeout=PATIENCE)
    index = [finding.check for finding in state.listed].index("label_conflicts")
    box, choice = view.findings.boxes[index]
    assert choice is not None and choice.count() == 3
    box.click()
    assert state.chosen_fixes == {("label_conflicts", "majority")}
    choice.setCurrentIndex(2)
    choice.activated.emit(2)
    assert state.chosen_fixes == {("label_conflicts", "drop")}


def test_columns_are_listed_and_get_their_role_from_a_menu(qtbot, page, write):
    rows = "".join(
        f"{n},a film of note {n},{'yes' if n % 2 else 'no'},,{n / 4}\n" for n in range(20)
    )
    view = load(qtbot, page, write("rows.csv", "id,review,liked,note,stars\n" + rows))
    qtbot.mouseClick(view.shown.group.button(1), Qt.MouseButton.LeftButton)
    assert_accessible(view)
    model, table = view.columns_table.model, view.columns_table.table

    def cells() -> dict[str, list[str]]:
        shown = [[model.index(n, m).data() for m in range(5)] for n in range(model.rowCount())]
        return {name: rest for name, *rest in shown}

    assert cells()["review"] == [
        "Text",
        "Text",
        "100 %",
        " · ".join(f"a film of note {n}" for n in range(3)),
    ]
    assert cells()["note"] == ["Kept", "Empty", "0 %", ""]
    assert [cells()[name][1] for name in ("id", "liked", "stars")] == ["Number", "Yes/no", "Number"]
    position = [*cells()].index("liked")
    table.setCurrentIndex(model.index(position, 0))
    table.activated.emit(model.index(position, 0))
    menu = view.columns_table.menu
    assert menu.isVisible()
    actions = {action.text(): action for action in menu.actions()}
    assert actions["Kept, not used"].isChecked()
    actions["Label"].trigger()
    menu.close()
    assert view.columns.label.currentText() == "liked" and cells()["liked"][0] == "Label"
    assert cells()["stars"][0] == "Kept" and [*cells()][:2] == ["review", "liked"]


def test_many_rows_are_checked_only_on_request(qtbot, page, monkeypatch, reviews):
    """The page offers checking, shows its progress, and can cancel it."""
    monkeypatch.setattr("app.pages.data.importing.findings.MAX_AUTOMATIC_ROWS", 100)
    view = load(qtbot, page, reviews)
    qtbot.waitUntil(view.check.isVisible, timeout=PATIENCE)
    assert view.count.text() == "120 row(s)" and view.state.findings.findings is None
    qtbot.mouseClick(view.check, Qt.MouseButton.LeftButton)
    assert view.cancel_check.isVisible() and view.count.text().startswith("Checking rows: ")
    qtbot.mouseClick(view.cancel_check, Qt.MouseButton.LeftButton)
    assert view.check.isVisible() and view.count.text() == "120 row(s)"
    fractions: list[float] = []
    view.state.findings.progressed.connect(lambda: fractions.append(view.state.findings.fraction))
    qtbot.mouseClick(view.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: view.state.findings.findings is not None, timeout=PATIENCE)
    assert not view.check.isVisible() and not view.cancel_check.isVisible()
    assert fractions == sorted(fractions) and fractions[-1] > 0.5, "files first, then rows"
    assert view.findings.note.text() == view.state.findings.note() != ""


def test_columns_of_coders_are_asked_about_and_imported_as_such(qtbot, page, studio, write, screen):
    labels = [("good", "good"), ("bad", "bad"), ("good", "bad"), ("bad", "NA"), ("bad", "bad")]
    rows = [f"film {n} was seen by many,{a},{b}\n" for n in range(20) for a, b in labels]
    view = load(qtbot, page, write("films.csv", "review,Anna,Ben\n" + "".join(rows)))
    columns = view.columns
    assert columns.several.isVisibleTo(view)
    assert columns.several.currentText() == "Coders of one label"
    assert view.state.roles == Roles("review", coders=("Anna", "Ben"))
    assert "“Anna”, “Ben” are read as coders of one label" in columns.note.text()
    assert "“NA” in these columns means that a row was not coded." in columns.note.text()
    assert "We guessed" not in columns.note.text()
    qtbot.waitUntil(lambda: len(view.examples.rows) == 5)
    shown = [label.text() for _, _, label in view.examples.rows[:4]]
    assert shown == ["label “good”", "label “bad”", "no label", "label “bad”"]
    assert_accessible(view)
    screen(view, "import-coders")
    choose(qtbot, columns.several, "Separate labels")
    assert view.state.roles == Roles("review", label="Anna") and columns.several.isVisibleTo(view)
    choose(qtbot, columns.several, "Coders of one label")
    qtbot.waitUntil(view.start.isEnabled, timeout=PATIENCE)
    view.start.click()
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    spec = open_dataset(studio.datasets()[0].folder).spec
    assert spec.mapping.coders == ("Anna", "Ben") and spec.labels == {"": 20, "bad": 60, "good": 20}


def test_tokens_of_tagged_words_have_their_spans_in_colour(qtbot, page, tagged):
    view = load(qtbot, page, tagged)
    qtbot.waitUntil(lambda: len(view.examples.rows) == 5)
    examples = view.state.examples.examples
    for example, (_, row, _) in zip(examples, view.examples.rows, strict=False):
        texts = [token.text for token in example.tokens]
        named = {
            span.type: "".join(texts[span.start : span.end]).replace("##", "")
            for span in example.spans
        }
        assert set(named) == {"person", "place"} and named["place"] in ("paris", "[UNK]")
        assert view.rows.tag_types == ["person", "place"]
        picture = row.grab().toImage()
        boxes = row._boxes
        below = [
            picture.pixelColor(
                round(boxes[span.start].center().x()),
                round(boxes[span.start].top() + row._chip_height() + 2),
            )
            for span in example.spans
        ]
        hues = [shown.hue() for shown in below]
        assert hues == pytest.approx([colour(role).hue() for role in CHART[:2]], abs=9)
        assert "person" in row.accessibleDescription()


def test_levels_in_several_columns_are_joined_to_paths(qtbot, page, write):
    topics = ("sport,football", "sport,tennis", "news,")
    rows = [f"the text of person {n} is here,{topics[n % 3]}\n" for n in range(60)]
    view = load(qtbot, page, write("news.csv", "text,topic,subtopic\n" + "".join(rows)))
    section, state = view.columns, view.state
    assert not section.levels.isVisibleTo(view)
    choose(qtbot, section.label, "Several columns…")
    assert section.levels.isVisibleTo(view) and not section.template.isVisibleTo(view)
    assert section.levels.text() == "{topic} > {subtopic}"
    assert state.roles.columns == {"text": "text", "topic": "label", "subtopic": "label"}
    section.levels.selectAll()
    qtbot.keyClicks(section.levels, "{topic} > {sub}")
    qtbot.waitUntil(lambda: "no column “sub”" in state.obstacle())
    section.levels.selectAll()
    qtbot.keyClicks(section.levels, "{topic}::{subtopic}")
    qtbot.waitUntil(lambda: not state.obstacle() and state.count.split_rows is not None)
    assert any("paths of a hierarchy with 2 levels" in one.text for one in state.problems())
    assert_accessible(view)
    qtbot.mouseClick(view.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.state.dataset is not None)
    spec = page.dataset.state.dataset.spec
    assert spec.labels == {"sport::football": 20, "sport::tennis": 20, "news": 20}


def test_several_columns_are_joined_by_a_template(qtbot, page, write):
    rows = [f"Order {n},please send the box {n} again,{n % 2}\n" for n in range(40)]
    view = load(qtbot, page, write("tickets.csv", "subject,body,queue\n" + "".join(rows)))
    section, state = view.columns, view.state
    assert not section.template.isVisibleTo(view)
    choose(qtbot, section.text, "Several columns…")
    assert section.template.isVisibleTo(view)
    assert section.template.text() == "{subject} [SEP] {body}"
    assert state.roles.columns == {"subject": "text", "body": "text", "queue": "label"}
    examples = state.examples
    qtbot.waitUntil(lambda: any(t.segment for one in examples.examples for t in one.tokens))
    section.template.selectAll()
    qtbot.keyClicks(section.template, "{subject}: {boby}")
    qtbot.waitUntil(lambda: "no column “boby”" in state.obstacle())
    section.template.selectAll()
    qtbot.keyClicks(section.template, "a [SEP] b [SEP] c")
    qtbot.waitUntil(lambda: "[SEP] separates two texts" in state.obstacle())
    section.template.selectAll()
    qtbot.keyClicks(section.template, "{subject}: {body}")
    qtbot.waitUntil(lambda: not state.obstacle() and state.count.split_rows is not None)
    assert_accessible(view)
    qtbot.mouseClick(view.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.state.dataset is not None)
    spec = page.dataset.state.dataset.spec
    assert spec.mapping.template == "{subject}: {body}" and spec.mapping.label == "queue"
    (row,) = page.dataset.state.dataset.page(0, 1)
    assert row["{subject}: {body}"] == "Order 0: please send the box 0 again"
