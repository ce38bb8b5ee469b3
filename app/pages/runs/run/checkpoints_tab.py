"""The checkpoints of a run in a table, and what can be done with each."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app import resources
from app.exporting import view as exporting
from app.pages.runs import texts as words
from app.pages.runs.run.branch_question import ask_to_branch
from app.pages.runs.run.state import RunState, Saved
from app.pages.runs.table import Index
from app.theme import SPACE, Role
from app.widgets import buttons, numbers
from app.widgets.dialogs import Choice, ask
from app.widgets.text import Text, tooltip

NOWHERE = QModelIndex()


class CheckpointTable(QAbstractTableModel):
    """Step, reason to keep it, time and size of each checkpoint."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.saved: list[Saved] = []

    def show_saved(self, saved: list[Saved]) -> None:
        self.beginResetModel()
        self.saved = list(saved)
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.saved)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 4

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        titles = (self.tr("Step"), self.tr("Kept as"), self.tr("Saved"), self.tr("Size"))
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
                    ", ".join(reason_word(reason) for reason in saved.reasons),
                    words.moment(saved.at),
                    numbers.size(saved.bytes),
                )
                return cells[index.column()]
            case Qt.ItemDataRole.DecorationRole if index.column() == 1 and saved.best:
                return resources.icon("star", Role.WARN)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(str(saved.folder))
        return None


def reason_word(reason: str) -> str:
    """Why a checkpoint is kept, for people."""
    if reason.startswith("every "):
        every = words.translate("Runs", "every {0} steps")
        return every.format(numbers.count(int(reason.removeprefix("every "))))
    known = {"best": words.translate("Runs", "best"), "last": words.translate("Runs", "last")}
    return known[reason]


class CheckpointsTab(QWidget):
    """Signals:
    look_wanted, use_wanted: the folder of a checkpoint to look into or to start from.
    """

    look_wanted = Signal(Path)
    use_wanted = Signal(Path)

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state
        self.model = CheckpointTable(self)
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setAccessibleName(self.tr("Checkpoints"))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(36)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.table.doubleClicked.connect(lambda _: self._emit(self.look_wanted))
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.none = Text(
            self.tr(
                "No checkpoint yet. One is saved at each evaluation, and when you stop the run."
            ),
            "muted",
        )
        self.look = buttons.plain(
            self.tr("&Look inside"), lambda: self._emit(self.look_wanted), "microscope"
        )
        self.use = buttons.plain(
            self.tr("&Use as start"), lambda: self._emit(self.use_wanted), "flag"
        )
        self.export = buttons.plain(self.tr("&Export…"), self._on_export, "upload")
        self.folder = buttons.plain(self.tr("Open the &folder"), self._on_folder, "folder-open")
        self.branch = buttons.plain(self.tr("&Branch from here…"), self._on_branch, "git-branch")
        self.delete = buttons.quiet(self.tr("&Delete"), self._on_delete, "trash-2")
        self._buttons = (
            self.look,
            self.use,
            self.branch,
            self.export,
            self.folder,
            self.delete,
        )
        self.sum = Text("", "muted")
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        for button in self._buttons:
            row.addWidget(button)
        row.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addLayout(row)
        column.addWidget(self.none)
        column.addWidget(self.table, 1)
        column.addWidget(self.sum)
        state.changed.connect(self._on_row)
        state.deletion_asked.connect(self._on_deletion_asked)
        state.checkpoints_read.connect(self.show_saved)
        self.show_saved([])

    def show_saved(self, saved: list[Saved]) -> None:
        """Show these; the selected one stays selected, or else the best one is."""
        chosen = self.chosen()
        self.model.show_saved(saved)
        self.none.setVisible(not saved)
        self.table.setVisible(bool(saved))
        self.sum.setVisible(bool(saved))
        folders = [s.folder for s in saved]
        best = next((n for n, s in enumerate(saved) if s.best), 0)
        if saved:
            wanted = folders.index(chosen) if chosen in folders else best
            self.table.selectRow(wanted)
        self._on_row()

    def chosen(self) -> Path | None:
        """The folder of the selected checkpoint."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.saved[rows[0].row()].folder if rows else None

    def _chosen(self) -> Saved | None:
        return next((s for s in self.model.saved if s.folder == self.chosen()), None)

    def _sum(self, saved: list[Saved]) -> str:
        """What all take, and which stay."""
        text = self.tr("%Ln checkpoint(s)", "", len(saved))
        total = self.tr("{0}, {1} in all.").format(text, numbers.size(sum(s.bytes for s in saved)))
        row = self._state.row
        if row is None or row.job is None:
            return total
        plan = row.job.training
        stay = self.tr("The best one and the last {0} stay").format(numbers.count(plan.keep))
        if plan.keep_every:
            every = self.tr("{0}, and every {1} steps one for good")
            stay = every.format(stay, numbers.count(plan.keep_every))
        return f"{total} {stay}."

    def _on_row(self) -> None:
        self.sum.setText(self._sum(self.model.saved))
        self._enable()

    def _enable(self) -> None:
        for button in self._buttons:
            button.setEnabled(self.chosen() is not None)
        row = self._state.row
        self.branch.setEnabled(self.branch.isEnabled() and row is not None and row.job is not None)

    def _on_branch(self) -> None:
        if (chosen := self._chosen()) is not None:
            ask_to_branch(self, self._state, chosen.step)

    def _on_delete(self) -> None:
        if (chosen := self._chosen()) is not None:
            self._state.want_deleted(chosen)

    def _on_deletion_asked(self, saved: Saved, lost: str) -> None:
        ask(
            self,
            self.tr("Delete the checkpoint of step {0}?").format(numbers.count(saved.step)),
            lost,
            [
                Choice("delete", self.tr("&Delete"), "danger"),
                Choice("cancel", self.tr("&Cancel")),
            ],
            lambda key: self._state.delete(saved) if key == "delete" else None,
        )

    def _emit(self, signal: Any) -> None:
        chosen = self.chosen()
        if chosen is not None:
            signal.emit(chosen)

    def _on_folder(self) -> None:
        chosen = self.chosen()
        if chosen is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(chosen)))

    def _on_export(self) -> None:
        chosen = self.chosen()
        if chosen is not None:
            exporting.ask(self, self._state.export_of(chosen))
