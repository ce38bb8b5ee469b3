"""Roles of the columns."""

from typing import Any, get_origin

from PySide6.QtCore import QStringListModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.roles import Roles
from app.pages.data.importing.sections.section import Section, place_of
from app.pages.data.importing.state import ImportState
from app.widgets.forms.controls import ComboBox, SeveralColumns
from app.widgets.text.spec_texts import help_of, title_of
from engine.config.dataset import Mapping

ALWAYS = ("text", "pair", "label")  # roles always shown
SEVERAL = tuple(  # roles of several columns
    role for role, field in Mapping.model_fields.items() if get_origin(field.annotation) is tuple
)


class ColumnsSection(Section):
    """A box for each role; rare ones are shown if requested or used."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Columns"))
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.boxes: dict[str, QComboBox] = {}
        self.lists: dict[str, SeveralColumns] = {}
        for role, field in Mapping.model_fields.items():
            box: QComboBox
            if role in SEVERAL:
                several = self.lists[role] = SeveralColumns("")
                several.changed.connect(self._on_changed)
                box = several
            else:
                box = self.boxes[role] = ComboBox()
                box.setModel(self._model)
                box.activated.connect(lambda _: self._on_changed())
            self.add(title_of(role, field), box, help_of(field))
        self.text, self.pair, self.label = (self.boxes[role] for role in ALWAYS)
        self.more = QCheckBox()
        self.more.toggled.connect(lambda _: self._show_rows())
        self.add_box(self.tr("&Other column roles…"), self.more)
        self._show_rows()

    def show_columns(self) -> None:
        if self._columns != self._state.columns:
            self._columns = self._state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
        self._show_roles()
        self.setEnabled(bool(self._columns))

    def _show_roles(self) -> None:
        roles = self._state.roles
        for role, box in self.boxes.items():
            box.setCurrentIndex(place_of(getattr(roles, role), self._columns))
        for role, several in self.lists.items():
            several.show_columns(self._columns, getattr(roles, role))
        self._show_rows()
        self.show_note(self._state.columns_note)

    def _show_rows(self) -> None:
        roles = self._state.roles
        for role, box in (self.boxes | self.lists).items():
            if role not in ALWAYS:
                self.show_row(box, self.more.isChecked() or bool(getattr(roles, role)))

    def _on_changed(self) -> None:
        chosen: dict[str, Any] = {
            role: self._columns[box.currentIndex() - 1] if box.currentIndex() > 0 else None
            for role, box in self.boxes.items()
        }
        chosen |= {role: several.chosen() for role, several in self.lists.items()}
        self._state.set_roles(Roles(**chosen))
        self._show_roles()
