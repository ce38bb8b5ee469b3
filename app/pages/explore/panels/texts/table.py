"""Table model of the texts, sorted by any column; once scored, by loss."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, Qt

from app.pages.explore.panels.texts.state import TextsState
from app.resources import mono_font
from app.translation import in_language, marked
from app.widgets.charts.bars import chance
from app.widgets.tables import AT_LEFT, AT_RIGHT, NOWHERE, Index
from app.widgets.text.labels import tooltip, visible
from app.widgets.text.numbers import count, decimal

MAX_CELL = 300  # characters shown
TEXT, PAIR, LABEL, PREDICTION, PROBABILITY, LOSS, TOKENS = range(7)
NAMES = (
    marked("Text"),
    marked("Second text"),
    marked("Label"),
    marked("Prediction"),
    marked("p"),
    marked("Loss"),
    marked("Tokens"),
)
MEANINGS = {
    PROBABILITY: marked("Probability of the prediction"),
    LOSS: marked("Loss of the task; of a model without one: mean −log P of each token, masked"),
    TOKENS: marked("Of the whole text, with special tokens"),
}


class TextRows(QAbstractTableModel):
    """`order` holds the text index of each row."""

    def __init__(self, state: TextsState) -> None:
        super().__init__(state)
        self._state = state
        self.order: list[int] = []
        self._sorted = (-1, Qt.SortOrder.AscendingOrder)

    def take(self) -> None:
        """Update from the state."""
        self.layoutAboutToBeChanged.emit()
        self._order()
        self.layoutChanged.emit()

    def reset(self) -> None:
        """Back to the order of the texts, until a column is chosen."""
        self.beginResetModel()
        self._sorted = (-1, Qt.SortOrder.AscendingOrder)
        self._order()
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(NAMES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self.order[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(row, column)
        if role == Qt.ItemDataRole.EditRole:
            text, pair = self._state.rows[row]
            return {TEXT: text, PAIR: pair or ""}.get(column, self.cell(row, column))
        if role == Qt.ItemDataRole.FontRole and column >= PROBABILITY:
            return mono_font()
        if role == Qt.ItemDataRole.ToolTipRole and column in (TEXT, PAIR):
            return tooltip(self._state.rows[row][column] or "")
        if role == Qt.ItemDataRole.ToolTipRole and column in (LABEL, PREDICTION):
            return tooltip(self.cell(row, column))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return AT_RIGHT if column >= PROBABILITY else AT_LEFT
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(NAMES):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.name(section)
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            falling = section in (LOSS, TOKENS)
            order = Qt.SortOrder.DescendingOrder if falling else Qt.SortOrder.AscendingOrder
            return order.value
        if role == Qt.ItemDataRole.ToolTipRole and section in MEANINGS:
            return tooltip(in_language(MEANINGS[section]))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return AT_RIGHT if section >= PROBABILITY else AT_LEFT
        return None

    def name(self, column: int) -> str:
        if column == LOSS and self._state.loss == "pseudo":
            return self.tr("Pseudo-loss")
        return in_language(NAMES[column])

    def cell(self, row: int, column: int) -> str:
        """Text of a cell on one line."""
        state = self._state
        if column in (TEXT, PAIR):
            return visible(" ".join((state.rows[row][column] or "")[:MAX_CELL].split()))
        score = state.scores[row] if row < len(state.scores) else None
        if column == LABEL:
            typed = state.labels[row] if row < len(state.labels) else ""
            return visible((score.label if score is not None and score.label else typed)[:MAX_CELL])
        if score is None:
            return ""
        if column == PREDICTION:
            return visible(score.prediction)
        if column == PROBABILITY:
            return "" if score.probability is None else chance(score.probability)
        if column == LOSS:
            return "" if score.loss is None else decimal(score.loss, 3)
        return count(score.tokens)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = column, order
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        texts = [self.order[index.row()] for index in old]
        self._order()
        places = {text: place for place, text in enumerate(self.order)}
        new = [
            self.index(places[text], index.column()) for text, index in zip(texts, old, strict=True)
        ]
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def _order(self) -> None:
        """Texts without a number come last."""
        column, order = self._sorted
        every = list(range(len(self._state.rows)))
        falls = order == Qt.SortOrder.DescendingOrder
        if column >= 0:
            key = self._key(column)
            known = [n for n in every if key(n) is not None]
            known.sort(key=key, reverse=falls)
            seen = set(known)
            every = known + [n for n in every if n not in seen]
        self.order = every

    def _key(self, column: int) -> Callable[[int], Any]:
        state = self._state

        def number(row: int) -> float | None:
            score = state.scores[row] if row < len(state.scores) else None
            if score is None:
                return None
            return {
                PROBABILITY: score.probability,
                LOSS: score.loss,
                TOKENS: float(score.tokens),
            }[column]

        if column >= PROBABILITY:
            return number
        return lambda row: self.cell(row, column).casefold() or None
