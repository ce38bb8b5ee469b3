"""The command palette finds any word of a name and runs the chosen command."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.palette import Command, Palette, score
from tests.app.accessible import assert_accessible


def command(title: str, kind: str = "Page", hint: str = "", act=lambda: None) -> Command:
    return Command(title, kind, "house", act, hint)


@pytest.fixture
def window(qtbot) -> QWidget:
    widget = QWidget()
    widget.resize(900, 600)
    qtbot.addWidget(widget)
    widget.show()
    return widget


def open_palette(window: QWidget, commands: list[Command]) -> Palette:
    palette = Palette(commands, window)
    palette.open()
    return palette


def test_title_prefixes_rank_first_and_every_typed_word_must_match():
    commands = [command("Recent runs"), command("Runs"), command("Data", hint="of runs")]
    scores = [score("run", c) for c in commands]
    assert scores[1] is not None and scores[0] is not None and scores[2] is not None
    assert scores[1] < scores[0] < scores[2]
    assert score("run xyz", commands[1]) is None
    assert score("SST fine", command("Fine-tune on sst2")) is not None
    assert score("ÉTÉ", command("L'été")) is not None


def test_typing_and_enter_run_the_chosen_command(qtbot, window):
    done: list[str] = []
    palette = open_palette(
        window,
        [
            command("Home", act=lambda: done.append("home")),
            command("Runs", act=lambda: done.append("runs")),
            command("Rune stones", act=lambda: done.append("stones")),
        ],
    )
    qtbot.keyClicks(palette.line, "run")
    assert [c.title for c in palette.shown()] == ["Runs", "Rune stones"]
    qtbot.keyClick(palette.line, Qt.Key.Key_Down)
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert done == ["stones"]


def test_later_results_are_appended(qtbot, window):
    palette = open_palette(window, [command("Home")])
    qtbot.keyClicks(palette.line, "first")
    assert not palette.shown() and palette.no_results.isVisible()
    palette.add([command("My first run", "Run")])
    assert [c.title for c in palette.shown()] == ["My first run"]
    palette.close()


def test_markup_in_a_name_is_shown_literally(window):
    palette = open_palette(window, [command("<b>x</b>\u202ereversed", "Run")])
    index = palette.view.model().index(0, 0)
    assert index.data() == "<b>x</b>\\u202ereversed"
    palette.grab()
    assert_accessible(palette)
    palette.close()


def test_ten_thousand_names_are_searched_between_two_keystrokes(qtbot, window):
    palette = open_palette(window, [command(f"Run number {n}", "Run") for n in range(10_000)])
    qtbot.keyClicks(palette.line, "9999")  # the watchdog fails a key that takes too long
    assert [c.title for c in palette.shown()] == ["Run number 9999"]
    palette.close()
