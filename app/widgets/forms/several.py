"""A “+” next to a control: several values for its field, each tried in a run."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from pydantic.fields import FieldInfo
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app import resources
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.forms.fields import ChoiceField, Field, NumberChoice, OptionalField, SwitchField
from app.widgets.text.labels import tooltip
from app.widgets.text.spec_texts import value_text
from engine.config.fields import get_ticks
from engine.config.search import Range
from engine.phrases import number_text

MAX_CHARACTERS = 1_000
LINE_WIDTH = 320  # px
UP_TO = ".."  # between the ends of a range


def can_vary(field: Field) -> bool:
    """True for numbers and choices of words."""
    if isinstance(field, OptionalField):
        return can_vary(field.inner)
    return isinstance(field, NumberChoice | ChoiceField | SwitchField)


def varied_values(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values themselves, or the ends of a range."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], Range) else tuple(values)


class SeveralValues(QWidget):
    """The control of a field, or the editor of several values for it, with a button to switch.

    Signals:
        changed: the values have changed, or there are no longer several.
    """

    changed = Signal()

    def __init__(self, field: Field, info: FieldInfo, title: str) -> None:
        super().__init__()
        self.field, self._info, self._title = field, info, title
        self._inner = field.inner if isinstance(field, OptionalField) else field
        self.line: QLineEdit | None = None
        self.boxes: dict[object, QCheckBox] = {}
        self.button = buttons.icon_button("plus", tr("Several values: {0}").format(title))
        self.button.setCheckable(True)
        self.button.toggled.connect(self._on_toggled)
        self._row = layouts.row(field, self.button, layouts.STRETCH, parent=self, spacing=2 * SPACE)

    @cached_property
    def editor(self) -> QWidget:
        """The editor shown in place of the control, made when first needed."""
        editor = self._make_editor()
        self._row.insertWidget(1, editor)
        editor.hide()
        return editor

    @property
    def is_open(self) -> bool:
        """True if the field has several values."""
        return self.button.isChecked()

    def values(self) -> tuple[Any, ...]:
        """The values in order, or one Range; the typed text if a number is expected and it is not
        one."""
        if self.line is None:
            return tuple(value for value, box in self.boxes.items() if box.isChecked())
        text = self.line.text()
        parts = [part.strip() for part in text.split(";" if ";" in text else ",")]
        return tuple(self._parse(part) for part in parts if part)

    def put(self, values: Sequence[object]) -> None:
        """Show these values; if there are none, only the control."""
        if not values:
            self.button.setChecked(False)
            self._forget()
            return
        _ = self.editor
        if tuple(values) != self.values():
            if self.line is not None:
                self.line.setText(", ".join(self._format(value) for value in values))
            for value, box in self.boxes.items():
                box.setChecked(value in values)
        self.button.setChecked(True)

    def _forget(self) -> None:
        """Drop what was entered, so that it does not come back for another task."""
        if self.line is not None:
            self.line.clear()
        for box in self.boxes.values():
            box.setChecked(False)

    def problem(self) -> str:
        """The reason why these values are invalid, or “”."""
        values = self.values()
        if not self.is_open:
            return ""
        ranges = [value for value in values if isinstance(value, Range)]
        if ranges and len(values) > 1:
            return tr("Enter values or one range, such as 1e-5..1e-3.")
        if ranges:
            low, high = ranges[0]
            return (
                "" if low < high else tr("The range must go from the lower to the higher number.")
            )
        if len(values) < 2:
            return tr("Enter at least two values separated by commas, or a range.")
        if any(isinstance(value, str) for value in values) and self.line is not None:
            return tr("Each value must be a number.")
        if len({repr(value) for value in values}) < len(values):
            return tr("A value is listed twice.")
        return ""

    def _parse(self, part: str) -> Any:
        assert isinstance(self._inner, NumberChoice)
        ends = [self._inner.number.parse(end) for end in part.split(UP_TO)]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
            return Range(ends[0], ends[1])
        return part if len(ends) > 1 or ends[0] is None else ends[0]

    def _format(self, value: object) -> str:
        if isinstance(value, Range):
            return f"{number_text(value.low)}{UP_TO}{number_text(value.high)}"
        return number_text(value) if isinstance(value, int | float) else str(value)

    def _make_editor(self) -> QWidget:
        if isinstance(self._inner, NumberChoice):
            self.line = QLineEdit()
            self.line.setMaxLength(MAX_CHARACTERS)
            self.line.setMinimumWidth(px(LINE_WIDTH))
            self.line.setAccessibleName(tr("Values of {0}").format(self._title))
            self.line.setPlaceholderText(tr("Values separated by commas, or 1e-5..1e-3"))
            self.line.textChanged.connect(lambda _: self._on_edited())
            return self.line
        editor = QWidget()
        row = layouts.column(parent=editor, spacing=SPACE)
        choices = self._inner.values if isinstance(self._inner, ChoiceField) else (False, True)
        for value in choices:
            box = QCheckBox(value_text(value))
            box.setAccessibleName(f"{self._title}: {value_text(value)}")
            box.toggled.connect(lambda _: self._on_edited())
            self.boxes[value] = box
            row.addWidget(box)
        return editor

    def _on_edited(self) -> None:
        if self.is_open:
            self.changed.emit()

    def _on_toggled(self, opened: bool) -> None:
        name = tr("One value: {0}") if opened else tr("Several values: {0}")
        self.button.setIcon(resources.icon("x" if opened else "plus", Role.MUTED, Role.ACCENT))
        self.button.setToolTip(tooltip(name.format(self._title)))
        self.button.setAccessibleName(name.format(self._title))
        self.editor.setVisible(opened)
        if opened and not self.values():
            self._begin()
        self.field.setVisible(not opened)
        if opened and self.line is not None:
            self.line.setFocus()
            self.line.selectAll()
        self.changed.emit()

    def _begin(self) -> None:
        value = self._inner.get()
        if self.line is not None:
            usual = [tick for tick in get_ticks(self._info) if tick != value]
            first = [value] if isinstance(value, int | float) else []
            self.line.setText(", ".join(self._format(item) for item in (*first, *usual)))
        for option, box in self.boxes.items():
            box.setChecked(option == value or isinstance(self._inner, SwitchField))
