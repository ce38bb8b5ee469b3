"""The filter of the rows as a bar of conditions to add, change and remove."""

from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QSizePolicy, QToolButton, QWidget

from app import background
from app.notices import Notices
from app.results.condition_forms import Form, Operator, Subject, Value, as_form, subjects
from app.results.state import ResultsState
from app.theme import SPACE, px
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask_for_name
from app.widgets.forms.controls import ComboBox, NumberField
from app.widgets.results.slices import SLICE_NAME_CHARACTERS
from app.widgets.text import numbers
from app.widgets.text.labels import Text, plain_menu_text
from app.widgets.text.wrapping import WrapArea
from engine.errors import StudioError
from engine.results.conditions import Condition
from engine.results.predictions import Predictions

CHIP_CHARACTERS = 60
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
        self.subject = _box(self.tr("Subject of the condition"))
        self.operator = _box(self.tr("Operator"))
        self.values: list[QWidget] = []  # inputs of the operator
        self._fields: dict[str, tuple[QWidget, ...]] = {
            "choice": (_box(self.tr("Value")), _box(self.tr("Second value"))),
            "number": (NumberField(stepping=0.1), NumberField(stepping=0.1)),
            "text": (QLineEdit(),),
        }
        self.problem = Text("", "bad")
        row = WrapArea()
        row.add(self.subject)
        row.add(self.operator)
        for fields in self._fields.values():
            for field in fields:
                field.setMinimumWidth(px(FIELD_WIDTH))
                field.setAccessibleName(field.accessibleName() or self.tr("Value"))
                if isinstance(field, NumberField):
                    field.set_number(None)
                row.add(field)
        row.add(
            buttons.icon_button("check", self.tr("Apply the condition"), self.apply),
            buttons.icon_button("x", self.tr("Cancel the change"), self.cancelled.emit),
        )
        layouts.column(row, self.problem, parent=self, spacing=SPACE)
        self.subject.currentIndexChanged.connect(lambda _: self._show_operators(0))
        self.operator.currentIndexChanged.connect(lambda _: self._show_fields())

    def edit(self, predictions: Predictions, subjects: list[Subject], form: Form) -> None:
        self._predictions, self._subjects = predictions, subjects
        keys = [subject.key for subject in subjects]
        with QSignalBlocker(self.subject):
            self.subject.clear()
            self.subject.addItems([subject.title for subject in subjects])
            self.subject.setCurrentIndex(keys.index(form.key))
        self._show_operators(form.operator)
        for field, value in zip(self.values, form.values, strict=True):
            _set(field, value)
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
            problem = f"{translated(error.problem)} {translated(error.advice)}".strip()
        except ValueError as error:
            problem = str(error)
        else:
            self.applied.emit(condition)
            return
        self.problem.setText(problem)
        self.problem.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.apply()
            case Qt.Key.Key_Escape:
                self.cancelled.emit()
            case _:
                super().keyPressEvent(event)

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show_operators(self, chosen: int) -> None:
        with QSignalBlocker(self.operator):
            self.operator.clear()
            self.operator.addItems([operator.text for operator in self._chosen_subject().operators])
            self.operator.setCurrentIndex(chosen)
        self._show_fields()

    def _show_fields(self) -> None:
        """Show the inputs of the operator; suitable content stays."""
        self.problem.hide()
        unused = {kind: list(fields) for kind, fields in self._fields.items()}
        self.values = []
        for value in self._chosen_operator().values:
            field = unused[value.kind].pop(0)
            _prepare(field, value)
            self.values.append(field)
        for fields in self._fields.values():
            for field in fields:
                field.setVisible(field in self.values)

    # ── input ────────────────────────────────────────────────────────────────────────────────

    def _chosen_subject(self) -> Subject:
        return self._subjects[max(0, self.subject.currentIndex())]

    def _chosen_operator(self) -> Operator:
        return self._chosen_subject().operators[max(0, self.operator.currentIndex())]

    def _condition(self) -> Condition:
        """Build the condition. Raises ValueError with a sentence if a value is invalid."""
        operator = self._chosen_operator()
        entered = [_get(field) for field in self.values]
        kinds = [value.kind for value in operator.values]
        if any(
            kind == "number" and value is None for kind, value in zip(kinds, entered, strict=True)
        ):
            raise ValueError(self.tr("Type a number."))
        if any(kind == "text" and not value for kind, value in zip(kinds, entered, strict=True)):
            raise ValueError(self.tr("Type a text."))
        if kinds == ["number", "number"] and entered[0] >= entered[1]:
            raise ValueError(self.tr("The lower end must be below the upper one."))
        if "number" in kinds:
            entered = [float(value) for value in entered]
        return operator.make(*entered)


def _box(name: str) -> QComboBox:
    return ComboBox(name, BOX_CHARACTERS)


def _prepare(field: QWidget, value: Value) -> None:
    field.setAccessibleName(value.name)
    match field:
        case ComboBox():
            previous = field.currentData()
            field.clear()
            for key, text in value.choices:
                field.addItem(text, key)
            _set(field, previous)
        case NumberField():
            field.is_fraction = value.is_fraction
            field.lineEdit().setPlaceholderText(value.name)
        case QLineEdit():
            field.setMaxLength(TEXT_CHARACTERS)
            field.setPlaceholderText(value.name)


def _set(field: QWidget, value: Any) -> None:
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


class FilterBar(QWidget):
    """The number of rows, and buttons to change or remove each condition.

    Signals:
        saved: the name under which to save the conditions as a slice.
    """

    saved = Signal(str)

    def __init__(self, state: ResultsState, notices: Notices) -> None:
        super().__init__()
        self._state, self._notices = state, notices
        self.count = Text("", "muted", wraps=False)
        self.count.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.editor = ConditionEditor()
        self.editor.hide()
        self._edited: Condition | None = None  # None: a new one
        self.add = buttons.icon_button("plus", self.tr("Add a condition"), self._on_add)
        self.clear = buttons.quiet(self.tr("Sho&w all rows"), state.clear)
        self.save = buttons.quiet(self.tr("Save as a sli&ce…"), self._ask_name)
        self.chips: list[QPushButton] = []
        self.remove_buttons: list[QToolButton] = []
        self._wrapping: WrapArea | None = None
        self._column = layouts.column(parent=self, spacing=SPACE)
        head = layouts.row((self.count, 1), self.add, self.save, self.clear)
        self._column.addLayout(head)
        self._column.addWidget(self.editor)
        self.editor.applied.connect(self._on_applied)
        self.editor.cancelled.connect(self._end_editing)
        state.opened.connect(self._show)
        state.filtered.connect(self._show)
        state.listed.connect(self._show_count)
        self._show()

    def _show(self) -> None:
        focused = next(
            (n for n, button in enumerate(self.remove_buttons) if button.hasFocus()), None
        )
        self.editor.hide()
        if self._wrapping is not None:
            self._wrapping.hide()
            self._wrapping.deleteLater()
        self.chips, self.remove_buttons = [], []
        self._wrapping = WrapArea()
        for condition in self._state.conditions:
            text = translated(condition.sentence)
            excerpt = text if len(text) <= CHIP_CHARACTERS else f"{text[:CHIP_CHARACTERS]}…"
            chip = buttons.plain(plain_menu_text(excerpt), partial(self._on_edit, condition))
            chip.setToolTip(self.tr("Change this condition"))
            chip.setAccessibleName(self.tr("Change: {0}").format(text))
            remove = buttons.icon_button(
                "x", self.tr("Remove this condition"), partial(self._state.drop, condition)
            )
            remove.setAccessibleName(self.tr("Remove: {0}").format(text))
            if as_form(condition) is None:
                chip.setEnabled(False)  # rows selected one by one
            self._wrapping.add(chip, remove)
            self.chips.append(chip)
            self.remove_buttons.append(remove)
        self._column.insertWidget(1, self._wrapping)
        self._wrapping.setVisible(bool(self.chips))  # before insertion it would open as a window
        if focused is not None:
            (
                self.remove_buttons[min(focused, len(self.remove_buttons) - 1)]
                if self.remove_buttons
                else self.add
            ).setFocus()
        self._show_count()

    # ── one condition ────────────────────────────────────────────────────────────────────────

    def _on_add(self) -> None:
        predictions = self._state.predictions
        if predictions is not None:
            key = ("cell", predictions.columns[0]) if predictions.columns else ("outcome",)
            self._edit(None, Form(key, 1, ("",)) if predictions.columns else Form(key, 1))

    def _on_edit(self, condition: Condition) -> None:
        form = as_form(condition)
        assert form is not None
        self._edit(condition, form)

    def _edit(self, condition: Condition | None, form: Form) -> None:
        predictions = self._state.predictions
        assert predictions is not None
        self._edited = condition
        background.run(
            self,
            lambda: subjects(predictions, form),
            partial(self._on_subjects, predictions, condition, form),
            self._notices.show,
        )

    def _on_subjects(
        self,
        predictions: Predictions,
        condition: Condition | None,
        form: Form,
        subjects: list[Subject],
    ) -> None:
        if predictions is self._state.predictions and condition == self._edited:
            self.editor.show()
            self.editor.edit(predictions, subjects, form)

    def _on_applied(self, condition: Condition) -> None:
        if self._edited is None:
            self._state.add(condition)
        else:
            self._state.replace(self._edited, condition)
        self._edited = condition
        self._end_editing()

    def _end_editing(self) -> None:
        self.editor.hide()
        conditions = list(self._state.conditions)
        if self._edited in conditions:
            self.chips[conditions.index(self._edited)].setFocus()
        else:
            self.add.setFocus()
        self._edited = None

    # ── all conditions ───────────────────────────────────────────────────────────────────────

    def _show_count(self) -> None:
        state = self._state
        total = len(state.predictions) if state.predictions is not None else 0
        if len(state.rows) == total:
            self.count.setText(self.tr("%Ln row(s)", "", total))
        else:
            text = self.tr("{0} of {1} rows").format(
                numbers.count(len(state.rows)), numbers.count(total)
            )
            self.count.setText(text)
        self.clear.setVisible(bool(state.conditions or state.text))
        self.save.setVisible(bool(state.conditions))
        self.add.setEnabled(state.predictions is not None)

    def _ask_name(self) -> None:
        """Ask for the name of the slice; proposes the sentence of the conditions."""
        ask_for_name(
            self,
            (
                self.tr("Save as a slice"),
                self.tr(
                    "The score of the slice is listed under Slices, for every result on the "
                    "same data."
                ),
            ),
            translated(self._state.sentence()),
            SLICE_NAME_CHARACTERS,
            Choice("keep", self.tr("Save"), "primary"),
            self.saved.emit,
        )
