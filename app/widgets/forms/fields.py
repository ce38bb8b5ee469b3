"""Fields of a form: one kind of control for each type of a pydantic field."""

import math
import typing
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, cast

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from app.theme import SPACE, px
from app.widgets import buttons, layouts
from app.widgets.buttons import Segments
from app.widgets.forms.controls import ComboBox, NumberField, Stepping, Switch
from app.widgets.text.spec_texts import value_text
from engine.config.fields import get_extra, get_ticks, is_fraction, is_offered
from engine.phrases import number_text


class Field(QWidget):
    """The controls of one field in a row; emits `changed` on user input."""

    changed = Signal()

    def __init__(self, *controls: QWidget) -> None:
        """`controls` take the focus and need an accessible name."""
        super().__init__()
        self.controls = list(controls)
        self.row = layouts.row(*controls, parent=self, spacing=2 * SPACE)

    def get(self) -> object:
        raise NotImplementedError

    def put(self, value: object) -> None:
        raise NotImplementedError


DEFAULT_WEIGHT = 2.0
MAX_NAMES = 1_000  # offered names


class Weights(Field):
    """An editable table of names and numbers, such as class weights."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._names: tuple[str, ...] = ()
        self.rows: list[_Row] = []
        self._column = layouts.column(spacing=SPACE)
        self.add = buttons.quiet(self.tr("Add a weight"), self._on_add, "plus")
        self.add.setAccessibleName(self.tr("Add a weight: {0}").format(title))
        self._column.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        self.controls = [self.add]
        self.row.addLayout(self._column)

    def set_names(self, names: Sequence[str]) -> None:
        names = tuple(names[:MAX_NAMES])
        if names != self._names:
            self._names = names
            for row in self.rows:
                row.set_names(names)

    def get(self) -> object:
        return {row.name.currentText(): row.number_or_text() for row in self.rows}

    def put(self, value: object) -> None:
        assert isinstance(value, dict)
        if value == self.get() and len(value) == len(self.rows):
            return
        while self.rows:
            self._remove_row(self.rows[-1])
        for name, number in value.items():
            self._append(name, number)

    def _append(self, name: str, number: float) -> "_Row":
        row = _Row(name, number, self._names, self._title)
        row.name.currentTextChanged.connect(lambda _: self.changed.emit())
        row.number.changed.connect(self.changed)
        row.remove.clicked.connect(lambda: self._on_remove(row))
        self._column.insertWidget(len(self.rows), row)
        self.rows.append(row)
        return row

    def _remove_row(self, row: "_Row") -> None:
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _on_add(self) -> None:
        used = {row.name.currentText() for row in self.rows}
        free = next((name for name in self._names if name not in used), "")
        self._append(free, DEFAULT_WEIGHT).name.setFocus()
        self.changed.emit()

    def _on_remove(self, row: "_Row") -> None:
        self._remove_row(row)
        self.add.setFocus()
        self.changed.emit()


class _Row(QWidget):
    def __init__(self, name: str, number: float, names: Sequence[str], title: str) -> None:
        super().__init__()
        line = layouts.row(parent=self, spacing=2 * SPACE)
        self.name = ComboBox(self.tr("Label: {0}").format(title))
        self.name.setEditable(True)
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.name.setMinimumWidth(px(55 * SPACE))
        self.set_names(names)
        self.name.setCurrentText(name)
        self.number = NumberField(number, 0.5, False, 0.0)
        self.number.setAccessibleName(self.tr("Weight: {0}").format(title))
        self.remove = buttons.icon_button("x", self.tr("Remove this weight"))
        for part in (self.name, self.number, self.remove):
            line.addWidget(part)

    def set_names(self, names: Sequence[str]) -> None:
        current = self.name.currentText()
        self.name.blockSignals(True)
        self.name.clear()
        self.name.addItems(list(names))
        self.name.setCurrentText(current)
        self.name.blockSignals(False)

    def number_or_text(self) -> object:
        """The number, or the typed text if it is not one."""
        number = self.number.number()
        return self.number.text() if number is None else number


class NumberChoice(Field):
    """A number; with ticks, the usual values as segments and “Other” for any.

    A recommended value is the first segment and labelled as such.
    """

    def __init__(self, number: NumberField, ticks: Sequence[float], title: str) -> None:
        super().__init__(number)
        self.number = number
        self._usual_ticks, self._title = list(ticks), title
        self._ticks = list[float]()
        self._recommended: float | None = None
        self.segments: Segments | None = None
        if ticks:
            self._make_segments()
        number.changed.connect(self._on_number)

    def recommend(self, value: float) -> None:
        """Offer a recommended value with the usual ones."""
        if value != self._recommended:
            self._recommended = value
            self._make_segments()
            self._show_tick()

    def _make_segments(self) -> None:
        others = [tick for tick in self._usual_ticks if tick != self._recommended]
        texts = [number_text(tick) for tick in others]
        self._ticks = others
        if self._recommended is not None:
            self._ticks = [self._recommended, *others]
            texts.insert(0, self.tr("Recommended: {0}").format(number_text(self._recommended)))
        if self.segments is not None:
            self.row.removeWidget(self.segments)
            self.segments.deleteLater()
        self.segments = Segments([*texts, self.tr("Other")], self._title)
        self.segments.chosen.connect(self._on_chosen)
        self.row.insertWidget(0, self.segments)

    def get(self) -> object:
        value = self.number.number()
        return self.number.text() if value is None else value

    def put(self, value: object) -> None:
        self.number.set_number(value if isinstance(value, int | float) else None)
        self._show_tick()

    def _show_tick(self) -> None:
        if self.segments is not None:
            value = self.number.number()
            tick = self._ticks.index(value) if value in self._ticks else len(self._ticks)
            self.segments.choose(tick)
            self.number.setVisible(tick == len(self._ticks))

    def _on_chosen(self, tick: int) -> None:
        if tick < len(self._ticks):
            self.number.set_number(self._ticks[tick])
            self.number.hide()
        else:
            self.number.show()
            self.number.setFocus()
            self.number.selectAll()

    def _on_number(self) -> None:
        if self.segments is not None and not self.number.hasFocus():
            self._show_tick()
        self.changed.emit()


class OptionalField(Field):
    """A field that may be empty; `empty_text` is the label of the empty state."""

    def __init__(self, inner: Field, empty_text: str, start: object) -> None:
        self.box = QCheckBox(empty_text)
        super().__init__(self.box, inner)
        self.controls = [self.box, *inner.controls]
        self.inner, self._start = inner, start
        self.box.toggled.connect(self._on_toggled)
        inner.changed.connect(self.changed)

    def get(self) -> object:
        return None if self.box.isChecked() else self.inner.get()

    def put(self, value: object) -> None:
        self.box.setChecked(value is None)
        self.inner.put(self._start if value is None else value)
        self.inner.setVisible(value is not None)

    def _on_toggled(self, is_empty: bool) -> None:
        self.inner.setVisible(not is_empty)
        self.changed.emit()


class SwitchField(Field):
    def __init__(self, title: str) -> None:
        self.switch = Switch(title)
        super().__init__(self.switch)
        self.switch.toggled.connect(lambda _: self.changed.emit())

    def get(self) -> object:
        return self.switch.isChecked()

    def put(self, value: object) -> None:
        self.switch.setChecked(bool(value))


class ChoiceField(Field):
    def __init__(self, values: Sequence[object], title: str) -> None:
        self.combo = ComboBox(title)
        super().__init__(self.combo)
        self._values = list(values)
        self.combo.addItems([value_text(value) for value in values])
        self.combo.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.combo.setMinimumWidth(px(160))

    def offer(self, values: Sequence[object], texts: Sequence[str]) -> None:
        """Offer values with their texts; keep the current one if it is among them."""
        shown = [self.combo.itemText(index) for index in range(self.combo.count())]
        if self._values == list(values) and shown == list(texts):
            return
        before = self.get()
        self.combo.blockSignals(True)
        self.combo.clear()
        self.combo.addItems(list(texts))
        self.combo.blockSignals(False)
        self._values = list(values)
        self.put(before)

    @property
    def values(self) -> tuple[object, ...]:
        """The offered values in order."""
        return tuple(self._values)

    def get(self) -> object:
        return self._values[self.combo.currentIndex()]

    def put(self, value: object) -> None:
        self.combo.setCurrentIndex(self._values.index(value) if value in self._values else 0)


class TextField(Field):
    def __init__(self) -> None:
        self.line = QLineEdit()
        super().__init__(self.line)
        self.line.setMinimumWidth(px(240))
        self.line.textChanged.connect(lambda _: self.changed.emit())

    def get(self) -> object:
        return self.line.text()

    def put(self, value: object) -> None:
        self.line.setText(str(value))


def field_for(info: FieldInfo, title: str) -> Field:
    """Create the control for a pydantic field, showing its default.

    Raises TypeError for an unsupported type, which is a bug.
    """
    types = _types(info.annotation)
    kind = next(t for t in types if t is not NoneType)
    field: Field
    start: object = None
    if typing.get_origin(kind) is Literal:
        field = ChoiceField(typing.get_args(kind), title)
        start = typing.get_args(kind)[0]
    elif kind is bool:
        field, start = SwitchField(title), False
    elif kind in (int, float):
        low, high = _range(info)
        ticks = get_ticks(info)
        stepping = _stepping(get_extra(info).get("step"), kind is int, low, high, ticks)
        number = NumberField(0, stepping, kind is int, low, high)
        number.is_fraction = is_fraction(info)
        field, start = NumberChoice(number, ticks, title), max(low, 0) if math.isfinite(low) else 0
    elif kind is str and is_offered(info):
        field, start = ChoiceField(("",), title), ""
    elif kind is str:
        field, start = TextField(), ""
    elif typing.get_origin(kind) is dict:
        field, start = Weights(title), {}
    else:
        raise TypeError(f"no control for {info.annotation}")
    if NoneType in types:
        field = OptionalField(field, field.tr("As in the model"), start)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    field.put(start if info.is_required() else default)
    return field


def _types(annotation: object) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return tuple(kind for part in typing.get_args(annotation) for kind in _types(part))
    if typing.get_origin(annotation) is Annotated:
        return _types(typing.get_args(annotation)[0])
    return (annotation,)


def _constraints(info: FieldInfo) -> Iterator[object]:
    """Constraints of a field, including those of its annotated types."""
    yield from info.metadata
    for part in typing.get_args(info.annotation):
        if typing.get_origin(part) is Annotated:
            for rule in typing.get_args(part)[1:]:
                yield from rule.metadata if isinstance(rule, FieldInfo) else (rule,)


def _range(info: FieldInfo) -> tuple[float, float]:
    low, high = -math.inf, math.inf
    for rule in _constraints(info):
        match rule:
            case Ge(ge=bound) | Gt(gt=bound):
                low = float(cast(float, bound))
            case Le(le=bound) | Lt(lt=bound):
                high = float(cast(float, bound))
    return low, high


def _stepping(
    requested: object, integer: bool, low: float, high: float, ticks: Sequence[float]
) -> Stepping:
    """Return the step that the spec requests, or one that suits the range."""
    if requested in ("double", "decades"):
        return cast(Stepping, requested)
    if isinstance(requested, int | float):
        return float(requested)
    if integer:
        powers = ticks and all(t > 0 and math.log2(t).is_integer() for t in ticks)
        return "double" if powers else ("decades" if 10_000 <= high <= 1e9 else 1.0)
    if low >= 0 and high <= 1:
        return 0.01
    return 1.0 if ticks and min(ticks) >= 1 else "decades"
