"""Requests of other pages: open the wizard with a data set, a model, or a whole job."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject

from app import background
from app.library import DataEntry, home_models
from app.pages.train.choices import Choices, Data, Model, Scratch, first_goal, likely_goal
from app.pages.train.job import choices_from_job
from app.pages.train.state import TrainState
from app.sample import sample_entry
from app.studio import Studio
from app.translation import tr
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.shipped import FIRST_PRETRAINING, FIRST_TRAINING, default_base_model
from engine.runs.job_file import read_job

T = TypeVar("T")


class Requests(QObject):
    """Loads the requests of other pages into the choices; failures become notices."""

    def __init__(self, studio: Studio, state: TrainState) -> None:
        super().__init__(state)
        self._studio, self._state = studio, state
        self._job = background.LatestJob(self)

    def load_first(self, pretrains: bool = False) -> None:
        """Choose everything for the first training; imports the sample if needed."""
        home = self._studio.home
        sentence = (
            self.tr("The first pre-training was set up.")
            if pretrains
            else self.tr("The first fine-tuning was set up.")
        )

        def done(choices: Choices) -> None:
            self._studio.datasets_changed.emit()  # the lists are read again
            self._state.load(choices, sentence, local_hardware=True)

        self._run(lambda: first_choices(home, pretrains), done)

    def load_sample(self) -> None:
        """Choose the sample data set; imports it if needed."""
        home = self._studio.home

        def done(entry: DataEntry) -> None:
            self._studio.datasets_changed.emit()
            self._state.choose_data(entry)

        self._run(lambda: sample_entry(home), done)

    def _run(self, work: Callable[[], T], on_done: Callable[[T], None]) -> None:
        """Run `work` in a thread, unless another request is being processed."""
        if not self._job.is_busy:
            self._job.run(work, on_done, self._studio.notices.show)

    def load_data(self, folder: Path, target: str | None = None) -> None:
        """Choose the data set in this folder, and the task that suits it best.

        Args:
            target: the column to learn; None: that of the import.
        """
        self._state.lists.when_read(lambda: self._load_data(folder, target))

    def _load_data(self, folder: Path, target: str | None) -> None:
        entry = self._state.lists.dataset_at(folder)
        if entry is None or entry.spec is None:
            self._studio.notices.error(
                self.tr("The data set no longer exists."),
                self.tr("Choose another one, or import it again."),
                action=self.tr("Import a data set"),
                act=lambda: self._studio.navigate.emit("data", {"import": True}),
            )
            return
        data = Data.from_entry(entry, target)
        assert data.spec is not None
        choices, goal = self._state.choices, likely_goal(data.spec)
        chosen = choices.with_data(data)
        if choices.goal is not None and choices.goal.kind == goal.kind:
            self._state.adjust(chosen, None)
            return
        template = self.tr("The task is now “{0}”, which suits “{1}”.")
        self._state.adjust_goal(chosen, goal, template.format(goal.title, entry.name))

    def load_model(self, path: Path) -> None:
        """Choose the model in this folder."""
        self._state.lists.when_read(lambda: self._load_model(path))

    def _load_model(self, path: Path) -> None:
        entry = self._state.lists.model_at(path)
        if entry is None:
            self._studio.notices.error(
                self.tr("The model no longer exists."),
                self.tr("Choose another one."),
                action=self.tr("Get a model"),
                act=lambda: self._studio.navigate.emit("models", {"get": ""}),
            )
            return
        self._state.choose_model(entry)
        choices = self._state.choices
        if not choices.from_scratch:
            self._state.adjust(choices, None)
            return
        goal = replace(choices.current_goal, from_scratch=False)
        template = self.tr("The task is now “{0}”, which starts from a base model.")
        self._state.adjust_goal(choices, goal, template.format(goal.title))

    def load_family(self, pretrains: bool) -> None:
        """Choose the first task of pre-training or fine-tuning, unless one is chosen already."""
        choices = self._state.choices
        if choices.goal is not None and choices.is_pretraining == pretrains:
            return
        goal = first_goal(pretrains, from_scratch=pretrains)
        if choices.goal is None:
            self._state.choose_goal(goal)
        else:
            self._state.adjust_goal(
                choices, goal, self.tr("The task is now “{0}”.").format(goal.title)
            )

    def load_job(self, job: JobSpec) -> None:
        """Load a job, to change something and start it again."""

        def act() -> None:
            datasets = [Data.from_entry(entry) for entry in self._state.lists.datasets or ()]
            models = [Model.from_entry(entry) for entry in self._state.lists.models or ()]
            sentence = self.tr("The settings of “{0}” were loaded.").format(job.name)
            self._state.load(choices_from_job(job, datasets, models), sentence)

        self._state.lists.when_read(act)

    def load_job_file(self, file: Path, then: Callable[[], object]) -> None:
        """Load a saved job; call `then` once it is read."""

        def read(job: JobSpec) -> None:
            self.load_job(job)
            then()

        background.run(self, lambda: read_job(file), read, self._studio.notices.show)


def first_choices(home: Home, pretrains: bool) -> Choices:
    """All choices of the first training on the sample, a minute on two cores: MiniLM is fine-tuned,
    or a tiny network pre-trained with the vocabulary of the starter model.

    Imports the sample if needed. Raises StudioError if the model is not installed.
    """
    default = default_base_model(pretrains)
    entry = sample_entry(home)
    model = next((m for m in home_models(home) if m.path == default and m.info is not None), None)
    if model is None:
        raise StudioError(
            tr("The model “{0}” was not installed with this program.").format(default.name),
            tr("Import a model first."),
        )
    choices = Choices(
        goal=first_goal(pretrains, from_scratch=pretrains),
        data=Data.from_entry(entry),
        model=Model.from_entry(model),
        scratch=Scratch(size="tiny", vocabulary=Model.from_entry(model), warm_init=True),
    )
    changed = FIRST_PRETRAINING if pretrains else FIRST_TRAINING
    return choices.with_training(choices.training.model_copy(update=changed))
