"""Actions on runs for menus, shortcuts and buttons, and their use in the table of runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QTableView, QWidget

from app import resources
from app.pages.runs.columns import column_info
from app.pages.runs.questions import (
    ask_after,
    ask_delete,
    ask_export,
    ask_name,
    ask_notes,
    ask_order,
    ask_tags,
)
from app.pages.runs.rows import RunRow
from app.pages.runs.sentence import comparison
from app.pages.runs.state import RunsState
from app.pages.runs.table import KEY_ROLE, ROW_ROLE
from app.translation import tr
from app.widgets.context_menu import context_menu, menu_action, separator
from app.widgets.opening import open_path
from app.widgets.text import numbers
from app.widgets.text.labels import plain_menu_text

Rows = Sequence[RunRow]
ON_HOLD = "on hold"


@dataclass(frozen=True)
class RunAction:
    """An action. `text` returns its title for given runs, `why_not` the reason why it is impossible
    for a run (“” if it is possible); `apply` performs it."""

    key: str
    text: Callable[[Rows], str]
    icon: str
    keys: str
    why_not: Callable[[RunRow], str]
    apply: Callable[[QWidget, RunsState, Rows], None]
    for_many: bool = False


def run_actions() -> Sequence[RunAction | None]:
    """All actions in menu order; None is a separator."""
    again, fine_tune = tr("Run a&gain with changes…"), tr("&Fine-tune this…")
    export, order, after = tr("E&xport runs…"), tr("Order of the &queue…"), tr("Start a&fter…")
    explore, repeat, folder = tr("Open in &Explore"), tr("Run aga&in"), tr("Open fol&der")
    compare, next_ = tr("&Compare"), tr("Start ne&xt")
    return (
        RunAction("open", _text(tr("&Open")), "chart-line", "Return", _always, _open),
        RunAction("compare", _text(compare), "chart-line", "Ctrl+M", _always, _compare, True),
        None,
        RunAction("stop", stop_text, "circle-stop", "Ctrl+.", _no_stop, _stop, True),
        RunAction("resume", _text(tr("&Resume")), "play", "Ctrl+G", _no_resume, _resume, True),
        None,
        RunAction("next", _text(next_), "arrow-right", "Ctrl+Up", _no_queue, _start_next, True),
        RunAction("order", _text(order), "history", "Ctrl+Shift+Up", _no_queue, ask_order, True),
        RunAction("after", _text(after), "git-branch", "Ctrl+Shift+F", _no_queue, ask_after, True),
        RunAction("hold", hold_text, "hourglass", "Ctrl+H", _no_queue, _hold, True),
        None,
        RunAction("explore", _text(explore), "microscope", "Ctrl+I", _no_checkpoint, _explore),
        RunAction("fine_tune", _text(fine_tune), "flag", "Ctrl+U", _no_checkpoint, _fine_tune),
        RunAction("again", _text(again), "copy", "Ctrl+R", _no_job, _open_wizard),
        RunAction("repeat", _text(repeat), "copy", "Ctrl+Alt+R", _no_repeat, _run_again, True),
        RunAction("retrain", retrain_text, "database", "Ctrl+Shift+R", _no_newer, _retrain),
        None,
        RunAction("rename", _text(tr("Rena&me")), "pencil", "F2", _always, ask_name),
        RunAction("notes", _text(tr("&Notes…")), "scroll-text", "Ctrl+N", _always, ask_notes),
        RunAction("star", star_text, "star", "Ctrl+T", _always, _star, True),
        RunAction("tags", _text(tr("Ta&gs…")), "tags", "Ctrl+Shift+T", _always, ask_tags, True),
        RunAction("archive", archive_text, "box", "Ctrl+E", _no_archive, _archive, True),
        RunAction("export", _text(export), "upload", "Ctrl+Shift+E", _no_export, ask_export, True),
        RunAction("lineage", _text(tr("Li&neage")), "git-branch", "Ctrl+L", _always, _lineage),
        RunAction("folder", _text(folder), "folder-open", "Ctrl+Shift+O", _always, _open_folder),
        None,
        RunAction("delete", _text(tr("De&lete…")), "trash-2", "Del", _no_delete, ask_delete, True),
    )


def run_action(key: str) -> RunAction:
    return next(action for action in run_actions() if action and action.key == key)


def why_not(key: str, row: RunRow) -> str:
    """Reason why this action is not possible for the run; “” if it is."""
    return run_action(key).why_not(row)


def resume_text(row: RunRow) -> str:
    if row.checkpoint_step:
        return tr("&Resume from step {0}").format(numbers.count(row.checkpoint_step))
    return tr("&Restart from the beginning") if row.started else tr("&Start")


def stop_text(rows: Rows) -> str:
    """Title of “Stop”; runs in the queue have nothing to save."""
    if rows and all(row.is_waiting for row in rows):
        return tr("&Cancel")
    return tr("&Stop and save")


def hold_text(rows: Rows) -> str:
    held = bool(rows) and all(row.state == ON_HOLD for row in rows)
    return tr("Re&lease") if held else tr("&Hold")


def star_text(rows: Rows) -> str:
    starred = bool(rows) and all(row.star for row in rows)
    return tr("Remove s&tar") if starred else tr("S&tar")


def archive_text(rows: Rows) -> str:
    archived = bool(rows) and all(row.archived for row in rows)
    return tr("Unarc&hive") if archived else tr("Arc&hive")


def retrain_text(rows: Rows) -> str:
    """Title of the action that trains again on the newest version of the data set."""
    newer = rows[0].newer_data() if rows else None
    if newer is None:
        return tr("Train again on ne&wer data…")
    return tr("Train again on &version {0}…").format(newer.name)


def _text(text: str) -> Callable[[Rows], str]:
    return lambda rows: text


# ── reasons why not ──────────────────────────────────────────────────────────────────────────


def _always(_: RunRow) -> str:
    return ""


def _no_stop(row: RunRow) -> str:
    if row.state == "stopping":
        return tr("This run is already stopping.")
    return "" if row.is_active else tr("This run is not running.")


def _no_queue(row: RunRow) -> str:
    return "" if row.is_waiting else tr("This run is not in the queue.")


def _no_resume(row: RunRow) -> str:
    if row.state == ON_HOLD:
        return ""
    if row.is_active:
        return tr("This run is already running or queued.")
    if row.state == "finished":
        return tr("This run has finished. Fine-tune its checkpoint in a new run instead.")
    return "" if row.can_resume else tr("This run cannot be resumed.")


def _no_checkpoint(row: RunRow) -> str:
    if row.checkpoint is not None:
        return ""
    return tr("This run has no checkpoint yet.")


def _no_job(row: RunRow) -> str:
    if row.job is not None:
        return ""
    return tr("The settings of this run come from another version of BERT Studio.")


def _no_repeat(row: RunRow) -> str:
    if row.job is not None and not row.started:
        return tr("This run has not started yet.")
    return _no_job(row)


def _no_newer(row: RunRow) -> str:
    if row.job is None:
        return _no_job(row)
    if row.is_active:
        return tr("This run is still running or queued.")
    if row.newer_data() is None:
        return tr("There is no newer version of its data set.")
    return ""


def _no_archive(row: RunRow) -> str:
    return tr("This run is still running or queued.") if row.is_active else ""


def _no_export(row: RunRow) -> str:
    if row.is_working:
        return tr("Stop this run first.")
    return _no_job(row)


def _no_delete(row: RunRow) -> str:
    return tr("Stop this run first.") if row.is_working else ""


# ── effects ──────────────────────────────────────────────────────────────────────────────────


def _open(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.open_requested.emit(rows[0].id)


def _compare(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.compare_requested.emit(rows)


def _stop(_: QWidget, runs: RunsState, rows: Rows) -> None:
    for row in rows:
        runs.dispatcher.stop(row.id)


def _resume(_: QWidget, runs: RunsState, rows: Rows) -> None:
    for row in rows:
        runs.dispatcher.resume(row.id)


def _start_next(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.dispatcher.start_next(*(row.id for row in rows))


def _hold(_: QWidget, runs: RunsState, rows: Rows) -> None:
    held = all(row.state == ON_HOLD for row in rows)
    for row in rows:
        if held:
            runs.dispatcher.resume(row.id)
        else:
            runs.dispatcher.hold(row.id)


def _explore(_: QWidget, runs: RunsState, rows: Rows) -> None:
    if (checkpoint := rows[0].checkpoint) is not None:
        runs.open_in_explore(checkpoint)


def _fine_tune(_: QWidget, runs: RunsState, rows: Rows) -> None:
    if (checkpoint := rows[0].checkpoint) is not None:
        runs.fine_tune(checkpoint)


def _run_again(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.run_again(rows)


def _open_wizard(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.open_wizard(rows[0])


def _retrain(_: QWidget, runs: RunsState, rows: Rows) -> None:
    if (newer := rows[0].newer_data()) is not None:
        runs.train_on(rows[0], newer)


def _star(_: QWidget, runs: RunsState, rows: Rows) -> None:
    star = not all(row.star for row in rows)
    for row in rows:
        runs.set_star(row.id, star)


def _archive(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.set_archived([row.id for row in rows], not all(row.archived for row in rows))


def _lineage(_: QWidget, runs: RunsState, rows: Rows) -> None:
    runs.lineage_requested.emit(rows[0].id)


def _open_folder(_: QWidget, _runs: RunsState, rows: Rows) -> None:
    open_path(rows[0].folder)


MAX_CELL_CHARACTERS = 40  # in the menu


class ListActions(QObject):
    """Adds the actions to a table; `by_key` has them by key.

    Signals:
        rename_requested: the RunRow to rename.
        filter_requested: a comparison to add to the filter.
    """

    rename_requested = Signal(object)
    filter_requested = Signal(str)

    def __init__(
        self, table: QTableView, state: RunsState, selected: Callable[[], list[RunRow]]
    ) -> None:
        super().__init__(table)
        self._table, self._state, self._selected = table, state, selected
        self.by_key: dict[str, QAction] = {}
        for action in run_actions():
            if action is not None:
                self._add(action)
        self._menu = context_menu(table)
        self._menu.add(self._run_actions)
        self._menu.add(self._filters)
        table.doubleClicked.connect(lambda _: self.do("open"))
        table.selectionModel().selectionChanged.connect(self.enable)
        self.enable()

    def _add(self, action: RunAction) -> None:
        q_action = QAction(resources.icon(action.icon), action.text([]), self._table)
        q_action.setShortcut(QKeySequence(action.keys))
        q_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        q_action.triggered.connect(lambda: self.do(action.key))
        self._table.addAction(q_action)
        self.by_key[action.key] = q_action

    def enable(self) -> None:
        """Enable the actions that the selected runs allow; tooltips of the others say why not."""
        rows = self._selected()
        for action in run_actions():
            if action is not None:
                reason = _why_not(action, rows)
                self.by_key[action.key].setEnabled(not reason)
                self.by_key[action.key].setToolTip(reason)
                self.by_key[action.key].setText(action.text(rows))

    def do(self, key: str) -> None:
        """Apply an action to the selected runs that allow it."""
        rows = self._selected()
        action = run_action(key)
        allowed = [row for row in rows if not action.why_not(row)]
        if not allowed or _why_not(action, rows):
            return
        if key == "rename":
            self.rename_requested.emit(allowed[0])
        else:
            action.apply(self._table, self._state, allowed)

    def _run_actions(self, menu: QMenu) -> Iterator[QAction]:
        if self._selected():
            for action in run_actions():
                yield self.by_key[action.key] if action is not None else separator(menu)

    def _filters(self, menu: QMenu) -> Iterator[QAction]:
        """“Only …” and “Not …” for the value of the clicked cell."""
        cell = self._table.indexAt(self._menu.point)
        row, key = cell.data(ROW_ROLE), self._column_key(cell)
        info = column_info(key)
        if not isinstance(row, RunRow) or info is None:
            return
        sentence = plain_menu_text(
            f"{info.title()}: {info.text(row)[:MAX_CELL_CHARACTERS] or tr('none')}"
        )
        for text, negated in ((tr("Only “{0}”"), False), (tr("Not “{0}”"), True)):
            request = partial(self.filter_requested.emit, comparison(key, row, negated))
            yield menu_action(menu, text.format(sentence), request)

    def _column_key(self, cell: QModelIndex) -> str:
        orientation = Qt.Orientation.Horizontal
        return str(self._table.model().headerData(cell.column(), orientation, KEY_ROLE) or "")


def _why_not(action: RunAction, rows: Sequence[RunRow]) -> str:
    if not rows:
        return tr("Select a run first.")
    if action.key == "compare" and len(rows) < 2:
        return tr("Select at least two runs.")
    if len(rows) > 1 and not action.for_many:
        return tr("Select a single run.")
    reasons = [action.why_not(row) for row in rows]
    return "" if not all(reasons) else reasons[0]
