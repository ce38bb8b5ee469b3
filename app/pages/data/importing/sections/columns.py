"""Which columns hold what."""

from typing import Any, get_origin

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QMenu, QSizePolicy, QToolButton, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.roles import Roles
from app.pages.data.importing.sections.section import Section, place_of
from app.pages.data.importing.state import ImportState
from app.widgets.combo_box import ComboBox
from app.widgets.spec_texts import help_of, title_of
from engine.spec.dataset import Mapping

ALWAYS = ("text", "pair", "label")  # roles that are always offered
SEVERAL = tuple(  # roles of more than one column
    role for role, field in Mapping.model_fields.items() if get_origin(field.annotation) is tuple
)


class ColumnsSection(Section):
    """A box for each role; what only some tasks need is shown when it is asked for or used."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Columns"))
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.boxes: dict[str, QComboBox] = {}
        self.lists: dict[str, SeveralColumns] = {}
        for role, field in Mapping.model_fields.items():
            box: QComboBox | SeveralColumns
            if role in SEVERAL:
                box = self.lists[role] = SeveralColumns()
                box.changed.connect(self._on_changed)
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
            for several in self.lists.values():
                several.show_columns(self._columns)
        self._show_roles()
        self.setEnabled(bool(self._columns))

    def _show_roles(self) -> None:
        roles = self._state.roles
        for role, box in self.boxes.items():
            box.setCurrentIndex(place_of(getattr(roles, role), self._columns))
        for role, several in self.lists.items():
            several.choose(getattr(roles, role))
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


class SeveralColumns(QToolButton):
    """A button that says which columns are chosen, with a menu to tick them in.

    Signals:
        changed: others are chosen, by hand.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._columns: tuple[str, ...] = ()
        self._chosen: frozenset[str] = frozenset()
        self._list = QMenu(self)
        self._list.aboutToShow.connect(self.fill)
        self.setMenu(self._list)
        self._say()

    def show_columns(self, columns: tuple[str, ...]) -> None:
        """Offer these columns, none of them chosen."""
        self._columns = columns
        self._list.clear()
        self.choose(())

    def choose(self, columns: tuple[str, ...]) -> None:
        """Tick just these, without a signal."""
        self._chosen = frozenset(columns)
        for column, action in zip(self._columns, self._list.actions(), strict=False):
            action.setChecked(column in self._chosen)
        self._say()

    def chosen(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(column for column in self._columns if column in self._chosen)

    def fill(self) -> None:
        """Make the entries of the menu, when it is opened: there may be thousands."""
        if self._list.actions():
            return
        for column in self._columns:
            action = self._list.addAction(one_line(column[:100]).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(column in self._chosen)
            action.triggered.connect(lambda on, column=column: self._on_ticked(column, on))

    def _on_ticked(self, column: str, on: bool) -> None:
        self._chosen = self._chosen | {column} if on else self._chosen - {column}
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        names = ", ".join(one_line(column[:40]) for column in self.chosen())
        self.setText((names or self.tr("none")).replace("&", "&&"))
