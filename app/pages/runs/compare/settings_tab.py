"""Settings of several runs side by side, or only the differences."""

from collections.abc import Sequence

from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QWidget

from app.pages.runs.compare.state import SEPARATOR, CompareState, differing_paths, distinct_names
from app.pages.runs.job_fields import job_titles
from app.pages.runs.rows import RunRow
from app.theme import SPACE, px
from app.translation import in_language, tr
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SearchField, Switch
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text.labels import Text, font, visible
from app.widgets.text.spec_texts import value_text
from engine.files.spreadsheet import format_table

WIDTH, FIRST_WIDTH = 150, 210  # px


def settings_columns(rows: Sequence[RunRow]) -> list[Column[str]]:
    """Columns of a table of paths: the setting, and its value in each run.

    Values that differ from the first run are bold.
    """
    bold = QFont(font("body"))
    bold.setBold(True)

    def run_column(row: RunRow, name: str) -> Column[str]:
        return Column(
            visible(name).replace(SEPARATOR, "\n"),
            lambda path: setting_value(row, path),
            tooltip=lambda path: f"{path}: {setting_value(row, path)}",
            font=lambda path: bold if row.fields.get(path) != rows[0].fields.get(path) else None,
            meaning=row.name,
        )

    first = Column(tr("Setting"), setting_title, tooltip=lambda path: path)
    return [first, *map(run_column, rows, distinct_names(rows))]


def setting_title(path: str) -> str:
    titles = {"task.kind": tr("Task"), "base_model.path": tr("Base model")}
    titles |= {"data.folder": tr("Data set"), "data.path": tr("Data file")}
    titles |= {"data.fingerprint": tr("Data fingerprint"), "data.target": tr("Label column")}
    return in_language(job_titles()[path]) if path in job_titles() else titles.get(path, path)


def setting_value(row: RunRow, path: str) -> str:
    """A setting of a run; a dash if its job lacks it."""
    return visible(value_text(row.fields.get(path))) if path in row.fields.paths() else "–"


class SettingsTab(QWidget):
    """A searchable table that can be copied as a whole."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self.model: ColumnsModel[str] = ColumnsModel((), self)
        self.table = make_table(tr("Settings of the compared runs"), self.model)
        self.search = SearchField(tr("Search settings and values"), tr("Search the settings"))
        self.search.textChanged.connect(self._show)
        self.differences_only = Switch(tr("Differences only"))
        self.differences_only.setChecked(True)
        self.differences_only.toggled.connect(self._show)
        self.summary = Text("", "muted")
        row = layouts.row(
            (self.search, 1),
            self.differences_only,
            Text(tr("Differences only"), wraps=False),
            buttons.plain(tr("Co&py as a table"), self.copy, "copy"),
            spacing=2 * SPACE,
        )
        layouts.tab(self, row, self.summary, (self.table, 1), spacing=2 * SPACE)
        state.changed.connect(self._show)
        self._show()
        self.table.setColumnWidth(0, px(FIRST_WIDTH))
        for column in range(1, self.model.columnCount()):
            self.table.setColumnWidth(column, px(WIDTH))

    def copy(self) -> None:
        header = (tr("Setting"), *(row.name for row in self._state.rows))
        rows = [self._texts(path) for path in self.model.rows]
        QGuiApplication.clipboard().setText(format_table(header, rows, "\t"))
        self._state.studio.notices.info(tr("Settings copied to the clipboard as a table."))

    def _show(self) -> None:
        rows = self._state.rows
        differing = differing_paths(rows)
        paths = differing
        if not self.differences_only.isChecked():
            all_paths = dict.fromkeys(path for row in rows for path in row.fields.paths())
            paths = [path for path in all_paths if not path.startswith("group.")]
        words = self.search.text().casefold().split()
        shown_paths = [path for path in paths if self._matches(path, words)]
        self.model.show_rows(shown_paths, settings_columns(rows))
        self.summary.setText(
            tr("%Ln setting(s) differ. Bold: different from the first run.", len(differing))
            if differing
            else tr("These runs have the same settings.")
        )

    def _texts(self, path: str) -> list[str]:
        return [setting_title(path), *(setting_value(row, path) for row in self._state.rows)]

    def _matches(self, path: str, words: Sequence[str]) -> bool:
        texts = " ".join([path, *self._texts(path)]).casefold()
        return all(word in texts for word in words)
