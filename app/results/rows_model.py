"""Item model of the rows of predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from app.results.state import ResultsState
from app.theme import Role, colour
from app.translation import tr
from app.widgets.tables import AT_RIGHT, NOWHERE, Index
from app.widgets.text import numbers
from app.widgets.text.labels import tooltip, visible
from engine.config.tasks import TASKS
from engine.results.masked_tokens import OCCURRENCES, POSITION, TEXT
from engine.results.predictions import CELL, Predictions
from engine.results.row_figures import holds_numbers

MEASURE_CHARACTERS = 5  # of a number shown as it is: 3, 4.25
PAINTED_CHARACTERS = 300  # of a cell; the details have all of it
RIGHT, WRONG = "✓", "✗"
SHARES = ("probability", "score")
NUMBERS = (*SHARES, "loss", "row")
MEASURES = ("gold", "predicted")  # of a regression


@dataclass(frozen=True)
class Column:
    """A column of the list, by its name in the table of predictions."""

    key: str
    title: str
    is_measure: bool = False  # a text that is a number of the model or the data

    @property
    def is_number(self) -> bool:
        return self.key in NUMBERS


def columns_of(predictions: Predictions) -> list[Column]:
    """Prediction columns, texts and other cells; without columns that are empty throughout."""
    titles = {
        "score": tr("Right"),
        "gold": tr("Gold"),
        "predicted": tr("Predicted"),
        "probability": tr("Probability"),
    }
    table = predictions.table
    measured = MEASURES if holds_numbers(predictions.info) else ()
    known = (key for key in titles if table[key].null_count < len(predictions))
    columns = [Column(key, titles[key], key in measured) for key in known]
    texts = [name for name in predictions.info.mapping.texts if name in predictions.columns]
    others = [name for name in predictions.columns if name not in texts]
    cells = [Column(CELL + name, _title(name, predictions)) for name in (*texts, *others)]
    columns += cells[: len(texts)]
    if table["loss"].null_count < len(predictions):
        columns.append(Column("loss", tr("Loss")))
    return [*columns, *cells[len(texts) :], Column("row", tr("Row"))]


def _title(column: str, predictions: Predictions) -> str:
    """Title of a data column; those of masked tokens are translated."""
    titles = {
        TEXT: tr("Text"),
        POSITION: tr("Position"),
        OCCURRENCES: tr("Occurrences"),
    }
    if TASKS[predictions.info.task].info.is_pretraining and column in titles:
        return titles[column]
    return visible(column[:100])


class RowsModel(QAbstractTableModel):
    """The rows that the state lists; cells are read from the table when painted."""

    def __init__(self, state: ResultsState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.columns: list[Column] = []
        self._rows = state.rows
        state.opened.connect(self._on_opened)
        state.listed.connect(self._on_listed)
        self._on_opened()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown(self._value(index), column)
            case Qt.ItemDataRole.EditRole:
                value = self._value(index)
                return "" if value is None else str(value)
            case Qt.ItemDataRole.ToolTipRole if not column.is_number:
                return tooltip(str(self._value(index) or ""))
            case Qt.ItemDataRole.TextAlignmentRole if column.is_number or column.is_measure:
                return AT_RIGHT
            case Qt.ItemDataRole.ForegroundRole if column.key == "score":
                value = self._value(index)
                return None if value is None else colour(Role.GOOD if value >= 1 else Role.BAD)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(column.title)
            case Qt.ItemDataRole.TextAlignmentRole if column.is_number or column.is_measure:
                return AT_RIGHT
        return None

    def place(self, row: int) -> int:
        """Index in the table of predictions of a row of the list."""
        return int(self._rows[row])

    def row_of(self, place: int) -> int:
        """Row of the list for an index in the table of predictions; -1 if not listed."""
        found = np.flatnonzero(self._rows == place)
        return int(found[0]) if len(found) else -1

    def _value(self, index: Index) -> Any:
        assert self._state.predictions is not None
        table = self._state.predictions.table
        return table[self.columns[index.column()].key][self.place(index.row())].as_py()

    def _on_opened(self) -> None:
        self.beginResetModel()
        predictions = self._state.predictions
        self.columns = columns_of(predictions) if predictions is not None else []
        self._rows = self._state.rows
        self.endResetModel()

    def _on_listed(self) -> None:
        self.beginResetModel()
        self._rows = self._state.rows
        self.endResetModel()


def shown(value: Any, column: Column) -> str:
    """A value as one line of the list."""
    if value is None:
        return ""
    if column.key == "score" and value in (0, 1):
        return RIGHT if value else WRONG
    if column.key in SHARES:
        return numbers.percent(value)
    if column.key == "loss":
        return numbers.decimal(value, 3)
    if column.key == "row":
        return numbers.count(value + 1)
    if column.is_measure and len(value) > MEASURE_CHARACTERS:
        return numbers.decimal(float(value), 3)
    text = visible(str(value)[:PAINTED_CHARACTERS]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{text}…" if len(str(value)) > PAINTED_CHARACTERS else text
