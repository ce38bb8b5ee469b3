"""Parts of pages that download from the hub or upload to it: consent, requests, lists of files."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QSize
from PySide6.QtWidgets import QWidget

from app.explorer import OneTimeWorker
from app.settings import Settings
from app.studio import Studio
from app.theme import SPACE
from app.translation import tr
from app.widgets import dialogs
from app.widgets.dialogs import Choice
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import resize_within
from app.widgets.text import numbers
from app.widgets.text.labels import TextView
from engine.hub.address import host
from engine.messages.hub import HubFile, Planned
from engine.messages.question import Answer, Question, Refused, Working

SIZE = QSize(520, 220)  # px
MAX_FILES = 200  # files listed at most


def ask_consent(owner: QWidget, settings: Settings, act: Callable[[], object]) -> None:
    """Call `act`, after asking for consent to contact the hub unless it was given before."""
    if settings.preferences.hub_allowed:
        act()
        return

    def answered(key: str) -> None:
        if key == "contact":
            settings.set("hub_allowed", True)
            act()

    dialogs.ask(
        owner,
        tr("Contact the Hugging Face Hub?"),
        tr(
            "BERT Studio will contact {0}, and the servers it names for downloads. It sends the "
            "model’s name or your search words, the version of BERT Studio, and your token if you "
            "set one. Your data and models stay here unless you send one. You are asked only once "
            "and can change this in Settings."
        ).format(host()),
        [Choice("contact", tr("&Contact the hub"), "primary"), Choice("cancel", tr("Cancel"))],
        answered,
    )


class HubRequest(QObject):
    """One request at a time; failures become notices."""

    def __init__(self, studio: Studio, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._owner = studio, owner
        self.worker: OneTimeWorker | None = None
        self.dialog: HubDialog | None = None

    def begin(
        self,
        question: Question,
        on_answer: Callable[[Answer], object],
        title: str = "",
        name: str = "",
        note: str = "",
    ) -> None:
        """Send a question to a worker; with a title, a dialog shows the progress.

        `name` is the accessible name of its bar, `note` the text below it.
        """

        def done(answer: Answer) -> None:
            self._end()
            on_answer(answer)

        if title:
            self.dialog = HubDialog(title, name, note, self._stop, self._owner)
        working = None if self.dialog is None else self.dialog.progress.show_working
        self.worker = self._studio.one_time_worker(question, done, self._on_refused, working, self)
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


def file_list(files: Sequence[HubFile], name: str) -> TextView:
    """List that can be read and copied; `name` is its accessible name."""
    lines = [f"{numbers.size(file.bytes):>10}  {file.name}" for file in files[:MAX_FILES]]
    height = min(len(lines), 9) * 5 * SPACE + 6 * SPACE
    return TextView(name, "\n".join(lines), wraps=False, height=height)


def plan_text(plan: Planned) -> str:
    """Size, licence, revision and free disk space of a planned download."""
    sentences = [
        tr("%Ln file(s), {0}.", len(plan.files)).format(numbers.size(plan.bytes)),
        tr("Licence: {0}.").format(plan.licence or tr("not stated")),
        tr("Revision {0}.").format(plan.revision[:12]),
    ]
    if plan.fetched_bytes:
        sentences.append(tr("{0} already downloaded.").format(numbers.size(plan.fetched_bytes)))
    needed, free = numbers.size(plan.needed), numbers.size(plan.disk_free)
    if plan.needed > plan.disk_free:
        sentences.append(tr("Not enough disk space: {0} needed, {1} free.").format(needed, free))
    else:
        sentences.append(tr("Needs {0} of disk space; {1} free.").format(needed, free))
    return " ".join(sentences)
