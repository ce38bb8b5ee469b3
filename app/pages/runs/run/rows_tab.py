"""The best and worst validation rows of the best checkpoint so far, while a run trains.

Reads the file of predictions that the worker writes at each best evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QTableView, QWidget

from app import background
from app.pages.runs.run.state import RunState
from app.results.rows_model import row_columns
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.page import PollingWidget
from app.widgets.tables import Column, ColumnsModel, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from app.widgets.text.tagged import CHIPS, ChipDelegate
from engine.errors import StudioError
from engine.results.predictions import CELL, read_predictions
from engine.results.row_lists import Indices, extremes
from engine.results.store import predictions_file

Cells = tuple[tuple[str, object], ...]  # of a row: the text, and the spans of tags or None
MAX_ROWS = 10  # in each table
POLL_MS = 1_000  # between checks of the file
PREDICTION_COLUMNS = ("score", "gold", "predicted", "probability", "loss", "row")


@dataclass(frozen=True)
class Extremes:
    """The best and the worst rows: column titles, and cells as texts."""

    step: int
    rows: int  # number of rows with a label
    titles: tuple[str, ...]
    texts: tuple[int, ...]  # indices of the columns that stretch
    worst: list[Cells]
    best: list[Cells]


class RowsTab(PollingWidget):
    """Tables of the best and the worst rows; reads the file only if it changed."""

    def __init__(self, state: RunState) -> None:
        super().__init__(POLL_MS)
        self._state = state
        self._stamp: tuple[int, int] | None = None  # mtime (ns) and size of the file
        self._reading: background.Job | None = None
        self.note = Text(
            self.tr("The best and the worst rows are shown after the first evaluation."), "muted"
        )
        self.worst, self.best = RowsTable(tr("Worst rows")), RowsTable(tr("Best rows"))
        self._tables = QWidget()
        layouts.column(
            Text(tr("Worst rows"), "strong"),
            (self.worst, 1),
            Text(tr("Best rows"), "strong"),
            (self.best, 1),
            parent=self._tables,
            spacing=2 * SPACE,
        )
        layouts.tab(self, self.note, (self._tables, 1), layouts.STRETCH, spacing=2 * SPACE)
        self._tables.hide()

    def poll(self) -> None:
        """Read the predictions off the GUI thread, if they changed."""
        if self._reading is not None:
            return
        file, last_stamp = predictions_file(self._state.folder.results, "validation"), self._stamp

        def work() -> tuple[tuple[int, int], Extremes] | None:
            try:
                status = file.stat()
                stamp = status.st_mtime_ns, status.st_size
                if stamp == last_stamp:
                    return None
                predictions = read_predictions(file)
            except (OSError, StudioError):
                return None  # missing, or just being replaced: the next check reads it
            columns = row_columns(predictions)
            texts = {CELL + name for name in predictions.info.mapping.texts}
            columns = [item for item in columns if item.key in {*PREDICTION_COLUMNS, *texts}]
            worst, best = extremes(predictions, MAX_ROWS)

            def cells(rows: Indices) -> list[Cells]:
                return [
                    tuple((item.text(row) or "", item.cell(row, CHIPS)) for item in columns)
                    for row in rows
                ]

            return stamp, Extremes(
                predictions.info.step or 0,
                len(predictions),
                tuple(item.title for item in columns),
                tuple(n for n, item in enumerate(columns) if item.key in texts),
                cells(worst),
                cells(best),
            )

        self._reading = background.run(self, work, self._on_read)

    def _on_read(self, result: tuple[tuple[int, int], Extremes] | None) -> None:
        self._reading = None
        if result is None:
            return
        self._stamp, shown = result
        self.note.setText(
            self.tr(
                "The best evaluation so far was at step {0}, on %Ln row(s).", "", shown.rows
            ).format(numbers.count(shown.step))
        )
        self.worst.fill(shown, shown.worst)
        self.best.fill(shown, shown.best)
        self._tables.show()


class RowsTable(QTableView):
    """The best or the worst rows. Columns grow with their content unless the user resized them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._widths: list[int] = []  # px of each column, as set here
        self.rows = ColumnsModel[Cells](parent=self)
        self.setModel(self.rows)
        self.setItemDelegate(ChipDelegate(self))
        apply_style(self, name)
        self.verticalHeader().hide()

    def fill(self, shown: Extremes, rows: Sequence[Cells]) -> None:
        """Show these rows and keep the selected index."""
        current, header = self.currentIndex().row(), self.horizontalHeader()
        self.rows.show_rows(rows, [_column(n, title) for n, title in enumerate(shown.titles)])
        if len(self._widths) != len(shown.titles):
            mode = header.ResizeMode
            for column in range(len(shown.titles)):
                is_text = column in shown.texts
                header.setSectionResizeMode(column, mode.Stretch if is_text else mode.Interactive)
            self._widths = [0] * len(shown.titles)
        self._widen(set(shown.texts))
        if 0 <= current < len(rows):
            self.selectRow(current)

    def _widen(self, texts: set[int]) -> None:
        header = self.horizontalHeader()
        for column, previous in enumerate(self._widths):
            if column in texts or previous not in (0, header.sectionSize(column)):
                continue
            width = max(self.sizeHintForColumn(column), header.sectionSizeHint(column), previous)
            header.resizeSection(column, width)
            self._widths[column] = header.sectionSize(column)


def _column(index: int, title: str) -> Column[Cells]:
    def text(row: Cells) -> str:
        return row[index][0]

    return Column(title, text, tooltip=text, roles={CHIPS: lambda row: row[index][1]})
