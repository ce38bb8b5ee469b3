"""Upload of a model to the hub: its name, the list of files, then the files."""

from PySide6.QtWidgets import QLineEdit

from app.hub.consent import ask_first
from app.hub.files import list_of
from app.hub.work import HubWork
from app.library import ModelEntry
from app.widgets import dialogs, layouts
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import Switch
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.messages.hub import PlanPush, Push, Pushed, PushPlanned
from engine.messages.question import Answer

MAX_NAME = 200  # characters


class Sending(HubWork):
    """One upload at a time; the outcome is a notice."""

    def ask(self, model: ModelEntry) -> None:
        """Ask for the name on the hub and whether it is public."""
        name = QLineEdit()
        name.setPlaceholderText(self.tr("owner/model"))
        name.setMaxLength(MAX_NAME)
        name.setAccessibleName(self.tr("Name on the hub"))
        public = Switch(self.tr("Everyone can see it"), False)
        seen = layouts.row((Text(self.tr("Everyone can see it")), 1), public)

        def answered(key: str) -> None:
            if key == "list" and name.text().strip():
                self._plan(model, name.text().strip(), not public.isChecked())

        dialogs.ask(
            self._owner,
            self.tr("Send “{0}” to the hub").format(model.name),
            self.tr(
                "Under which name? Nothing is sent before you have seen the list of files. The "
                "model is private unless you make it public."
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
            if isinstance(answer, PushPlanned):
                self._confirm(model, answer)

        self.begin(question, planned)

    def _confirm(self, model: ModelEntry, plan: PushPlanned) -> None:
        def answered(key: str) -> None:
            if key == "send":
                ask_first(self._owner, self._studio.settings, lambda: self._push(model, plan))

        who = self.tr("Only you can see it.") if plan.private else self.tr("Everyone can see it.")
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
        question = Push(checkpoint=model.path, model=plan.model, private=plan.private)

        def pushed(answer: Answer) -> None:
            if isinstance(answer, Pushed):
                said = self.tr("The model is at {0} now.").format(answer.address)
                self._studio.notices.say(said)

        self.begin(
            question,
            pushed,
            self.tr("Sending {0} to {1}").format(plan.model, plan.host),
            self.tr("Upload progress"),
            self.tr(
                "You can keep using the window. The model appears on the hub once all files "
                "are sent; if you stop before, its page there stays empty."
            ),
        )
