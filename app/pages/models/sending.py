"""A model goes to the hub: under which name, every file first, then the files themselves."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.explorer import OneTimeWorker
from app.library import ModelEntry
from app.pages.models.getting.consent import ask_first
from app.pages.models.getting.files import list_of
from app.studio import Studio
from app.widgets import dialogs, numbers
from app.widgets.dialogs import Choice
from app.widgets.switch import Switch
from app.widgets.text import Text
from engine.messages.hub import PlanPush, Push, Pushed, PushPlanned
from engine.messages.question import Answer, Refused

MAX_NAME = 200  # characters


class Sending(QObject):
    """One model at a time; how it ends is a notice."""

    def __init__(self, studio: Studio, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._owner = studio, owner
        self.worker: OneTimeWorker | None = None

    def ask(self, model: ModelEntry) -> None:
        """Ask for the name on the hub, and whether everybody may see it."""
        name = QLineEdit()
        name.setPlaceholderText(self.tr("owner/model"))
        name.setMaxLength(MAX_NAME)
        name.setAccessibleName(self.tr("Name on the hub"))
        public = Switch(self.tr("Everybody may see it"), False)
        seen = QHBoxLayout()
        seen.addWidget(Text(self.tr("Everybody may see it")), 1)
        seen.addWidget(public)

        def answered(key: str) -> None:
            if key == "list" and name.text().strip():
                self._plan(model, name.text().strip(), not public.isChecked())

        dialogs.ask(
            self._owner,
            self.tr("Send “{0}” to the hub").format(model.name),
            self.tr(
                "Under which name? Nothing is sent before you have seen the list of files. The "
                "model is private unless you say that everybody may see it."
            ),
            [
                Choice("list", self.tr("&List the files"), "primary"),
                Choice("cancel", self.tr("Cancel")),
            ],
            answered,
            [name, seen],
        )

    def _plan(self, model: ModelEntry, name: str, private: bool) -> None:
        question = PlanPush(checkpoint=model.path, model=name, private=private)

        def planned(answer: Answer) -> None:
            self.worker = None
            if isinstance(answer, PushPlanned):
                self._confirm(model, answer)

        self.worker = self._studio.one_time_worker(question, planned, self._on_refused, None, self)

    def _confirm(self, model: ModelEntry, plan: PushPlanned) -> None:
        def answered(key: str) -> None:
            if key == "send":
                ask_first(self._owner, self._studio.settings, lambda: self._push(model, plan))

        who = self.tr("Only you see it.") if plan.private else self.tr("Everybody sees it.")
        said = self.tr("%Ln file(s), {0}, to {1}.", "", len(plan.files))
        dialogs.ask(
            self._owner,
            self.tr("Send these files as {0}?").format(plan.model),
            f"{said.format(numbers.size(plan.bytes), plan.host)} {who}",
            [Choice("send", self.tr("&Send"), "primary"), Choice("cancel", self.tr("Cancel"))],
            answered,
            [list_of(plan.files, self.tr("Files to send"))],
        )

    def _push(self, model: ModelEntry, plan: PushPlanned) -> None:
        notices = self._studio.notices
        notices.say(self.tr("{0} is being sent to {1}.").format(plan.model, plan.host))
        question = Push(checkpoint=model.path, model=plan.model, private=plan.private)

        def pushed(answer: Answer) -> None:
            self.worker = None
            if isinstance(answer, Pushed):
                notices.say(self.tr("The model is at {0} now.").format(answer.address))

        self.worker = self._studio.one_time_worker(question, pushed, self._on_refused, None, self)

    def _on_refused(self, refusal: Refused) -> None:
        self.worker = None
        self._studio.notices.error(refusal.problem, refusal.advice, refusal.details)
