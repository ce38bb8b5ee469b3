"""Dialogs about runs: name, notes, tags, export, deletion, the queue, and columns."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QWidget,
)

from app.pages.runs.arranging import waiting_runs
from app.pages.runs.columns import DEFAULT_COLUMNS, ColumnInfo, all_columns, known_columns
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.theme import SPACE, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import (
    Choice,
    Question,
    ask,
    ask_for_file,
    ask_for_name,
    choose_folder,
    confirm,
)
from app.widgets.forms.controls import ComboBox, Completer, SearchField
from app.widgets.keys import vertical_step
from app.widgets.text.labels import Text, visible
from engine.config.job import RUN_NAME_LENGTH, FromCheckpoint
from engine.runs.curve_files import CurveFiles
from engine.runs.mlflow import MLflowFiles
from engine.runs.tensorboard import TensorBoardFiles

CURVES: dict[str, type[CurveFiles]] = {"tensorboard": TensorBoardFiles, "mlflow": MLflowFiles}


def ask_name(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    (row,) = rows
    ask_for_name(
        owner,
        (tr("Rename the run"), tr("The folder on disk keeps its name.")),
        row.name,
        RUN_NAME_LENGTH,
        Choice("rename", tr("&Rename"), "primary"),
        lambda name: runs.rename(row.id, name),
    )


def ask_notes(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    (row,) = rows
    field = QPlainTextEdit(row.notes)
    field.setAccessibleName(tr("Notes"))
    field.setTabChangesFocus(True)
    confirm(
        owner,
        tr("Notes on “{0}”").format(row.name),
        tr("Only you edit these notes. They are included in search."),
        Choice("save", tr("&Save"), "primary"),
        lambda: runs.set_notes(row.id, field.toPlainText()),
        [field],
    )


def ask_tags(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask for the tags of these runs; tags of only some runs are kept."""
    common = [tag for tag in rows[0].tags if all(tag in row.tags for row in rows)]
    field = QLineEdit(", ".join(common))
    field.setAccessibleName(tr("Tags"))
    field.setPlaceholderText(tr("paper, second try"))
    completer = Completer(runs.all_tags(), field)
    completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
    field.setCompleter(completer)

    def save() -> None:
        tags = [tag.strip() for tag in field.text().split(",") if tag.strip()]
        for row in rows:
            others = [tag for tag in row.tags if tag not in common]
            runs.set_tags(row.id, [*tags, *others])

    confirm(
        owner,
        tr("Tags of {0}").format(_runs_text(rows)),
        tr("Words to find runs by, separated by commas."),
        Choice("save", tr("&Save"), "primary"),
        save,
        [field],
    )


def ask_export(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    checkpoints = (
        (tr("The best checkpoint of each run"), "best"),
        (tr("All checkpoints and snapshots, to resume training elsewhere"), "all"),
        (tr("No checkpoints"), "none"),
    )
    choice = ComboBox(tr("Checkpoints"), items=checkpoints)

    def answer(key: str) -> None:
        if key == "file":
            name = rows[0].folder.name if len(rows) == 1 else "runs"
            chosen = choice.currentData()
            save = lambda path: runs.exchange.export(rows, path, chosen)  # noqa: E731
            ask_for_file(owner, tr("Export runs"), f"{name}.zip", [".zip"], save)
        elif key in CURVES:
            save = lambda path: runs.exchange.export_curves(rows, path, CURVES[key])  # noqa: E731
            choose_folder(owner.window(), tr("Choose a folder"), save)

    ask(
        owner,
        tr("Export %Ln run(s)", len(rows)),
        tr(
            "One file has settings, curves, log, results, environment and checksums. Drop it on "
            "BERT Studio on another computer to open it there. TensorBoard reads only the curves; "
            "MLflow also reads the settings."
        ),
        [
            Choice("file", tr("&One file…"), "primary"),
            Choice("tensorboard", tr("&TensorBoard files…")),
            Choice("mlflow", tr("&MLflow runs…")),
            Choice("cancel", tr("&Cancel")),
        ],
        answer,
        [choice],
    )


def _runs_text(rows: Sequence[RunRow]) -> str:
    return f"“{rows[0].name}”" if len(rows) == 1 else tr("%Ln run(s)", len(rows))


def ask_delete(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask before deleting, and say what is deleted and what stays."""
    if len(rows) == 1:
        title = tr("Delete the run “{0}”?").format(rows[0].name)
    else:
        title = tr("Delete %Ln run(s)?", len(rows))
    text = tr(
        "Its folder with curves, log and checkpoints moves to the system trash. Data sets and"
        " base models are not affected."
    )
    if names := _find_dependents(runs, rows):
        template = tr(
            "These unfinished runs start from its checkpoints and can no longer start: {0}."
        )
        text = f"{text} {template.format(', '.join(names))}"
    confirm(
        owner,
        title,
        text,
        Choice("delete", tr("&Delete"), "danger"),
        lambda: runs.dispatcher.remove(*(row.id for row in rows)),
    )


def _find_dependents(runs: RunsState, rows: Sequence[RunRow]) -> list[str]:
    """Names of unfinished runs whose base model is deleted with these."""
    ids = {row.id for row in rows}
    folders = [row.folder for row in rows]
    result = []
    for row in runs.rows.values():
        base = row.job.base_model if row.job is not None else None
        if row.id in ids or row.state == "finished" or not isinstance(base, FromCheckpoint):
            continue
        if any(base.path.is_relative_to(folder) for folder in folders):
            result.append(f"“{row.name[:60]}”")
    return result[:5]


KEY = Qt.ItemDataRole.UserRole  # of an item: id of its run, or key of its column
LIST_HEIGHT = 270  # px
MAX_OFFERED_RUNS = 500


class OrderedList(QListWidget):
    """Items with keys, reordered by dragging or by Ctrl+Up and Ctrl+Down."""

    def __init__(self, name: str, items: Iterable[QListWidgetItem]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setAccessibleDescription(tr("Ctrl+Up and Ctrl+Down move an item."))
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setMinimumHeight(px(LIST_HEIGHT))
        for item in items:
            self.addItem(item)
        self.setCurrentRow(0)

    def keys(self) -> list[str]:
        """The keys in the chosen order."""
        return [str(self.item(row).data(KEY)) for row in range(self.count())]

    def move_current(self, offset: int) -> None:
        row, target = self.currentRow(), self.currentRow() + offset
        if row >= 0 and 0 <= target < self.count():
            self.insertItem(target, self.takeItem(row))
            self.setCurrentRow(target)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = vertical_step(event)
        if step and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.move_current(step)
        else:
            super().keyPressEvent(event)


def _item(text: str, key: str) -> QListWidgetItem:
    item = QListWidgetItem(text)
    item.setData(KEY, key)
    return item


def ask_order(owner: QWidget, runs: RunsState, _: Sequence[RunRow] = ()) -> None:
    """Let the user reorder the queue."""
    waiting = waiting_runs(runs.rows.values())
    items = (_item(visible(row.name), row.id) for row in waiting)
    queue = OrderedList(tr("Order of the queue"), items)
    confirm(
        owner,
        tr("Order of the queue"),
        tr("Drag the runs, or move them with Ctrl+Up and Ctrl+Down. The first one starts next."),
        Choice("save", tr("&Save"), "primary"),
        lambda: runs.dispatcher.order(queue.keys()),
        [queue],
    )


def ask_after(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask after which run these runs start."""
    chosen = {row.id for row in rows}
    others = [row for row in runs.rows.values() if row.is_active and row.id not in chosen]
    items = [(visible(row.name), row.id) for row in others[:MAX_OFFERED_RUNS]]
    box = ComboBox(tr("Start after"), items=[(tr("Any time (no other run)"), ""), *items])
    box.setCurrentIndex(1 if items else 0)
    ids = [row.id for row in rows]
    confirm(
        owner,
        tr("Start {0} after…").format(_runs_text(rows)),
        tr(
            "Starts when the selected run has finished. If the selected run fails, "
            "this one is put on hold."
        ),
        Choice("save", tr("&Save"), "primary"),
        lambda: runs.dispatcher.start_after(ids, str(box.currentData())),
        [box],
    )


class ColumnChoice(QWidget):
    """All columns on the left, with a search; the chosen ones in order on the right."""

    def __init__(self, chosen: Sequence[str]) -> None:
        super().__init__()
        self.search = SearchField(tr("Search settings and metrics"), tr("Search the columns"))
        self.search.textChanged.connect(self._filter)
        self.all = QListWidget()
        self.all.setAccessibleName(tr("All columns"))
        self.all.setMinimumHeight(px(LIST_HEIGHT))
        self.chosen = OrderedList(tr("Shown columns"), map(_column_item, known_columns(chosen)))
        for info in known_columns(all_columns()):
            item = _column_item(info)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            check_state = Qt.CheckState.Checked if info.key in chosen else Qt.CheckState.Unchecked
            item.setCheckState(check_state)
            self.all.addItem(item)
        self.all.itemChanged.connect(self._on_checked)
        self.up = buttons.plain(tr("Move &up"), lambda: self.chosen.move_current(-1))
        self.down = buttons.plain(tr("Move &down"), lambda: self.chosen.move_current(1))
        self.remove = buttons.plain(tr("&Remove"), self._remove)
        left = layouts.column(self.search, (self.all, 1))
        title = Text(tr("Shown, from left to right"), "muted")
        right = layouts.column(title, (self.chosen, 1), self.up, self.down, self.remove)
        layouts.row((left, 1), (right, 1), parent=self, spacing=2 * SPACE)

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for row in range(self.all.count()):
            item = self.all.item(row)
            sentence = f"{item.text()} {item.data(KEY)}".casefold()
            item.setHidden(not all(word in sentence for word in words))

    def _on_checked(self, item: QListWidgetItem) -> None:
        key, shown_keys = str(item.data(KEY)), self.chosen.keys()
        if item.checkState() == Qt.CheckState.Checked and key not in shown_keys:
            self.chosen.addItem(_column_item(*known_columns([key])))
        elif item.checkState() != Qt.CheckState.Checked and key in shown_keys:
            self.chosen.takeItem(shown_keys.index(key))

    def _remove(self) -> None:
        item = self.chosen.currentItem()
        if item is not None:
            rows = [self.all.item(row) for row in range(self.all.count())]
            next(entry for entry in rows if entry.data(KEY) == item.data(KEY)).setCheckState(
                Qt.CheckState.Unchecked
            )


def ask_for_columns(
    owner: QWidget, chosen: Sequence[str], on_chosen: Callable[[Sequence[str]], object]
) -> Question:
    """Open the dialog; `on_chosen` is called with the keys of at least one column."""
    choice = ColumnChoice(chosen)

    def answered(key: str) -> None:
        if key == "default":
            on_chosen(DEFAULT_COLUMNS)
        elif key == "show" and choice.chosen.keys():
            on_chosen(choice.chosen.keys())

    return ask(
        owner,
        tr("Columns"),
        tr("Any setting of a run and any metric can be a column."),
        (
            Choice("show", tr("&Show these"), "primary"),
            Choice("default", tr("Reset to de&faults")),
            Choice("cancel", tr("&Cancel")),
        ),
        answered,
        [choice],
    )


def _column_item(info: ColumnInfo) -> QListWidgetItem:
    item = _item(info.title(), info.key)
    if "." in info.key:
        item.setToolTip(info.key)
    return item
