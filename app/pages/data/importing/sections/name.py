"""Name of the data set."""

from PySide6.QtWidgets import QLineEdit, QWidget

from app.pages.data.importing.opening import NAME_CHARACTERS
from app.pages.data.importing.sections.section import Section
from app.pages.data.importing.state import ImportState


class NameSection(Section):
    """Field for the name; an existing name makes a new version."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Name"))
        self.name = QLineEdit()
        self.name.setMaxLength(NAME_CHARACTERS)
        self.add(self.tr("Name"), self.name)
        self.name.textEdited.connect(self._on_edited)

    def show_name(self) -> None:
        if self.name.text() != self._state.name:
            self.name.setText(self._state.name)
        version = self._state.version
        self.show_note(
            self.tr("A data set with this name exists; the import becomes version {0}.").format(
                version
            )
            if version > 1
            else ""
        )

    def _on_edited(self, name: str) -> None:
        self._state.set_name(name)
