"""What other pages ask of the wizard: a data set, a model, or a whole job to begin with."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry
from app.pages.train.choices import Choices, Step
from app.pages.train.entries import data_of, model_of
from app.pages.train.first import first_of
from app.pages.train.fit import likely_goal
from app.pages.train.goals import first_goal
from app.pages.train.job import choices_of
from app.pages.train.state import TrainState
from app.sample import sample_entry
from app.studio import Studio
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.runs.job_file import given_job

T = TypeVar("T")


class Requests(QObject):
    """Signals:
    refused: a StudioError that keeps what was asked for from being shown.
    """

    refused = Signal(object)

    def __init__(self, studio: Studio, state: TrainState) -> None:
        super().__init__(state)
        self._studio, self._state = studio, state
        self._bringing: background.Job | None = None

    def take_first(self) -> None:
        """Choose everything for the first fine-tuning; the sample is imported if need be."""
        home = self._studio.home

        def done(found: Choices) -> None:
            self._studio.datasets_changed.emit()  # the lists are read again
            self._state.take_anew(found, self.tr("The first fine-tuning was set up."))

        self._bring(lambda: first_of(home), done)

    def take_sample(self) -> None:
        """Choose the sample data set; it is imported if need be."""
        home = self._studio.home

        def done(entry: DataEntry) -> None:
            self._studio.datasets_changed.emit()
            self._state.choose_data(entry)

        self._bring(lambda: sample_entry(home), done)

    def _bring(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do it in a thread, and once, however often it is asked for meanwhile."""
        if self._bringing is None or self._bringing.is_over():
            self._bringing = background.run(self, work, done, self._on_failed)

    def take_data(self, folder: Path, labelled: bool = False) -> None:
        """Choose the data set in this folder, and the task that it is most likely for.

        With `labelled`, a version without the rows that have no label is made and chosen.
        """

        def act() -> None:
            if self._take_data(folder) and labelled:
                self._skip_unlabelled()

        self._state.lists.when_read(act)

    def _skip_unlabelled(self) -> None:
        data = self._state.choices.data
        label = data.spec.mapping.label if data is not None and data.spec is not None else None
        for fix in self._state.fixes(Step.DATA):
            if fix.edit is not None and label in fix.edit.cleaning.skip_empty:
                self._state.apply(fix, is_asked=False)
                return

    def _take_data(self, folder: Path) -> bool:
        """Whether the data set could be chosen."""
        entry = next((d for d in self._state.lists.datasets or () if d.folder == folder), None)
        if entry is None or entry.spec is None:
            self._on_failed(
                StudioError(
                    self.tr("The data set no longer exists."),
                    self.tr("Choose another one, or import it again."),
                )
            )
            return False
        choices, goal = self._state.choices, likely_goal(entry.spec)
        chosen = choices.with_data(data_of(entry))
        if choices.goal is not None and choices.goal.kind == goal.kind:
            self._state.adjust(chosen, None)
            return True
        template = self.tr("The task is now “{0}”, which suits “{1}”.")
        self._state.adjust_goal(chosen, goal, template.format(goal.title, entry.name))
        return True

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
        choices = replace(self._state.choices, model=model_of(entry))
        if not choices.from_scratch:
            self._state.adjust(choices, None)
            return
        goal = replace(choices.present_goal, from_scratch=False)
        template = self.tr("The task is now “{0}”, which starts from a base model.")
        self._state.adjust_goal(choices, goal, template.format(goal.title))

    def take_family(self, pretrains: bool) -> None:
        """Choose the first task of pre-training or of fine-tuning, unless one of them is chosen."""
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

    def take_job(self, given: JobSpec) -> None:
        """Choose what a job says, to change one thing and start again."""

        def act() -> None:
            datasets = [data_of(entry) for entry in self._state.lists.datasets or ()]
            models = [model_of(entry) for entry in self._state.lists.models or ()]
            sentence = self.tr("The settings of “{0}” were loaded.").format(given.name)
            self._state.take(choices_of(given, datasets, models), sentence)

        self._state.lists.when_read(act)

    def take_job_file(self, file: Path, then: Callable[[], object]) -> None:
        """Choose what a saved job says; `then` is called where it can be read."""

        def read(given: JobSpec) -> None:
            self.take_job(given)
            then()

        background.run(self, lambda: given_job(file), read, self._on_failed)

    def _on_failed(self, error: BaseException) -> None:
        if isinstance(error, StudioError):
            self.refused.emit(error)
        else:
            self._studio.notices.show(error)
