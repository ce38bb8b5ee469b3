"""Consent before the first connection to the hub."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.settings import Settings
from app.translation import tr
from app.widgets import dialogs
from app.widgets.dialogs import Choice
from engine.hub.address import host


def ask_first(owner: QWidget, settings: Settings, act: Callable[[], object]) -> None:
    """Act at once if the user has agreed before; otherwise say what will be contacted, and ask."""
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
            "BERT Studio will contact {0}, and the servers that it names for the files. It sends "
            "the name of the model or the words that you search, its version, and your token if "
            "you set one. Your data and models stay here unless you send one. You are asked "
            "only once; Settings has a switch to change it."
        ).format(host()),
        [Choice("contact", tr("&Contact it"), "primary"), Choice("cancel", tr("Cancel"))],
        answered,
    )
