"""The columns of a file in a table: role, type, filled cells and examples."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QMenu, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.roles import ROLES
from app.pages.data.importing.state import ImportState
from app.theme import Role, colour
from app.translation import tr
from app.widgets import layouts
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import plain_menu_text
from app.widgets.text.spec_texts import title_of
from engine.config.dataset import Mapping
from engine.data.columns.facts import ColumnFacts


class ColumnsTable(QWidget):
    """A row for each column; a click or Enter opens a menu of roles.

    Signals:
        assigned: the user has changed the role of a column.
    """

    assigned = Signal()

    def __init__(self, state: ImportState) -> None:
        super().__init__()
        self._state = state
        self.model = ColumnsModel[ColumnFacts](
            (
                Column(tr("Column"), lambda facts: one_line(facts.name), color=self._color),
                Column(
                    tr("Role"),
                    self._role,
                    color=self._color,
                    meaning=tr("Click a row to change it"),
                ),
                Column(tr("Type"), _kind),
                Column(tr("Filled"), _filled, align_right=True),
                Column(tr("Examples"), _examples, tooltip=lambda facts: "\n".join(facts.examples)),
            ),
            self,
        )
        self.table = make_table(tr("Columns of the file"), self.model, fitted=(1, 2, 3))
        self.table.clicked.connect(self._open_menu)
        self.table.activated.connect(self._open_menu)
        layouts.column(self.table, parent=self)
        self.menu = QMenu(self)

    def show_columns(self, columns: Sequence[ColumnFacts]) -> None:
        """Show these columns, those in use first."""
        used = self._state.roles.columns
        self.model.update_rows(sorted(columns, key=lambda facts: facts.name not in used))

    def _role(self, facts: ColumnFacts) -> str:
        role = self._state.roles.columns.get(facts.name)
        if role is not None:
            return title_of(role, Mapping.model_fields[role])
        return tr("Split") if facts.name == self._state.split.column else tr("Kept")

    def _color(self, facts: ColumnFacts) -> QColor | None:
        return None if facts.name in self._state.roles.columns else colour(Role.MUTED)

    def _open_menu(self, index: QModelIndex) -> None:
        name = self.model.row(index.row()).name
        used = self._state.roles.columns.get(name)
        self.menu.clear()
        for role in (None, *ROLES):
            title = (
                tr("Kept, not used") if role is None else title_of(role, Mapping.model_fields[role])
            )
            action = self.menu.addAction(plain_menu_text(title))
            action.setCheckable(True)
            action.setChecked(role == used)
            action.triggered.connect(partial(self._assign, name, role))
        cell = self.table.visualRect(self.model.index(index.row(), 1))
        self.menu.popup(self.table.viewport().mapToGlobal(QPoint(cell.left(), cell.bottom())))

    def _assign(self, name: str, role: str | None) -> None:
        self._state.set_roles(self._state.roles.assign(name, role))
        self.assigned.emit()


def _kind(facts: ColumnFacts) -> str:
    match facts.kind:
        case "category":
            return tr("Category ({0})").format(numbers.count(facts.distinct))
        case "text":
            return tr("Text")
        case "number":
            return tr("Number")
        case "list":
            return tr("List")
        case "yes/no":
            return tr("Yes/no")
    return tr("Empty")


def _filled(facts: ColumnFacts) -> str:
    return numbers.percent(facts.filled, 0)


def _examples(facts: ColumnFacts) -> str:
    return " · ".join(one_line(example) for example in facts.examples)
