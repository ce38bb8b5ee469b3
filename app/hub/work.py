"""Work with the hub: a question, and the dialog that says how far it is."""

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
    """One question at a time; what goes wrong is a notice."""

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
        """Ask in a process of its own; with a title, a dialog shows how far it is.

        `name` is that of its bar, and `note` what is said below it.
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
        """The user stopped it, or closed the dialog; what was fetched stays for the next time."""
        if self.worker is not None:
            self.worker.cancel()
            self.worker = self.dialog = None


class HubDialog(StagesDialog):
    """How far the work is; closing it stops the work."""

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
