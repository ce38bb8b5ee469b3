"""The choices of the wizard, what is known about them, and the start of the run. No widgets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.library import DataEntry, ModelEntry
from app.pages.train import advice
from app.pages.train.choices import (
    NO_READER,
    Choices,
    Goal,
    Step,
    choices_of,
    first_goal,
    goals,
    job,
    network,
)
from app.pages.train.entries import data_of, model_of
from app.pages.train.first import first_of
from app.pages.train.preview import Look, look
from app.sample import sample_entry
from app.studio import Studio
from engine.data.columns.fit import likely_task
from engine.errors import StudioError
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Answer, Refused, Working
from engine.spec.dataset import StoredData
from engine.spec.features import Features
from engine.spec.job import JobSpec
from engine.spec.task import TaskSpec
from engine.spec.training import HardwareSpec, TrainingSpec
from engine.validation import describe_validation

PAUSE = 250  # ms after the last choice before files are read for it


@dataclass(frozen=True)
class _Sight:
    """What a look at the data depends on."""

    folder: Path
    vocabulary: Path | None
    task: TaskSpec


class TrainState(QObject):
    """What is chosen and what follows from it.

    Signals:
        changed: the choices are others now.
        listed: `datasets` and `models` are others now.
        looked: `look`, `look_problem` or `is_looking` is another now.
        measured: the estimate, its progress or its problem is another now.
        started: the id of the run that was handed to the dispatcher.
        refused: a StudioError that keeps a wanted preset or job from being shown.
    """

    changed = Signal()
    listed = Signal()
    looked = Signal()
    measured = Signal()
    started = Signal(str)
    refused = Signal(object)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        preferences = studio.settings.preferences
        usual = HardwareSpec(device=preferences.device, threads=preferences.threads)
        self._fresh = Choices(hardware=usual, usual_hardware=usual)
        self.choices = self._fresh
        self._invalid: dict[Step, str] = {}
        self.datasets: list[DataEntry] | None = None  # None: not read yet
        self.models: list[ModelEntry] | None = None
        self.look: Look | None = None
        self.look_problem: StudioError | None = None
        self.estimating: Working | None = None
        self.estimate_problem: StudioError | None = None
        self.is_starting = False
        self._estimates: dict[str, Estimated] = {}
        self._estimating_for = ""
        self._declined = ""  # the job that is not measured unasked
        self._errand: Any = None
        self._sight: _Sight | None = None
        self._looking: background.Job | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE)
        self._pause.timeout.connect(self._look)
        self._after_lists: list[Callable[[], None]] = []
        self._reading: background.Job | None = None
        studio.datasets_changed.connect(self.read_lists)
        studio.models_changed.connect(self.read_lists)

    # ── what there is to choose from ─────────────────────────────────────────────────────────

    def read_lists(self) -> None:
        """Read the data sets and the models of the home, off the window's thread."""
        if self._reading is not None:
            self._reading.cancel()
        studio = self._studio
        self._reading = background.run(
            self, lambda: (studio.datasets(), studio.models()), self._on_lists
        )

    def _on_lists(self, lists: tuple[list[DataEntry], list[ModelEntry]]) -> None:
        self._reading = None
        self.datasets, self.models = lists
        self._refresh_chosen()
        self.listed.emit()
        waiting, self._after_lists = self._after_lists, []
        for act in waiting:
            act()

    def _refresh_chosen(self) -> None:
        """What was chosen, as it stands in the lists now: it may have been removed or mended."""
        assert self.models is not None
        chosen = self.choices.model
        if chosen is not None:
            found = next((m for m in self.models if m.path == chosen.path), None)
            info = found.info if found else None
            self.set(replace(self.choices, model=replace(chosen, info=info)))

    def _with_lists(self, act: Callable[[], None]) -> None:
        """Do it when the lists have been read."""
        self._after_lists.append(act)
        self.read_lists()

    # ── choosing ─────────────────────────────────────────────────────────────────────────────

    def set(self, choices: Choices) -> None:
        """Take these choices; what follows from them is found out."""
        if choices == self.choices:
            return
        self.choices = choices
        self.changed.emit()
        sight = self._wanted_sight()
        if sight != self._sight:
            self._sight = sight
            self.look = self.look_problem = None
            if self._looking is not None:
                self._looking.cancel()
            self._pause.start()
            self.looked.emit()

    def choose_goal(self, goal: Goal) -> None:
        self.set(replace(self.choices, goal=goal))

    def choose_data(self, entry: DataEntry) -> None:
        self.set(self.choices.with_data(data_of(entry)))

    def choose_model(self, entry: ModelEntry) -> None:
        self.set(replace(self.choices, model=model_of(entry)))

    def name(self, name: str) -> None:
        self.set(replace(self.choices, name=name))

    def choose_settings(
        self,
        training: TrainingSpec,
        hardware: HardwareSpec,
        task: TaskSpec,
        features: Features = NO_READER,
    ) -> None:
        choices = self.choices.with_training(training).with_task(task)
        self.set(replace(choices, hardware=hardware, features=features))

    def reset_advanced(self) -> None:
        """Take back what only the advanced settings show."""
        simple = {name: getattr(self.choices.training, name) for name in advice.SIMPLE_FIELDS}
        training = self.choices.defaults.model_copy(update=simple)
        back = replace(
            self.choices.with_training(training).with_task(self.choices.present_goal.task),
            features=NO_READER,
            hardware=self.choices.usual_hardware,
            length_by_hand=False,
        )
        self.set(self._with_suggested_length(back))

    def set_invalid(self, step: Step, sentence: str) -> None:
        """A form of this step holds something that is no valid value; empty: all is well again.

        The choices keep the last valid values.
        """
        if self._invalid.get(step, "") != sentence:
            self._invalid[step] = sentence
            self.changed.emit()

    def obstacle(self, step: Step) -> str:
        """Why the wizard cannot go past this step; empty where it can."""
        return self._invalid.get(step, "") or advice.obstacle(self.choices, step)

    def first_obstacle(self) -> tuple[Step, str] | None:
        """The first step that is not done, with the reason."""
        return next(((step, why) for step in Step if (why := self.obstacle(step))), None)

    # ── wishes from elsewhere ────────────────────────────────────────────────────────────────

    def take_first(self) -> None:
        """Choose everything for the first fine-tuning; the sample is imported if need be."""
        home = self._studio.home

        def done(found: Choices) -> None:
            usual = self._fresh.usual_hardware
            choices = replace(found, hardware=usual, usual_hardware=usual)
            self._studio.datasets_changed.emit()  # the lists are read again
            self.set(choices)

        background.run(self, lambda: first_of(home), done, self._on_refused)

    def take_sample(self) -> None:
        """Choose the sample data set; it is imported if need be."""
        home = self._studio.home

        def done(entry: DataEntry) -> None:
            self._studio.datasets_changed.emit()
            self.choose_data(entry)

        background.run(self, lambda: sample_entry(home), done, self._on_refused)

    def take_data(self, folder: Path) -> None:
        """Choose the data set in this folder, and a task that it fits where none is chosen."""

        def act() -> None:
            entry = next((d for d in self.datasets or () if d.folder == folder), None)
            if entry is None or entry.spec is None:
                self._on_refused(
                    StudioError(
                        self.tr("The data set is no longer there."),
                        self.tr("Choose another one, or import it again."),
                    )
                )
                return
            spec, present = entry.spec, self.choices.goal
            if present is None or advice.misfits(spec, present.kind):
                likely = likely_task(spec.mapping, spec.labels).kind
                fitting = [goal for goal in goals() if not advice.misfits(spec, goal.kind)]
                fitting.sort(key=lambda goal: goal.kind != likely)
                self.choose_goal(next(iter(fitting), first_goal(pretrains=True)))
            self.choose_data(entry)

        self._with_lists(act)

    def take_model(self, path: Path) -> None:
        """Choose the model in this folder."""

        def act() -> None:
            entry = next((m for m in self.models or () if m.path == path), None)
            if entry is None:
                self._on_refused(
                    StudioError(
                        self.tr("The model is no longer there."), self.tr("Choose another one.")
                    )
                )
                return
            if self.choices.from_scratch:
                self.choose_goal(replace(self.choices.present_goal, from_scratch=False))
            self.choose_model(entry)

        self._with_lists(act)

    def take_job(self, given: JobSpec) -> None:
        """Choose what a job says, to change one thing and start again."""

        def act() -> None:
            datasets = [data_of(entry) for entry in self.datasets or ()]
            models = [model_of(entry) for entry in self.models or ()]
            choices = choices_of(given, datasets, models)
            self.set(replace(choices, usual_hardware=self._fresh.usual_hardware))

        self._with_lists(act)

    def _on_refused(self, error: BaseException) -> None:
        if isinstance(error, StudioError):
            self.refused.emit(error)
        else:
            self._studio.notices.show(error)

    # ── a look at the data ───────────────────────────────────────────────────────────────────

    @property
    def is_looking(self) -> bool:
        return self._pause.isActive() or self._looking is not None

    def vocabulary(self) -> tuple[str, Path] | None:
        """Whose word pieces are shown; None where a new vocabulary will be made."""
        choices = self.choices
        fresh = choices.from_scratch
        chosen = choices.scratch.vocabulary if fresh else choices.model
        if chosen is not None and chosen.info is not None:
            return chosen.name, chosen.path
        if not choices.from_scratch:
            usable = next((m for m in self.models or () if m.info is not None), None)
            return (usable.name, usable.path) if usable else None
        return None

    def _wanted_sight(self) -> _Sight | None:
        data, goal = self.choices.data, self.choices.goal
        if data is None or goal is None or data.spec is None:
            return None
        if not isinstance(data.source, StoredData) or advice.misfits(data.spec, goal.kind):
            return None
        vocabulary = self.vocabulary()
        task = self.choices.task
        return _Sight(data.source.folder, vocabulary[1] if vocabulary else None, task)

    def _look(self) -> None:
        sight = self._sight
        if sight is None:
            self.looked.emit()
            return
        self._looking = background.run(
            self,
            lambda: look(sight.folder, sight.vocabulary, sight.task),
            self._on_looked,
            self._on_not_looked,
        )

    def _on_looked(self, found: Look) -> None:
        self._looking = None
        self.look = found
        self.set(self._with_suggested_length(self.choices))
        self.looked.emit()

    def _with_suggested_length(self, choices: Choices) -> Choices:
        """With a length that suits the data, where one is known and not all are cut to it."""
        lengths = self.look.lengths if self.look else None
        if lengths is None or choices.goal is None or choices.is_pretraining:
            return choices
        spec = network(choices)
        longest = spec.max_positions if spec else 512
        if not choices.task.facts.cuts_long_texts:  # what is longer is read in windows
            longest = min(longest, choices.defaults.max_length)
        return choices.with_suggested_length(lengths.suggested(longest))

    def _on_not_looked(self, error: BaseException) -> None:
        self._looking = None
        if isinstance(error, StudioError):
            self.look_problem = error
        else:
            self._studio.notices.show(error)
        self.looked.emit()

    # ── time and memory ──────────────────────────────────────────────────────────────────────

    def job(self) -> JobSpec | None:
        """The job as composed so far; None where something is still missing."""
        if self.first_obstacle() is not None:
            return None
        return job(self.choices)

    @property
    def estimate(self) -> Estimated | None:
        """The estimate of the present job, where it was measured."""
        return self._estimates.get(self._estimate_key())

    def _estimate_key(self) -> str:
        """What an estimate depends on: the job without its name and the seed."""
        composed = self.job()
        if composed is None:
            return ""
        training = composed.training.model_copy(update={"seed": 0})
        return composed.model_copy(update={"name": "", "training": training}).model_dump_json()

    def measure_unasked(self) -> None:
        """Measure, unless the user has stopped that for this job or it was refused."""
        if self._estimate_key() != self._declined:
            self.measure()

    def measure(self) -> None:
        """Measure one step of the present job, unless that was done or is being done."""
        key = self._estimate_key()
        if not key or key in self._estimates or key == self._estimating_for:
            return
        self.cancel_measuring()
        self._declined = ""
        composed = self.job()
        assert composed is not None
        self._estimating_for = key
        self.estimating = Working(stage=self.tr("Starting to measure"))
        self._errand = self._studio.errand(
            Estimate(job=composed),
            lambda answer: self._on_estimated(key, answer),
            lambda refusal: self._on_not_estimated(key, refusal),
            lambda progress: self._on_estimating(key, progress),
            self,
        )
        self.measured.emit()

    def cancel_measuring(self) -> None:
        """Stop measuring; the estimate stays unknown."""
        if self._errand is not None:
            self._errand.cancel()
            self._declined = self._estimating_for
        self._forget_errand()
        self.estimate_problem = None
        self.measured.emit()

    def _forget_errand(self) -> None:
        self._errand, self._estimating_for, self.estimating = None, "", None

    def _on_estimating(self, key: str, progress: Working) -> None:
        if key == self._estimating_for:
            self.estimating = progress
            self.measured.emit()

    def _on_estimated(self, key: str, answer: Answer) -> None:
        if key == self._estimating_for and isinstance(answer, Estimated):
            self._forget_errand()
            self._estimates[key] = answer
            self.measured.emit()

    def _on_not_estimated(self, key: str, refusal: Refused) -> None:
        if key == self._estimating_for:
            self._declined = key
            self._forget_errand()
            self.estimate_problem = StudioError(refusal.problem, refusal.advice)
            self.measured.emit()

    # ── the start ────────────────────────────────────────────────────────────────────────────

    def warnings(self) -> list[str]:
        lengths = self.look.lengths if self.look else None
        return advice.warnings(self.choices, lengths, self.estimate)

    def start(self) -> None:
        """Hand the job to the dispatcher; `started` says under which id it runs."""
        try:
            composed = self.job()
        except ValidationError as error:
            self._studio.notices.show(describe_validation(error, self.tr("The job")))
            return
        if composed is None or self.is_starting:
            return
        self.cancel_measuring()
        try:
            run = self._studio.dispatcher.start(composed)
        except StudioError as error:
            self._studio.notices.show(error)
            return
        self.set(replace(self.choices, name=""))
        self.started.emit(run)
