"""Main window, and PAGES: the table of pages."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QCheckBox, QMainWindow, QWidget

from app import background
from app.deeds import page_commands
from app.history import Place
from app.machine import Machine, read_machine
from app.notices import one_line
from app.palette import Command, Palette, named_commands, window_commands
from app.preloader import Preloader, Task, chart_tasks, module_tasks
from app.running import RunningRun
from app.running_texts import run_activity
from app.settings import Settings
from app.shell.garbage import collect_and_freeze
from app.studio import Studio
from app.theme import TEXT_SIZES, set_style
from app.translation import in_language, marked, tr, translated
from app.widgets import dialogs, layouts
from app.widgets.banners import BannerArea
from app.widgets.dialogs import Choice
from app.widgets.drop_overlay import DropOverlay, dropped_paths
from app.widgets.help import help_for, open_help
from app.widgets.help_topics import FIRST
from app.widgets.marks import Restorer, read_marks
from app.widgets.navigation import Navigation, PageArea, PageStack
from app.widgets.screen import available_area, move_onto_screen, resize_within
from app.widgets.status_bar import StatusBar
from app.widgets.text.run_texts import metric_title, metric_value
from engine.record.run_watch import RunEnd, Trashed
from engine.runs.searching import is_by_search

log = logging.getLogger("studio")

LIST = {"list": True}  # the argument that leads to the list of a page
MIN_SIZE = (1100, 700)
DEFAULT_SIZE = (1280, 820)


def _page_for(paths: list[Path]) -> str:
    from app.drops import page_for  # data formats are not needed for the first frame

    return page_for(paths)


@dataclass(frozen=True)
class PageEntry:
    """One page, created when first shown; `keys` is its shortcut.

    A page is a QWidget. Optional methods: `arrive(argument)` is called whenever it is shown,
    `place()` returns the argument that leads back to what it shows, `accept_drop(paths) -> bool`
    for files dropped on the window, `create_rest()` while idle, to create the parts that are not
    needed at first; `commands()` are for the palette from any page, `named_commands()` those for
    runs and models, called outside the GUI thread.
    """

    key: str
    title: str  # in English; translated by the window
    icon: str
    keys: str
    make: Callable[[Studio], QWidget]
    help: str = FIRST  # key of its help page for F1
    # created before the others when idle; those take less than a tenth of a second
    is_large: bool = False


def _maker(key: str) -> Callable[[Studio], QWidget]:
    """Return a function that imports a folder of `app.pages` and creates its page."""

    def make(studio: Studio) -> QWidget:
        view = import_module(f"app.pages.{key}.view")
        page: QWidget = getattr(view, f"{key.capitalize()}Page")(studio)
        return page

    return make


PAGES: list[PageEntry] = [
    PageEntry("home", marked("Home"), "house", "Ctrl+1", _maker("home")),
    PageEntry("data", marked("Data"), "database", "Ctrl+2", _maker("data"), "data"),
    PageEntry("models", marked("Models"), "boxes", "Ctrl+3", _maker("models"), "models"),
    PageEntry(
        "train",
        marked("Train"),
        "graduation-cap",
        "Ctrl+4",
        _maker("train"),
        "settings",
        is_large=True,
    ),
    PageEntry("runs", marked("Runs"), "activity", "Ctrl+5", _maker("runs"), "runs"),
    PageEntry(
        "explore",
        marked("Explore"),
        "scan-search",
        "Ctrl+6",
        _maker("explore"),
        "explore",
        is_large=True,
    ),
]
LOWER_PAGES: list[PageEntry] = [
    PageEntry("help", marked("Help"), "circle-question-mark", "Ctrl+7", _maker("help")),
    PageEntry(
        "settings", marked("Settings"), "settings", "Ctrl+,", _maker("settings"), "preferences"
    ),
]


class MainWindow(QMainWindow):
    """Navigation on the left, the current page with banners, and the status bar."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self.studio, self.notices = studio, studio.notices
        self.entries = {entry.key: entry for entry in (*PAGES, *LOWER_PAGES)}
        self.pages: dict[str, QWidget] = {}
        self.current = ""
        self._palette: Palette | None = None
        self._may_close = False
        self.setWindowTitle(self.tr("BERT Studio"))
        self.setMinimumSize(QSize(*MIN_SIZE).boundedTo(available_area(self).size()))
        self.setAcceptDrops(True)
        self.navigation = Navigation(
            [(e.key, self._title(e), e.icon, e.keys) for e in self.entries.values()], len(PAGES)
        )
        self.navigation.requested.connect(self.go)
        self.stack = PageStack()
        self.page_area = PageArea(self.stack)
        self._area = BannerArea(self.page_area, studio.notices)
        self.banners = self._area.banners
        self._run_notices = RunNotices(studio, self)
        self.preloader = Preloader(self._modules(), self._page_tasks(), self)
        self.status = StatusBar()
        self.status.run_requested.connect(
            lambda run: studio.navigate.emit("runs", {"run": run} if run else LIST)
        )
        upper = layouts.row(self.navigation, (self._area, 1), spacing=0)
        self.setCentralWidget(layouts.page((upper, 1), self.status, spacing=0))
        set_style(self)
        self._overlay = DropOverlay(self)
        for entry in self.entries.values():
            self._add_shortcut(entry.keys, partial(self.go, entry.key))
        self._add_shortcut("Ctrl+K", self.open_palette)
        open_file = partial(self.go, "data", {"import": True})
        self._add_shortcut(QKeySequence.StandardKey.Open, open_file)
        studio.history.locate, studio.history.show = self._locate, self._return_to
        self._add_shortcut(QKeySequence.StandardKey.Back, self.go_back)
        self._add_shortcut(QKeySequence.StandardKey.Forward, studio.history.forward)
        self._add_shortcut("F1", self.show_help_for_focus)
        self._add_shortcut(QKeySequence.StandardKey.Quit, self.close)
        for keys in ("Ctrl++", "Ctrl+="):
            self._add_shortcut(keys, partial(self._step_text_size, 1))
        self._add_shortcut("Ctrl+-", partial(self._step_text_size, -1))
        self._add_shortcut("Ctrl+0", partial(studio.settings.set, "text_size", 100))
        studio.navigate.connect(self.go)
        studio.running.changed.connect(self._on_running)
        studio.explorer.busy_changed.connect(self.status.show_explorer)
        resize_within(self, QSize(*DEFAULT_SIZE))
        studio.settings.remember(self, "window")
        move_onto_screen(self)
        self._show_first_page()

    def _step_text_size(self, step: int) -> None:
        """Choose the next larger or smaller text size, if there is one."""
        settings = self.studio.settings
        now = settings.preferences.text_size
        others = [size for size in TEXT_SIZES if (size - now) * step > 0]
        if others:
            settings.set("text_size", min(others, key=lambda size: abs(size - now)))

    def begin(self) -> None:
        """Start background activity once the window is on the screen."""
        focused = self.focusWidget()
        if focused is None or not self.stack.isAncestorOf(focused):
            self.stack.setFocus()
        self.studio.dispatcher.begin()
        self.studio.running.refresh()
        self.studio.explorer.start()
        self.preloader.begin()
        background.run(self, lambda: read_machine(self.studio.home.root), self._on_machine_read)

    # ── navigation ───────────────────────────────────────────────────────────────────────────

    def go(self, key: str, argument: object = None) -> None:
        """Show a page, creating it if needed; once more: its list."""
        if key not in self.entries:
            return
        self.studio.history.leave()
        if key == self.current and argument is None:
            argument = LIST
        self._show_page(key, argument)

    def go_back(self) -> None:
        """Return to the place before this one, else to the list of the page."""
        if not self.studio.history.back() and self._locate() is not None:
            self._show_page(self.current, LIST)

    def _locate(self) -> Place | None:
        page = self.pages.get(self.current)
        if page is None:
            return None
        return Place(self.current, _argument(page), read_marks(page))

    def _return_to(self, place: Place) -> None:
        self._show_page(place.key, place.argument)
        page = self.pages[place.key]
        Restorer(page, place.marks, lambda: _argument(page) == place.argument)

    def _show_page(self, key: str, argument: object) -> None:
        try:
            page = self.pages[key] if key in self.pages else self._make(key)
        except Exception:
            if self.current:
                self.navigation.show_page(self.current)  # the click has already moved the selection
            raise
        self.stack.setCurrentWidget(page)
        self.navigation.show_page(key)
        self.current = key
        self.studio.settings.set_state("page", key)
        self.setWindowTitle(self.tr("{0} – BERT Studio").format(self._title(self.entries[key])))
        arrive = getattr(page, "arrive", None)
        if arrive is not None:
            arrive(argument)

    def open_palette(self) -> None:
        """Toggle the command palette."""
        if self._palette is not None:
            self._palette.close()
            return
        titles = [(e.key, self._title(e), e.icon, e.keys) for e in self.entries.values()]
        commands = window_commands(self.studio, titles, self.close, self.show_help)
        self._palette = Palette([*commands, *self._deeds()], self)
        self._palette.finished.connect(self._on_palette_closed)
        readers = [getattr(page, "named_commands", None) for page in self.pages.values()]
        for read in (partial(named_commands, self.studio), *filter(None, readers)):
            background.run(self._palette, read, self._palette.add)
        self._palette.open()

    def _deeds(self) -> list[Command]:
        """Commands of the pages, the current one first, without repetitions."""
        shown = self.entries[self.current]
        found = list(page_commands(self.pages[shown.key], self._title(shown), shown.icon))
        for page in self.pages.values():
            found += getattr(page, "commands", list)()
        return list({(c.title, c.kind, c.hint): c for c in reversed(found)}.values())[::-1]

    def show_help(self, key: str) -> None:
        open_help(key, self)

    def show_help_for_focus(self) -> None:
        self.show_help(help_for(self.focusWidget(), self.entries[self.current].help))

    def end(self) -> None:
        """Close without confirmation, as at system shutdown."""
        self._may_close = True
        self.close()

    def bring_to_front(self) -> None:
        """Raise the window after a second start of the program."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def _show_first_page(self) -> None:
        """Show the last page used, or Home if that one fails."""
        last = self.studio.settings.get_state("page", PAGES[0].key)
        try:
            self.go(last if last in self.entries else PAGES[0].key)
        except Exception as error:  # noqa: BLE001  # one bad page must not keep the window closed
            self.studio.notices.show(error)
            self.go(PAGES[0].key)

    def _make(self, key: str) -> QWidget:
        page = self.entries[key].make(self.studio)
        self.pages[key] = page
        self.stack.addWidget(page)
        if self._palette is not None:
            self._palette.add(getattr(page, "commands", list)())
        return page

    def _modules(self) -> Iterator[Task]:
        yield from chart_tasks()
        yield from module_tasks("app.tasks")
        for key in self.entries:
            yield from module_tasks(f"app.pages.{key}")

    def _page_tasks(self) -> Iterator[Task]:
        for key in sorted(self.entries, key=lambda key: not self.entries[key].is_large):
            yield partial(self._preload, key)
            yield partial(self._create_rest, key)
        yield collect_and_freeze

    def _preload(self, key: str) -> None:
        """Create a hidden page and apply its style, so that the first visit is immediate."""
        if key not in self.pages:
            self._make(key).ensurePolished()

    def _create_rest(self, key: str) -> None:
        """Create the parts of a page that it defers, if any."""
        create_rest = getattr(self.pages[key], "create_rest", None)
        if create_rest is not None:
            create_rest()

    def _title(self, entry: PageEntry) -> str:
        return in_language(entry.title)

    def _add_shortcut(
        self, keys: str | QKeySequence.StandardKey, act: Callable[[], object]
    ) -> None:
        QShortcut(QKeySequence(keys), self).activated.connect(act)

    # ── status ───────────────────────────────────────────────────────────────────────────────

    def _on_machine_read(self, machine: Machine) -> None:
        self.status.show_device(machine.device())

    def _on_running(self, runs: list[RunningRun]) -> None:
        working_first = sorted(runs, key=lambda run: not run.is_working)
        self.status.show_runs([run_activity(run) for run in working_first])

    def _on_palette_closed(self) -> None:
        self._palette = None

    # ── dropping ─────────────────────────────────────────────────────────────────────────────

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event):
            event.acceptProposedAction()
            self._overlay.appear()
            self.studio.standby.start()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._overlay.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._overlay.hide()
        paths = dropped_paths(event)
        if paths:
            event.acceptProposedAction()
            self.open_paths(paths)

    def open_paths(self, paths: list[Path]) -> None:
        """Pass files or folders to the current page, or to the one that handles their kind.

        Their kind is determined outside the GUI thread, since a drive may not answer.
        """
        background.run(self, lambda: _page_for(paths), lambda key: self._deliver(key, paths))

    def _deliver(self, key: str, paths: list[Path]) -> None:
        if key != "train" and self._accepts(self.current, paths):
            return  # a job goes to the wizard, though its file could hold rows
        if key in self.entries:
            self.go(key)
            if self._accepts(key, paths):
                return
        names = ", ".join(path.name for path in paths[:3])
        self.studio.notices.error(
            self.tr("BERT Studio does not recognise {0}.").format(names),
            self.tr("Drop a data file, a model folder, a run folder or a job file."),
            action=self.tr("Import a data set"),
            act=partial(self.go, "data", {"import": True}),
        )

    def _accepts(self, key: str, paths: list[Path]) -> bool:
        accept = getattr(self.pages.get(key), "accept_drop", None)
        return accept is not None and bool(accept(paths))

    # ── closing ──────────────────────────────────────────────────────────────────────────────

    def closeEvent(self, event: QCloseEvent) -> None:
        runs = self.studio.running.runs
        must_ask = runs and self.studio.settings.preferences.ask_on_close and not self._may_close
        if must_ask:
            event.ignore()
            ask_to_close(self, self.studio.settings, runs, self.end)
            return
        self.studio.settings.save_geometry(self, "window")
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._overlay.resize(self.size())


def _argument(page: QWidget) -> object:
    """The argument of `arrive` that leads back to what a page shows; None as it is."""
    place = getattr(page, "place", None)
    return None if place is None else place()


def ask_to_close(
    window: QWidget, settings: Settings, runs: Sequence[RunningRun], close: Callable[[], None]
) -> None:
    """Explain what happens to `runs`, and close if the user confirms."""
    box = QCheckBox(tr("&Don’t ask again"))
    box.setAccessibleName(tr("Don’t ask again"))
    box.toggled.connect(lambda on: settings.set("ask_on_close", not on))
    dialogs.ask(
        window,
        tr("Close BERT Studio?"),
        "\n".join(_consequences(runs)),
        [Choice("close", tr("&Close"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda answer: close() if answer == "close" else None,
        [box],
    )


def _consequences(runs: Sequence[RunningRun]) -> list[str]:
    working = sum(run.is_working for run in runs)
    queued = sum(run.state == "queued" for run in runs)
    sentences = []
    if working:
        continuing = tr(
            "%Ln run(s) will continue training in the background. Open BERT Studio again to "
            "follow the progress.",
            working,
        )
        sentences.append(continuing)
    if queued:
        sentences.append(tr("%Ln queued run(s) will start without the window.", queued))
    return sentences


class RunNotices(QObject):
    """Turns the dispatcher's signals into notices; notes of a run go to its page and the log."""

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        studio.dispatcher.noted.connect(self._on_noted)
        studio.dispatcher.ended.connect(self._on_ended)
        studio.dispatcher.trashed.connect(self._on_trashed)

    def _on_noted(self, run_id: str, text: str) -> None:
        if run_id:
            log.info("%s: %s", run_id, one_line(str(text)))
        else:
            self._studio.notices.info(text)

    def _on_ended(self, end: RunEnd) -> None:
        if end.by_user or is_by_search(end.problem):
            return
        notices, show = self._studio.notices, self.tr("Show the run")
        go = lambda: self._studio.navigate.emit("runs", {"run": end.run_id})  # noqa: E731
        if end.state == "stopped":
            message = self.tr("The run “{0}” stopped.").format(end.name)
            notices.info(f"{message} {translated(end.problem)}".strip(), show, go)
            return
        if end.state != "finished":
            template = self.tr("The run “{0}” failed. {1}")
            problem = template.format(end.name, translated(end.problem))
            notices.error(problem, end.advice, action=show, act=go)
            return
        message = self.tr("The run “{0}” finished.").format(end.name)
        if end.metric and end.score is not None:
            template = self.tr("The run “{0}” finished; best {1}: {2}.")
            score = metric_value(end.metric, end.score)
            message = template.format(end.name, metric_title(end.metric), score)
        notices.info(message, show, go)

    def _on_trashed(self, trashed: tuple[Trashed, ...]) -> None:
        message = self.tr("%Ln run(s) moved to the trash.", "", len(trashed))
        if len(trashed) == 1:
            message = self.tr("“{0}” was moved to the trash.").format(trashed[0].name)
        undo = lambda: self._studio.dispatcher.restore(trashed)  # noqa: E731
        self._studio.notices.info(message, self.tr("Undo"), undo)
