"""Consent for the hub, its token, and a folder of models used in place."""

from PySide6.QtWidgets import QLineEdit, QWidget

from app import background
from app.pages.settings.controls import switch
from app.studio import Studio
from app.theme import SPACE
from app.widgets import buttons, dialogs, layouts
from app.widgets.dialogs import Choice
from app.widgets.screen import set_shown
from app.widgets.text.labels import OneLine
from engine.hub import token
from engine.hub.address import host


class ExternalModels(QWidget):
    """Controls for models that are not in the home; the page lays them out."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.allowed = switch(studio.settings, "hub_allowed")
        self.token = buttons.plain(self.tr("Set the &token…"), self._ask_for_token)
        self.choose = buttons.plain(self.tr("C&hoose…"), self._choose, icon="folder-open")
        self.choose.setAccessibleName(self.tr("Choose a folder of models"))
        self.clear = buttons.plain(self.tr("&None"), lambda: self._set(""))
        self.clear.setAccessibleName(self.tr("Use no folder of models"))
        self.folder = OneLine("", "mono")
        studio.settings.changed.connect(self._on_changed)
        self._show()

    def rows(self) -> list[tuple[str, QWidget, str]]:
        """Name, control and text of each setting."""
        folder_buttons = QWidget()
        layouts.row(self.clear, self.choose, parent=folder_buttons, spacing=2 * SPACE)
        return [
            (
                self.tr("Contact the hub"),
                self.allowed,
                self.tr(
                    "Contacts {0} without asking when you search for or get a model. If off, you "
                    "are asked first."
                ).format(host()),
            ),
            (
                self.tr("Token"),
                self.token,
                self.tr(
                    "For gated and private models, and for sending one. Stored in the keyring of "
                    "this system."
                ),
            ),
            (
                self.tr("Folder of models"),
                folder_buttons,
                self.tr(
                    "The models in it are listed and used in place, not copied; so are models "
                    "that other programs downloaded from the hub."
                ),
            ),
        ]

    def _ask_for_token(self) -> None:
        field = QLineEdit()
        field.setEchoMode(QLineEdit.EchoMode.Password)
        field.setMaxLength(token.MAX_LENGTH)
        field.setAccessibleName(self.tr("Token"))

        def save() -> None:
            text = field.text()
            message = self.tr("The token was saved.") if text else self.tr("The token was removed.")
            notices = self._studio.notices
            background.run(
                self, lambda: token.save_token(text), lambda _: notices.info(message), notices.show
            )

        dialogs.confirm(
            self.token,
            self.tr("Token for the Hugging Face Hub"),
            self.tr(
                "Copy it from your settings on the hub. It is only sent to the hub. Leave it "
                "empty to remove the saved one."
            ),
            Choice("keep", self.tr("&Save"), "primary"),
            save,
            [field],
        )

    def _choose(self) -> None:
        title = self.tr("Choose a folder of models")
        dialogs.choose_folder(self.choose, title, lambda folder: self._set(str(folder)))

    def _set(self, folder: str) -> None:
        self._studio.settings.set("model_folder", folder)

    def _on_changed(self, name: str) -> None:
        if name in ("model_folder", "hub_allowed"):
            self._show()

    def _show(self) -> None:
        preferences = self._studio.settings.preferences
        self.allowed.setChecked(preferences.hub_allowed)
        self.clear.setEnabled(bool(preferences.model_folder))
        self.folder.setText(preferences.model_folder)
        set_shown(self.folder, bool(preferences.model_folder))
