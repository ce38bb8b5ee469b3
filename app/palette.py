"""Command palette: one line that finds pages, data sets, models, runs and actions.

Pages and what their buttons do are listed immediately, names after they are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app import resources, theme
from app.studio import Studio
from app.theme import SPACE, Role
from app.translation import tr
from app.widgets import layouts
from app.widgets.dialogs import Dialog
from app.widgets.drawing import fill, write
from app.widgets.help_topics import topics
from app.widgets.tables import AT_RIGHT, Column, ColumnsModel, Index
from app.widgets.text.labels import Text, font, one_line, visible
from app.widgets.text.run_texts import provenance
from engine.record.runs import all_runs

MAX_RESULTS = 60
WIDTH = 620


@dataclass(frozen=True)
class Command:
    """A target or an action; `kind` is shown on the right: Page, Run, Model, …"""

    title: str
    kind: str
    icon: str
    act: Callable[[], object]
    hint: str = ""  # further search words, shown next to the title


def score(query: str, command: Command) -> int | None:
    """Rank of `command` for `query`, lower is better; None if it does not match.

    Every word must occur; the start of the title ranks first, then the start of a word in it, then
    any position.
    """
    title = command.title.casefold()
    searchable = f"{title} {command.kind} {command.hint}".casefold()
    total = 0
    for word in query.casefold().split():
        if title.startswith(word):
            continue
        if f" {word}" in f" {title}":
            total += 1
        elif word in title:
            total += 2
        elif word in searchable:
            total += 4
        else:
            return None
    return total


class _CommandDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(200, QFontMetrics(font()).height() + 5 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        command = index.data(Qt.ItemDataRole.UserRole)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        rect = QRectF(option.rect).adjusted(2, 0, -2, 0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen:
            fill(painter, rect, theme.colour(Role.ACCENT_SOFT), 6)
        box = QRect(int(rect.left()) + 3 * SPACE, int(rect.center().y()) - 8, 17, 17)
        resources.icon(command.icon, Role.ACCENT if chosen else Role.MUTED).paint(painter, box)
        line = rect.adjusted(10 * SPACE, 0, -3 * SPACE, 0)
        kind_width = write(painter, line, command.kind, font("small"), Role.MUTED, AT_RIGHT)
        line.setRight(line.right() - kind_width - 4 * SPACE)
        title, middle = one_line(command.title), Qt.TextElideMode.ElideMiddle
        title_font = font("strong" if chosen else "body")
        title_width = write(painter, line, title, title_font, Role.TEXT, elide=middle)
        line.setLeft(line.left() + title_width + 3 * SPACE)
        if command.hint and line.width() > 60:
            write(painter, line, one_line(command.hint), font("small"), Role.MUTED)
        painter.restore()


class Palette(Dialog):
    """Opens over the window; Enter runs the selected command, Escape closes.

    Signals:
        executed: the Command that the user chose.
    """

    executed = Signal(object)

    def __init__(self, commands: Sequence[Command], owner: QWidget) -> None:
        frameless = Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint
        super().__init__(owner, tr("Search everything"), frameless)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._commands = list(commands)
        frame = QFrame()
        frame.setProperty("look", "palette")
        layouts.column(frame, parent=self)
        self.line = QLineEdit()
        self.line.setPlaceholderText(self.tr("Go to a page, data set, model or run…"))
        self.line.setAccessibleName(self.tr("Search everything"))
        self.line.textChanged.connect(self._on_typed)
        self.line.installEventFilter(self)
        column = Column[Command](
            "",
            lambda command: visible(command.title),
            roles={
                Qt.ItemDataRole.AccessibleTextRole: lambda c: f"{visible(c.title)}, {c.kind}",
                Qt.ItemDataRole.UserRole: lambda command: command,
            },
        )
        self._results = ColumnsModel([column], self)
        self.view = QListView()
        self.view.setModel(self._results)
        self.view.setItemDelegate(_CommandDelegate(self.view))
        self.view.setAccessibleName(self.tr("Search results"))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setMouseTracking(True)
        self.view.setUniformItemSizes(True)
        self.view.entered.connect(self.view.setCurrentIndex)
        self.view.clicked.connect(lambda _: self._on_enter())
        self.no_results = Text(self.tr("No results."), "muted")
        self.no_results.setContentsMargins(4 * SPACE, 2 * SPACE, 0, 3 * SPACE)
        layouts.column(
            self.line,
            self.view,
            self.no_results,
            parent=frame,
            margins=(3 * SPACE, 2 * SPACE, 3 * SPACE, 3 * SPACE),
        )
        width = min(WIDTH, owner.width() - 80)
        self.resize(width, 420)
        corner = owner.mapToGlobal(owner.rect().topLeft())
        self.move(corner.x() + (owner.width() - width) // 2, corner.y() + 72)
        self._on_typed("")

    def shown(self) -> list[Command]:
        """Listed commands, best first."""
        return list(self._results.rows)

    def add(self, commands: Sequence[Command]) -> None:
        """Add commands that took a moment to look up."""
        self._commands += commands
        self._on_typed(self.line.text())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            steps = {
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_PageUp: -8,
                Qt.Key.Key_PageDown: 8,
            }
            if event.key() in steps:
                self._move(steps[Qt.Key(event.key())])
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._on_enter()
                return True
        return super().eventFilter(watched, event)

    def _move(self, step: int) -> None:
        rows = len(self._results.rows)
        if rows:
            current = self.view.currentIndex().row()
            row = (
                (current + step) % rows if abs(step) == 1 else min(max(current + step, 0), rows - 1)
            )
            self.view.setCurrentIndex(self._results.index(row, 0))

    def _on_typed(self, typed: str) -> None:
        rated = [(score(typed, c), n, c) for n, c in enumerate(self._commands)]
        # n is unique, so commands are never compared
        hits = sorted((s, n, c) for s, n, c in rated if s is not None)
        self._results.show_rows([c for _, _, c in hits][:MAX_RESULTS])
        self.view.setVisible(bool(hits))
        self.no_results.setVisible(not hits)
        if hits:
            self.view.setCurrentIndex(self._results.index(0, 0))

    def _on_enter(self) -> None:
        row = self.view.currentIndex().row()
        if row < 0:
            return
        command = self._results.rows[row]
        self.accept()
        command.act()
        self.executed.emit(command)


def window_commands(
    studio: Studio,
    pages: Sequence[tuple[str, str, str, str]],  # key, title, icon, shortcut
    quit_window: Callable[[], object],
    show_help: Callable[[str], object],
) -> list[Command]:
    """Pages of the window, themes, and pages of help."""
    page, action = tr("Page"), tr("Action")
    navigate = studio.navigate.emit
    commands = [
        Command(title, page, icon, partial(navigate, key, None), k) for key, title, icon, k in pages
    ]
    themes = [
        (tr("Light theme"), "sun", "light"),
        (tr("Dark theme"), "moon", "dark"),
        (tr("Follow system theme"), "sun-moon", "system"),
    ]
    commands += [
        Command(title, action, icon, partial(studio.settings.set, "theme", theme))
        for title, icon, theme in themes
    ]
    commands.append(Command(tr("Quit"), action, "x", quit_window, "Ctrl+Q"))
    commands += [
        Command(
            topic.title,
            tr("Help"),
            "circle-question-mark",
            partial(show_help, topic.key),
            topic.line,
        )
        for topic in topics()
    ]
    return commands


def named_commands(studio: Studio) -> list[Command]:
    """Runs, data sets and models; reads files and the record, so call it outside the GUI thread."""
    navigate = studio.navigate.emit
    with studio.record.read() as session:
        runs = [(run.id, run.name, run.state) for run in all_runs(session)]
    commands = [
        Command(name, tr("Run"), "activity", partial(navigate, "runs", {"run": run}), state)
        for run, name, state in runs
    ]
    commands += [
        Command(
            data.name,
            tr("Data set"),
            "database",
            partial(navigate, "data", data.folder),
            tr("version {0}").format(data.version),
        )
        for data in studio.datasets()
    ]
    commands += [
        Command(
            model.name,
            tr("Model"),
            "boxes",
            partial(navigate, "models", model.path),
            " · ".join(provenance(model)),
        )
        for model in studio.models()
    ]
    return commands
