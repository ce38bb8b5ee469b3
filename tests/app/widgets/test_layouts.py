from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QSplitter, QWidget

from app.widgets import layouts
from app.widgets.drawing import flow
from app.widgets.text.wrapping import WrapArea


def test_items_keep_their_order_stretch_spacing_and_margins(qtbot):
    outer, first, second = QWidget(), QLabel("1"), QLabel("2")
    qtbot.addWidget(outer)
    inner = layouts.row(second, layouts.STRETCH)
    right = Qt.AlignmentFlag.AlignRight
    box = layouts.column((first, 3, right), 7, (inner, 2), parent=outer, spacing=5, margins=1)
    assert outer.layout() is box
    assert (box.spacing(), box.contentsMargins().left(), box.contentsMargins().bottom()) == (
        5,
        1,
        1,
    )
    assert [box.stretch(n) for n in range(box.count())] == [3, 0, 2]
    assert box.itemAt(0).widget() is first
    assert box.itemAt(0).alignment() == right
    spacer = box.itemAt(1).spacerItem()
    assert spacer is not None
    assert spacer.sizeHint().height() == 7
    assert box.itemAt(2).layout() is inner
    assert inner.stretch(1) == 1
    widget = QWidget()
    qtbot.addWidget(widget)
    assert layouts.row(parent=widget, margins=None).contentsMargins().left() > 0
    assert layouts.row().contentsMargins().left() == 0
    assert layouts.row(margins=(1, 2, 3, 4)).contentsMargins().right() == 3


def test_a_grid_has_its_spacing_and_boxes_flow_into_rows(qtbot):
    outer = QWidget()
    qtbot.addWidget(outer)
    grid = layouts.grid(parent=outer, h_spacing=6, v_spacing=5, stretch=1)
    assert outer.layout() is grid and grid.contentsMargins().left() == 0
    assert (grid.horizontalSpacing(), grid.verticalSpacing(), grid.columnStretch(1)) == (6, 5, 1)
    boxes = flow([40, 50, 30], height=10, max_width=100, gap=5, row_gap=2)
    assert [(box.x(), box.y(), box.width()) for box in boxes] == [
        (0, 0, 40),
        (45, 0, 50),
        (0, 12, 30),
    ]


def test_buttons_wrap_into_rows_that_are_never_squeezed(qtbot):
    """Also in a splitter, which does not ask for the height at a width."""
    field, hidden = QLineEdit(), QPushButton("hidden")
    parts = [QPushButton(f"a button {n}") for n in range(4)]
    row = layouts.wrap((field, 1), *parts[:2], layouts.STRETCH, hidden, *parts[2:], spacing=8)
    pane = layouts.page(row, QWidget())
    hidden.hide()
    outer = QSplitter(Qt.Orientation.Vertical)
    outer.addWidget(pane)
    outer.addWidget(QWidget())
    qtbot.addWidget(outer)
    outer.show()
    width = parts[0].sizeHint().width()
    assert 4 * width < row.row_width() < 5 * width + 4 * 8, "without the hidden one"

    def tops(pixels: int) -> list[int]:
        outer.resize(pixels, 400)
        outer.setSizes([1, 1_000])
        shown = [field, *parts]
        qtbot.waitUntil(lambda: pane.minimumSizeHint().height() <= pane.height())
        for widget in shown:
            assert widget.width() >= widget.minimumSizeHint().width(), widget
            assert pane.rect().contains(widget.geometry()), "nothing is cut"
        return [widget.geometry().center().y() // 10 for widget in shown]

    assert len(set(tops(900))) == 1 and parts[3].geometry().right() == pane.rect().right()
    assert field.width() > 2 * field.sizeHint().width(), "it takes half of the rest"
    narrow = tops(2 * width + 8)
    assert narrow == sorted(narrow) and len(set(narrow)) == 3
    hidden.show()
    qtbot.waitUntil(lambda: parts[3].geometry().center().y() // 10 > narrow[-1])
    hidden.hide()
    assert len(set(tops(900))) == 1, "and back"


def test_parts_around_hidden_widgets_cover_no_others(qtbot):
    area, shown, hidden = WrapArea(), QPushButton("Hand out"), QPushButton("Call back")
    area.add(shown)
    area.add(hidden)
    hidden.hide()
    qtbot.addWidget(area)
    area.resize(300, 40)
    with qtbot.waitExposed(area):
        area.show()
    assert area.childAt(shown.mapTo(area, shown.rect().center())) is shown
