"""The wheel scrolls a page and changes no field under the pointer."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QScrollArea, QVBoxLayout, QWidget

from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.forms.controls import ComboBox, DoubleSpinBox, NumberField, SpinBox, WheelMixin

APP = Path(__file__).parents[3] / "app"
KINDS = (ComboBox, NumberField, SpinBox, DoubleSpinBox)
Field = QComboBox | QAbstractSpinBox


def turn_wheel(field: QWidget) -> None:
    """Turn the wheel one notch towards the user over the field."""
    window = field.window()
    point = QPointF(field.mapTo(window, field.rect().center()))
    QTest.wheelEvent(window.windowHandle(), point, QPoint(0, -120))


def displayed(field: Field) -> str:
    return field.currentText() if isinstance(field, QComboBox) else field.text()


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def field(request: pytest.FixtureRequest) -> Field:
    field: Field = request.param()
    if isinstance(field, QComboBox):
        field.addItems(["one", "two", "three"])
    elif isinstance(field, NumberField):
        field.set_number(5)
    else:
        field.setValue(5)  # type: ignore[attr-defined]
    return field


def test_the_wheel_changes_only_a_focused_field(qtbot, field):
    area, page, other = QScrollArea(), QWidget(), ComboBox()
    column = QVBoxLayout(page)
    column.addWidget(other)
    column.addWidget(field)
    column.addStretch()
    page.setFixedSize(200, 2000)
    area.setWidget(page)
    area.resize(220, 300)
    qtbot.addWidget(area)
    with qtbot.waitExposed(area):
        area.show()
    area.activateWindow()
    other.setFocus()
    before = displayed(field)
    turn_wheel(field)
    assert displayed(field) == before and not field.hasFocus()
    assert area.verticalScrollBar().value() > 0
    area.verticalScrollBar().setValue(0)
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    turn_wheel(field)
    assert displayed(field) != before
    assert area.verticalScrollBar().value() == 0


def test_every_page_uses_these_fields():
    qt_fields = re.compile(r"\b(QComboBox|QSpinBox|QDoubleSpinBox|QAbstractSpinBox|QDial)\(")
    files = [str(file) for file in APP.rglob("*.py") if qt_fields.search(file.read_text("utf-8"))]
    assert not files
    derived = re.compile(r"^class \w+\((?:QComboBox|Q\w*SpinBox)\)", re.MULTILINE)
    assert not [str(f) for f in APP.rglob("*.py") if derived.search(f.read_text("utf-8"))]
    assert all(issubclass(kind, WheelMixin) for kind in (*KINDS, CheckpointBox))


def test_texts_of_number_fields_are_as_far_from_the_edge_as_those_of_others(qtbot):
    for kind in KINDS:
        if issubclass(kind, QAbstractSpinBox):
            qtbot.addWidget(field := kind())
            assert field.lineEdit().textMargins().left() == 7, kind
