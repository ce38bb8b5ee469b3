"""What other pages ask of the wizard: a data set, a model, or a whole job to begin with."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry
from app.pages.train.choices import Choices
from app.pages.train.entries import data_of, model_of
from app.pages.train.first import first_of
from app.pages.train.fit import misfits
from app.pages.train.goals import Goal, first_goal, goals
from app.pages.train.job import choices_of
from app.pages.train.state import TrainState
from app.sample import sample_entry
from app.studio import Studio
from engine.data.columns.fit import likely_task
from engine.errors import StudioError
from engine.spec.dataset import DatasetSpec
from engine.spec.job import JobSpec


class Requests(QObject):
    """Signals:
    refused: a StudioError that keeps what was asked for from being shown.
    """

    refused = Signal(object)

    def __init__(self, studio: Studio, state: TrainState) -> None:
        super().__init__(state)
        self._studio, self._state = studio, state

    def take_first(self) -> None:
        """Choose everything for the first fine-tuning; the sample is imported if need be."""
        home = self._studio.home

        def done(found: Choices) -> None:
            self._studio.datasets_changed.emit()  # the lists are read again
            self._state.take_anew(found)

        background.run(self, lambda: first_of(home), done, self._on_failed)

    def take_sample(self) -> None:
        """Choose the sample data set; it is imported if need be."""
        home = self._studio.home

        def done(entry: DataEntry) -> None:
            self._studio.datasets_changed.emit()
            self._state.choose_data(entry)

        background.run(self, lambda: sample_entry(home), done, self._on_failed)

    def take_data(self, folder: Path) -> None:
        """Choose the data set in this folder, and a task that it fits where none is chosen."""
        self._state.lists.when_read(lambda: self._take_data(folder))

    def _take_data(self, folder: Path) -> None:
        entry = next((d for d in self._state.lists.datasets or () if d.folder == folder), None)
        if entry is None or entry.spec is None:
            self._on_failed(
                StudioError(
                    self.tr("The data set no longer exists."),
                    self.tr("Choose another one, or import it again."),
                )
            )
            return
        present = self._state.choices.goal
        if present is None or misfits(entry.spec, present.kind):
            self._state.choose_goal(_likely_goal(entry.spec))
        self._state.choose_data(entry)

    def take_model(self, path: Path) -> None:
        """Choose the model in this folder."""
        self._state.lists.when_read(lambda: self._take_model(path))

    def _take_model(self, path: Path) -> None:
        entry = next((m for m in self._state.lists.models or () if m.path == path), None)
        if entry is None:
            self._on_failed(
                StudioError(self.tr("The model no longer exists."), self.tr("Choose another one."))
            )
            return
        choices = self._state.choices
        if choices.from_scratch:
            self._state.choose_goal(replace(choices.present_goal, from_scratch=False))
        self._state.choose_model(entry)

    def take_job(self, given: JobSpec) -> None:
        """Choose what a job says, to change one thing and start again."""

        def act() -> None:
            datasets = [data_of(entry) for entry in self._state.lists.datasets or ()]
            models = [model_of(entry) for entry in self._state.lists.models or ()]
            self._state.take(choices_of(given, datasets, models))

        self._state.lists.when_read(act)

    def _on_failed(self, error: BaseException) -> None:
        if isinstance(error, StudioError):
            self.refused.emit(error)
        else:
            self._studio.notices.show(error)


def _likely_goal(spec: DatasetSpec) -> Goal:
    """What these rows are most likely for."""
    likely = likely_task(spec.mapping, spec.labels).kind
    fitting = [goal for goal in goals() if not misfits(spec, goal.kind)]
    fitting.sort(key=lambda goal: goal.kind != likely)
    return next(iter(fitting), first_goal(pretrains=True))
