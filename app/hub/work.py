"""Requests to the hub, with a progress dialog."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QSize
from PySide6.QtWidgets import QWidget

from app.explorer import OneTimeWorker
from app.studio import Studio
from app.translation import tr
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import resize_within
from engine.messages.question import Answer, Question, Refused, Working

SIZE = QSize(520, 220)  # px


class HubWork(QObject):
    """One request at a time; failures become notices."""

    def __init__(self, studio: Studio, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._owner = studio, owner
        self.worker: OneTimeWorker | None = None
        self.dialog: HubDialog | None = None

    def begin(
        self,
        question: Question,
        answered: Callable[[Answer], object],
        title: str = "",
        name: str = "",
        note: str = "",
    ) -> None:
        """Send a question to a worker; with a title, a dialog shows the progress.

        `name` is the accessible name of its bar, `note` the text below it.
        """

        def over(answer: Answer) -> None:
            self._end()
            answered(answer)

        if title:
            self.dialog = HubDialog(title, name, note, self._stop, self._owner)
        working = None if self.dialog is None else self.dialog.progress.show_working
        self.worker = self._studio.one_time_worker(question, over, self._on_refused, working, self)
        if self.dialog is not None:
            self.dialog.show()

    def _on_refused(self, refusal: Refused) -> None:
        self._end()
        self._studio.notices.error(refusal.problem, refusal.advice, refusal.details)

    def _end(self) -> None:
        self.worker = None
        if self.dialog is not None:
            self.dialog.accept()
            self.dialog = None

    def _stop(self) -> None:
        if self.worker is not None:
            self.worker.cancel()
            self.worker = self.dialog = None


class HubDialog(StagesDialog):
    """Progress of the request; closing it cancels."""

    def __init__(
        self, title: str, name: str, note: str, stop: Callable[[], object], owner: QWidget
    ) -> None:
        super().__init__(title, owner)
        self._stop_work = stop
        self.progress = StageProgress(name, note)
        self.progress.show_working(Working(stage=tr("Starting")))
        self.add_parts(self.progress)
        resize_within(self, SIZE)

    def stop(self) -> None:
        self._stop_work()
