"""The best and worst validation rows of the best network so far, while a run trains.

Reads the file of predictions that the worker writes at each best evaluation.
"""

from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QTableView, QWidget

from app import background
from app.pages.runs.run.state import RunState
from app.results.rows_model import columns_of, shown
from app.theme import SPACE
from app.timers import repeated
from app.widgets import layouts
from app.widgets.tables import Column, ColumnsModel, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.errors import StudioError
from engine.results.predictions import CELL, read_predictions
from engine.results.row_lists import extremes
from engine.results.store import predictions_file

ROWS = 10  # at each end
POLL_MS = 1_000  # between two checks of the file
WHAT_WAS_SAID = ("score", "gold", "predicted", "probability", "loss", "row")


@dataclass(frozen=True)
class Ends:
    """The rows to show: column titles, and cells as texts."""

    step: int
    rows: int  # with a label
    titles: tuple[str, ...]
    texts: tuple[int, ...]  # indices of the columns that stretch
    worst: tuple[tuple[str, ...], ...]
    best: tuple[tuple[str, ...], ...]


class RowsTab(QWidget):
    """Reads only while visible, and only a changed file."""

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state
        self._seen: tuple[int, int] | None = None  # mtime (ns) and size of the file
        self._reading: background.Job | None = None
        self.note = Text(
            self.tr("The best and the worst rows are shown after the first evaluation."), "muted"
        )
        self.worst = RowsTable(self.tr("Worst rows"))
        self.best = RowsTable(self.tr("Best rows"))
        self._worst_title = Text(self.tr("Worst rows"), "strong")
        self._best_title = Text(self.tr("Best rows"), "strong")
        column = layouts.column(
            self.note, parent=self, spacing=2 * SPACE, margins=(0, 3 * SPACE, 0, 0)
        )
        for title, table in ((self._worst_title, self.worst), (self._best_title, self.best)):
            layouts.extend(column, title, (table, 1))
        column.addStretch()
        self._show_tables(False)
        self._timer = repeated(self, POLL_MS, self.read)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()
        self.read()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def read(self) -> None:
        """Read the predictions off the GUI thread, if they changed."""
        if self._reading is not None:
            return
        file, seen = predictions_file(self._state.folder.results, "validation"), self._seen

        def work() -> tuple[tuple[int, int], Ends] | None:
            try:
                status = file.stat()
                now = status.st_mtime_ns, status.st_size
                if now == seen:
                    return None
                predictions = read_predictions(file)
            except (OSError, StudioError):
                return None  # missing, or just being replaced: the next check reads it
            columns = columns_of(predictions)
            texts = {CELL + name for name in predictions.info.mapping.texts}
            columns = [item for item in columns if item.key in {*WHAT_WAS_SAID, *texts}]
            worst, best = extremes(predictions, ROWS)

            def cells(places: np.ndarray) -> tuple[tuple[str, ...], ...]:
                table = predictions.table.select([item.key for item in columns]).take(places)
                rows = table.to_pylist()
                return tuple(tuple(shown(row[item.key], item) for item in columns) for row in rows)

            return now, Ends(
                predictions.info.step or 0,
                len(predictions),
                tuple(item.title for item in columns),
                tuple(n for n, item in enumerate(columns) if item.key in texts),
                cells(worst),
                cells(best),
            )

        self._reading = background.run(self, work, self._on_read)

    def _on_read(self, result: tuple[tuple[int, int], Ends] | None) -> None:
        self._reading = None
        if result is None:
            return
        self._seen, ends = result
        self.note.setText(
            self.tr(
                "The best evaluation so far was at step {0}, of %Ln row(s).", "", ends.rows
            ).format(numbers.count(ends.step))
        )
        self.worst.fill(ends, ends.worst)
        self.best.fill(ends, ends.best)
        self._show_tables(True)

    def _show_tables(self, are_there: bool) -> None:
        for widget in (self._worst_title, self.worst, self._best_title, self.best):
            widget.setVisible(are_there)


class RowsTable(QTableView):
    """The rows at one end. Columns grow with their content, unless the user has resized them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.rows = ColumnsModel[tuple[str, ...]](parent=self)
        self.setModel(self.rows)
        apply_style(self, name)
        self.verticalHeader().hide()
        self._given: list[int] = []  # px of each column, as set here

    def fill(self, ends: Ends, rows: tuple[tuple[str, ...], ...]) -> None:
        """Show these rows; the selected row index stays."""
        current, header = self.currentIndex().row(), self.horizontalHeader()
        self.rows.show_rows(
            rows,
            [
                Column(title, itemgetter(n), tooltip=itemgetter(n))
                for n, title in enumerate(ends.titles)
            ],
        )
        if len(self._given) != len(ends.titles):
            self._given = [0] * len(ends.titles)
            for column in range(len(ends.titles)):
                is_text, mode = column in ends.texts, header.ResizeMode
                header.setSectionResizeMode(column, mode.Stretch if is_text else mode.Interactive)
        self._widen(set(ends.texts))
        if 0 <= current < len(rows):
            self.selectRow(current)

    def _widen(self, texts: set[int]) -> None:
        header = self.horizontalHeader()
        for column, given in enumerate(self._given):
            if column in texts or given not in (0, header.sectionSize(column)):
                continue
            wanted = max(self.sizeHintForColumn(column), header.sectionSizeHint(column), given)
            header.resizeSection(column, wanted)
            self._given[column] = header.sectionSize(column)
