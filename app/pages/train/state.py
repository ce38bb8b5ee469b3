"""State of the wizard: choices, lists, obstacles, and the start of the job. No widgets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry, ModelEntry, datasets
from app.pages.train.choices import NO_PROBE, Choices, Data, Goal, Model, Step
from app.pages.train.estimate import EstimateState, Other, long_text_ways
from app.pages.train.obstacles import Edit, Fix, validate
from app.pages.train.preview import PreviewRequest, PreviewState
from app.pages.train.summary import SIMPLE_FIELDS, Caution, warnings
from app.studio import Studio
from app.translation import tr
from engine.config.dataset import StoredData
from engine.config.features import Features
from engine.config.job import JobSpec
from engine.config.recommended import with_probe_rate
from engine.config.task import TaskSpec
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.datasets.deriving import derive
from engine.errors import StudioError
from engine.files.home import Home, free_folder
from engine.files.shipped import default_base_model
from engine.record.same_jobs import SameJob, find_same


@dataclass(frozen=True)
class Adjustment:
    """A change made for the user: a sentence about it, and a function that undoes it."""

    sentence: str
    undo: Callable[[Choices], Choices]


def left_search(before: Choices, after: Choices) -> str:
    """The name of the task or data set whose several values are left in other choices; “” if none.

    A new version of a data set is no other data set.
    """
    if not any(before.varied.values()) or after.varied != before.varied:
        return ""
    if before.goal is not None and after.goal != before.goal:
        return before.goal.title
    if before.data is not None and after.data is not None and before.data.name != after.data.name:
        return before.data.name
    return ""


class TrainState(QObject):
    """The choices and everything derived from them.

    `lists` has the data sets and models, `preview` the data as the network reads it, and `estimate`
    the time and memory of the job. Each change of the choices validates every step once.

    Signals:
        changed: the choices, their obstacles or the adjustment changed.
        started: the id of the run that was handed to the dispatcher.
        repeated: the SameJob that did what is to be started.
    """

    changed = Signal()
    started = Signal(str)
    repeated = Signal(object)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        preferences = studio.settings.preferences
        self._hardware = HardwareSpec(device=preferences.device, threads=preferences.threads)
        self.choices = self._blank()
        self._validation = validate(self.choices)
        self._invalid: dict[Step, str] = {}
        self.adjustment: Adjustment | None = None  # the last change made for the user
        self._last_model: Model | None = None  # of the last job that was started
        self._looking = background.LatestJob(self)
        self.lists = Lists(studio, self)
        self.versions = VersionMaker(studio, self)
        self.versions.ended.connect(self.changed)
        self.preview = PreviewState(studio.notices, self)
        self.estimate = EstimateState(studio, self.job, lambda: long_text_ways(self.choices), self)
        self.lists.changed.connect(self._on_lists)
        self.preview.changed.connect(self._on_preview)

    def _blank(self, model: Model | None = None) -> Choices:
        return Choices(hardware=self._hardware, default_hardware=self._hardware, model=model)

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────

    def set(self, choices: Choices) -> None:
        if choices == self.choices:
            return
        self.choices, self._validation = choices, validate(choices)
        self.changed.emit()
        self.preview.show(self._preview_request())

    def adjust(self, choices: Choices, adjustment: Adjustment | None) -> None:
        """Set choices that were partly made for the user; None: the user made all of them.

        A search over several values belongs to its task and data set, and ends with them.
        """
        before = self.choices
        if name := left_search(before, choices):
            adjustment = self._drop_search(before, name, adjustment)
            choices = choices.without_search(before.current_goal)
        self._adjust(choices, adjustment)

    def _drop_search(self, before: Choices, name: str, adjustment: Adjustment | None) -> Adjustment:
        """The adjustment that drops the search of `before`, after another one if there is one."""
        sentence = self.tr("The search values were dropped: they were for “{0}”.")
        sentence = sentence.format(name)
        if adjustment is None:
            return Adjustment(sentence, lambda current: current.with_search(before))
        first = adjustment
        return Adjustment(
            f"{first.sentence} {sentence}", lambda current: first.undo(current.with_search(before))
        )

    def _adjust(self, choices: Choices, adjustment: Adjustment | None) -> None:
        self.adjustment = adjustment
        if choices == self.choices:
            self.changed.emit()
        self.set(choices)

    def adjust_goal(self, choices: Choices, goal: Goal, sentence: str) -> None:
        """Set these choices with another task than the user's; `sentence` says why."""
        before = self.choices.goal
        self.adjust(
            replace(choices, goal=goal),
            Adjustment(sentence, lambda current: replace(current, goal=before)),
        )

    def use(self, other: Other) -> None:
        """Use other settings that were measured."""
        before, way = self.choices, other.long_texts
        if way is None:
            sentence = self.tr("To need less memory: {0}.").format(other.title)
            self.adjust(
                before.with_training(other.training),
                Adjustment(sentence, lambda current: current.with_training(before.training)),
            )
            return
        self.adjust(
            before.with_long_texts(way).with_training(other.training),
            Adjustment(
                self.tr("Long texts: {0}.").format(other.title),
                lambda current: current.with_task(before.stored_task).with_training(
                    before.training
                ),
            ),
        )

    def undo_adjustment(self) -> None:
        """Undo the last adjustment; later choices of the user stay."""
        if self.adjustment is not None:
            self.adjust(self.adjustment.undo(self.choices), None)

    def apply(self, fix: Fix) -> None:
        """Apply a fix."""
        if fix.edit is None:
            self.adjust(fix.choices, None)
            return
        data, edit = self.choices.data, fix.edit
        assert data is not None and isinstance(data.source, StoredData)
        folder, target = data.source.folder, data.source.target

        def done(entry: DataEntry) -> None:
            if self.choices.data is None or self.choices.data.source != data.source:
                return  # other data was chosen in the meantime
            sentence = edit.sentence.replace("{version}", str(entry.version))
            adjustment = Adjustment(sentence, lambda current: current.with_data(data))
            chosen = Data.from_entry(entry, target)
            self.adjust(self.choices.with_data(chosen), adjustment)

        self.versions.make(folder, edit, done)
        self.changed.emit()

    def load(self, choices: Choices, sentence: str, local_hardware: bool = False) -> None:
        """Replace all choices; `sentence` describes the new ones. Undo restores the old ones.

        Args:
            local_hardware: use the hardware of the settings instead of that of `choices`.
        """
        self._last_model = None
        before = self.choices
        untouched = before == self._blank(before.model)  # the first model is chosen for the user
        hardware = self._hardware if local_hardware else choices.hardware
        choices = replace(choices, hardware=hardware, default_hardware=self._hardware)
        self._adjust(
            choices.with_lengths_from(before),
            None if untouched else Adjustment(sentence, lambda _: before),
        )

    def choose_goal(self, goal: Goal) -> None:
        """Choose a task. Its default model replaces that of the previous task."""
        before = self.choices
        default = default_base_model(before.is_pretraining)
        is_default = before.model is not None and before.model.path == default
        choices = replace(before, goal=goal, model=None if is_default else before.model)
        self.adjust(self._with_default_model(choices), None)

    def choose_target(self, column: str | None) -> None:
        """Choose the column of the data set to learn; None: that of the import."""
        folder = self.choices.data.folder if self.choices.data else None
        entry = None if folder is None else self.lists.dataset_at(folder)
        if entry is not None:
            self.adjust(self.choices.with_data(Data.from_entry(entry, column)), None)

    def choose_data(self, entry: DataEntry) -> None:
        self.adjust(self.choices.with_data(Data.from_entry(entry)), None)

    def choose_model(self, entry: ModelEntry) -> None:
        self._last_model = None
        self.set(replace(self.choices, model=Model.from_entry(entry)))

    def choose_settings(
        self,
        training: TrainingSpec,
        hardware: HardwareSpec,
        task: TaskSpec,
        features: Features = NO_PROBE,
        varied: Mapping[str, Mapping[str, tuple[Any, ...]]] | None = None,
    ) -> None:
        """Set the content of the forms; `varied`: fields with several values by part of the job."""
        choices = self.choices.with_training(training).with_task(task)
        for part, values in (varied or {}).items():
            choices = choices.with_varied(part, values)
        features = with_probe_rate(self.choices.features, features)
        self.set(replace(choices, hardware=hardware, features=features))

    def reset_advanced(self) -> None:
        """Reset the fields that only the advanced settings show."""
        simple = {n: v for n, v in self.choices.set_by_user.items() if n in SIMPLE_FIELDS}
        choices = self.choices.with_set_by_user(simple).with_task(self.choices.current_goal.task)
        self.set(replace(choices, features=NO_PROBE, hardware=self._hardware))

    def set_name(self, name: str) -> None:
        self.set(replace(self.choices, name=name))

    def _on_lists(self) -> None:
        """Update the chosen model and data from the lists: they may be deleted or repaired."""
        choices = self.choices
        if choices.model is not None:
            entry = self.lists.model_at(choices.model.path)
            info = entry.info if entry else None
            choices = replace(choices, model=replace(choices.model, info=info))
        data = choices.data
        if data is not None and data.spec is not None and isinstance(data.source, StoredData):
            is_deleted = self.lists.dataset_at(data.source.folder) is None
            choices = replace(choices, data=replace(data, is_deleted=is_deleted))
        self.set(self._with_default_model(choices))

    def _with_default_model(self, choices: Choices) -> Choices:
        """If no model is chosen: choose the only one, or the default for the task."""
        if choices.model is not None:
            return choices
        usable = self.lists.usable_models
        default = default_base_model(choices.is_pretraining)
        candidates = usable if len(usable) == 1 else [m for m in usable if m.path == default]
        return replace(choices, model=Model.from_entry(candidates[0])) if candidates else choices

    # ── obstacles ────────────────────────────────────────────────────────────────────────────────

    def set_invalid(self, step: Step, sentence: str) -> None:
        """Mark a form of this step as invalid, with the reason; “”: valid.

        The choices keep the last valid values.
        """
        if self._invalid.get(step, "") != sentence:
            self._invalid[step] = sentence
            self.changed.emit()

    def obstacle(self, step: Step) -> str:
        """Reason why this step is not complete; “” if it is."""
        if step is Step.DATA and self.versions.is_busy:
            return self.tr("Creating a new version of the data set…")
        obstacle = self._validation.obstacles.get(step)
        return self._invalid.get(step, "") or (obstacle.sentence if obstacle else "")

    def fixes(self, step: Step) -> list[Fix]:
        obstacle = self._validation.obstacles.get(step)
        if obstacle is None or self._invalid.get(step) or self.versions.is_busy:
            return []
        return list(obstacle.fixes)

    def first_obstacle(self) -> tuple[Step, str] | None:
        """The first step that is not complete, with the reason."""
        return next(((step, reason) for step in Step if (reason := self.obstacle(step))), None)

    def warnings(self) -> list[Caution]:
        lengths = self.preview.result.lengths if self.preview.result else None
        return warnings(self.choices, lengths, self.estimate.result)

    # ── the data as the network reads it ─────────────────────────────────────────────────────────

    def vocabulary(self) -> Model | None:
        """The model whose tokens are shown; None if a new vocabulary is trained."""
        choices = self.choices
        chosen = choices.scratch.vocabulary if choices.from_scratch else choices.model
        if chosen is not None and chosen.info is not None:
            return chosen
        if choices.from_scratch or not self.lists.usable_models:
            return None
        return Model.from_entry(self.lists.usable_models[0])

    def _preview_request(self) -> PreviewRequest | None:
        data, goal = self.choices.data, self.choices.goal
        if data is None or goal is None or data.spec is None:
            return None
        if not isinstance(data.source, StoredData) or data.is_deleted:
            return None
        vocabulary = self.vocabulary()
        path = vocabulary.path if vocabulary else None
        return PreviewRequest(data.source, path, self.choices.task)

    def _on_preview(self) -> None:
        lengths = self.preview.result.lengths if self.preview.result else None
        if lengths is not None:
            self.set(replace(self.choices, typical_length=lengths.percentile_99))

    # ── the job ──────────────────────────────────────────────────────────────────────────────────

    def job(self) -> JobSpec | None:
        """The job of the current choices; None if a step is not complete."""
        return self._validation.job if self.first_obstacle() is None else None

    def ask_to_start(self) -> None:
        """Start the job, or emit `repeated` if its runs exist already."""
        job, record = self.job(), self._studio.record
        if job is None or self._looking.is_busy:
            return

        def look() -> SameJob | None:
            with record.read() as session:
                return find_same(session, job)

        def done(same: SameJob | None) -> None:
            if same is None:
                self.start()
            elif job == self.job():
                self.repeated.emit(same)

        self._looking.run(look, done, self._studio.notices.show)

    def start(self, seed: int | None = None) -> None:
        """Hand the job to the dispatcher, with this seed if given; `started` has its id."""
        job = self.job()
        if job is None:
            return
        if seed is not None:
            training = job.training.model_copy(update={"seed": seed})
            job = job.model_copy(update={"training": training})
        self.estimate.stop()
        try:
            run = self._studio.dispatcher.start(job)
        except StudioError as error:
            self._studio.notices.show(error)
            self.changed.emit()  # the estimate was stopped
            return
        self._last_model = None if self.choices.from_scratch else self.choices.model
        self.adjust(replace(self.choices, name=""), None)
        self.started.emit(run)

    @property
    def last_model(self) -> str:
        """The name of the base model if it is still that of the last job, not chosen since."""
        model = self.choices.model
        if model is None or self._last_model is None or self.choices.from_scratch:
            return ""
        return model.name if model.path == self._last_model.path else ""


class Lists(QObject):
    """The data sets and models of the home.

    Signals:
        changed: `datasets` or `models` changed.
    """

    changed = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.datasets: list[DataEntry] | None = None  # None: not read yet
        self.models: list[ModelEntry] | None = None
        self._reading = background.LatestJob(self)
        self._callbacks: list[Callable[[], None]] = []
        studio.datasets_changed.connect(self.read)
        studio.models_changed.connect(self.read)

    def read(self) -> None:
        """Read both off the GUI thread."""
        studio = self._studio
        self._reading.run(lambda: (studio.datasets(), studio.models()), self._on_read)

    @property
    def usable_models(self) -> list[ModelEntry]:
        return [entry for entry in self.models or () if entry.info is not None]

    def model_at(self, path: Path) -> ModelEntry | None:
        return next((entry for entry in self.models or () if entry.path == path), None)

    def dataset_at(self, folder: Path) -> DataEntry | None:
        return next((entry for entry in self.datasets or () if entry.folder == folder), None)

    def when_read(self, act: Callable[[], None]) -> None:
        """Call `act` after the lists have been read again."""
        self._callbacks.append(act)
        self.read()

    def _on_read(self, lists: tuple[list[DataEntry], list[ModelEntry]]) -> None:
        if lists != (self.datasets, self.models):
            self.datasets, self.models = lists
            self.changed.emit()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class VersionMaker(QObject):
    """Creates new versions of data sets, one at a time.

    Signals:
        ended: the version was created, or creating it failed.
    """

    ended = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.is_busy = False

    def make(self, folder: Path, edit: Edit, on_done: Callable[[DataEntry], None]) -> None:
        """Create the version and pass it to `on_done`; an error is shown as a notice."""
        if self.is_busy:
            return
        self.is_busy = True
        home = self._studio.home

        def finish(entry: DataEntry) -> None:
            self.is_busy = False
            on_done(entry)
            self._studio.datasets_changed.emit()
            self.ended.emit()

        def fail(error: BaseException) -> None:
            self.is_busy = False
            self._studio.notices.show(error)
            self.ended.emit()

        background.run(self, lambda: _create_version(home, folder, edit), finish, fail)


def _create_version(home: Home, folder: Path, edit: Edit) -> DataEntry:
    entries = datasets(home)
    old = next((entry for entry in entries if entry.folder == folder), None)
    if old is None or old.spec is None:
        raise StudioError(
            tr("The data set no longer exists."), tr("Choose another one, or import it again.")
        )
    versions = [entry.version for entry in entries if entry.folder.parent == folder.parent]
    version = max(versions) + 1
    target = free_folder(folder.parent, str(version))
    derive(folder, target, version, edit.cleaning)
    return next(entry for entry in datasets(home) if entry.folder == target)
