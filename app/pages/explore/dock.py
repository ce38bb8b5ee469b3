"""One panel of the workbench in its dock, with title, description, “?” and menu."""

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDockWidget, QMenu, QToolButton, QWidget

from app.pages.explore.panel import DockArea, MakePanel, Panel, PanelDescription
from app.theme import SPACE, Role, colour
from app.widgets import buttons, layouts
from app.widgets.help import HelpButton, set_help
from app.widgets.help_topics import concept
from app.widgets.page import LazyArea
from app.widgets.text.labels import OneLine, Text

AREAS: dict[DockArea, Qt.DockWidgetArea] = {
    "tab": Qt.DockWidgetArea.TopDockWidgetArea,
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "below": Qt.DockWidgetArea.BottomDockWidgetArea,
}
MIN_SIDE_WIDTH = 66 * SPACE  # minimum width in px of a panel at the side
TAB_FOCUS = Qt.FocusPolicy.TabFocus


class PanelDock(QDockWidget):
    """A panel in a dock, built when it is first shown or requested."""

    def __init__(
        self, description: PanelDescription, make: MakePanel, menu: QMenu, parent: QWidget
    ) -> None:
        super().__init__(description.title, parent)
        self.description = description
        self._make = make
        self._panel: Panel | None = None
        self._area = Qt.DockWidgetArea.NoDockWidgetArea
        self.is_uncovered = False  # from Qt's signal, which is unreliable for floating docks
        self.setObjectName(description.id)
        self.setAccessibleName(description.title)
        set_help(self, description.help)
        self.area = LazyArea()
        self.setWidget(self.area)  # before it has content, because it is styled here
        self.dockLocationChanged.connect(self._on_area)
        self.topLevelChanged.connect(lambda _: self._on_area(Qt.DockWidgetArea.NoDockWidgetArea))
        self.title = Text(description.title, "strong", wraps=False)
        self.line = OneLine(concept(description.help).line, "small")
        self.help = HelpButton(description.help)
        self.menu_button = QToolButton()
        buttons.style_icon_button(
            self.menu_button, "ellipsis", self.tr("Move or close {0}").format(description.title)
        )
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(menu)
        bar = _Bar()
        layouts.row(
            self.title,
            (self.line, 1),
            self.help,
            self.menu_button,
            parent=bar,
            spacing=2 * SPACE,
            margins=(2, SPACE, 0, 0),
        )
        self.bar = bar
        self.setTitleBarWidget(bar)

    @property
    def panel(self) -> Panel:
        """The panel; built when it is first accessed."""
        if self._panel is None:
            panel = self._panel = self._make()
            panel.setProperty("bare", True)
            self.area.set_content(panel)
            if panel.corner is not None:
                panel.corner.addWidget(self.help)
                panel.corner.addWidget(self.menu_button)
            self._on_area(self._area)
        return self._panel

    def set_active(self, active: bool) -> None:
        if active or self._panel is not None:
            self.panel.set_active(active)

    @property
    def is_front(self) -> bool:
        """True if the panel is open and not behind another tab."""
        return not self.isHidden() and (self.isFloating() or self.is_uncovered)

    def _on_area(self, area: Qt.DockWidgetArea) -> None:
        """Keep a panel at its side of the workbench at least as wide as its content."""
        self._area = area
        if self._panel is None:
            return
        sides = (AREAS["left"], AREAS["right"])
        is_at_side = self.description.area in ("left", "right") and area in sides
        self.setMinimumWidth(self.min_width() if is_at_side else 0)

    def min_width(self) -> int:
        """Width in px that needs no horizontal scrolling, at least MIN_SIDE_WIDTH."""
        return max(MIN_SIDE_WIDTH, self.panel.minimumSizeHint().width() + SPACE)

    def show_title(self, shown: bool) -> None:
        """Show or hide the panel's name.

        Hides the whole bar if the panel shows “?” and the menu itself; “?” then has the
        description.
        """
        self.title.setVisible(shown)
        if self._panel is not None and self._panel.corner is not None:
            self.bar.set_shown(shown)

    def focus_panel(self) -> None:
        self.activateWindow()
        widget = next(iter(_controls(self.panel)), self.help)
        widget.setFocus(Qt.FocusReason.TabFocusReason)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a frame around a floating panel; the desktop draws none."""
        super().paintEvent(event)
        if self.isFloating():
            painter = QPainter(self)
            painter.setPen(QPen(colour(Role.EDGE), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))


class _Bar(QWidget):
    """A title bar that can have no height: Qt uses its size hint even if it is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self._is_shown = True

    def set_shown(self, shown: bool) -> None:
        if shown != self._is_shown:
            self._is_shown = shown
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return hint if self._is_shown else QSize(hint.width(), 0)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return hint if self._is_shown else QSize(hint.width(), 0)


def _controls(panel: QObject) -> list[QWidget]:
    return [
        widget
        for widget in panel.findChildren(QWidget)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & TAB_FOCUS
    ]
