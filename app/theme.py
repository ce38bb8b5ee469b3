"""Colours, spacing and styles of controls, light and dark.

`colour(Role.…)` is the only source of colours in the window. Widgets that paint themselves call it
while painting, since Qt repaints them when the palette changes. Any two of the eight chart colours
differ by a CIEDE2000 of 10 or more for normal vision, protanopia, deuteranopia and tritanopia
(Machado et al. 2009; `tests/app/colour_vision.py` computes it); the closest have different dashes.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial
from typing import Literal, Self

from PySide6.QtCore import QEvent, QFile, QObject, QSize, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QTabBar,
    QWidget,
)

SPACE = 4  # px; all distances are multiples of it
PIXELS = re.compile(r"\b(\d{2,}|[3-9])px")  # lengths of a style sheet; lines of 1 and 2 px stay
WIDE = Qt.Orientation.Horizontal

Choice = Literal["light", "dark", "system"]


class Role(StrEnum):
    """Purpose of a colour, with its name in style sheets and its values in both themes."""

    light: str
    dark: str

    TEXT = "text", "#1a2230", "#e8ebf0"
    MUTED = "muted", "#586273", "#a0a9b8"
    ACCENT = "accent", "#3a56d4", "#8ea2ff"
    ON_ACCENT = "on_accent", "#ffffff", "#0d1330"
    ACCENT_SOFT = "accent_soft", "#e6eafb", "#2a3252"
    GOOD = "good", "#147a48", "#5ccb95"
    WARN = "warn", "#8f5a00", "#e8b95c"
    BAD = "bad", "#c0303a", "#ff8a8d"
    BORDER = "border", "#e0e4ea", "#2f3641"
    EDGE = "edge", "#8b95a5", "#6a7484"  # outline of a control: contrast 3:1 with its surroundings
    WINDOW = "window", "#f5f6f9", "#13161b"
    SURFACE = "surface", "#ffffff", "#1a1e25"
    RAISED = "raised", "#ffffff", "#232831"
    HOVER = "hover", "#eceff4", "#262c36"
    DISABLED = "disabled", "#949dab", "#697282"
    ACCENT_HOVER = "accent_hover", "#2f48b8", "#a8b7ff"
    CHART_1 = "chart_1", "#3a56d4", "#8ea2ff"
    CHART_2 = "chart_2", "#b23e00", "#c59023"
    CHART_3 = "chart_3", "#009264", "#11b97f"
    CHART_4 = "chart_4", "#cf71a1", "#ff4fbd"
    CHART_5 = "chart_5", "#0592ff", "#67ddff"
    CHART_6 = "chart_6", "#a39009", "#e9d660"
    CHART_7 = "chart_7", "#791b34", "#ffa9a7"
    CHART_8 = "chart_8", "#636269", "#999798"

    def __new__(cls, name: str, light: str, dark: str) -> Self:
        role = str.__new__(cls, name)
        role._value_, role.light, role.dark = name, light, dark
        return role


CHART = tuple(role for role in Role if role.name.startswith("CHART_"))

# Colours with a fixed meaning beyond the order of series. Each has one meaning, except the first,
# which single series use too.
SEGMENTS = (Role.CHART_1, Role.CHART_3)  # first and second text
SIDES = (Role.CHART_1, Role.CHART_4)  # first and second model
SIGNS = (Role.CHART_1, Role.CHART_2)  # positive and negative
OUTCOMES = (Role.CHART_1, Role.CHART_2)  # correct and wrong
NODES = {  # kinds of nodes of a lineage
    "files": Role.CHART_8,
    "data": Role.CHART_3,
    "model": Role.CHART_6,
    "run": Role.CHART_1,
    "export": Role.CHART_4,
}
PICKED = Role.TEXT  # frame of the selected or hovered item

DASHES: tuple[tuple[float, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3))
SERIES_DASHES = (0, 1, 2, 3, 1, 0, 3, 0)  # by colour; those with equal dashes are far apart


def is_dark() -> bool:
    return QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def colour(role: Role, opacity: float = 1.0) -> QColor:
    """Colour of `role` in the current theme; `opacity` from 0 to 1."""
    result = QColor(_opaque(role, is_dark()))
    result.setAlphaF(opacity)
    return result


Palette = Callable[[Role, float], QColor]  # role and opacity to a colour, for screen or export


def print_color(role: Role, opacity: float = 1.0) -> QColor:
    """The colour of `role` in exports, always from the light theme."""
    result = QColor(role.light)
    result.setAlphaF(opacity)
    return result


def shade(fraction: float, palette: Palette, is_signed: bool = False, pale: bool = False) -> QColor:
    """Colour of a fraction of a scale; `pale` for cells with text on them.

    If `is_signed`, the middle of the scale is 0.
    """
    fraction = min(max(fraction, 0.0), 1.0)
    if pale:
        fraction = 0.25 + 0.5 * fraction if is_signed else 0.5 * fraction
    surface, accent = palette(Role.SURFACE, 1.0), palette(Role.ACCENT, 1.0)
    if not is_signed:
        return blend(surface, accent, fraction)
    if fraction < 0.5:
        return blend(palette(Role.WARN, 1.0), surface, 2 * fraction)
    return blend(surface, accent, 2 * fraction - 1)


def contrast(first: QColor, second: QColor) -> float:
    """The contrast ratio of two opaque colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted(map(_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: QColor) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in color.getRgbF()[:3]  # type: ignore[index]
    )
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def readable_on(background: QColor, text: QColor) -> QColor:
    """`text` if its contrast is 4.5 or more, else black or white, one of which always has it."""
    if contrast(text, background) >= 4.5:
        return text
    options = QColor("black"), QColor("white")
    return max(options, key=lambda option: contrast(option, background))


def blend(low: QColor, high: QColor, fraction: float) -> QColor:
    """The colour between two opaque ones, from `low` at 0 to `high` at 1."""
    a, b = low.getRgbF(), high.getRgbF()
    red, green, blue = (
        x + (y - x) * fraction
        for x, y in zip(a[:3], b[:3], strict=True)  # type: ignore[index]
    )
    return QColor.fromRgbF(red, green, blue)


def chart_pen(
    index: int, width: float = 2.0, dash: int = 0, palette: Palette = colour, dashed: bool = True
) -> QPen:
    """The line of a series by its index from 0: a colour and a dash pattern.

    Series of the same colour differ in their dashes, as do series whose colours are hardest to tell
    apart for colour-blind users. `dash` shifts the dashes; without `dashed` the line is solid.
    """
    cycle, position = divmod(index, len(CHART))
    pen = QPen(palette(CHART[position], 1.0))
    pen.setWidthF(width)
    pen.setCosmetic(True)
    dashes = DASHES[(SERIES_DASHES[position] + cycle + dash) % len(DASHES)]
    if dashes and dashed:
        pen.setDashPattern(list(dashes))
    return pen


@cache
def _opaque(role: Role, dark: bool) -> QColor:
    """Make the colour, cached since painting requests hundreds of colours."""
    return QColor(role.dark if dark else role.light)


def system_is_dark() -> bool:
    """True if the desktop asks for dark; False if unknown."""
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def apply(app: QApplication, choice: Choice) -> None:
    hints = app.styleHints()
    schemes = {
        "light": Qt.ColorScheme.Light,
        "dark": Qt.ColorScheme.Dark,
        "system": Qt.ColorScheme.Unknown,
    }
    hints.setColorScheme(schemes[choice])  # title bars, and what the desktop draws itself
    dark = choice == "dark" or (choice == "system" and system_is_dark())
    styled = _styled_windows(app)
    # removing and setting a style sheet is five times as fast as replacing it
    for window in styled:
        window.setStyleSheet("")
    if app.style().objectName() != "fusion":
        app.setStyle("Fusion")
    app.setPalette(_palette(dark))
    for window in styled:
        set_style(window)


def _styled_windows(app: QApplication) -> list[QWidget]:
    sheet = _style_sheet(is_dark())
    return [window for window in app.topLevelWidgets() if window.styleSheet() == sheet]


def set_style(window: QWidget) -> None:
    """Give a window without owner the style of the theme; windows that it owns inherit it.

    As the application's style sheet it would be applied to a widget each time it, or a widget
    around it, gets a parent, and pages are built from the inside, so that opening one would take
    longer.
    """
    window.setStyleSheet(_style_sheet(is_dark()))


class ThemeController(QObject):
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


# ── text size ────────────────────────────────────────────────────────────────────────────────

TEXT_SIZES = (80, 90, 100, 110, 125, 150, 175, 200)  # per cent of the size of the desktop
STANDARD = "standard text size"  # property of the application, in points
UNLIMITED = 16_777_215  # px; Qt's maximum size of a widget without one


def set_font(app: QApplication, family: str) -> None:
    """Set the font family in the size of the desktop, at least 10 pt."""
    size = max(app.font().pointSizeF(), 10.0)
    app.setProperty(STANDARD, size)
    font = QFont(family)
    font.setPointSizeF(size)
    app.setFont(font)


def text_scale() -> float:
    """The text size relative to that of the desktop."""
    app = QApplication.instance()
    standard = app.property(STANDARD) if app is not None else None
    return float(QApplication.font().pointSizeF() / standard) if standard else 1.0


def px(length: float) -> int:
    """A length in px at the standard text size as the length at the present one."""
    return round(length * text_scale())


def set_text_size(app: QApplication, percent: int) -> None:
    """Change the size of all texts, and of what has a size in px that follows them."""
    old, new = text_scale(), percent / 100
    if abs(new - old) < 1e-6:
        return
    styled = _styled_windows(app)
    for window in styled:
        window.setStyleSheet("")  # its sizes are those of the old text
    sizes = {widget: widget.font().pointSizeF() for widget in _outside_in(app)}
    font = QFont(app.font())
    font.setPointSizeF(app.property(STANDARD) * percent / 100)
    app.setFont(font)
    for window in app.topLevelWidgets():
        window.setFont(font)
    for widget in _outside_in(app):
        size = sizes.get(widget, 0.0)
        if abs(widget.font().pointSizeF() - size) < 1e-6:
            own = QFont()  # inherited, which Qt does not do within docks
            if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont):
                own = widget.font()
                own.setPointSizeF(size * new / old)
            widget.setFont(own)
        _resize(widget, partial(_follow, widget, old, new))
    for window in styled:
        set_style(window)


def _outside_in(app: QApplication) -> dict[QWidget, None]:
    """All widgets, each after those around it."""
    windows = app.topLevelWidgets()
    inner = (widget for window in windows for widget in window.findChildren(QWidget))
    return dict.fromkeys((*windows, *inner))


def _follow(widget: QWidget, old: float, new: float, name: str, length: int) -> int:
    """A length of a widget at a new scale; without rounding errors after several changes."""
    standard: float | None = widget.property(name)
    if standard is None or round(standard * old) != length:
        standard = length / old  # it was set since the last change
    widget.setProperty(name, standard)
    return round(standard * new)


def _resize(widget: QWidget, scaled: Callable[[str, int], int]) -> None:
    """Scale the limits of a widget, its icons, and the sections of a header."""

    def size(name: str, sides: QSize) -> QSize:
        parts = zip(("width", "height"), sides.toTuple(), strict=True)
        return QSize(
            *(side if side >= UNLIMITED else scaled(f"{name} {part}", side) for part, side in parts)
        )

    if isinstance(widget, QAbstractButton | QAbstractItemView | QTabBar):
        widget.setIconSize(size("icon", widget.iconSize()))
    if isinstance(widget, QHeaderView):
        widget.setDefaultSectionSize(scaled("section", widget.defaultSectionSize()))
        for section in range(widget.count() if widget.orientation() == WIDE else 0):
            if widget.sectionResizeMode(section) == QHeaderView.ResizeMode.Interactive:
                length = scaled(f"section {section}", widget.sectionSize(section))
                widget.resizeSection(section, length)
    if widget.isWindow():
        return
    smallest = size("least", widget.minimumSize())
    largest = size("most", widget.maximumSize())
    widget.setMinimumSize(0, 0)  # never above the maximum meanwhile
    widget.setMaximumSize(largest)
    widget.setMinimumSize(smallest)


def is_theme_change(event: QEvent) -> bool:
    """Return True if `event`, seen in `changeEvent`, announces another theme."""
    return event.type() == QEvent.Type.PaletteChange


def _palette(dark: bool) -> QPalette:
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
        palette.setColor(qt_role, _opaque(role, dark))
    for qt_role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(QPalette.ColorGroup.Disabled, qt_role, _opaque(Role.DISABLED, dark))
    return palette


def _style_sheet(dark: bool) -> str:
    """`styles:studio.qss` with its @roles replaced, and lengths in the present text size;
    `app.resources.load` names the search path."""
    file = QFile("styles:studio.qss")
    if not file.open(QFile.OpenModeFlag.ReadOnly | QFile.OpenModeFlag.Text):
        return ""
    sheet = bytes(file.readAll().data()).decode("utf-8")
    for role in sorted(Role, key=len, reverse=True):
        sheet = sheet.replace(f"@{role};", f"{role.dark if dark else role.light};")
    sheet = sheet.replace("@theme/", "dark/" if dark else "light/")
    return PIXELS.sub(lambda length: f"{px(int(length[1]))}px", sheet)
