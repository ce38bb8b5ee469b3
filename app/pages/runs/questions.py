"""Dialogs about runs: name, notes, tags, export, deletion, and the queue."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCompleter,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QWidget,
)

from app.pages.runs.arranging import waiting_runs
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.translation import tr
from app.widgets.dialogs import Choice, ask, ask_for_file, ask_for_name, choose_folder
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import visible
from engine.config.job import RUN_NAME_LENGTH, FromCheckpoint
from engine.runs.curve_files import CurveFiles
from engine.runs.mlflow import MLflowFiles
from engine.runs.tensorboard import TensorBoardFiles

CURVES: dict[str, type[CurveFiles]] = {"tensorboard": TensorBoardFiles, "mlflow": MLflowFiles}


def ask_name(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for a new name."""
    ask_for_name(
        owner,
        (tr("Rename the run"), tr("The folder on disk keeps its name.")),
        row.name,
        RUN_NAME_LENGTH,
        Choice("rename", tr("&Rename"), "primary"),
        lambda name: runs.rename(row.id, name),
    )


def ask_notes(owner: QWidget, runs: RunsState, row: RunRow) -> None:
    """Ask for the notes on a run."""
    field = QPlainTextEdit(row.notes)
    field.setAccessibleName(tr("Notes"))
    field.setTabChangesFocus(True)
    ask(
        owner,
        tr("Notes on “{0}”").format(row.name),
        tr("Only you edit these notes. They are included in search."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: runs.set_notes(row.id, field.toPlainText()) if key == "save" else None,
        [field],
    )


def ask_tags(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask for the tags of these runs; tags of only some runs are kept."""
    common = [tag for tag in rows[0].tags if all(tag in row.tags for row in rows)]
    field = QLineEdit(", ".join(common))
    field.setAccessibleName(tr("Tags"))
    field.setPlaceholderText(tr("paper, second try"))
    known = QCompleter(runs.all_tags(), field)
    known.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    field.setCompleter(known)

    def answer(key: str) -> None:
        wanted = [tag.strip() for tag in field.text().split(",") if tag.strip()]
        for row in rows if key == "save" else ():
            own = [tag for tag in row.tags if tag not in common]
            runs.set_tags(row.id, [*wanted, *own])

    name = f"“{rows[0].name}”" if len(rows) == 1 else tr("%Ln run(s)", len(rows))
    ask(
        owner,
        tr("Tags of {0}").format(name),
        tr("Words to find runs by, separated by commas."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        answer,
        [field],
    )


def ask_to_export(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask for the format and the place of an export."""
    kept = ComboBox(tr("Checkpoints"))
    for title, key in (
        (tr("The best checkpoint of each run"), "best"),
        (tr("All checkpoints and snapshots, to resume training elsewhere"), "all"),
        (tr("No checkpoints"), "none"),
    ):
        kept.addItem(title, key)

    def answer(key: str) -> None:
        if key == "file":
            name = rows[0].folder.name if len(rows) == 1 else "runs"
            chosen = kept.currentData()
            save = lambda path: runs.exchange.export(rows, path, chosen)  # noqa: E731
            ask_for_file(owner, tr("Export runs"), f"{name}.zip", [".zip"], save)
        elif key in CURVES:
            choose_folder(
                owner.window(),
                tr("Choose a folder"),
                lambda into: runs.exchange.export_curves(rows, into, CURVES[key]),
            )

    ask(
        owner,
        tr("Export %Ln run(s)", len(rows)),
        tr(
            "One file has settings, curves, log, results, environment and checksums. Drop it on "
            "BERT Studio on another computer to open it there. TensorBoard reads the curves alone, "
            "MLflow also the settings."
        ),
        [
            Choice("file", tr("&One file…"), "primary"),
            Choice("tensorboard", tr("&TensorBoard files…")),
            Choice("mlflow", tr("&MLflow runs…")),
            Choice("cancel", tr("&Cancel")),
        ],
        answer,
        [kept],
    )


def ask_to_delete(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Say what is deleted and what stays, then delete."""

    def answer(key: str) -> None:
        if key == "delete":
            runs.dispatcher.remove(*(row.id for row in rows))

    if len(rows) == 1:
        title = tr("Delete the run “{0}”?").format(rows[0].name)
    else:
        title = tr("Delete %Ln run(s)?", len(rows))
    text = tr(
        "Its folder with curves, log and checkpoints moves to the system trash. Data sets and"
        " base models are not affected."
    )
    if names := _left_without_base(runs, rows):
        template = tr(
            "These unfinished runs start from its checkpoints and can no longer begin: {0}."
        )
        text = f"{text} {template.format(', '.join(names))}"
    ask(
        owner,
        title,
        text,
        [Choice("delete", tr("&Delete"), "danger"), Choice("cancel", tr("&Cancel"))],
        answer,
    )


def _left_without_base(runs: RunsState, rows: Sequence[RunRow]) -> list[str]:
    """Names of unfinished runs whose base model is deleted with these."""
    gone = {row.id for row in rows}
    folders = [row.folder for row in rows]
    result = []
    for row in runs.rows.values():
        base = row.job.base_model if row.job is not None else None
        if row.id in gone or row.state == "finished" or not isinstance(base, FromCheckpoint):
            continue
        if any(base.path.is_relative_to(folder) for folder in folders):
            result.append(f"“{row.name[:60]}”")
    return result[:5]


RUN = Qt.ItemDataRole.UserRole
LIST_HEIGHT = 260  # px
MOST_RUNS = 500  # offered in a list


class QueueList(QListWidget):
    """The waiting runs, reordered by dragging or by Ctrl+Up and Ctrl+Down."""

    def __init__(self, rows: Sequence[RunRow]) -> None:
        super().__init__()
        self.setAccessibleName(tr("Order of the queue"))
        self.setAccessibleDescription(tr("Ctrl+Up and Ctrl+Down move a run."))
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setMinimumHeight(LIST_HEIGHT)
        for row in rows:
            item = QListWidgetItem(visible(row.name))
            item.setData(RUN, row.id)
            self.addItem(item)
        self.setCurrentRow(0)

    def ids(self) -> list[str]:
        """The ids in the chosen order."""
        return [str(self.item(place).data(RUN)) for place in range(self.count())]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()), 0)
        if not step or not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().keyPressEvent(event)
            return
        place = self.currentRow()
        target = place + step
        if place >= 0 and 0 <= target < self.count():
            self.insertItem(target, self.takeItem(place))
            self.setCurrentRow(target)


def ask_order(owner: QWidget, runs: RunsState) -> None:
    """Let the user reorder the queue."""
    queue = QueueList(waiting_runs(runs.rows.values()))
    ask(
        owner,
        tr("Order of the queue"),
        tr("Drag the runs, or move them with Ctrl+Up and Ctrl+Down. The first one starts next."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: runs.dispatcher.order(queue.ids()) if key == "save" else None,
        [queue],
    )


def ask_after(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask after which run these runs start."""
    chosen = {row.id for row in rows}
    others = [row for row in runs.rows.values() if row.is_active and row.id not in chosen]
    box = ComboBox(tr("Start after"))
    box.addItem(tr("Any time (no other run)"), "")
    for row in others[:MOST_RUNS]:
        box.addItem(visible(row.name), row.id)
    box.setCurrentIndex(1 if box.count() > 1 else 0)
    name = f"“{rows[0].name}”" if len(rows) == 1 else tr("%Ln run(s)", len(rows))
    ids = [row.id for row in rows]
    ask(
        owner,
        tr("Start {0} after…").format(name),
        tr("It starts when that run has finished. If that run fails, it is put on hold."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: (
            runs.dispatcher.start_after(ids, str(box.currentData())) if key == "save" else None
        ),
        [box],
    )
