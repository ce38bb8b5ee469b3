"""Spans of characters are marked with mouse and keys, changed, undone, and kept on disk."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from app.pages.data.dataset.view import DatasetView
from app.theme import CHART
from app.widgets.forms.span_view import SpanView
from app.widgets.text.tagged import CHIPS
from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping
from engine.data.columns.text_spans import TextSpan, read_spans
from engine.data.datasets.store import open_dataset
from tests.app.accessible import assert_accessible
from tests.app.pages.data.dataset.test_agreement import opened
from tests.app.pages.data.dataset.test_coding import on_disk, open_coded
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view

BOOK = Codebook(
    kind="spans",
    codes=(
        Code(label="person", definition="Whoever is named"),
        Code(label="place"),
        Code(label="org"),
    ),
)
FIRST = "Ann Lee left New York-based firms 😀 in Rome."
CONTROL, SHIFT, ALT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
)


@pytest.fixture
def texts(write) -> Path:
    return write("texts.txt", f"{FIRST}\n" + "".join(f"the text of Ann {n}\n" for n in range(20)))


@pytest.fixture
def view(qtbot, page, texts) -> DatasetView:
    view = open_coded(qtbot, page, texts, BOOK)
    qtbot.waitUntil(lambda: view.editing.spans.text == FIRST, timeout=PATIENCE)
    view.editing.spans.setFocus()
    return view


def spans(view: DatasetView, row: int = 0) -> list[tuple[str, str]]:
    """The spans of a row on disk: words and labels."""
    cell = on_disk(view).rows[row].cells["topic"]
    text = view.editing.state.full_cell(row, "text")
    return [(text[s.start : s.end], s.label) for s in read_spans(cell) or ()]


def press(
    view: DatasetView, key: Qt.Key, modifiers=Qt.KeyboardModifier.NoModifier, times=1
) -> None:
    for _ in range(times):
        QTest.keyClick(view.editing.spans, key, modifiers)


def point(part: SpanView, word: str) -> QPointF:
    start = part.text.index(word)
    return part.boxes(start, start + len(word))[0].center()


def test_spans_are_marked_by_keys_alone(qtbot, view):
    editing, part = view.editing, view.editing.spans
    assert view.state.spec.mapping == Mapping(text="text", tags="topic")
    assert part.selection == (0, 3) and "person" in editing.keys.labels
    press(view, Qt.Key.Key_Delete)
    assert not on_disk(view).rows, "there is no span to remove"
    press(view, Qt.Key.Key_Right, SHIFT)
    press(view, Qt.Key.Key_1)
    assert spans(view) == [("Ann Lee", "person")] and part.chosen == TextSpan(0, 7, "person")
    qtbot.waitUntil(lambda: editing.codebook.definition.text() == "Whoever is named")
    press(view, Qt.Key.Key_Right)  # left
    press(view, Qt.Key.Key_Right)  # New
    press(view, Qt.Key.Key_Right, SHIFT, 2)  # firms
    press(view, Qt.Key.Key_3)
    assert spans(view)[1] == ("New York-based firms", "org")
    press(view, Qt.Key.Key_Left)
    press(view, Qt.Key.Key_Right)
    press(view, Qt.Key.Key_Right, SHIFT)
    assert FIRST[slice(*part.selection)] == "New York-based"
    part.select(FIRST.index("York"), FIRST.index("York") + 10)
    press(view, Qt.Key.Key_Right, CONTROL)  # one character
    press(view, Qt.Key.Key_Right, CONTROL | SHIFT, 3)
    assert FIRST[slice(*part.selection)] == "York"
    press(view, Qt.Key.Key_2)
    assert spans(view) == [
        *(("Ann Lee", "person"), ("New York-based firms", "org"), ("York", "place")),
    ], "a span in another one is kept"
    press(view, Qt.Key.Key_2)
    assert len(spans(view)) == 2, "its own label removes it"
    view.editing.state.stack.undo()
    assert len(spans(view)) == 3 and part.spans[2].label == "place"
    press(view, Qt.Key.Key_Home)
    press(view, Qt.Key.Key_Right, ALT)
    assert part.chosen == TextSpan(0, 7, "person")
    press(view, Qt.Key.Key_2)
    assert spans(view)[0] == ("Ann Lee", "place"), "relabelled"
    press(view, Qt.Key.Key_Delete)
    assert [label for _, label in spans(view)] == ["org", "place"]
    press(view, Qt.Key.Key_End)
    press(view, Qt.Key.Key_Left)
    press(view, Qt.Key.Key_2)
    assert spans(view)[2] == ("Rome", "place") and json.loads(on_disk(view).rows[0].cells["topic"])[
        2
    ] == [39, 43, "place"], "offsets count characters, not UTF-16"
    press(view, Qt.Key.Key_Return)
    assert view.table.currentIndex().row() == 1 and part.hasFocus()
    press(view, Qt.Key.Key_Return)
    assert on_disk(view).rows[1].cells == {"topic": "[]"}, "coded, without spans"
    QTest.keyClicks(part, "?#")
    QTest.keyClicks(editing.marks.field, "odd")
    QTest.keyClick(editing.marks.field, Qt.Key.Key_Return)
    assert part.hasFocus() and on_disk(view).rows[2].coding["topic"].note == "odd"
    press(view, Qt.Key.Key_PageUp)
    assert view.table.currentIndex().row() == 1
    assert_accessible(view)


def test_spans_are_marked_with_the_mouse(qtbot, view, screen):
    part, left = view.editing.spans, Qt.MouseButton.LeftButton
    QTest.mousePress(part, left, Qt.KeyboardModifier.NoModifier, point(part, "New").toPoint())
    QTest.mouseMove(part, point(part, "firms").toPoint())
    QTest.mouseRelease(part, left, Qt.KeyboardModifier.NoModifier, point(part, "firms").toPoint())
    assert FIRST[slice(*part.selection)] == "New York-based firms"
    buttons = {b.accessibleName(): b for b in view.editing.keys.findChildren(type(view.code))}
    qtbot.mouseClick(buttons["Label selected rows “org” (key 3)"], left)
    qtbot.mouseClick(part, left, CONTROL, point(part, "Y").toPoint())
    assert FIRST[slice(*part.selection)] == "Y", "the span around it is not chosen by Ctrl"
    part.select(FIRST.index("York"), FIRST.index("York") + 4)
    press(view, Qt.Key.Key_2)
    qtbot.mouseClick(part, left, pos=point(part, "Ann").toPoint())
    assert part.chosen is None
    qtbot.mouseClick(part, left, pos=point(part, "York").toPoint())
    assert part.chosen is not None and part.chosen.label == "place", "the innermost span"
    qtbot.mouseClick(part, left, pos=point(part, "York").toPoint())
    assert part.chosen.label == "org", "then the span around it"
    inner, outer = (part.name_box(span) for span in reversed(part.spans))
    assert inner.top() < outer.top() and not inner.intersects(outer), "both are seen"
    qtbot.mouseClick(part, left, pos=inner.center().toPoint())
    assert part.chosen.label == "place"
    picture = part.grab().toImage()
    bar = QPointF(outer.left() + 2, round(outer.top()))
    ratio = picture.devicePixelRatio()
    drawn = QColor(picture.pixel(round(bar.x() * ratio), round(bar.y() * ratio)))
    assert drawn == QColor(CHART[2].light) or drawn == QColor(CHART[2].dark)


def test_the_text_moves_its_spans_and_labels_change_with_the_codebook(qtbot, view):
    state = view.editing.state
    state.set_spans(
        0, [TextSpan(0, 7, "person"), TextSpan(39, 43, "place"), TextSpan(8, 12, "org")]
    )
    state.set_cells([0], "text", [FIRST.replace(" left", " has left")])
    assert spans(view) == [("Ann Lee", "person"), ("left", "org"), ("Rome", "place")]
    assert state.count_labels() == {"person": 1, "org": 1, "place": 1}
    merged = BOOK.model_copy(update={"codes": BOOK.codes[:2]})
    state.change_codebook(merged, {"org": "place"})
    assert [label for _, label in spans(view)] == ["person", "place", "place"]
    assert state.rows_with(["place"]).tolist() == [0]
    chips = view.model.index(0, view.model.find_section("topic")).data(CHIPS)
    assert (chips[0].text, chips[0].type) == ("Ann Lee", "person")
    assert not view.model.flags(view.model.index(0, view.model.find_section("topic"))) & (
        Qt.ItemFlag.ItemIsEditable
    )
    with qtbot.waitSignal(state.saved, timeout=PATIENCE) as saved:
        state.save()
    spec = open_dataset(saved.args[0]).spec
    assert spec.spans == {"person": 1, "place": 2} and spec.codebooks["topic"] == merged
    assert sum(spec.unlabelled.values()) == 20


def test_spans_are_offered_for_texts(qtbot, page, texts):
    view = open_view(qtbot, page, texts)
    qtbot.waitUntil(view.code.isVisible, timeout=PATIENCE)
    qtbot.mouseClick(view.code, Qt.MouseButton.LeftButton)
    dialog = view.editing.dialog
    qtbot.waitExposed(dialog)
    dialog.kinds.choose(3)
    dialog.kinds.chosen.emit(3)
    assert "one label" in dialog.problem.text()
    qtbot.keyClicks(dialog.new, "person")
    qtbot.keyClick(dialog.new, Qt.Key.Key_Return)
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    page.activateWindow()
    qtbot.waitUntil(page.dataset.editing.spans.hasFocus, timeout=PATIENCE)
    card = page.dataset.editing.card
    assert card.isVisible() and card.orders.currentData() == "file", "there is no tagger yet"
    press(page.dataset, Qt.Key.Key_1)
    cell = on_disk(page.dataset).rows[0].cells[page.dataset.state.spec.mapping.tags]
    assert cell == '[[0, 3, "person"]]'


def test_coders_of_spans_are_compared_and_decided(qtbot, studio, tmp_path):
    rows = [
        ("Ann is in Rome", '[[0, 3, "P"], [10, 14, "L"]]', '[[0, 3, "P"], [10, 14, "L"]]'),
        ("Ben is in Paris", '[[0, 3, "P"]]', '[[0, 3, "P"], [10, 15, "L"]]'),
        ("No one", "[]", "[]"),
    ]
    lines = [{"text": text, "coder_1": a, "coder_2": b} for text, a, b in rows]
    file = tmp_path / "a.csv"
    quoted = ['"' + '","'.join(c.replace('"', '""') for c in row.values()) + '"' for row in lines]
    file.write_text("\n".join(["text,coder_1,coder_2", *quoted]), "utf-8")
    mapping = Mapping(text="text", tags="coder_1", coders=("coder_1", "coder_2"))
    view = opened(qtbot, studio, file, mapping)
    assert view.state.spec.has_text_spans and view.state.spec.mapping.tags == "tags"
    figures = view.agreement.state.measured.table.overall.figures
    assert figures["span_f1"].value == pytest.approx(6 / 7)
    view.agreement._list_open_rows()
    qtbot.waitUntil(lambda: view.state.indices.tolist() == [1])
    qtbot.waitUntil(lambda: view.editing.spans.text == "Ben is in Paris")
    header, find = view.table.horizontalHeader(), view.model.find_section
    places = [header.visualIndex(find(x)) for x in ("tags", "coder_1", "coder_2", "text")]
    assert places == [2, 3, 4, 5], "the decision and both codes, then the text"
    view.activateWindow()
    view.editing.spans.setFocus()
    qtbot.waitUntil(view.editing.spans.hasFocus)
    QTest.keyClick(view.editing.spans, Qt.Key.Key_2, ALT)
    assert [span.label for span in view.editing.spans.spans] == ["P", "L"]
    section = view.model.find_section("coder_2")
    qtbot.waitUntil(lambda: view.model.index(0, section).data() == "Ben (P), Paris (L)")
