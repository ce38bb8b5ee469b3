"""Settings of several runs side by side, or only the differences."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QLineEdit, QTableView, QWidget

from app.pages.runs.compare.state import JOINT, CompareState, differing_paths, distinct_names
from app.pages.runs.job_fields import job_titles
from app.pages.runs.rows import RunRow
from app.theme import SPACE
from app.translation import in_language, tr
from app.widgets import buttons, layouts
from app.widgets.forms.controls import Switch
from app.widgets.tables import NOWHERE, Index, apply_style
from app.widgets.text.labels import Text, font, tooltip, visible
from app.widgets.text.spec_texts import value_text
from engine.files.spreadsheet import format_table

WIDTH, FIRST_WIDTH = 150, 210  # px


class SettingsTable(QAbstractTableModel):
    """A row for each setting and a column for each run; differences from the first are bold."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[RunRow] = []
        self._names: list[str] = []
        self.paths: list[str] = []

    def show_settings(self, rows: Sequence[RunRow], paths: Sequence[str]) -> None:
        self.beginResetModel()
        self.rows, self.paths = list(rows), list(paths)
        self._names = distinct_names(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.paths)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 1 + len(self.rows)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section <= len(self.rows):
            return None
        if role == Qt.ItemDataRole.DisplayRole and section:
            return visible(self._names[section - 1]).replace(JOINT, "\n")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return tr("Setting") if not section else visible(self.rows[section - 1].name)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        path, column = self.paths[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.text(path, column)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(f"{path}: {self.text(path, column)}" if column else path)
            case Qt.ItemDataRole.FontRole if column > 1:
                first = self.rows[0].fields.get(path)
                if self.rows[column - 1].fields.get(path) != first:
                    bold = QFont(font("body"))
                    bold.setBold(True)
                    return bold
        return None

    def text(self, path: str, column: int) -> str:
        """The title of a setting, or its value in a run; a dash if the job lacks it."""
        if not column:
            return setting_title(path)
        row = self.rows[column - 1]
        if path not in row.fields.paths():
            return "–"
        return visible(value_text(row.fields.get(path)))


def setting_title(path: str) -> str:
    """The title of a setting, or its path if it has none."""
    known = {"task.kind": tr("Task"), "base_model.path": tr("Base model")}
    known |= {"data.folder": tr("Data set"), "data.path": tr("Data file")}
    known |= {"data.fingerprint": tr("Data fingerprint")}
    return in_language(job_titles()[path]) if path in job_titles() else known.get(path, path)


class SettingsTab(QWidget):
    """A searchable table that can be copied as a whole."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self.model = SettingsTable(self)
        self.table = QTableView()
        self.table.setModel(self.model)
        apply_style(self.table, tr("Settings of the compared runs"))
        self.table.verticalHeader().hide()
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Search settings and values"))
        self.search.setAccessibleName(tr("Search the settings"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._show)
        self.alone = Switch(tr("Differences only"))
        self.alone.setChecked(True)
        self.alone.toggled.connect(self._show)
        self.same = Text("", "muted")
        row = layouts.row(
            (self.search, 1),
            self.alone,
            Text(tr("Differences only"), wraps=False),
            buttons.plain(tr("Co&py as a table"), self.copy, "copy"),
            spacing=2 * SPACE,
        )
        layouts.column(
            row,
            self.same,
            (self.table, 1),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 3 * SPACE, 0, 0),
        )
        state.changed.connect(self._show)
        self._show()
        self.table.setColumnWidth(0, FIRST_WIDTH)
        for place in range(1, self.model.columnCount()):
            self.table.setColumnWidth(place, WIDTH)

    def copy(self) -> None:
        """Copy the shown table, separated by tabs."""
        header = (tr("Setting"), *(row.name for row in self.model.rows))
        rows = [
            [self.model.text(path, place) for place in range(self.model.columnCount())]
            for path in self.model.paths
        ]
        QGuiApplication.clipboard().setText(format_table(header, rows, "\t"))
        self._state.studio.notices.say(tr("Settings copied to the clipboard as a table."))

    def _show(self) -> None:
        rows = self._state.rows
        different = differing_paths(rows)
        paths = different
        if not self.alone.isChecked():
            every = dict.fromkeys(path for row in rows for path in row.fields.paths())
            paths = [path for path in every if not path.startswith("group.")]
        words = self.search.text().casefold().split()
        self.model.rows = rows
        shown = [path for path in paths if self._has(path, words)]
        self.model.show_settings(rows, shown)
        self.same.setText(
            tr("%Ln setting(s) differ. Bold: not as in the first run.", len(different))
            if different
            else tr("These runs have the same settings.")
        )

    def _has(self, path: str, words: Sequence[str]) -> bool:
        said = [path, *(self.model.text(path, n) for n in range(self.model.columnCount()))]
        return all(word in " ".join(said).casefold() for word in words)
