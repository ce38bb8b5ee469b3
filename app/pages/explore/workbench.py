"""Arrangement of the panels: tabs, side by side or floating.

Panels are moved by Qt's docks. The central widget has no height; each panel scrolls in its dock if
necessary. Menus offer everything that the mouse can do: one in each title bar, one for the page.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from PySide6.QtCore import QByteArray, QChildEvent, QEvent, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QTabBar, QTabWidget, QWidget

from app.pages.explore.dock import AREAS, PanelDock
from app.pages.explore.panel import MakePanel, PanelArea, PanelDescription
from app.settings import Settings
from app.theme import SPACE, px
from app.timers import debounced
from app.widgets.text.labels import plain_menu_text

_NORTH = QTabWidget.TabPosition.North
_HORIZONTAL = Qt.Orientation.Horizontal
LAYOUT_VERSION = 2
FLOATING_SIZE = QSize(980, 640)  # initial, if it fits the screen
LAYOUT_KEY = "explore.panels"
PANEL_KEYS = "1234567890"
MAX_WIDTH = 5_000  # px, more than any window has


def panel_keys(number: int) -> str:
    """Shortcut of a panel, counted from 1: Alt+1 to Alt+9, Alt+0, then Alt+Shift+1 and so on."""
    row, column = divmod(number - 1, len(PANEL_KEYS))
    return f"Alt+{'Shift+' * row}{PANEL_KEYS[column]}" if row < 2 else ""


class Workbench(QMainWindow):
    """Holds the panels, and tracks which of them are visible."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(flags=Qt.WindowType.Widget)
        self._settings = settings
        self.docks: dict[str, PanelDock] = {}
        self._front_panel = ""  # initially
        self._panel_to_narrow = ""  # a side panel that was just opened
        self._panel_to_raise = ""
        self._closed: set[str] = set()
        self._missing: set[str] = set()  # not offered for the model
        self._is_shown = False
        self._is_drawn = False  # a panel has been painted
        self.setDockNestingEnabled(True)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, _NORTH)
        for corner, area in (
            (Qt.Corner.TopLeftCorner, AREAS["left"]),
            (Qt.Corner.BottomLeftCorner, AREAS["left"]),
            (Qt.Corner.TopRightCorner, AREAS["right"]),
            (Qt.Corner.BottomRightCorner, AREAS["right"]),
        ):
            self.setCorner(corner, area)
        self._middle = _Middle()
        self.setCentralWidget(self._middle)
        self.setMinimumSize(px(60 * SPACE), px(40 * SPACE))
        self._tidying = debounced(self, 0, self._tidy)
        QShortcut(QKeySequence("F6"), self, self._focus_next)

    # ── panels ───────────────────────────────────────────────────────────────────────────────

    def add(self, description: PanelDescription, make: MakePanel) -> None:
        """Add a panel; call `restore_layout` after the last one."""
        key = description.id
        dock = PanelDock(description, make, self._panel_menu(key), self)
        self.docks[key] = dock
        if not description.is_open:
            self._closed.add(key)
        dock.visibilityChanged.connect(partial(self._on_visible, dock))
        dock.topLevelChanged.connect(self._tidying.start)
        dock.dockLocationChanged.connect(self._tidying.start)
        if keys := panel_keys(len(self.docks)):
            QShortcut(QKeySequence(keys), self, partial(self.show_panel, key, True))

    def restore_layout(self, front: str) -> None:
        """Restore the stored arrangement, or the default one with `front` in front.

        A stored layout with other panels is ignored.
        """
        self._front_panel = front
        self._arrange()
        keys = [front]
        layout = self._settings.get_state(LAYOUT_KEY)
        if isinstance(layout, dict) and layout.get("panels") == sorted(self.docks):
            state = layout.get("state")
            closed, visible = layout.get("closed"), layout.get("seen")
            if isinstance(state, str) and isinstance(closed, list) and isinstance(visible, list):
                self.restoreState(QByteArray.fromBase64(state.encode("ascii")), LAYOUT_VERSION)
                self._closed = {key for key in closed if key in self.docks}
                keys = [key for key in self.docks if key in visible]
        for key in keys:
            _ = self.docks[key].panel  # built now, not when the page is shown
        self._show_open()

    def is_open(self, key: str) -> bool:
        return key not in self._closed and key not in self._missing

    def is_front(self, key: str) -> bool:
        """True if a panel is open and not behind another, also before the first paint."""
        if not self._is_drawn:
            return key == self._front_panel
        return self.docks[key].is_front

    def is_initial(self) -> bool:
        """True if the initial tab is still in front, also before the first paint."""
        tabs = (key for key, dock in self.docks.items() if dock.description.area == "tab")
        return not any(self.is_front(key) for key in tabs if key != self._front_panel)

    def is_visible(self, key: str) -> bool:
        """True if a panel is visible on the screen."""
        return self._is_shown and self.docks[key].is_front

    def show_panel(self, key: str, focus: bool = False) -> None:
        """Open a panel and raise it."""
        if key in self._missing:
            return
        dock = self.docks[key]
        was_closed = key in self._closed
        self._closed.discard(key)
        dock.show()
        if was_closed and dock.description.area in ("left", "right"):
            self._panel_to_narrow = key  # when it is laid out
        dock.raise_()
        self._panel_to_raise = key  # again when laid out: a new tab has no front yet
        if dock.isFloating():
            dock.activateWindow()
        if focus:
            dock.focus_panel()
        self._tidying.start()

    def toggle_panel(self, key: str) -> None:
        """Close an open panel, or open and focus it."""
        if self.is_open(key):
            self.close_panel(key)
        else:
            self.show_panel(key, focus=True)

    def close_panel(self, key: str) -> None:
        self._closed.add(key)
        self.docks[key].hide()
        self._tidying.start()

    def set_offered(self, key: str, offered: bool) -> None:
        """Set if a panel has something to show for the model."""
        if offered == (key not in self._missing):
            return
        (self._missing.discard if offered else self._missing.add)(key)
        self.docks[key].setVisible(self.is_open(key))
        self._tidying.start()

    def move_panel(self, key: str, area: PanelArea) -> None:
        """Move a panel to the tabs, a side, below, or its own window."""
        dock = self.docks[key]
        if area == "float":
            dock.setFloating(True)
            dock.resize(FLOATING_SIZE.boundedTo(self.screen().availableSize()))
            dock.activateWindow()
        else:
            dock.setFloating(False)
            self.addDockWidget(AREAS[area], dock)
            if area == "tab":
                self._add_to_tabs(dock)
            elif area == "below":
                self.resizeDocks([dock], [self.height() * 2 // 5], Qt.Orientation.Vertical)
            else:
                self.resizeDocks([dock], [self.width() // 3], _HORIZONTAL)
        self.show_panel(key)

    def place_side_by_side(self) -> None:
        """Place all open panels next to each other with equal width; the rest become tabs of the
        last."""
        shown = [
            d for key, d in self.docks.items() if self.is_open(key) and d.description.area == "tab"
        ]
        for dock in shown:
            dock.setFloating(False)
            self.addDockWidget(AREAS["tab"], dock)
        columns: list[PanelDock] = []
        available = self.width()
        for dock in shown:
            available -= dock.min_width()
            if not columns or available >= 0:
                columns.append(dock)
        for left, right in pairwise(columns):
            self.splitDockWidget(left, right, Qt.Orientation.Horizontal)
        for dock in shown:
            if dock not in columns:
                self.tabifyDockWidget(columns[-1], dock)
        width = self.width() // max(1, len(columns))
        self.resizeDocks(columns, [width] * len(columns), _HORIZONTAL)
        self._show_open()

    def reset(self) -> None:
        self._closed = {key for key, dock in self.docks.items() if not dock.description.is_open}
        self._arrange()

    def menu(self) -> QMenu:
        menu = QMenu(self)
        menu.aboutToShow.connect(partial(self._fill, menu))
        return menu

    # ── stored layout ────────────────────────────────────────────────────────────────────────

    def set_shown(self, shown: bool) -> None:
        """Set if the page is visible; floating panels are hidden with it."""
        if shown == self._is_shown:
            return
        if not shown:
            self.save_layout()
        self._is_shown = shown
        for key, dock in self.docks.items():
            if dock.isFloating():
                dock.setVisible(shown and self.is_open(key))
            dock.set_active(self.is_visible(key))

    def save_layout(self) -> None:
        state = bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode("ascii")
        layout = {
            "state": state,
            "closed": sorted(self._closed),
            "panels": sorted(self.docks),
            "seen": [key for key, dock in self.docks.items() if dock.is_front],
        }
        self._settings.set_state(LAYOUT_KEY, layout)

    # ── arrangement ──────────────────────────────────────────────────────────────────────────

    def _arrange(self) -> None:
        for dock in self.docks.values():
            if self.dockWidgetArea(dock) != Qt.DockWidgetArea.NoDockWidgetArea:
                dock.setFloating(False)
                self.removeDockWidget(dock)
        for dock in self.docks.values():
            self.addDockWidget(AREAS[dock.description.area], dock)
            self._add_to_tabs(dock)
        self._show_open()
        self.docks[self._front_panel].raise_()

    def _add_to_tabs(self, dock: PanelDock) -> None:
        """Show a panel as a tab of those in its area, if there are any."""
        others = (
            other
            for other in self.docks.values()
            if other is not dock
            and not other.isFloating()
            and self.dockWidgetArea(other) == self.dockWidgetArea(dock)
        )
        first = next(others, None)
        if first is not None:
            self.tabifyDockWidget(first, dock)

    def _show_open(self) -> None:
        for key, dock in self.docks.items():
            dock.setVisible(self.is_open(key))
        self._tidying.start()

    def _on_visible(self, dock: PanelDock, visible: bool) -> None:
        dock.is_uncovered = visible
        self._is_drawn = self._is_drawn or visible
        dock.set_active(self.is_visible(dock.description.id))
        self._tidying.start()

    def _tidy(self) -> None:
        """Apply pending raises and widths; hide titles of panels that have a tab."""
        if self._panel_to_raise:
            self.docks[self._panel_to_raise].raise_()
            self._panel_to_raise = ""
        if self._panel_to_narrow:
            side_dock = self.docks[self._panel_to_narrow]
            others = [d for d in self.docks.values() if d is not side_dock and d.is_front]
            width = side_dock.min_width()
            available = (self.width() - width) // max(1, len(others))
            self.resizeDocks([*others, side_dock], [*[available] * len(others), width], _HORIZONTAL)
            self._panel_to_narrow = ""
        docked = [d for d in self.docks.values() if not (d.isHidden() or d.isFloating())]
        sides = (AREAS["left"], AREAS["right"])
        self._middle.setHidden(all(self.dockWidgetArea(dock) in sides for dock in docked))
        for key, dock in self.docks.items():
            dock.set_active(self.is_visible(key))
            has_no_tab = not any(not d.isHidden() for d in self.tabifiedDockWidgets(dock))
            dock.show_title(has_no_tab or dock.isFloating())
        if self._is_shown:
            self.save_layout()

    def _focus_next(self) -> None:
        keys = [key for key in self.docks if self.is_visible(key)]
        if not keys:
            return
        focused = self.window().focusWidget()
        current = next(
            (n for n, key in enumerate(keys) if focused and self.docks[key].isAncestorOf(focused)),
            -1,
        )
        self.docks[keys[(current + 1) % len(keys)]].focus_panel()

    # ── menus ────────────────────────────────────────────────────────────────────────────────

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        for number, (key, dock) in enumerate(self.docks.items(), start=1):
            title = plain_menu_text(dock.description.title)
            action = _add(menu, title, partial(self.toggle_panel, key))
            action.setCheckable(True)
            action.setChecked(self.is_open(key))
            action.setEnabled(key not in self._missing)
            action.setShortcut(QKeySequence(panel_keys(number)))
            # shown only; the workbench handles them
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        menu.addSeparator()
        _add(menu, self.tr("All &side by side"), self.place_side_by_side)
        _add(menu, self.tr("&Reset to default layout"), self.reset)

    def _panel_menu(self, key: str) -> QMenu:
        menu = QMenu(self)
        moves: tuple[tuple[PanelArea, str], ...] = (
            ("tab", self.tr("Move to &tabs")),
            ("left", self.tr("Move &left")),
            ("right", self.tr("Move &right")),
            ("below", self.tr("Move &below")),
            ("float", self.tr("&Float in its own window")),
        )
        for area, text in moves:
            _add(menu, text, partial(self.move_panel, key, area))
        menu.addSeparator()
        _add(menu, self.tr("&Close"), partial(self.close_panel, key))
        return menu

    def childEvent(self, event: QChildEvent) -> None:
        """Name the tab bars, which Qt creates on demand."""
        super().childEvent(event)
        child = event.child()
        if event.type() == QEvent.Type.ChildPolished and isinstance(child, QTabBar):
            child.setAccessibleName(self.tr("Panels"))
            child.setElideMode(Qt.TextElideMode.ElideNone)
            child.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class _Middle(QWidget):
    """Preserves the width between top and bottom docks.

    Without it Qt redistributes the width when tabs change, and side docks grow.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(px(MAX_WIDTH), 0)


def _add(menu: QMenu, text: str, act: Callable[[], object]) -> QAction:
    action = menu.addAction(text)
    action.triggered.connect(lambda _=False: act())
    return action
