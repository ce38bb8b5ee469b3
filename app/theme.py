"""Colours, spacing and styles of controls, light and dark.

`colour(Role.…)` is the only source of colours in the window. Widgets that paint themselves call it
while painting, since Qt repaints them when the palette changes. Any two of the eight chart colours
differ by a CIEDE2000 of 10 or more for normal vision, protanopia, deuteranopia and tritanopia
(Machado et al. 2009; `tests/app/colour_vision.py` computes it); the closest have different dashes.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Literal

from PySide6.QtCore import QEvent, QFile, QObject, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette, QPen
from PySide6.QtWidgets import QApplication

SPACE = 4  # px; all distances are multiples of it

Choice = Literal["light", "dark", "system"]


class Role(StrEnum):
    """Purpose of a colour."""

    TEXT = "text"
    MUTED = "muted"
    ACCENT = "accent"
    ON_ACCENT = "on_accent"
    ACCENT_SOFT = "accent_soft"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    BORDER = "border"
    EDGE = "edge"  # outline of a control: contrast 3:1 with its surroundings
    WINDOW = "window"
    SURFACE = "surface"
    RAISED = "raised"
    HOVER = "hover"
    DISABLED = "disabled"
    ACCENT_HOVER = "accent_hover"
    CHART_1 = "chart_1"
    CHART_2 = "chart_2"
    CHART_3 = "chart_3"
    CHART_4 = "chart_4"
    CHART_5 = "chart_5"
    CHART_6 = "chart_6"
    CHART_7 = "chart_7"
    CHART_8 = "chart_8"


CHART = (
    Role.CHART_1,
    Role.CHART_2,
    Role.CHART_3,
    Role.CHART_4,
    Role.CHART_5,
    Role.CHART_6,
    Role.CHART_7,
    Role.CHART_8,
)

# Colours with a fixed meaning beyond the order of series. Each has one meaning, except the first,
# which is also that of single series.
SEGMENTS = (Role.CHART_1, Role.CHART_3)  # first and second text
SIDES = (Role.CHART_1, Role.CHART_4)  # first and second model
SIGNS = (Role.CHART_1, Role.CHART_2)  # positive and negative
OUTCOMES = (Role.CHART_1, Role.CHART_2)  # correct and wrong
THINGS = {  # kinds of nodes of a lineage
    "files": Role.CHART_8,
    "data": Role.CHART_3,
    "model": Role.CHART_6,
    "run": Role.CHART_1,
    "export": Role.CHART_4,
}
PICKED = Role.TEXT  # frame of the selected or hovered item

DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3))
DASHES_OF = (0, 1, 2, 3, 1, 0, 3, 0)  # by colour; those with equal dashes are far apart

LIGHT: dict[Role, str] = {
    Role.TEXT: "#1a2230",
    Role.MUTED: "#586273",
    Role.ACCENT: "#3a56d4",
    Role.ON_ACCENT: "#ffffff",
    Role.ACCENT_SOFT: "#e6eafb",
    Role.GOOD: "#147a48",
    Role.WARN: "#8f5a00",
    Role.BAD: "#c0303a",
    Role.BORDER: "#e0e4ea",
    Role.EDGE: "#8b95a5",
    Role.WINDOW: "#f5f6f9",
    Role.SURFACE: "#ffffff",
    Role.RAISED: "#ffffff",
    Role.HOVER: "#eceff4",
    Role.DISABLED: "#949dab",
    Role.ACCENT_HOVER: "#2f48b8",
    Role.CHART_1: "#3a56d4",
    Role.CHART_2: "#b23e00",
    Role.CHART_3: "#009264",
    Role.CHART_4: "#cf71a1",
    Role.CHART_5: "#0592ff",
    Role.CHART_6: "#a39009",
    Role.CHART_7: "#791b34",
    Role.CHART_8: "#636269",
}

DARK: dict[Role, str] = {
    Role.TEXT: "#e8ebf0",
    Role.MUTED: "#a0a9b8",
    Role.ACCENT: "#8ea2ff",
    Role.ON_ACCENT: "#0d1330",
    Role.ACCENT_SOFT: "#2a3252",
    Role.GOOD: "#5ccb95",
    Role.WARN: "#e8b95c",
    Role.BAD: "#ff8a8d",
    Role.BORDER: "#2f3641",
    Role.EDGE: "#6a7484",
    Role.WINDOW: "#13161b",
    Role.SURFACE: "#1a1e25",
    Role.RAISED: "#232831",
    Role.HOVER: "#262c36",
    Role.DISABLED: "#697282",
    Role.ACCENT_HOVER: "#a8b7ff",
    Role.CHART_1: "#8ea2ff",
    Role.CHART_2: "#c59023",
    Role.CHART_3: "#11b97f",
    Role.CHART_4: "#ff4fbd",
    Role.CHART_5: "#67ddff",
    Role.CHART_6: "#e9d660",
    Role.CHART_7: "#ffa9a7",
    Role.CHART_8: "#999798",
}


def is_dark() -> bool:
    """True in the dark theme."""
    return QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def colour(role: Role, opacity: float = 1.0) -> QColor:
    """Colour of `role` in the current theme; `opacity` from 0 to 1."""
    found = QColor(_opaque(role, is_dark()))
    found.setAlphaF(opacity)
    return found


Palette = Callable[[Role, float], QColor]  # role and opacity to a colour, of screen or paper


def print_color(role: Role, opacity: float = 1.0) -> QColor:
    """The colour of `role` on paper: that of the light theme in either theme."""
    found = QColor(LIGHT[role])
    found.setAlphaF(opacity)
    return found


def chart_pen(
    index: int, width: float = 2.0, dash: int = 0, palette: Palette = colour, dashed: bool = True
) -> QPen:
    """The line of a series by its index from 0: a colour, and dashes of its own.

    Two series of one colour differ in their dashes, and so do those whose colours come closest
    for colour-blind eyes. `dash` shifts the dashes; without `dashed` the line is solid.
    """
    round_, place = divmod(index, len(CHART))
    pen = QPen(palette(CHART[place], 1.0))
    pen.setWidthF(width)
    pen.setCosmetic(True)
    dashes = DASHES[(DASHES_OF[place] + round_ + dash) % len(DASHES)]
    if dashes and dashed:
        pen.setDashPattern(list(dashes))
    return pen


@cache
def _opaque(role: Role, dark: bool) -> QColor:
    """Cached: painters ask for colours by the hundred."""
    return QColor((DARK if dark else LIGHT)[role])


def system_is_dark() -> bool:
    """True if the desktop asks for dark; False if unknown."""
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def apply(app: QApplication, choice: Choice) -> None:
    """Apply the light or dark style to the application."""
    hints = app.styleHints()
    wanted = {
        "light": Qt.ColorScheme.Light,
        "dark": Qt.ColorScheme.Dark,
        "system": Qt.ColorScheme.Unknown,
    }
    hints.setColorScheme(wanted[choice])  # title bars, and what the desktop draws itself
    dark = choice == "dark" or (choice == "system" and system_is_dark())
    colours = DARK if dark else LIGHT
    # removing and setting a style sheet is five times as fast as replacing it
    app.setStyleSheet("")
    if app.style().objectName() != "fusion":
        app.setStyle("Fusion")
    app.setPalette(_palette(colours))
    app.setStyleSheet(_style_sheet(colours, "dark" if dark else "light"))


class FollowSystem(QObject):
    """Applies a theme, and again when the desktop switches between light and dark."""

    def __init__(self, app: QApplication, choice: Choice) -> None:
        super().__init__(app)
        self._app = app
        self.choose(choice)
        app.styleHints().colorSchemeChanged.connect(self._on_system_changed)

    def choose(self, choice: Choice) -> None:
        self._choice: Choice = choice
        apply(self._app, choice)

    def _on_system_changed(self) -> None:
        if self._choice == "system" and is_dark() != system_is_dark():
            apply(self._app, "system")


def set_font(app: QApplication, family: str) -> None:
    """Set the font family in the size of the desktop, at least 10 pt."""
    size = max(app.font().pointSizeF(), 10.0)
    font = QFont(family)
    font.setPointSizeF(size)
    app.setFont(font)


def repaints(event: QEvent) -> bool:
    """Return True if `event`, seen in `changeEvent`, announces another theme."""
    return event.type() == QEvent.Type.PaletteChange


def _palette(colours: dict[Role, str]) -> QPalette:
    roles = {
        QPalette.ColorRole.Window: Role.WINDOW,
        QPalette.ColorRole.WindowText: Role.TEXT,
        QPalette.ColorRole.Base: Role.SURFACE,
        QPalette.ColorRole.AlternateBase: Role.WINDOW,
        QPalette.ColorRole.Text: Role.TEXT,
        QPalette.ColorRole.Button: Role.SURFACE,
        QPalette.ColorRole.ButtonText: Role.TEXT,
        QPalette.ColorRole.BrightText: Role.BAD,
        QPalette.ColorRole.Highlight: Role.ACCENT,
        QPalette.ColorRole.HighlightedText: Role.ON_ACCENT,
        QPalette.ColorRole.Link: Role.ACCENT,
        QPalette.ColorRole.LinkVisited: Role.ACCENT,
        QPalette.ColorRole.Accent: Role.ACCENT,
        QPalette.ColorRole.ToolTipBase: Role.RAISED,
        QPalette.ColorRole.ToolTipText: Role.TEXT,
        QPalette.ColorRole.PlaceholderText: Role.MUTED,
        QPalette.ColorRole.Light: Role.RAISED,
        QPalette.ColorRole.Midlight: Role.HOVER,
        QPalette.ColorRole.Mid: Role.BORDER,
        QPalette.ColorRole.Dark: Role.EDGE,
        QPalette.ColorRole.Shadow: Role.BORDER,
    }
    palette = QPalette()
    for qt_role, role in roles.items():
        palette.setColor(qt_role, QColor(colours[role]))
    faint = QColor(colours[Role.DISABLED])
    for qt_role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(QPalette.ColorGroup.Disabled, qt_role, faint)
    return palette


def _style_sheet(colours: dict[Role, str], name: str) -> str:
    """`styles:studio.qss` with its @roles replaced; `app.resources.load` names the search path."""
    file = QFile("styles:studio.qss")
    if not file.open(QFile.OpenModeFlag.ReadOnly | QFile.OpenModeFlag.Text):
        return ""
    sheet = bytes(file.readAll().data()).decode("utf-8")
    for role in sorted(Role, key=len, reverse=True):
        sheet = sheet.replace(f"@{role.value};", f"{colours[role]};")
    return sheet.replace("@theme/", f"{name}/")
