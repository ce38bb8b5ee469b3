"""A form drawn from the fields of a spec: title, range, default and help stand there once.

form = SpecForm(TrainingSpec, ["epochs", "batch", "learning_rate", "seed"])
form.changed.connect(...)
spec = TrainingSpec.model_validate({**others, **form.value()})
"""

import math
import typing
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, cast

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.theme import SPACE
from app.widgets.buttons import Segments
from app.widgets.number_field import NumberField, Stepping, written
from app.widgets.switch import Switch
from app.widgets.text import Text, tooltip


class SpecForm(QWidget):
    """Fields of one pydantic model, each with its title, control, help and what is wrong with it.

    Fields that are not shown keep their defaults, or what `others` says, while the whole is
    validated.

    Signals:
        changed: the user or `set_value` has changed something.
    """

    changed = Signal()

    def __init__(
        self,
        model: type[BaseModel],
        fields: Sequence[str] = (),
        values: Mapping[str, object] | None = None,
        others: Mapping[str, object] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._others = dict(others or {})
        self._setting = False
        self.fields: dict[str, Field] = {}
        self._problems: dict[str, Text] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(6 * SPACE)
        self._grid.setVerticalSpacing(5 * SPACE)
        self._grid.setColumnMinimumWidth(0, 160)
        self._grid.setColumnStretch(1, 1)
        for name in fields or model.model_fields:
            self._add(name, model.model_fields[name])
        self.whole_problem = Text("", "bad")
        self.whole_problem.hide()
        self._grid.addWidget(self.whole_problem, self._grid.rowCount(), 0, 1, 2)
        if values:
            self.set_value(values)
        self._check()

    def value(self) -> dict[str, Any]:
        """What each field says now; a text where a number was meant and none is there."""
        return {name: field.get() for name, field in self.fields.items()}

    def set_value(self, values: Mapping[str, object]) -> None:
        """Show `values`; names that the form does not have are passed over."""
        self._setting = True
        for name, value in values.items():
            if name in self.fields:
                self.fields[name].put(value)
        self._setting = False
        self._on_changed()

    def set_others(self, others: Mapping[str, object]) -> None:
        """What the fields that are not shown say, for rules that need both."""
        self._others = dict(others)
        self._check()

    def problems(self) -> dict[str, str]:
        """What is wrong, by field; under “” what is wrong with all together. Empty: all is well."""
        try:
            self._model.model_validate({**self._others, **self.value()})
        except ValidationError as error:
            found: dict[str, str] = {}
            for item in error.errors():
                name = str(item["loc"][0]) if item["loc"] else ""
                key = name if name in self.fields else ""
                found.setdefault(key, problem_in_words(cast(dict[str, Any], item)))
            return found
        return {}

    def is_valid(self) -> bool:
        return not self.problems()

    def differences(self) -> list[str]:
        """What differs from the defaults, in words."""
        said = []
        for name, value in self.value().items():
            info = self._model.model_fields[name]
            default = info.get_default(call_default_factory=True)
            if not info.is_required() and value != default:
                said.append(
                    self.tr("{0}: {1} instead of {2}").format(
                        title_of(name, info), value_in_words(value), value_in_words(default)
                    )
                )
        return said

    def _add(self, name: str, info: FieldInfo) -> None:
        title, description = title_of(name, info), help_of(info)
        field = field_for(info, title)
        field.changed.connect(self._on_changed)
        self.fields[name] = field
        field.setToolTip(tooltip(description))
        row = self._grid.rowCount()
        label = Text(title, "strong")
        label.setContentsMargins(0, 6, 0, 0)
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        right = QVBoxLayout()
        right.setSpacing(SPACE)
        right.addWidget(field, 0, Qt.AlignmentFlag.AlignLeft)
        if description:
            right.addWidget(Text(description, "small"))
        problem = Text("", "bad")
        problem.hide()
        right.addWidget(problem)
        self._problems[name] = problem
        self._grid.addLayout(right, row, 1)
        for control in field.controls():
            if not control.accessibleName():
                control.setAccessibleName(title)
            control.setAccessibleDescription(description)

    def _on_changed(self) -> None:
        if not self._setting:
            self._check()
            self.changed.emit()

    def _check(self) -> None:
        problems = self.problems()
        for name, label in self._problems.items():
            label.setText(problems.get(name, ""))
            label.setVisible(name in problems)
        self.whole_problem.setText(problems.get("", ""))
        self.whole_problem.setVisible("" in problems)


class Field(QWidget):
    """The control of one field: `get`, `put`, and `changed` when the user changes it."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(2 * SPACE)

    def get(self) -> object:
        raise NotImplementedError

    def put(self, value: object) -> None:
        raise NotImplementedError

    def controls(self) -> list[QWidget]:
        """What takes the focus and needs a name."""
        raise NotImplementedError


class NumberOf(Field):
    """A number; with ticks, the usual values as segments and “Other” for any."""

    def __init__(self, number: NumberField, ticks: Sequence[float], title: str) -> None:
        super().__init__()
        self.number = number
        self._ticks = list(ticks)
        self.segments: Segments | None = None
        if ticks:
            texts = [written(tick) for tick in ticks]
            self.segments = Segments([*texts, self.tr("Other")], title)
            self.segments.chosen.connect(self._on_chosen)
            self.row.addWidget(self.segments)
        self.row.addWidget(number)
        number.changed.connect(self._on_number)

    def get(self) -> object:
        value = self.number.number()
        return self.number.text() if value is None else value

    def put(self, value: object) -> None:
        self.number.set_number(value if isinstance(value, int | float) else None)
        self._show_tick()

    def controls(self) -> list[QWidget]:
        return [self.number]

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


class Optional(Field):
    """A field that may be empty; `empty` says what that means."""

    def __init__(self, inner: Field, empty: str, start: object) -> None:
        super().__init__()
        self.inner, self._start = inner, start
        self.box = QCheckBox(empty)
        self.box.toggled.connect(self._on_toggled)
        inner.changed.connect(self.changed)
        self.row.addWidget(self.box)
        self.row.addWidget(inner)

    def get(self) -> object:
        return None if self.box.isChecked() else self.inner.get()

    def put(self, value: object) -> None:
        self.box.setChecked(value is None)
        self.inner.put(self._start if value is None else value)
        self.inner.setVisible(value is not None)

    def controls(self) -> list[QWidget]:
        return [self.box, *self.inner.controls()]

    def _on_toggled(self, empty: bool) -> None:
        self.inner.setVisible(not empty)
        self.changed.emit()


class YesNo(Field):
    """A switch."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.switch = Switch(title)
        self.switch.toggled.connect(lambda _: self.changed.emit())
        self.row.addWidget(self.switch)

    def get(self) -> object:
        return self.switch.isChecked()

    def put(self, value: object) -> None:
        self.switch.setChecked(bool(value))

    def controls(self) -> list[QWidget]:
        return [self.switch]


class OneOf(Field):
    """One of a few words."""

    def __init__(self, values: Sequence[object], title: str) -> None:
        super().__init__()
        self._values = list(values)
        self.combo = QComboBox()
        self.combo.setAccessibleName(title)
        self.combo.addItems([value_in_words(value) for value in values])
        self.combo.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.combo.setMinimumWidth(160)
        self.row.addWidget(self.combo)

    def get(self) -> object:
        return self._values[self.combo.currentIndex()]

    def put(self, value: object) -> None:
        self.combo.setCurrentIndex(self._values.index(value) if value in self._values else 0)

    def controls(self) -> list[QWidget]:
        return [self.combo]


class Words(Field):
    """A line of text."""

    def __init__(self) -> None:
        super().__init__()
        self.line = QLineEdit()
        self.line.setMinimumWidth(240)
        self.line.textChanged.connect(lambda _: self.changed.emit())
        self.row.addWidget(self.line)

    def get(self) -> object:
        return self.line.text()

    def put(self, value: object) -> None:
        self.line.setText(str(value))

    def controls(self) -> list[QWidget]:
        return [self.line]


def field_for(info: FieldInfo, title: str) -> Field:
    """The control for one pydantic field, showing its default.

    Raises TypeError for a type that no form has shown so far: a mistake of the program.
    """
    kinds = _kinds(info.annotation)
    kind = next(k for k in kinds if k is not NoneType)
    field: Field
    start: object = None
    if typing.get_origin(kind) is Literal:
        field = OneOf(typing.get_args(kind), title)
        start = typing.get_args(kind)[0]
    elif kind is bool:
        field, start = YesNo(title), False
    elif kind in (int, float):
        low, high = _range(info)
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        ticks = cast(list[float], extra.get("ticks", []))
        stepping = _stepping(extra.get("step"), kind is int, low, high, ticks)
        number = NumberField(0, stepping, kind is int, low, high)
        field, start = NumberOf(number, ticks, title), max(low, 0) if math.isfinite(low) else 0
    elif kind is str:
        field, start = Words(), ""
    else:
        raise TypeError(f"no control for {info.annotation}")
    if NoneType in kinds:
        field = Optional(field, field.tr("As the model has it"), start)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    field.put(start if info.is_required() else default)
    return field


def _kinds(annotation: object) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _range(info: FieldInfo) -> tuple[float, float]:
    """The smallest and largest value; a bound that is itself left out counts as one."""
    low, high = -math.inf, math.inf
    for rule in info.metadata:
        match rule:
            case Ge(ge=bound) | Gt(gt=bound):
                low = float(cast(float, bound))
            case Le(le=bound) | Lt(lt=bound):
                high = float(cast(float, bound))
    return low, high


def _stepping(
    asked: object, whole: bool, low: float, high: float, ticks: Sequence[float]
) -> Stepping:
    """How the arrows move: as the spec asks, or by what suits the range."""
    if asked in ("double", "decades"):
        return cast(Stepping, asked)
    if isinstance(asked, int | float):
        return float(asked)
    if whole:
        powers = ticks and all(t > 0 and math.log2(t).is_integer() for t in ticks)
        return "double" if powers else ("decades" if 10_000 <= high <= 1e9 else 1.0)
    if low >= 0 and high <= 1:
        return 0.01
    return 1.0 if ticks and min(ticks) >= 1 else "decades"


def _tr(text: str) -> str:
    return QCoreApplication.translate("form", text)


def title_of(name: str, info: FieldInfo) -> str:
    """The title of a field in the user's language."""
    return QCoreApplication.translate("spec", info.title or name.replace("_", " ").capitalize())


def help_of(info: FieldInfo) -> str:
    """The help text of a field in the user's language."""
    return QCoreApplication.translate("spec", info.description) if info.description else ""


NAMES: dict[str, Callable[[], str]] = {
    "auto": lambda: _tr("Automatic"),
    "cpu": lambda: _tr("CPU"),
    "cuda": lambda: _tr("GPU (CUDA)"),
    "mps": lambda: _tr("GPU (Apple Metal)"),
    "fp32": lambda: _tr("32 bit"),
    "bf16": lambda: _tr("16 bit (bfloat16)"),
    "gelu": lambda: "GELU",
    "gelu_new": lambda: _tr("GELU (tanh approximation)"),
    "relu": lambda: "ReLU",
    "csv": lambda: "CSV",
    "tsv": lambda: "TSV",
    "jsonl": lambda: _tr("JSON lines"),
    "text": lambda: _tr("Plain text"),
}


def value_in_words(value: object) -> str:
    """A value of a spec as the window shows it."""
    if value is None:
        return _tr("as the model has it")
    if isinstance(value, bool):
        return _tr("on") if value else _tr("off")
    if isinstance(value, int | float):
        return written(value)
    text = str(value)
    return NAMES[text]() if text in NAMES else text


def problem_in_words(item: dict[str, Any]) -> str:
    """One error of pydantic as a sentence."""
    context = item.get("ctx", {})
    bound = next((context[key] for key in ("gt", "ge", "lt", "le") if key in context), None)
    match item["type"]:
        case "greater_than":
            return _tr("This must be above {0}.").format(value_in_words(bound))
        case "greater_than_equal":
            return _tr("This must be at least {0}.").format(value_in_words(bound))
        case "less_than":
            return _tr("This must be below {0}.").format(value_in_words(bound))
        case "less_than_equal":
            return _tr("This must be at most {0}.").format(value_in_words(bound))
        case "int_parsing" | "int_type" | "int_from_float":
            return _tr("This must be a whole number.")
        case "float_parsing" | "float_type":
            return _tr("This must be a number.")
        case "missing" | "string_too_short":
            return _tr("This must be filled in.")
        case "value_error":
            message = str(context.get("error", item["msg"]))
            return f"{message[:1].upper()}{message[1:]}."
    return f"{item['msg']}."
