"""Controls that show a preference and set it. The page names them after their rows."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtWidgets import QLineEdit

from app.settings import Settings
from app.theme import px
from app.translation import tr
from app.widgets.forms.controls import ComboBox, SpinBox, Switch

WIDTH, LINE_WIDTH = 160, 280  # px


def switch(settings: Settings, key: str) -> Switch:
    """A switch for a preference that is on or off."""
    control = Switch("", getattr(settings.preferences, key))
    control.toggled.connect(partial(settings.set, key))
    return control


def spin_box(settings: Settings, key: str, low: int, high: int) -> SpinBox:
    """A field for a whole number."""
    box = SpinBox()
    box.setRange(low, high)
    box.setValue(getattr(settings.preferences, key))
    box.setMinimumWidth(px(WIDTH))
    box.valueChanged.connect(partial(settings.set, key))
    return box


def text_line(settings: Settings, key: str) -> QLineEdit:
    """A line of text, saved when it is left."""
    line = QLineEdit(getattr(settings.preferences, key))
    line.setMaxLength(500)
    line.setMinimumWidth(px(LINE_WIDTH))
    line.setPlaceholderText(tr("None"))
    line.editingFinished.connect(lambda: settings.set(key, line.text().strip()))
    return line


def combo_box(settings: Settings, key: str, titles: Mapping[Any, str]) -> ComboBox:
    """A box with a title for each value."""
    box = ComboBox()
    box.setMinimumWidth(px(WIDTH))
    for value, title in titles.items():
        box.addItem(title, value)
    box.setCurrentIndex(max(0, box.findData(getattr(settings.preferences, key))))
    box.currentIndexChanged.connect(lambda index: settings.set(key, box.itemData(index)))
    return box
