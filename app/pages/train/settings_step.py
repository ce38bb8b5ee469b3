"""Fourth step: training settings. Simple shows a few, Advanced all of them."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel, create_model
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.pages.train.choices import Choices, Goal, Step
from app.pages.train.state import TrainState
from app.pages.train.summary import list_advanced_changes
from app.theme import SPACE
from app.translation import in_language, translated
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SearchField, Switch
from app.widgets.forms.fields import ChoiceField, Weights
from app.widgets.forms.form import LABEL_WIDTH, SpecForm
from app.widgets.forms.several import varied_values
from app.widgets.page import Card
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text
from app.widgets.text.spec_texts import value_text
from engine.config.features import CONTRASTIVE, FINE_TUNED, Features
from engine.config.fields import fields_at, get_extra
from engine.config.recommended import RECIPES, RECOMMENDED, few_note
from engine.config.task import AggregatingTask, LongTexts, TaskSpec, WindowedTask
from engine.config.training import HardwareSpec, TrainingSpec

# fields of a causal objective: no masks, no pairs
CAUSAL_FIELDS = ("objective", "long_length", "long_share")


def with_ticks(model: type[BaseModel], ticks: Mapping[str, list[float]]) -> type[BaseModel]:
    """Subclass `model` with other tick values for some of its fields."""
    fields: dict[str, Any] = {}
    for name, values in ticks.items():
        field = copy(model.model_fields[name])
        field.json_schema_extra = {**get_extra(field), "ticks": list(values)}
        fields[name] = (field.annotation, field)
    return create_model(f"{model.__name__}WithTicks", __base__=model, **fields)


PRETRAINING = with_ticks(
    TrainingSpec,
    {"batch_size": [16, 32, 64], "learning_rate": [1e-4, 3e-4, 5e-4], "epochs": [1, 3, 10]},
)


class SettingsStep(QWidget):
    """Forms of training, task and hardware; Simple lists what was changed in Advanced."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._is_updating = False
        self._shown_goal: Goal | None = None
        self.mode = buttons.Segments(
            [self.tr("&Simple"), self.tr("&Advanced")], self.tr("Settings")
        )
        self.mode.choose(0)
        self.mode.chosen.connect(lambda _: self._show())
        self.search = SearchField(self.tr("Search settings"), has_icon=True)
        self.search.textChanged.connect(lambda _: self._search())
        self.nothing = Text(self.tr("No matching settings."), "muted")
        self.fine_tuning = _form(TrainingSpec, fields_at(TrainingSpec, "simple"))
        self.pre_training = _form(PRETRAINING, fields_at(TrainingSpec, "simple"))
        self.more = _form(TrainingSpec, fields_at(TrainingSpec, "advanced"))
        self.tasks: dict[str, SpecForm] = {}  # made when first needed, by task kind
        self.features = _form(Features, fields_at(Features, "advanced"))
        self.hardware = _form(HardwareSpec)
        forms = (self.fine_tuning, self.pre_training, self.more, self.features, self.hardware)
        for form in forms:
            form.changed.connect(self._on_changed)
        self.length = Text("", "small")
        self.advanced = QWidget()
        layouts.column(
            layouts.row(self.mode, (self.search, 1), spacing=4 * SPACE),
            self.nothing,
            self._simple_card(),
            self._advanced_cards(),
            layouts.STRETCH,
            parent=self,
            spacing=4 * SPACE,
            margins=(0, 0, 2 * SPACE, 0),
        )
        state.changed.connect(self._show)
        state.preview.changed.connect(self._show)
        self._show()

    def _simple_card(self) -> Card:
        card = self.simple_card = Card(self.tr("Training"))
        self.recipe = buttons.Segments([self.tr("Paper"), self.tr("Quick")], self.tr("Recipe"))
        self.recipe.chosen.connect(self._on_recipe)
        self.recipe_text = Text("", "small")
        self.recipe_row = QWidget()
        self.recipe_row.setContentsMargins(0, 0, 0, 2 * SPACE)  # as between fields
        _titled_row(self.tr("Recipe"), self.recipe, self.recipe_text, self.recipe_row)
        self.few_text = Text("", "small")
        self.few_switch = Switch(self.tr("Contrastive fine-tuning"))
        self.few_switch.toggled.connect(self._on_few)
        self.few_row = QWidget()
        self.few_row.setContentsMargins(0, 0, 0, 2 * SPACE)
        title = self.tr("Contrastive fine-tuning")
        _titled_row(title, self.few_switch, self.few_text, self.few_row)
        forms = (self.fine_tuning, self.pre_training)
        layouts.extend(card.body, self.few_row, self.recipe_row, *forms)
        self.quick_trial = Switch(self.tr("Quick trial"))
        self.quick_trial.toggled.connect(self._on_quick)
        explanation = Text(
            self.tr("Train on 10 % of the rows to check that everything works."), "small"
        )
        row = _titled_row(self.tr("Quick trial"), self.quick_trial, explanation)
        self.long_texts = buttons.Segments(
            [self.tr("Truncate"), self.tr("Windows")], self.tr("Long texts")
        )
        self.long_texts.chosen.connect(self._on_long_texts)
        self.long_row = QWidget()
        _titled_row(self.tr("Long texts"), self.long_texts, self.length, self.long_row)
        layouts.extend(card.body, row, self.long_row)
        self.changes = Text("", "warn")
        self.reset = buttons.quiet(self.tr("&Reset"), self._state.reset_advanced, "undo-2")
        line = layouts.row((self.changes, 1), self.reset, spacing=2 * SPACE)
        card.body.addLayout(line)
        return card

    def _advanced_cards(self) -> QWidget:
        column = layouts.column(parent=self.advanced, spacing=4 * SPACE)
        self.task_card = Card(self.tr("Task"))
        self.features_card = Card(self.tr("Fine-tune, or train a classifier on frozen features"))
        self.features_card.body.addWidget(self.features)
        self.more_card, self.hardware_card = (
            Card(self.tr("More training settings")),
            Card(self.tr("Hardware")),
        )
        self.more_card.body.addWidget(self.more)
        self.hardware_card.body.addWidget(self.hardware)
        for card in (self.task_card, self.features_card, self.more_card, self.hardware_card):
            column.addWidget(card)
        return self.advanced

    def _pretrains(self) -> bool:
        return self._state.choices.is_pretraining

    def _simple_form(self) -> SpecForm:
        return self.pre_training if self._pretrains() else self.fine_tuning

    def _task_form(self) -> SpecForm | None:
        task = self._state.choices.task
        fields = fields_at(type(task), "simple", "advanced")
        if fields and task.kind not in self.tasks:
            form = self.tasks[task.kind] = _form(type(task), fields)
            form.changed.connect(self._on_changed)
            self.task_card.body.addWidget(form)
        return self.tasks.get(task.kind)

    # ── from the forms to the choices ────────────────────────────────────────────────────────

    def _on_changed(self) -> None:
        if self._is_updating:
            return
        task_form = self._task_form()
        forms = [self._simple_form(), self.more, self.features, self.hardware]
        forms += [task_form] if task_form else []
        problem = next(iter([s for form in forms for s in form.problems().values()]), "")
        if problem:
            self._state.set_invalid(Step.SETTINGS, problem)
            return
        choices, task = self._state.choices, self._state.choices.task
        training = _first_values(self.more) | _first_values(self._simple_form())
        self._state.choose_settings(
            TrainingSpec.model_validate(choices.training.model_dump() | training),
            HardwareSpec.model_validate(_first_values(self.hardware)),
            type(task).model_validate(
                task.model_dump() | (_first_values(task_form) if task_form else {})
            ),
            Features.model_validate(_first_values(self.features)),
            {
                "training": self._simple_form().varied() | self.more.varied(),
                "hardware": self.hardware.varied(),
                "task": task_form.varied() if task_form else {},
                "features": self.features.varied(),
            },
        )
        self._state.set_invalid(Step.SETTINGS, "")

    def _on_recipe(self, index: int) -> None:
        self._state.set(self._state.choices.with_recipe(RECIPES[index]))

    def _on_long_texts(self, index: int) -> None:
        self._state.set(self._state.choices.with_long_texts(get_args(LongTexts)[index]))

    def _on_few(self, on: bool) -> None:
        if not self._is_updating:
            way = CONTRASTIVE if on else FINE_TUNED
            features = self._state.choices.features.model_copy(update={"vectors": way})
            self._state.set(replace(self._state.choices, features=features))

    def _on_quick(self, on: bool) -> None:
        if not self._is_updating:
            self._state.set(self._state.choices.with_quick_trial(on))

    # ── from the choices to the forms ────────────────────────────────────────────────────────

    def _show(self) -> None:
        """Show the choices in every form with valid content; others are being typed in."""
        self._is_updating = True
        choices = self._state.choices
        is_new = choices.goal != self._shown_goal  # what was typed for another task is dropped
        self._shown_goal = choices.goal
        self._recommend(choices)
        self._show_recipe(choices)
        self._show_few(choices)
        self._offer_metrics(choices.task)
        for form in (self.fine_tuning, self.pre_training, self.more):
            _fill(form, choices.training, choices.varied_in("training"), is_new)
        task_form = self._task_form()
        for form in self.tasks.values():
            set_shown(form, form is task_form)
        if task_form is not None:
            weights = task_form.fields.get("class_weights")
            if isinstance(weights, Weights):
                weights.set_names(choices.label_names)
            _fill(task_form, choices.task, choices.varied_in("task"), is_new)
        if choices.is_pretraining and task_form is not None:
            causal = choices.is_causal
            task_form.hide_fields(set(task_form.fields) - set(CAUSAL_FIELDS) if causal else ())
        if isinstance(choices.task, WindowedTask) and task_form is not None:
            unused = set(task_form.fields) & {*AggregatingTask.model_fields} - {"long_texts"}
            task_form.hide_fields(() if choices.task.reads_windows else unused)
            self.long_texts.choose(get_args(LongTexts).index(choices.task.long_texts))
        set_shown(self.long_texts, isinstance(choices.task, WindowedTask))
        _fill(self.features, choices.features, choices.varied_in("features"), is_new)
        self.features.hide_fields(_unused_fields(choices.features))
        _fill(self.hardware, choices.hardware, choices.varied_in("hardware"), is_new)
        set_shown(self.fine_tuning, not self._pretrains())
        set_shown(self.pre_training, self._pretrains())
        set_shown(self.advanced, self.mode.choice() == 1)
        self._search()
        self.quick_trial.setChecked(choices.quick_trial)
        self.length.setText(self._length_text())
        changes = list_advanced_changes(choices)
        self.changes.setText(
            self.tr("Changed in Advanced: {0}").format("; ".join(changes)) if changes else ""
        )
        set_shown(self.changes, bool(changes))
        set_shown(self.reset, bool(changes))
        self._is_updating = False
        if is_new:
            self._state.set_invalid(Step.SETTINGS, "")

    def _search(self) -> None:
        """Show the cards with the settings that are searched in Advanced; all without a search."""
        is_advanced, task_form = self.mode.choice() == 1, self._task_form()
        set_shown(self.search, is_advanced)
        words = self.search.text().split() if is_advanced else []
        parts = {
            self.simple_card: self._simple_form(),
            self.task_card: task_form,
            self.features_card: None if self._pretrains() else self.features,
            self.more_card: self.more,
            self.hardware_card: self.hardware,
        }
        found = {card for card, form in parts.items() if form is not None and form.search(words)}
        for card in parts:
            set_shown(card, card in found)
        set_shown(self.nothing, not found)

    def _offer_metrics(self, task: TaskSpec) -> None:
        """Offer the metrics that can select the best checkpoint."""
        metrics = {metric.name: in_language(metric.title) for metric in task.info.metrics}
        default = self.tr("Default ({0})").format(metrics[task.info.best_metric])
        field = self.more.fields["best_metric"]
        assert isinstance(field, ChoiceField)
        field.offer(["", *metrics], [default, *metrics.values()])

    def _recommend(self, choices: Choices) -> None:
        """Mark the recommended values, with the reasons."""
        result = choices.recommended
        reasons = {name: translated(reason) for name, reason in result.reasons.items()}
        values = {name: getattr(result.training, name) for name in RECOMMENDED}
        for form in (self._simple_form(), self.more):
            form.recommend(values, reasons)

    def _show_recipe(self, choices: Choices) -> None:
        quick = choices.quick
        set_shown(self.recipe_row, quick is not None)
        if quick is None:
            return
        self.recipe.choose(RECIPES.index(choices.recipe))
        template = self.tr(
            "Quick trains only the upper layers, for fewer epochs: {speed} times as fast on {sets} "
            "data sets, with scores that differ from those of Paper by {low} to {high} points."
        )
        low, high = (f"{points:+.1f}".replace("-", "−") for points in quick.points)
        self.recipe_text.setText(
            template.format(sets=quick.sets, speed=value_text(quick.speed), low=low, high=high)
        )

    def _show_few(self, choices: Choices) -> None:
        """Offer contrastive fine-tuning for few labelled rows."""
        note, vectors = few_note(choices.situation), choices.probe.vectors
        set_shown(self.few_row, note is not None and vectors in (FINE_TUNED, CONTRASTIVE))
        self.few_switch.setChecked(vectors == CONTRASTIVE)
        self.few_text.setText(translated(note) if note is not None else "")

    def _length_text(self) -> str:
        """A sentence about truncation or splitting of long inputs."""
        choices = self._state.choices
        max_length = choices.training.max_length
        if choices.is_pretraining:
            return self.tr("Texts are split into blocks of {0} tokens.").format(max_length)
        if not choices.task.truncates:
            template = self.tr("Longer texts are read in overlapping windows of {0} tokens.")
            return template.format(max_length)
        result = self._state.preview.result
        if result is None or result.lengths is None:
            return self.tr("Inputs longer than {0} tokens are truncated.").format(max_length)
        fraction = result.lengths.fraction_above(max_length)
        if fraction == 0:
            template = self.tr("Max. length is {0} tokens; no input in the sample is longer.")
            return template.format(max_length)
        template = self.tr(
            "About {1} % of the inputs are longer than {0} tokens; truncated, {2} % of all tokens "
            "are never read."
        )
        unread = result.lengths.fraction_unread(max_length)
        percents = (max(0.1, round(100 * part, 1)) for part in (fraction, unread))
        return template.format(max_length, *map(value_text, percents))


def _titled_row(
    title: str, control: QWidget, explanation: Text, parent: QWidget | None = None
) -> QGridLayout:
    """A control with its title and explanation, aligned with the fields of a form."""
    row = layouts.grid(parent=parent, h_spacing=6 * SPACE)
    row.setColumnMinimumWidth(0, LABEL_WIDTH)
    row.setColumnStretch(1, 1)
    row.addWidget(Text(title, "strong"), 0, 0, Qt.AlignmentFlag.AlignTop)
    row.addLayout(layouts.column(control, explanation, spacing=SPACE), 0, 1)
    return row


def _unused_fields(features: Features) -> set[str]:
    """Fields that have no effect with these settings."""
    if features.vectors in (FINE_TUNED, CONTRASTIVE):
        return set(fields_at(Features, "advanced")) - {"vectors"}
    unused = set() if features.vectors == "one layer" else {"layer"}
    return unused | (set() if features.probe == "bilstm" else {"probe_size"})


def _form(model: type[BaseModel], fields: Sequence[str] = ()) -> SpecForm:
    return SpecForm(model, fields, varies=True)


def _first_values(form: SpecForm) -> dict[str, Any]:
    return form.value() | {name: varied_values(values)[0] for name, values in form.varied().items()}


def _fill(
    form: SpecForm, spec: BaseModel, varied: Mapping[str, tuple[Any, ...]], is_new: bool
) -> None:
    """Show a spec in a form that is valid, or if it is a new one."""
    shown = {name: getattr(spec, name) for name in form.fields}
    several = {name: values for name, values in varied.items() if name in form.several}
    if (is_new or form.is_valid()) and form.varied() != several:
        form.set_varied(several)
    if (is_new or form.is_valid()) and form.value() != shown:
        form.set_value(shown)
