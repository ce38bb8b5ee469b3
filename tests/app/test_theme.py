"""Colours are readable and follow the theme."""

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QColor, QFontInfo, QPalette
from PySide6.QtWidgets import QLineEdit, QTabBar, QToolButton, QVBoxLayout, QWidget

from app import resources, theme
from app.theme import CHART, Role, chart_pen
from app.widgets import buttons
from app.widgets.dialogs import Dialog
from app.widgets.forms.controls import Completer
from app.widgets.page import Card, EmptyState
from app.widgets.text.labels import Text
from app.window import MainWindow
from tests.app.colour_vision import VISIONS, difference, simulate

CLOSE = 14  # CIEDE2000 below which two series also need different dashes
LIGHT, DARK = {role: role.light for role in Role}, {role: role.dark for role in Role}
TEXTS = (Role.TEXT, Role.MUTED, Role.ACCENT, Role.GOOD, Role.WARN, Role.BAD)


def contrast(first: str, second: str) -> float:
    return theme.contrast(QColor(first), QColor(second))


def test_the_contrast_is_that_of_wcag():
    """Its extremes, and the lightest grey that is readable on white."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#ffffff") == 1
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_is_readable_on_every_background(colours):
    for background in (Role.WINDOW, Role.SURFACE, Role.RAISED):
        for text in TEXTS:
            assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
    assert contrast(colours[Role.ON_ACCENT], colours[Role.ACCENT]) >= 4.5
    assert contrast(colours[Role.ON_ACCENT], colours[Role.ACCENT_HOVER]) >= 4.5
    assert contrast(colours[Role.TEXT], colours[Role.ACCENT_SOFT]) >= 4.5
    assert contrast(colours[Role.EDGE], colours[Role.SURFACE]) >= 2.9
    for line in CHART:
        assert contrast(colours[line], colours[Role.SURFACE]) >= 3, line


def test_chart_colours_differ_for_every_kind_of_colour_vision(qapp):
    for colours, vision in product((LIGHT, DARK), VISIONS):
        seen = [simulate(colours[role], vision) for role in CHART]
        distances = {(n, m): difference(seen[n], seen[m]) for n, m in combinations(range(8), 2)}
        assert min(distances.values()) >= 10, (vision, min(distances, key=distances.__getitem__))
        first_four = [distances[pair] for pair in distances if max(pair) < 4]
        assert min(first_four) >= 13, "the first colours differ most"
        for (n, m), distance in distances.items():
            same_dashes = chart_pen(n).dashPattern() == chart_pen(m).dashPattern()
            assert distance >= CLOSE or not same_dashes, (vision, n + 1, m + 1, distance)


def test_the_difference_of_colours_is_ciede2000():
    """Three pairs of the test data of Sharma et al. 2005."""
    for first, second, expected in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ):
        assert difference(np.array(first), np.array(second)) == pytest.approx(expected, abs=1e-4)


def test_series_of_one_colour_differ_in_their_dashes(qapp):
    styles = [(pen.color().name(), tuple(pen.dashPattern())) for pen in map(chart_pen, range(32))]
    assert len(set(styles)) == 32


def test_chart_colours_are_not_used_outside_charts():
    """Other code uses the named colours of the theme."""
    other_colours = [theme.SEGMENTS[1], theme.SIDES[1], theme.SIGNS[1]]
    assert len(set(other_colours)) == len(other_colours)
    first_colours = {theme.SEGMENTS[0], theme.SIDES[0], theme.SIGNS[0]}
    assert first_colours == {CHART[0]} and theme.PICKED not in CHART
    app = Path(theme.__file__).parent
    uses = [
        f"{file.name}: {name}"
        for file in app.rglob("*.py")
        if file.name != "theme.py"
        for name in re.findall(r"CHART_[2-8]", file.read_text(encoding="utf-8"))
    ]
    assert uses == []


def test_a_change_of_the_theme_repaints_existing_widgets(qtbot, set_theme):
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
    set_theme("dark")
    assert theme.is_dark()
    dark = window.grab().toImage()
    assert dark.pixelColor(2, 2) == QColor(DARK[Role.WINDOW])
    set_theme("light")
    assert window.grab().toImage() == light, "light again after dark"
    assert dark != light


def test_colours_fonts_and_palette_follow_the_theme(qapp, set_theme):
    set_theme("dark")
    assert theme.colour(Role.TEXT) == QColor(DARK[Role.TEXT])
    set_theme("light")
    assert theme.colour(Role.TEXT) == QColor(LIGHT[Role.TEXT])
    assert qapp.palette().color(QPalette.ColorRole.Text) == QColor(LIGHT[Role.TEXT])
    assert theme.colour(Role.ACCENT, 0.5).alphaF() == pytest.approx(0.5, abs=0.01)
    assert qapp.font().family() == resources.FAMILY
    assert QFontInfo(resources.mono_font()).family() == resources.MONO


def test_icons_take_the_colour_of_the_theme_at_any_size(qapp, set_theme):
    icon = resources.icon("box")
    for choice, colours in (("light", LIGHT), ("dark", DARK)):
        set_theme(choice)
        for side in (16, 32, 64):
            image = icon.pixmap(side, side).toImage()
            drawn = [
                image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())
            ]
            darkest = max(drawn, key=lambda pixel: pixel.alpha())
            expected = QColor(colours[Role.TEXT])
            assert darkest.alpha() > 128, (choice, side)
            for first, second in zip(darkest.toTuple()[:3], expected.toTuple()[:3], strict=True):
                assert abs(first - second) < 6, (choice, side)


def test_only_used_icons_are_shipped_and_with_licences(qapp):
    folder = resources.resources()
    files = (folder.parent / "app").rglob("*.py")
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    names = {file.stem for file in (folder / "icons").glob("*.svg")} - {"bert-studio"}
    assert {name for name in names if f'"{name}"' not in sources} == set()
    for file in resources.licence_files().values():
        assert file.stat().st_size > 500
    with pytest.raises(FileNotFoundError):
        resources.icon("no-such-icon")


def test_tabs_that_do_not_fit_are_scrolled_by_visible_arrows(qtbot, set_theme):
    bar = QTabBar()
    qtbot.addWidget(bar)
    bar.setUsesScrollButtons(True)
    for number in range(20):
        bar.addTab(f"Panel {number}")
    bar.resize(300, 40)
    bar.show()
    arrows = [button for button in bar.findChildren(QToolButton) if button.isVisible()]
    assert len(arrows) == 2
    for choice, button in product(("light", "dark"), arrows):
        set_theme(choice)
        picture = button.grab().toImage()
        background = picture.pixelColor(0, 0)
        visible_pixels = sum(
            abs(picture.pixelColor(x, y).lightness() - background.lightness()) > 60
            for x in range(picture.width())
            for y in range(picture.height())
        )
        assert button.width() >= 20 and visible_pixels >= 10


def test_windows_without_owner_follow_the_theme(qtbot, studio, set_theme):
    """Also the popup of completions, which has no owner either."""
    window, dialog, field = MainWindow(studio), Dialog(None, "Title"), QLineEdit()
    popup = Completer(["one"], field).popup()
    try:
        for choice, colours in (("dark", DARK), ("light", LIGHT)):
            set_theme(choice)
            for widget in (window, dialog, popup):
                assert colours[Role.ACCENT] in widget.styleSheet(), (choice, widget)
    finally:
        for widget in (window, dialog, field):
            widget.close()
            widget.deleteLater()
