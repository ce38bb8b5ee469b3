"""Colours can be read, and change together."""

from collections.abc import Callable

import pytest
from PySide6.QtGui import QColor, QFontInfo, QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import resources, theme
from app.theme import CHART, DARK, LIGHT, Role
from app.widgets import buttons
from app.widgets.page import Card, EmptyState
from app.widgets.text import Text

TEXTS = (Role.TEXT, Role.MUTED, Role.ACCENT, Role.GOOD, Role.WARN, Role.BAD)


def contrast(one: str, other: str) -> float:
    """WCAG 2: from 1 to 21."""

    def light(name: str) -> float:
        parts = [QColor(name).redF(), QColor(name).greenF(), QColor(name).blueF()]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    upper, lower = sorted((light(one), light(other)), reverse=True)
    return (upper + 0.05) / (lower + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_every_ground(colours: dict[Role, str]) -> None:
    for ground in (Role.WINDOW, Role.SURFACE, Role.RAISED):
        for text in TEXTS:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours[Role.ON_ACCENT], colours[Role.ACCENT]) >= 4.5
    assert contrast(colours[Role.ON_ACCENT], colours[Role.ACCENT_HOVER]) >= 4.5
    assert contrast(colours[Role.TEXT], colours[Role.ACCENT_SOFT]) >= 4.5
    assert contrast(colours[Role.EDGE], colours[Role.SURFACE]) >= 2.9
    for line in CHART:
        assert contrast(colours[line], colours[Role.SURFACE]) >= 3, line


def test_both_themes_have_every_role() -> None:
    assert set(LIGHT) == set(DARK) == set(Role)


def test_a_change_of_the_theme_repaints_what_is_there(
    qtbot, looks: Callable[[theme.Choice], None]
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    card = Card("A card", pressable=True)
    card.body.addWidget(Text("Muted words", "muted"))
    column.addWidget(card)
    column.addWidget(buttons.primary("Go", icon="play"))
    column.addWidget(EmptyState("activity", "Nothing yet", "Begin with something."))
    window.resize(400, 400)
    window.show()
    light = window.grab().toImage()
    looks("dark")
    assert theme.is_dark()
    dark = window.grab().toImage()
    assert dark.pixelColor(2, 2) == QColor(DARK[Role.WINDOW])
    looks("light")
    assert window.grab().toImage() == light, "light, dark and light again is light"
    assert dark != light


def test_colours_follow_the_theme(qapp, looks: Callable[[theme.Choice], None]) -> None:
    looks("dark")
    assert theme.colour(Role.TEXT) == QColor(DARK[Role.TEXT])
    looks("light")
    assert theme.colour(Role.TEXT) == QColor(LIGHT[Role.TEXT])
    assert qapp.palette().color(QPalette.ColorRole.Text) == QColor(LIGHT[Role.TEXT])
    assert theme.colour(Role.ACCENT, 0.5).alphaF() == pytest.approx(0.5, abs=0.01)


def test_icons_take_the_colour_of_the_theme_at_any_size(
    qapp, looks: Callable[[theme.Choice], None]
) -> None:
    icon = resources.icon("box")
    for choice, colours in (("light", LIGHT), ("dark", DARK)):
        looks(choice)
        for side in (16, 32, 64):
            image = icon.pixmap(side, side).toImage()
            drawn = [
                image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())
            ]
            darkest = max(drawn, key=lambda pixel: pixel.alpha())
            wanted = QColor(colours[Role.TEXT])
            assert darkest.alpha() > 128, (choice, side)
            for one, other in zip(darkest.toTuple()[:3], wanted.toTuple()[:3], strict=True):
                assert abs(one - other) < 6, (choice, side)


def test_the_fonts_of_the_program_are_used(qapp) -> None:
    assert qapp.font().family() == resources.FAMILY
    assert QFontInfo(resources.mono_font()).family() == resources.MONO


def test_an_icon_that_is_not_there_is_a_mistake(qapp) -> None:
    with pytest.raises(FileNotFoundError):
        resources.icon("no-such-icon")


def test_the_licence_of_what_is_bundled_lies_beside_it() -> None:
    for file in resources.licence_files().values():
        assert file.stat().st_size > 500


def test_only_icons_that_are_used_are_shipped() -> None:
    folder = resources.resources()
    files = (folder.parent / "app").rglob("*.py")
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    names = {file.stem for file in (folder / "icons").glob("*.svg")} - {"bert-studio"}
    assert {name for name in names if f'"{name}"' not in sources} == set()
