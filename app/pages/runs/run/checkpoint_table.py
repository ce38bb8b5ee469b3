"""The checkpoints of a run as the rows of a table."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from app import resources
from app.pages.runs import texts
from app.pages.runs.run.checkpoints_state import Saved
from app.theme import Role
from app.translation import tr
from app.widgets import numbers
from app.widgets.tables import NOWHERE, Index
from app.widgets.text import tooltip


class CheckpointTable(QAbstractTableModel):
    """Step, reason to keep it, time and size of each checkpoint."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.saved: list[Saved] = []
        self._kept_last = 0

    def show_saved(self, saved: list[Saved], kept_last: int) -> None:
        """Show these, of which the last `kept_last` are kept; 0: nobody knows how many."""
        self.beginResetModel()
        self.saved, self._kept_last = list(saved), kept_last
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.saved)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 4

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        titles = (self.tr("Step"), self.tr("Kept because"), self.tr("Saved"), self.tr("Size"))
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return titles[section] if 0 <= section < len(titles) else None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        saved = self.saved[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                cells = (
                    numbers.count(saved.step),
                    " · ".join(reason_text(reason, self._kept_last) for reason in saved.reasons),
                    texts.moment(saved.at),
                    numbers.size(saved.bytes),
                )
                return cells[index.column()]
            case Qt.ItemDataRole.DecorationRole if index.column() == 1 and saved.best:
                return resources.icon("star", Role.WARN)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(str(saved.folder))
        return None


def reason_text(reason: str, kept_last: int) -> str:
    """Why a checkpoint is kept, for people."""
    if reason.startswith("every "):
        every = tr("every {0} steps")
        return every.format(numbers.count(int(reason.removeprefix("every "))))
    if reason == "best":
        return tr("best")
    if kept_last <= 1:
        return tr("latest")
    return tr("one of the last {0}").format(numbers.count(kept_last))
