"""Small widgets: text, numbers, buttons, cards, questions, pickers."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtGui import QFont, QFontMetrics, QGuiApplication, QTextLayout
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QPlainTextEdit,
    QStyle,
    QStyleOptionButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

import app
from app.library import ModelEntry
from app.pages.runs.rows import base_model_name
from app.widgets import buttons, dialogs
from app.widgets.buttons import Segments
from app.widgets.charts.bars import Bar, ProbabilityBars
from app.widgets.dialogs import Choice
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.forms.controls import Switch
from app.widgets.page import Card, EmptyState, Page, clear
from app.widgets.tables import NOWHERE, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import (
    OneLine,
    Text,
    height_of_lines,
    plain_menu_text,
    tooltip,
    visible,
)
from app.widgets.text.run_texts import checkpoint_score, provenance
from engine.config.job import FromCheckpoint
from engine.files.shipped import included_models, resources, tiny_model
from engine.messages.reports import CheckpointInfo
from tests.app.accessible import accessible_name, assert_accessible

MARKUP = "<img src='file:///CANARY.png'><b>x</b>&amp;"


def test_text_is_shown_literally_and_hidden_characters_are_written_out(qtbot):
    label = Text(MARKUP)
    qtbot.addWidget(label)
    assert label.text() == MARKUP and label.textFormat() == Qt.TextFormat.PlainText
    assert visible("a\u202eb\x00c\x1b") == r"a\u202eb\x00c\x1b"
    assert visible("two\nlines\tand 日本 é 👩\u200d🔬") == "two\nlines\tand 日本 é 👩\u200d🔬"
    assert tooltip("<b>a</b>\nb & c") == "<qt>&lt;b&gt;a&lt;/b&gt;<br>b &amp; c</qt>"
    assert tooltip("a < b\nc & d") == "a < b\nc & d"  # as a screen reader reads it
    assert max(len(line) for line in tooltip("word " * 60).splitlines()) <= 90
    assert plain_menu_text("R&D\nx") == "R&&D x"


def test_quoted_right_to_left_text_does_not_reorder_what_follows(qapp):
    """Follows UAX 9, section 2.7; the horizontal positions of characters show the order."""
    isolated = visible("“ca” attends to “##ו” 0.20, “סלא” 0.03")
    assert isolated == "“ca” attends to “\u2068##ו\u2069” 0.20, “\u2068סלא\u2069” 0.03"
    assert visible(isolated) == isolated and visible("„سلام“ 2") == "„\u2068سلام\u2069“ 2"
    assert visible("“א\u202eb”") == "“\u2068א\\u202eb\u2069”"
    assert visible("“a\u2068” שלום 12") == "“a\\u2068” שלום 12"
    text = visible("“א” 0.2, “ב” 0.3")
    layout = QTextLayout(text, QFont())
    layout.beginLayout()
    line = layout.createLine()
    layout.endLayout()
    positions = [line.cursorToX(text.index(part))[0] for part in ("“", "0.2", ",", "0.3")]
    assert positions == sorted(positions) and line.cursorToX(text.index("ב"))[0] > positions[2]


def test_a_line_that_does_not_fit_is_elided_with_a_tooltip(qtbot):
    line = OneLine("a very long name " * 50)
    qtbot.addWidget(line)
    line.resize(120, 20)
    line.show()
    assert line.text().endswith("…") and line.full_text().startswith("a very long name")
    assert "a very long name" in line.toolTip() and accessible_name(line)


@pytest.mark.parametrize(
    "make,expected",
    [
        (lambda: numbers.count(12_000), "12,000"),
        (lambda: numbers.decimal(0.69315), "0.6932"),
        (lambda: numbers.decimal(None), "not a number"),
        (lambda: numbers.decimal(1.5e-7), "1.50e-7"),
        (lambda: numbers.decimal(2e10), "2.00e10"),
        (lambda: numbers.percent(0.82), "82.0 %"),
        (lambda: numbers.large_count(4_416_698), "4.4 M"),
        (lambda: numbers.size(17_671_552), "17.7 MB"),
        (lambda: numbers.duration(41.7), "42 s"),
        (lambda: numbers.duration(200), "3 min 20 s"),
        (lambda: numbers.duration(7500), "2 h 5 min"),
        (lambda: numbers.duration(270_000), "3 d 3 h"),
        (lambda: numbers.ago(3), "just now"),
    ],
)
def test_numbers_have_one_notation(qapp, make, expected):
    assert make() == expected


def test_titles_and_accessible_names_have_no_mnemonic():
    setters = "set_title|setAccessibleName|setWindowTitle|setPlaceholderText"
    pattern = re.compile(rf'(?:{setters})\(\s*(?:self\.)?tr\(\s*"[^"]*&\w')
    code = Path(app.__file__).parent.rglob("*.py")
    assert [file for file in code if pattern.search(file.read_text("utf-8"))] == []
    assert pattern.search('view.set_title(self.tr("&Import"), "")')


def test_included_models_keep_their_names_after_the_program_moved(tmp_path):
    for name, folder in included_models().items():
        moved = tmp_path / "elsewhere" / folder.relative_to(resources().parent)
        assert base_model_name(FromCheckpoint(path=moved)) == name
    assert base_model_name(FromCheckpoint(path=tmp_path / "minilm")) == "minilm"
    run_checkpoint = tmp_path / "mine" / "checkpoints" / tiny_model().name
    assert base_model_name(FromCheckpoint(path=run_checkpoint)) == "mine, step 2,000"


def test_accessible_names_of_buttons_have_no_mnemonic(qtbot):
    done: list[int] = []
    button = buttons.primary("&Add R&&D", lambda: done.append(1), icon="plus")
    qtbot.addWidget(button)
    assert button.accessibleName() == "Add R&D"
    button.click()
    assert done == [1]


def test_segments_are_chosen_by_click_or_code_and_their_bold_text_fits(qtbot):
    segments = Segments(["One", "Two"], "Number")
    qtbot.addWidget(segments)
    with qtbot.waitSignal(segments.chosen) as signal:
        segments.group.button(1).click()
    assert signal.args == [1]
    segments.choose(-1)
    assert segments.choice() == -1
    segments.choose(0)
    assert segments.choice() == 0
    assert_accessible(segments)
    segments = Segments(["Predictions", "&Pseudo-perplexity"], "View")
    qtbot.addWidget(segments)
    segments.show()
    for number, button in enumerate(segments.group.buttons()):
        segments.choose(number)
        option, bold = QStyleOptionButton(), button.font()
        button.initStyleOption(option)
        bold.setWeight(QFont.Weight.DemiBold)
        contents = QStyle.SubElement.SE_PushButtonContents
        available = button.style().subElementRect(contents, option, button).width()
        text = button.text().replace("&", "")
        assert available >= QFontMetrics(bold).horizontalAdvance(text), text


def test_a_card_is_pressed_by_mouse_and_keyboard(qtbot):
    card = Card("Open", pressable=True)
    qtbot.addWidget(card)
    card.show()
    for press in (
        lambda: qtbot.mouseClick(card, Qt.MouseButton.LeftButton),
        lambda: qtbot.keyClick(card, Qt.Key.Key_Space),
    ):
        with qtbot.waitSignal(card.pressed):
            press()
    assert_accessible(card)


def test_buttons_shown_later_move_below_the_title_if_there_is_no_space(qtbot):
    page = Page("Reviews", "Nothing here")
    actions = [buttons.plain(f"A long action {n}") for n in range(4)]
    for button in actions:
        page.action_row.addWidget(button)
        button.hide()
    qtbot.addWidget(page)
    page.resize(600, 400)
    page.show()
    assert page.head.direction() == QBoxLayout.Direction.LeftToRight
    for button in actions:
        button.show()
    qtbot.waitUntil(lambda: page.head.direction() == QBoxLayout.Direction.TopToBottom)
    actions[0].hide()
    actions[1].hide()
    actions[2].hide()
    qtbot.waitUntil(lambda: page.head.direction() == QBoxLayout.Direction.LeftToRight)


def test_an_empty_page_offers_the_next_action(qtbot):
    done: list[int] = []
    page = Page("Runs", "Nothing here")
    qtbot.addWidget(page)
    action = buttons.primary("Start", lambda: done.append(1))
    page.body.addWidget(
        EmptyState("activity", "No runs yet", "Begin with the sample. " * 9, action)
    )
    page.resize(900, 600)
    page.show()
    assert page.subtitle.isVisible()
    action.click()
    assert done == [1]
    assert_accessible(page)


def test_clearing_a_layout_removes_nested_layouts(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    column, inner = QVBoxLayout(window), QVBoxLayout()
    inner.addWidget(Text("inside"))
    column.addWidget(Text("outside"))
    column.addLayout(inner)
    clear(column)
    assert column.count() == 0 and inner.count() == 0


def test_a_question_is_answered_by_its_buttons_or_cancelled(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    answers: list[str] = []
    choices = [Choice("remove", "&Remove", "danger"), Choice("keep", "&Keep")]
    question = dialogs.ask(window, MARKUP, MARKUP, choices, answers.append)
    assert_accessible(question)
    question.buttons["remove"].click()
    question = dialogs.ask(window, "Remove?", "It goes.", choices, answers.append)
    qtbot.keyClick(question, Qt.Key.Key_Escape)
    assert answers == ["remove", "keep"]


def test_a_switch_is_toggled_by_the_keyboard(qtbot):
    switch = Switch("Ask")
    qtbot.addWidget(switch)
    switch.show()
    switch.setFocus()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked() and accessible_name(switch) == "Ask"
    switch.grab()


def entries() -> list[ModelEntry]:
    info = CheckpointInfo(
        layers=4,
        hidden_size=256,
        heads=4,
        intermediate_size=1024,
        max_positions=512,
        max_length=512,
        vocab_size=9,
        parameters=11_100_000,
    )
    return [
        ModelEntry("Starter", Path("a"), info, "included"),
        ModelEntry(MARKUP, Path("b"), info, "run", "", "run-1", 120, True),
        ModelEntry("broken", Path("c"), None, "imported", "It is damaged."),
    ]


def test_checkpoints_are_chosen_and_described(qtbot):
    box = CheckpointBox(lambda entry: "It is too big." if entry.name == "Huge" else "")
    qtbot.addWidget(box)
    box.set_models(entries())
    assert box.chosen() is None
    assert box.choose(Path("a")) and not box.choose(Path("c"))
    items = [box.itemData(row, Qt.ItemDataRole.AccessibleTextRole) for row in range(box.count())]
    assert "11.1 M parameters" in items[1] and "step 120" in items[1]
    assert "It is damaged." in items[2]
    box.set_models(entries())
    chosen = box.chosen()
    assert chosen is not None and chosen.name == "Starter"
    assert_accessible(box)
    base = entries()[1]
    trained = replace(
        base,
        data="films",
        metric="validation_accuracy",
        score=0.793,
        saved=datetime(2020, 5, 17, tzinfo=UTC),
    )
    assert checkpoint_score(trained) == "79.3 % acc" and checkpoint_score(base) == ""
    assert provenance(trained) == ["films", "step 120", "saved 17 May 2020"]
    box = CheckpointBox()
    qtbot.addWidget(box)
    box.set_models([trained])
    text = box.itemData(0, Qt.ItemDataRole.AccessibleTextRole)
    assert "79.3 % acc · best checkpoint · films · step 120" in text


def test_models_passed_by_arrow_keys_are_not_picked(qtbot):
    box = CheckpointBox()
    qtbot.addWidget(box)
    names = [f"Model {letter}" for letter in "ABCD"]
    first = entries()[0]
    box.set_models([replace(first, name=name, path=Path(name)) for name in names])
    box.choose(Path("Model A"))
    box.show()
    picked: list[str] = []
    box.picked.connect(lambda entry: picked.append(entry.name))
    for _ in range(3):
        qtbot.keyClick(box, Qt.Key.Key_Down)
    assert picked == [] and box._pick_timer.isActive()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert picked == ["Model D"]
    qtbot.keyClick(box, Qt.Key.Key_Up)
    box._pick_timer.timeout.emit()
    assert picked == ["Model D", "Model C"]
    box.activated.emit(1)
    assert picked[-1] == "Model C", "an open list has picked its item before"


class Cell(QAbstractTableModel):
    """One cell whose text is painted in one line."""

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 1

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> str | None:
        values = {Qt.ItemDataRole.DisplayRole: "a⏎b", Qt.ItemDataRole.EditRole: "a\nb"}
        return values.get(Qt.ItemDataRole(role))


def test_a_row_is_copied_with_the_line_breaks_of_its_cells(qtbot):
    table, cell = QTableView(), Cell()
    qtbot.addWidget(table)
    table.setModel(cell)
    apply_style(table, "Cells")
    table.setCurrentIndex(cell.index(0, 0))
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text
    qtbot.waitUntil(lambda: copied().replace("\r", "") == '1\n"a\nb"\n')
    qtbot.keyClick(table, Qt.Key.Key_Escape)  # Ctrl is no longer pressed


def test_truncated_names_with_equal_prefixes_differ(qtbot):
    images = []
    for end in ("first", "second"):
        bars = ProbabilityBars("Labels")
        qtbot.addWidget(bars)
        bars.show_bars([Bar("the same beginning of a long name, the " + end, 0.5)])
        bars.resize(220, 60)
        images.append(bars.grab().toImage())
    assert images[0] != images[1]


@pytest.mark.parametrize("frame", [QFrame.Shape.NoFrame, QFrame.Shape.StyledPanel], ids=str)
@pytest.mark.parametrize("size", [0, 9, 13, 22])
@pytest.mark.parametrize("lines", [1, 3])
def test_a_box_sized_for_lines_shows_them_completely(qtbot, qapp, lines, size, frame):
    box = QPlainTextEdit()
    qtbot.addWidget(box)
    box.setFrameShape(frame)
    if size:
        box.setFont(QFont(box.font().family(), size))
    box.setFixedHeight(height_of_lines(box, lines))
    box.show()
    for count, scrolls in ((lines, False), (lines + 1, True)):
        box.setPlainText("\n".join(["Ágy"] * count))
        qapp.processEvents()
        assert (box.verticalScrollBar().maximum() > 0) == scrolls
