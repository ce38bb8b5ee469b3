"""Icons, fonts and styles, in a checkout and in the packaged program."""

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QDir, QLocale, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontDatabase, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from app import theme
from app.theme import Role
from engine.files.shipped import resources

FAMILY = "Inter"
MONO = "JetBrains Mono"


def load(app: QApplication) -> None:
    """Register fonts and styles, and set the font of the application.

    Numbers are formatted as in American English if the system has no locale.
    """
    if QLocale().language() == QLocale.Language.C:
        QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    QDir.setSearchPaths("styles", [str(resources() / "styles")])
    for file in sorted((resources() / "fonts").glob("*.[ot]tf")):
        QFontDatabase.addApplicationFont(str(file))
    theme.set_font(app, FAMILY)


def mono_font(points: float = 0) -> QFont:
    """Font for code, tokens and columns of numbers; 0 means the window's text size.

    Without ligatures: “!=” and “->” are shown as written.
    """
    return QFont(_mono_font(points or QApplication.font().pointSizeF() * 0.95))


def without_ligatures(font: QFont) -> QFont:
    """The font with one glyph for each character, whatever its neighbours are."""
    for feature in ("calt", "liga"):
        font.setFeature(QFont.Tag(feature), 0)
    return font


@cache
def _mono_font(points: float) -> QFont:
    """Make the font, cached by size since every painted cell requests it."""
    font = without_ligatures(QFont(MONO))
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPointSizeF(points)
    return font


@cache
def _svg(name: str) -> str:
    """SVG text of an icon.

    Raises FileNotFoundError for a name that is not in resources/icons.
    """
    return (resources() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


@cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    svg = _svg(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(svg.encode("utf-8")))


def help_picture(name: str, ratio: float) -> QPixmap:
    """A picture of the help, drawn for this pixel ratio in the colours of the theme.

    Its file has those of the light theme. Raises FileNotFoundError if there is none.
    """
    svg = (resources() / "help" / name).read_text(encoding="utf-8")
    svg = svg.replace('"Inter, sans-serif"', f'"{FAMILY}"')  # Qt reads no list
    for role in Role:
        svg = svg.replace(f'"{role.light}"', f'"{theme.colour(role).name()}"')
    renderer = QSvgRenderer(QByteArray(svg.encode("utf-8")))
    size = renderer.defaultSize() * theme.text_scale()
    picture = QPixmap(size * ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    renderer.render(painter)
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture


class DrawnIcon(QIconEngine):
    """Icon that `paint` draws at any size."""

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        picture = QPixmap(size)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return picture


class _LucideEngine(DrawnIcon):
    """Draws a Lucide icon at any size in a colour of the current theme.

    It is left-aligned in a rectangle wider than tall, which leaves space before a text.
    """

    def __init__(self, name: str, role: Role, active: Role) -> None:
        super().__init__()
        self._name, self._role, self._active = name, role, active

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        role = self._active if state == QIcon.State.On else self._role
        if mode == QIcon.Mode.Disabled:
            role = Role.DISABLED
        side = min(rect.width(), rect.height())
        top = rect.top() + (rect.height() - side) / 2
        renderer = _renderer(self._name, theme.colour(role).name())
        renderer.render(painter, QRectF(rect.left(), top, side, side))

    def clone(self) -> QIconEngine:
        return _LucideEngine(self._name, self._role, self._active)


def icon(name: str, role: Role = Role.TEXT, active: Role | None = None) -> QIcon:
    """Lucide icon in the colour of `role`, or of `active` while switched on."""
    _svg(name)
    return QIcon(_LucideEngine(name, role, active or role))


def app_icon() -> QIcon:
    """Icon of the program, for windows and task bars."""
    return QIcon(str(resources() / "icons" / "bert-studio.svg"))


def licence_files() -> dict[str, Path]:
    """Included components and their licence files."""
    return {
        "Inter": resources() / "fonts" / "Inter-LICENSE.txt",
        "JetBrains Mono": resources() / "fonts" / "JetBrainsMono-LICENSE.txt",
        "Lucide": resources() / "icons" / "LICENSE.txt",
    }
