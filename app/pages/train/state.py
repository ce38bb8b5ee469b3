"""The choices of the wizard, what follows from them, and the start of the run. No widgets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import QObject, Signal

from app.library import DataEntry, ModelEntry
from app.pages.train.adjustment import Adjustment
from app.pages.train.changes import SIMPLE_FIELDS
from app.pages.train.choices import NO_PROBE, Choices, Model, SearchPlan, Step
from app.pages.train.editing import Editing
from app.pages.train.entries import data_of, model_of
from app.pages.train.estimate_state import EstimateState
from app.pages.train.fixes import Fix, fixes
from app.pages.train.goals import Goal
from app.pages.train.job import job
from app.pages.train.lists import Lists
from app.pages.train.obstacles import obstacle
from app.pages.train.preview_state import Previewed, PreviewState
from app.pages.train.warnings import warnings
from app.studio import Studio
from engine.config.dataset import StoredData
from engine.config.features import Features
from engine.config.job import JobSpec
from engine.config.recommended import probe_rate
from engine.config.task import TaskSpec
from engine.config.training import HardwareSpec, TrainingSpec
from engine.config.validation import describe_validation
from engine.errors import StudioError
from engine.files.shipped import default_base_model


class TrainState(QObject):
    """What is chosen and what follows from it.

    `lists` is what there is to choose from, `preview` the data as the network will read it, and
    `estimate` the time and memory of the job.

    Signals:
        changed: the choices are others now.
        started: the id of the run that was handed to the dispatcher.
    """

    changed = Signal()
    started = Signal(str)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        preferences = studio.settings.preferences
        self._usual = HardwareSpec(device=preferences.device, threads=preferences.threads)
        self.choices = self._on_usual_hardware(Choices(hardware=self._usual))
        self._invalid: dict[Step, str] = {}
        self.adjustment: Adjustment | None = None  # the last choice that was made for the user
        self.is_starting = False
        self.lists = Lists(studio, self)
        self.editing = Editing(studio, self)
        self.editing.ended.connect(self.changed)
        self.preview = PreviewState(studio.notices, self)
        self.estimate = EstimateState(studio, self.job, self)
        self.lists.changed.connect(self._on_lists)
        self.preview.changed.connect(self._on_preview)

    # ── choosing ─────────────────────────────────────────────────────────────────────────────

    def set(self, choices: Choices) -> None:
        """Take these choices; what follows from them is found out."""
        if choices == self.choices:
            return
        self.choices = choices
        self.changed.emit()
        self.preview.show(self._previewed())

    def adjust(self, choices: Choices, adjustment: Adjustment | None) -> None:
        """Take choices of which some were made for the user, and say which; None: none were."""
        self.adjustment = adjustment
        if choices == self.choices:
            self.changed.emit()
        self.set(choices)

    def adjust_goal(self, choices: Choices, goal: Goal, sentence: str) -> None:
        """Take these choices with another task than the user's; `sentence` says why."""
        before = choices.goal
        self.adjust(
            replace(choices, goal=goal),
            Adjustment(sentence, lambda now: replace(now, goal=before)),
        )

    def undo_adjustment(self) -> None:
        """Back to what the user had chosen; whatever else was chosen meanwhile stays."""
        if self.adjustment is not None:
            self.adjust(self.adjustment.undone(self.choices), None)

    def apply(self, fix: Fix, is_asked: bool = True) -> None:
        """Settle an obstacle as its button says.

        Where the user did not ask for it, what was said before is said still, and undone with it.
        """
        if fix.edit is None:
            self.adjust(fix.choices, None)
            return
        data, edit = self.choices.data, fix.edit
        assert data is not None and isinstance(data.source, StoredData)
        before = None if is_asked else self.adjustment

        def done(entry: DataEntry) -> None:
            if self.choices.data is None or self.choices.data.source != data.source:
                return  # other data was chosen meanwhile
            said = edit.sentence.replace("{version}", str(entry.version))
            made = Adjustment(said, lambda now: now.with_data(data))
            if before is not None and self.adjustment == before:
                made = before.and_then(made)
            self.adjust(self.choices.with_data(data_of(entry)), made)

        self.editing.start(data.source.folder, edit, done)
        self.changed.emit()

    def choose_goal(self, goal: Goal) -> None:
        """Take this task; the usual model of the one before makes way for that of this one."""
        before = self.choices
        usual = default_base_model(before.is_pretraining)
        is_usual = before.model is not None and before.model.path == usual
        choices = replace(before, goal=goal, model=None if is_usual else before.model)
        self.adjust(self._with_usual_model(choices), None)

    def choose_data(self, entry: DataEntry) -> None:
        self.adjust(self.choices.with_data(data_of(entry)), None)

    def choose_model(self, entry: ModelEntry) -> None:
        self.set(replace(self.choices, model=model_of(entry)))

    def take(self, choices: Choices, sentence: str) -> None:
        """Take choices that were made elsewhere, on any machine; `sentence` says which.

        What was chosen before is not lost: it can be taken back, unless it was nothing.
        """
        before = self.choices
        nothing = self._on_usual_hardware(Choices(hardware=self._usual, model=before.model))
        untouched = (
            before == nothing
        )  # the model that stood there at first was not chosen by the user
        self.adjust(
            self._on_usual_hardware(choices).with_lengths_of(before),
            None if untouched else Adjustment(sentence, lambda _: before),
        )

    def take_anew(self, choices: Choices, sentence: str) -> None:
        """Take choices that were made elsewhere, for the hardware of the settings."""
        self.take(replace(choices, hardware=self._usual), sentence)

    def name(self, name: str) -> None:
        self.set(replace(self.choices, name=name))

    def choose_settings(
        self,
        training: TrainingSpec,
        hardware: HardwareSpec,
        task: TaskSpec,
        features: Features = NO_PROBE,
        varied: Mapping[str, Mapping[str, tuple[Any, ...]]] | None = None,
    ) -> None:
        """Take what the forms say; `varied` has, by part of the job, the fields with several
        values.
        """
        choices = self.choices.with_training(training).with_task(task)
        for part, values in (varied or {}).items():
            choices = choices.with_varied(part, values)
        features = probe_rate(self.choices.features, features)
        self.set(replace(choices, hardware=hardware, features=features))

    def plan_search(self, plan: SearchPlan) -> None:
        """Take how several values are combined."""
        self.set(replace(self.choices, plan=plan))

    def reset_advanced(self) -> None:
        """Back to the defaults of what only the advanced settings show."""
        kept = {n: v for n, v in self.choices.set_by_user.items() if n in SIMPLE_FIELDS}
        self.set(
            replace(
                self.choices.with_set_by_user(kept).with_task(self.choices.present_goal.task),
                features=NO_PROBE,
                hardware=self.choices.usual_hardware,
            )
        )

    def _on_usual_hardware(self, choices: Choices) -> Choices:
        return replace(choices, usual_hardware=self._usual)

    def _on_lists(self) -> None:
        """What was chosen, as it stands in the lists now: it may be gone or mended."""
        choices = self.choices
        if choices.model is not None:
            model = next((m for m in self.lists.models or () if m.path == choices.model.path), None)
            info = model.info if model else None
            choices = replace(choices, model=replace(choices.model, info=info))
        data = choices.data
        if data is not None and data.spec is not None and isinstance(data.source, StoredData):
            folders = {entry.folder for entry in self.lists.datasets or ()}
            choices = replace(
                choices, data=replace(data, is_gone=data.source.folder not in folders)
            )
        self.set(self._with_usual_model(choices))

    def _with_usual_model(self, choices: Choices) -> Choices:
        """While no model is chosen: with the usual one, or the only one that there is."""
        if choices.model is not None:
            return choices
        usable = [entry for entry in self.lists.models or () if entry.info is not None]
        usual = default_base_model(choices.is_pretraining)
        found = usable if len(usable) == 1 else [one for one in usable if one.path == usual]
        return replace(choices, model=model_of(found[0])) if found else choices

    # ── what is missing ──────────────────────────────────────────────────────────────────────

    def set_invalid(self, step: Step, sentence: str) -> None:
        """A form of this step holds something that is no valid value; empty: all is well again.

        The choices keep the last valid values.
        """
        if self._invalid.get(step, "") != sentence:
            self._invalid[step] = sentence
            self.changed.emit()

    def obstacle(self, step: Step) -> str:
        """Why the wizard cannot go past this step; empty where it can."""
        if step is Step.DATA and self.editing.is_busy:
            return self.tr("Making a new version of the data set…")
        return self._invalid.get(step, "") or obstacle(self.choices, step)

    def fixes(self, step: Step) -> list[Fix]:
        """What can be done at once about the obstacle of this step."""
        if self._invalid.get(step) or self.editing.is_busy:
            return []
        return fixes(self.choices, step)

    def first_obstacle(self) -> tuple[Step, str] | None:
        """The first step that is not done, with the reason."""
        return next(((step, why) for step in Step if (why := self.obstacle(step))), None)

    def warnings(self) -> list[str]:
        """What the user should know before the start."""
        lengths = self.preview.found.lengths if self.preview.found else None
        return warnings(self.choices, lengths, self.estimate.found)

    # ── the data as the network reads it ─────────────────────────────────────────────────────

    def vocabulary(self) -> Model | None:
        """The model whose tokens are shown; None where a new vocabulary will be made."""
        choices = self.choices
        chosen = choices.scratch.vocabulary if choices.from_scratch else choices.model
        if chosen is not None and chosen.info is not None:
            return chosen
        if choices.from_scratch:
            return None
        usable = (model_of(entry) for entry in self.lists.models or () if entry.info is not None)
        return next(usable, None)

    def _previewed(self) -> Previewed | None:
        """What the preview is to show."""
        data, goal = self.choices.data, self.choices.goal
        if data is None or goal is None or data.spec is None:
            return None
        if not isinstance(data.source, StoredData) or data.is_gone:
            return None
        vocabulary = self.vocabulary()
        path = vocabulary.path if vocabulary else None
        return Previewed(data.source.folder, path, self.choices.task)

    def _on_preview(self) -> None:
        lengths = self.preview.found.lengths if self.preview.found else None
        if lengths is not None:
            self.set(replace(self.choices, typical_length=lengths.typical))

    # ── the job ──────────────────────────────────────────────────────────────────────────────

    def job(self) -> JobSpec | None:
        """The job as composed so far; None where something is still missing."""
        if self.first_obstacle() is not None:
            return None
        return job(self.choices)

    def start(self) -> bool:
        """Hand the job to the dispatcher, and whether that went; `started` says its id."""
        try:
            composed = self.job()
        except ValidationError as error:
            self._studio.notices.show(describe_validation(error, self.tr("The job")))
            return False
        if composed is None or self.is_starting:
            return False
        self.estimate.cancel()
        try:
            run = self._studio.dispatcher.start(composed)
        except StudioError as error:
            self._studio.notices.show(error)
            return False
        self.adjust(replace(self.choices, name=""), None)
        self.started.emit(run)
        return True
