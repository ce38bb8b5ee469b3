"""The layout of the panels: by mouse, menu, keys, and in the next session."""

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QTabBar, QVBoxLayout

from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.workbench import Workbench, panel_keys
from app.widgets.help_topics import concept
from tests.app.accessible import assert_accessible

SIZE = (900, 500)


class Stub(Panel):
    """A panel with one button that records whether it is active."""

    def __init__(self, name):
        super().__init__()
        self.activations = []
        self.button = QPushButton(name)
        QVBoxLayout(self).addWidget(self.button)

    def set_active(self, active):
        super().set_active(active)
        self.activations.append(active)


def unused(_: PanelContext) -> MakePanel:
    """Unused: the bench gets a factory for each panel."""
    raise AssertionError


@pytest.fixture
def make(qtbot, settings):
    """`make()` opens a workbench with three panels, the last one closed, next to the others."""

    def make_bench() -> Workbench:
        bench = Workbench(settings)
        for key, title in (("one", "One & only"), ("two", "Two")):
            bench.add(
                PanelDescription(key, title, "text", "attention", unused),
                partial(Stub, title),
            )
        aside = PanelDescription("aside", "Aside", "text", "attention", unused, "right", False)
        bench.add(aside, partial(Stub, "Aside"))
        bench.restore_layout("one")
        qtbot.addWidget(bench)
        bench.resize(*SIZE)
        bench.show()
        bench.set_shown(True)
        qtbot.waitUntil(lambda: bench.is_visible("one"), timeout=5000)
        return bench

    return make_bench


@pytest.fixture
def bench(make) -> Workbench:
    return make()


def panel(bench, key) -> Stub:
    return bench.docks[key].panel


def trigger(menu: QMenu, text: str) -> None:
    menu.aboutToShow.emit()
    matches = [a for a in menu.actions() if text in a.text().replace("&", "")]
    assert len(matches) == 1, [a.text() for a in menu.actions()]
    action: QAction = matches[0]
    assert action.isEnabled()
    action.trigger()


def reopen(bench, settings) -> Workbench:
    """The same panels in the next session."""
    reopened = Workbench(settings)
    for dock in bench.docks.values():
        reopened.add(dock.description, partial(Stub, dock.description.title))
    reopened.restore_layout("one")
    return reopened


def created_panels(bench) -> list[str]:
    """Titles of the panels created so far."""
    return sorted(shown.button.text() for shown in bench.findChildren(Stub))


def test_a_panel_is_created_when_first_shown_or_restored_in_front(bench, make, settings):
    assert created_panels(bench) == ["One & only"]
    bench.show_panel("aside")
    assert created_panels(bench) == ["Aside", "One & only"]
    assert list(bench.docks) == ["one", "two", "aside"]
    assert created_panels(bench) == ["Aside", "One & only"], "listing the docks creates none"
    bench.show_panel("two")
    bench.set_shown(False)
    reopened = reopen(bench, settings)
    assert created_panels(reopened) == ["Aside", "Two"]
    reopened.deleteLater()


def test_a_panel_is_docked_at_the_side_by_its_menu(qtbot, bench):
    one, two = bench.docks["one"], bench.docks["two"]
    for position, is_docked in (
        ("left", lambda: two.geometry().right() < one.geometry().left()),
        ("right", lambda: two.geometry().left() > one.geometry().right()),
        ("below", lambda: two.geometry().top() > one.geometry().bottom()),
    ):
        trigger(two.menu_button.menu(), position)
        qtbot.waitUntil(lambda: bench.is_visible("one") and bench.is_visible("two"), timeout=5000)
        qtbot.waitUntil(is_docked, timeout=5000)
        qtbot.waitUntil(lambda: not two.title.isHidden(), timeout=5000)
        trigger(two.menu_button.menu(), "tabs")
        qtbot.waitUntil(
            lambda: bench.is_visible("two") and not bench.is_visible("one"), timeout=5000
        )


def test_a_panel_floats_and_comes_back(qtbot, bench):
    trigger(bench.docks["two"].menu_button.menu(), "Float")
    dock = bench.docks["two"]
    assert dock.isWindow() and dock.isVisible()
    assert dock.width() >= min(960, bench.screen().availableSize().width())
    qtbot.waitUntil(lambda: bench.is_visible("one") and bench.is_visible("two"), timeout=5000)
    bench.set_shown(False)
    assert not dock.isVisible()
    assert panel(bench, "two").activations[-1] is False
    bench.set_shown(True)
    assert dock.isVisible()
    trigger(bench.menu(), "Reset")
    assert not dock.isWindow()
    qtbot.waitUntil(lambda: bench.is_visible("one") and not bench.is_visible("two"), timeout=5000)


def test_a_side_panel_keeps_its_width(qtbot, bench):
    bench.resize(1100, 600)
    bench.show_panel("aside")
    qtbot.waitUntil(lambda: bench.is_visible("aside") and not bench._tidying.isActive())
    qtbot.waitUntil(lambda: bench.docks["aside"].width() < 300)
    width = bench.docks["aside"].width()
    for number, key in enumerate(("two", "one", "two", "one")):
        bench.show_panel(key)
        qtbot.waitUntil(lambda key=key: bench.is_visible(key) and not bench._tidying.isActive())
        bench.resize(1110 + 20 * number, 600)
        qtbot.wait(20)
        assert bench.docks["aside"].width() == width
        assert bench.docks[key].width() > bench.width() - width - 20
    for key in ("one", "two"):
        bench.close_panel(key)
    qtbot.waitUntil(lambda: bench.docks["aside"].width() > bench.width() - 20)


def test_panels_are_toggled_by_the_menu_and_hidden_without_content(qtbot, bench):
    bench.show_panel("two")
    bench.set_offered("two", False)
    assert not bench.is_open("two")
    qtbot.waitUntil(lambda: bench.is_visible("one"), timeout=5000)
    bench.show_panel("two")
    assert bench.docks["two"].isHidden()
    bench.set_offered("two", True)
    assert not bench.docks["two"].isHidden()
    bench.show_panel("one")
    trigger(bench.docks["one"].menu_button.menu(), "Close")
    qtbot.waitUntil(lambda: bench.is_visible("two"), timeout=5000)
    assert not bench.is_open("one")
    trigger(bench.menu(), "One && only".replace("&", ""))
    assert bench.is_visible("one")
    trigger(bench.menu(), "Aside")
    qtbot.waitUntil(lambda: bench.is_visible("aside"), timeout=5000)


def test_the_layout_is_restored(bench, settings):
    bench.move_panel("two", "left")
    bench.show_panel("aside")
    bench.close_panel("one")
    bench.set_shown(False)
    reopened = reopen(bench, settings)
    assert not reopened.is_open("one")
    assert reopened.is_open("aside")
    assert reopened.dockWidgetArea(reopened.docks["two"]) == Qt.DockWidgetArea.LeftDockWidgetArea
    reopened.deleteLater()


PANELS = ["aside", "one", "two"]


def test_damaged_and_outdated_layouts_are_ignored(settings, bench, make):
    for stored in (
        *("x", [1], {"panels": PANELS}, {"state": 3, "closed": [], "panels": PANELS}),
        {"state": "?", "closed": ["nobody"], "panels": PANELS},
    ):
        settings.set_state("explore.panels", stored)
        assert make().is_visible("one")
    bench.close_panel("two")
    bench.save_layout()
    state = settings.get_state("explore.panels")
    assert state["panels"] == PANELS
    settings.set_state("explore.panels", {**state, "panels": PANELS[1:]})  # an older layout
    assert make().is_open("two")


def test_keys_focus_panels(qtbot, bench):
    bench.activateWindow()
    qtbot.waitUntil(bench.isActiveWindow, timeout=5000)
    qtbot.keyClick(bench, Qt.Key.Key_2, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: bench.is_visible("two"), timeout=5000)
    qtbot.waitUntil(panel(bench, "two").button.hasFocus, timeout=5000)
    bench.move_panel("one", "left")
    qtbot.waitUntil(lambda: bench.is_visible("one"), timeout=5000)
    qtbot.keyClick(bench, Qt.Key.Key_F6)
    qtbot.waitUntil(panel(bench, "one").button.hasFocus, timeout=5000)
    qtbot.keyClick(bench, Qt.Key.Key_F6)
    qtbot.waitUntil(panel(bench, "two").button.hasFocus, timeout=5000)
    keys = [panel_keys(number) for number in (1, 9, 10, 11, 12, 21)]
    assert keys == ["Alt+1", "Alt+9", "Alt+0", "Alt+Shift+1", "Alt+Shift+2", ""]


def test_a_tab_raises_its_panel_and_a_key_focuses_it(bench, qtbot):
    dock = bench.docks["one"]
    assert dock.line.full_text() == concept("attention").line
    assert dock.help.toolTip()
    assert_accessible(bench)
    assert bench.is_visible("one") and not bench.is_visible("two") and not bench.is_open("aside")
    assert panel(bench, "one").activations[-1] is True
    assert True not in panel(bench, "two").activations
    bar = bench.findChild(QTabBar)
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(1).center())
    assert bench.is_visible("two")
    assert not bench.is_visible("one")
    assert panel(bench, "one").activations[-1] is False
    bench.toggle_panel("aside")
    assert bench.focusWidget() is panel(bench, "aside").button
    bench.show_panel("two", focus=True)
    assert bench.focusWidget() is panel(bench, "two").button


def test_as_many_panels_as_fit_are_side_by_side(qtbot, bench):
    for dock in bench.docks.values():
        dock.panel.button.setMinimumWidth(500)
    trigger(bench.menu(), "side by side")
    one, two = bench.docks["one"], bench.docks["two"]
    qtbot.waitUntil(lambda: two in bench.tabifiedDockWidgets(one), timeout=5000)
    for dock in bench.docks.values():
        dock.panel.button.setMinimumWidth(100)
    trigger(bench.menu(), "side by side")
    qtbot.waitUntil(lambda: not bench.tabifiedDockWidgets(one), timeout=5000)
    qtbot.waitUntil(lambda: bench.is_visible("one") and bench.is_visible("two"), timeout=5000)
    qtbot.waitUntil(lambda: abs(one.width() - two.width()) <= 12, timeout=5000)
