"""Editor of one condition of the filter: subject, operator and values."""

from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from app.results.condition_forms import Operator, Subject, Typed, Value
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox, NumberField
from app.widgets.text.labels import Text
from app.widgets.text.wrapping import Wrapping
from engine.errors import StudioError
from engine.results.conditions import Condition
from engine.results.predictions import Predictions

BOX_CHARACTERS = 16  # minimum width of a box
FIELD_WIDTH = 44 * SPACE
TEXT_CHARACTERS = 10_000


class ConditionEditor(QWidget):
    """A subject, an operator and values; Enter applies them, Escape cancels.

    Signals:
        applied: the edited condition.
        cancelled: without a change.
    """

    applied = Signal(object)
    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._predictions: Predictions | None = None
        self._subjects: list[Subject] = []
        self.subject = _box(self.tr("What the condition is about"))
        self.operator = _box(self.tr("Operator"))
        self.values: list[QWidget] = []  # inputs of the operator
        self._fields: dict[str, tuple[QWidget, ...]] = {
            "choice": (_box(self.tr("Value")), _box(self.tr("Second value"))),
            "number": (NumberField(stepping=0.1), NumberField(stepping=0.1)),
            "text": (QLineEdit(),),
        }
        self.problem = Text("", "bad")
        row = Wrapping()
        row.add(self.subject)
        row.add(self.operator)
        for fields in self._fields.values():
            for field in fields:
                field.setMinimumWidth(FIELD_WIDTH)
                field.setAccessibleName(field.accessibleName() or self.tr("Value"))
                if isinstance(field, NumberField):
                    field.set_number(None)
                row.add(field)
        row.add(
            buttons.icon_button("check", self.tr("Apply the condition"), self.apply),
            buttons.icon_button("x", self.tr("Leave the filter as it was"), self.cancelled.emit),
        )
        layouts.column(row, self.problem, parent=self, spacing=SPACE)
        self.subject.currentIndexChanged.connect(self._on_subject)
        self.operator.currentIndexChanged.connect(lambda _: self._show_fields())

    def edit(self, predictions: Predictions, subjects: list[Subject], typed: Typed) -> None:
        """Show a condition to edit."""
        self._predictions, self._subjects = predictions, subjects
        keys = [subject.key for subject in subjects]
        with QSignalBlocker(self.subject):
            self.subject.clear()
            self.subject.addItems([subject.title for subject in subjects])
            self.subject.setCurrentIndex(keys.index(typed.key))
        self._show_operators(typed.operator)
        for field, value in zip(self.values, typed.values, strict=True):
            _put(field, value)
        (self.values[0] if self.values else self.operator).setFocus()
        if self.values and isinstance(self.values[0], QLineEdit):
            self.values[0].selectAll()

    def apply(self) -> None:
        """Emit the edited condition, or show its problem."""
        assert self._predictions is not None
        one_row = Predictions(self._predictions.info, self._predictions.table.slice(0, 1))
        try:
            condition = self._condition()
            condition.mask(one_row)  # a pattern may be an invalid regular expression
        except StudioError as error:
            self.problem.setText(f"{translated(error.problem)} {translated(error.advice)}".strip())
            self.problem.show()
            return
        except ValueError as error:
            self.problem.setText(str(error))
            self.problem.show()
            return
        self.applied.emit(condition)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.apply()
            case Qt.Key.Key_Escape:
                self.cancelled.emit()
            case _:
                super().keyPressEvent(event)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def _on_subject(self) -> None:
        self._show_operators(0)

    def _show_operators(self, chosen: int) -> None:
        with QSignalBlocker(self.operator):
            self.operator.clear()
            self.operator.addItems([one.text for one in self._chosen_subject().operators])
            self.operator.setCurrentIndex(chosen)
        self._show_fields()

    def _show_fields(self) -> None:
        """Show the inputs of the operator; their content stays if it suits."""
        self.problem.hide()
        left = {kind: list(fields) for kind, fields in self._fields.items()}
        self.values = []
        for value in self._chosen_operator().values:
            field = left[value.kind].pop(0)
            _prepare(field, value)
            self.values.append(field)
        for fields in self._fields.values():
            for field in fields:
                field.setVisible(field in self.values)

    # ── what is typed ────────────────────────────────────────────────────────────────────────

    def _chosen_subject(self) -> Subject:
        return self._subjects[max(0, self.subject.currentIndex())]

    def _chosen_operator(self) -> Operator:
        return self._chosen_subject().operators[max(0, self.operator.currentIndex())]

    def _condition(self) -> Condition:
        """Raises ValueError with a sentence if a value is missing or invalid."""
        operator = self._chosen_operator()
        given = [_get(field) for field in self.values]
        kinds = [value.kind for value in operator.values]
        if any(kind == "number" and one is None for kind, one in zip(kinds, given, strict=True)):
            raise ValueError(self.tr("Type a number."))
        if any(kind == "text" and not one for kind, one in zip(kinds, given, strict=True)):
            raise ValueError(self.tr("Type a text."))
        if kinds == ["number", "number"] and given[0] >= given[1]:
            raise ValueError(self.tr("The lower end must be below the upper one."))
        if "number" in kinds:
            given = [float(one) for one in given]
        return operator.make(*given)


def _box(name: str) -> QComboBox:
    return ComboBox(name, BOX_CHARACTERS)


def _prepare(field: QWidget, value: Value) -> None:
    """Name an input and offer the choices of its value."""
    field.setAccessibleName(value.name)
    match field:
        case ComboBox():
            before = field.currentData()
            field.clear()
            for key, shown in value.choices:
                field.addItem(shown, key)
            _put(field, before)
        case NumberField():
            field.lineEdit().setPlaceholderText(value.name)
        case QLineEdit():
            field.setMaxLength(TEXT_CHARACTERS)
            field.setPlaceholderText(value.name)


def _put(field: QWidget, value: Any) -> None:
    match field:
        case ComboBox():
            field.setCurrentIndex(max(0, field.findData(value)))
        case NumberField():
            field.set_number(value)
        case QLineEdit():
            field.setText(value)


def _get(field: QWidget) -> Any:
    match field:
        case ComboBox():
            return field.currentData()
        case NumberField():
            return field.number()
        case QLineEdit():
            return field.text()
    raise TypeError(field)
