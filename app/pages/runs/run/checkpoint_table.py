"""The item model of a run's checkpoints."""

from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from app import resources
from app.pages.runs.run.checkpoints_state import Saved
from app.theme import Role
from app.translation import tr
from app.widgets.tables import NOWHERE, Index
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import tooltip
from engine.record.metrics import TIE_BREAKER


class Column(IntEnum):
    """The columns in their order."""

    STEP = 0
    SCORE = 1
    LOSS = 2
    REASON = 3
    SAVED = 4
    SIZE = 5


class CheckpointTable(QAbstractTableModel):
    """Step, scores, reason to keep, time and size of each checkpoint."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.saved: list[Saved] = []
        self._kept_last, self._metric = 0, ""

    def show_saved(self, saved: list[Saved], kept_last: int, metric: str) -> None:
        """Show these, compared by `metric` (“”: none).

        `kept_last` is the number of latest checkpoints kept; 0: unknown.
        """
        self.beginResetModel()
        self.saved, self._kept_last, self._metric = list(saved), kept_last, metric
        self.endResetModel()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.saved)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        score = run_texts.metric_heading(self._metric) if self._metric else self.tr("Score")
        titles = {
            Column.STEP: self.tr("Step"),
            Column.SCORE: score,
            Column.LOSS: run_texts.metric_heading(TIE_BREAKER),
            Column.REASON: self.tr("Kept because"),
            Column.SAVED: self.tr("Saved"),
            Column.SIZE: self.tr("Size"),
        }
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return titles[Column(section)] if 0 <= section < len(titles) else None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        saved, column = self.saved[index.row()], Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(saved, column)
            case Qt.ItemDataRole.DecorationRole if column is Column.REASON and saved.best:
                return resources.icon("star", Role.WARN)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(str(saved.folder))
        return None

    def _text(self, saved: Saved, column: Column) -> str:
        match column:
            case Column.STEP:
                return numbers.count(saved.step)
            case Column.SCORE:
                if saved.score is None:
                    return self.tr("not evaluated")
                return run_texts.metric_value(self._metric, saved.score)
            case Column.LOSS:
                return "" if saved.loss is None else run_texts.metric_value(TIE_BREAKER, saved.loss)
            case Column.REASON:
                reasons = (reason_text(reason, self._kept_last) for reason in saved.reasons)
                return " · ".join(reasons)
            case Column.SAVED:
                return numbers.moment(saved.at)
            case Column.SIZE:
                return numbers.size(saved.bytes)


def reason_text(reason: str, kept_last: int) -> str:
    """The reason to keep a checkpoint, in words."""
    if reason.startswith("every "):
        every = tr("every {0} steps")
        return every.format(numbers.count(int(reason.removeprefix("every "))))
    if reason == "best":
        return tr("best")
    if kept_last <= 1:
        return tr("latest")
    return tr("one of the last {0}").format(numbers.count(kept_last))
