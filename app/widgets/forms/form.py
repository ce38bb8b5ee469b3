"""Forms made from the fields of a spec: title, range, default and help are defined there once.

form = SpecForm(TrainingSpec, ["epochs", "batch_size", "learning_rate", "seed"])
form.changed.connect(...) spec = TrainingSpec.model_validate({**others, **form.value()})
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import SPACE, px
from app.widgets import layouts
from app.widgets.forms.fields import Field, NumberChoice, field_for
from app.widgets.forms.several import SeveralValues, can_vary, varied_values
from app.widgets.help import set_help
from app.widgets.help_topics import setting_key
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, TextStyle, tooltip
from app.widgets.text.spec_texts import help_of, problem_text, title_of, value_text
from engine.config.fields import get_level
from engine.config.problems import Problem
from engine.config.validation import list_problems

NEVER_VARIED = ("seeds",)  # the seed itself may have several values
LABEL_WIDTH = 45 * SPACE  # px of the titles, the same in all forms


class SpecForm(QWidget):
    """Fields of a pydantic model, or those chosen in forms, with title, control, help and problems.

    Fields that are not shown keep their defaults, or the values in `others`, for validation. With
    `varies` there is a “+” next to each field that can have several values.

    Signals:
        changed: by the user or by `set_value`.
    """

    changed = Signal()

    def __init__(
        self,
        model: type[BaseModel],
        fields: Sequence[str] = (),
        values: Mapping[str, object] | None = None,
        others: Mapping[str, object] | None = None,
        varies: bool = False,
    ) -> None:
        super().__init__()
        self._model, self._varies = model, varies
        self.several: dict[str, SeveralValues] = {}
        self._others = dict(others or {})
        self._is_updating = False
        self.fields: dict[str, Field] = {}
        self._right: dict[str, QVBoxLayout] = {}  # the control and the messages below it
        self._problems: dict[str, Text] = {}  # made when first needed
        self._reasons: dict[str, Text] = {}  # for recommended values
        self._labels: dict[str, list[QWidget]] = {}  # title and help of each field
        self._hidden: set[str] = set()
        self._searched: tuple[str, ...] = ()  # words
        self._texts: dict[str, str] = {}  # title and help of each field, to search in
        self._grid = layouts.grid(parent=self, h_spacing=6 * SPACE, v_spacing=5 * SPACE, stretch=1)
        all_fields = model.model_fields
        shown = fields or [n for n, info in all_fields.items() if get_level(info) != "elsewhere"]
        for name in shown:
            self._add(name, all_fields[name])
        self.form_problem = Text("", "bad")
        self.form_problem.hide()
        self._grid.addWidget(self.form_problem, self._grid.rowCount(), 0, 1, 2)
        if values:
            self.set_value(values)
        self._check()

    def value(self) -> dict[str, Any]:
        """The value of each field; the typed text if a number is expected and it is not one."""
        return {name: field.get() for name, field in self.fields.items()}

    def set_value(self, values: Mapping[str, object]) -> None:
        """Show `values`; unknown names are ignored."""
        self._is_updating = True
        for name, value in values.items():
            if name in self.fields:
                self.fields[name].put(value)
        self._is_updating = False
        self._on_changed()

    def varied(self) -> dict[str, tuple[Any, ...]]:
        """Fields that have several values, and the values."""
        return {name: field.values() for name, field in self.several.items() if field.is_open}

    def set_varied(self, values: Mapping[str, Sequence[object]]) -> None:
        """Show several values for these fields, and one for all others."""
        self._is_updating = True
        for name, field in self.several.items():
            field.put(values.get(name, ()))
        self._is_updating = False
        self._check()

    def recommend(self, values: Mapping[str, float], reasons: Mapping[str, str]) -> None:
        """Mark recommended values with their reasons; other fields lose their recommendation."""
        for name, value in values.items():
            field = self.fields.get(name)
            if isinstance(field, NumberChoice):
                field.recommend(value)
        for name in self.fields:
            self._show_text(self._reasons, "small", name, reasons.get(name, ""))

    def hide_fields(self, names: Collection[str]) -> None:
        """Show all fields but these, which do not apply now; they keep their values."""
        self._hidden = set(names)
        self._show_fields()

    def search(self, words: Sequence[str]) -> bool:
        """Show only the fields whose title or help has all words; True if there is any."""
        self._searched = tuple(word.casefold() for word in words)
        self._show_fields()
        return any(map(self._is_shown, self.fields))

    def _is_shown(self, name: str) -> bool:
        text = self._texts[name]
        return name not in self._hidden and all(word in text for word in self._searched)

    def _show_fields(self) -> None:
        for name, field in self.fields.items():
            shown, several = self._is_shown(name), self.several.get(name)
            for part in (several or field, *self._labels[name]):
                set_shown(part, shown)
            if several is not None:
                set_shown(field, shown and not several.is_open)
            if (reason := self._reasons.get(name)) is not None:
                set_shown(reason, bool(reason.text()) and shown)
        self._check()

    def problems(self) -> dict[str, str]:
        """Problems by field, “” for problems that concern several. Empty if valid."""
        values = {name: field.values() for name, field in self.several.items() if field.is_open}
        first = {name: varied_values(several)[0] for name, several in values.items() if several}
        problems = self._find_problems(first)
        for name, several in values.items():
            if text := self.several[name].problem():
                problems[name] = text
            for value in varied_values(several)[1:]:
                if (text := self._find_problems(first | {name: value}).get(name, "")) != "":
                    problems.setdefault(name, f"{value_text(value)}: {text}")
        return problems

    def _find_problems(self, others: Mapping[str, object]) -> dict[str, str]:
        try:
            self._model.model_validate({**self._others, **self.value(), **others})
        except ValidationError as error:
            problems: dict[str, str] = {}
            for problem in list_problems(error):
                problems.setdefault(self._field_name(problem), problem_text(problem))
            return problems
        return {}

    def _field_name(self, problem: Problem) -> str:
        """The field at which a problem is shown; “” if it concerns several or none."""
        fields = {field.partition(".")[0] for field in problem.fields}
        return next(iter(fields), "") if len(fields) == 1 and fields <= self.fields.keys() else ""

    def is_valid(self) -> bool:
        return not self.problems()

    def _add(self, name: str, info: FieldInfo) -> None:
        title, description = title_of(name, info), help_of(info)
        self._texts[name] = f"{title}\n{description}".casefold()
        field = field_for(info, title)
        field.changed.connect(self._on_changed)
        self.fields[name] = field
        set_help(field, setting_key(self._model, name))
        field.setToolTip(tooltip(description))
        row = self._grid.rowCount()
        label = Text(title, "strong")
        label.setFixedWidth(px(LABEL_WIDTH))
        label.setContentsMargins(0, 6, 0, 0)
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        right = layouts.column(spacing=SPACE)
        shown: QWidget = field
        if self._varies and name not in NEVER_VARIED and can_vary(field):
            shown = self.several[name] = SeveralValues(field, info, title)
            self.several[name].changed.connect(self._on_changed)
        right.addWidget(shown, 0, Qt.AlignmentFlag.AlignLeft)
        self._labels[name] = [label]
        if description:
            self._labels[name].append(Text(description, "small"))
            right.addWidget(self._labels[name][1])
        self._right[name] = right
        self._grid.addLayout(right, row, 1)
        for control in field.controls:
            if not control.accessibleName():
                control.setAccessibleName(title)
            control.setAccessibleDescription(description)

    def _show_text(self, labels: dict[str, Text], style: TextStyle, name: str, text: str) -> None:
        if text and name not in labels:
            labels[name] = Text("", style)
            index = len(self._labels[name]) if labels is self._reasons else -1
            self._right[name].insertWidget(index, labels[name])
        if name in labels:
            labels[name].setText(text)
            set_shown(labels[name], bool(text) and self._is_shown(name))

    def _on_changed(self) -> None:
        if not self._is_updating:
            self._check()
            self.changed.emit()

    def _check(self) -> None:
        problems = self.problems()
        for name in self.fields:
            self._show_text(self._problems, "bad", name, problems.get(name, ""))
        self.form_problem.setText(problems.get("", ""))
        set_shown(self.form_problem, "" in problems)
