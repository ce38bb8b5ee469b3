"""The page as a whole: opening it, and how its parts interact."""

import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.pages.explore.model_input import MAX_CHARACTERS
from app.pages.explore.view import EXAMPLE, ExplorePage
from engine.runs import launch
from tests.app.accessible import assert_accessible

TIMEOUT = 120_000  # ms; a worker loads torch first, maybe on a busy machine
PREDICT_LAST_WORD = """
import json, sys, types
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.explore.text import LabelProbability, Prediction
from engine.worker.__main__ import explore

def respond(line, emit):
    word = LabelProbability(label=json.loads(line.content)["text"].split()[-1], probability=0.5)
    predictions = (Prediction(first=2, last=2, ranked=(word,)),)
    actual = (LabelProbability(label="cat", probability=0.01),)
    fields = {"predictions": predictions, "actual": actual, "ranks": (9,), "requested": ((),)}
    emit(MaskFilled(to=line.number, tokens=(), milliseconds=1, **fields))

class Context:
    def __new__(cls, scratch, emit):
        emit.models = types.SimpleNamespace(prepare=lambda: False)
        return emit

sys.modules["engine.worker.context"] = types.SimpleNamespace(WorkerContext=Context)
sys.modules["engine.worker.answerers"] = types.SimpleNamespace(respond=respond)
explore(None)
"""


@pytest.fixture
def page(model, page) -> ExplorePage:
    """The page, on a home with a model."""
    return page


@pytest.fixture
def ready(page, wait) -> ExplorePage:
    """The page with “the cat sat” and its model, at rest."""
    page.arrive({"text": "the cat sat"})
    wait(lambda: page.state.is_settled and page.state.first.text == "the cat sat")
    return page


def test_without_a_model_the_page_leads_to_models(qtbot, workshop, wait):
    page = ExplorePage(workshop)
    qtbot.addWidget(page)
    page.show()
    wait(lambda: page.stack.currentIndex() == 1)
    calls = []
    workshop.navigate.connect(lambda key, argument: calls.append((key, argument)))
    button = next(b for b in page.findChildren(type(page.pair_toggle)) if "Import" in b.text())
    button.click()
    assert calls == [("models", {"import": True})]


def test_the_cursor_starts_at_the_end_and_any_model_and_text_are_shown(
    qtbot, page, workshop, home, model, classifier, tmp_path, explorer, wait
):
    page.arrive(None)
    wait(lambda: page.state.is_settled)
    assert page.state.first.text == EXAMPLE and page.state.first.model.name == "tiny"
    assert page.stack.currentIndex() == 0
    qtbot.waitActive(page)
    assert page.focusWidget() is page.text
    qtbot.keyClicks(page.focusWidget(), " too")
    assert page.text.toPlainText() == f"{EXAMPLE} too"
    page.text.set_text("the cat")  # as a validation row does
    qtbot.keyClicks(page.focusWidget(), " sat")
    assert page.text.toPlainText() == "the cat sat"
    page.picker.setFocus()
    page.arrive(None)
    assert page.focusWidget() is page.picker
    # a model outside the home
    elsewhere = Path(shutil.copytree(model, tmp_path / "elsewhere"))
    page.arrive(elsewhere)
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == elsewhere)
    (home.models / "broken").mkdir()
    page.arrive(home.models / "broken")
    wait(lambda: workshop.notices.shown)
    assert workshop.notices.shown[0].is_error
    assert "broken" in workshop.notices.shown[0].problem
    # a model and a text
    page.arrive(classifier)
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == classifier)
    assert page.bench.is_visible("predictions")
    assert explorer.questions[-1].kind == "predict"
    page.bench.show_panel("words")
    assert page.bench.docks["words"].panel.stack.currentIndex() == 1
    page.arrive({"model": classifier, "text": "the dog", "pair": "a cat"})
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == classifier)
    assert (page.state.first.text, page.state.first.pair) == ("the dog", "a cat")
    assert page.picker.chosen().path == classifier
    page.arrive(None)
    assert page.state.first.checkpoint == classifier
    assert_truncated_with_a_notice(page, wait)


def test_only_the_visible_panel_asks_and_the_history_restores(qtbot, ready, explorer, wait):
    ready.state.toggle_mask(2)
    count = len(explorer.questions)
    ready.text.moveCursor(ready.text.textCursor().MoveOperation.End)
    qtbot.keyClicks(ready.text, " on the mat")
    wait(lambda: explorer.questions[-1].text == "the cat sat on the mat")
    assert explorer.questions[-1].masked == (2,)
    assert len(explorer.questions) < count + len(" on the mat")
    assert not ready.bench.is_open("predictions"), "the model has no classes"
    assert {question.kind for question in explorer.questions} == {"fill_mask"}
    ready.bench.show_panel("attention")
    assert explorer.questions[-1].kind == "attend"
    assert explorer.questions[-1].masked == (2,)
    count = len(explorer.questions)
    ready.hide()
    ready.state.toggle_mask(2)
    assert len(explorer.questions) == count
    ready.show()
    # an input of the history
    ready.text.set_text("the cat sat")
    wait(lambda: ready.state.is_settled and ready.state.first.text == "the cat sat")
    if not ready.state.first.masked:
        ready.state.toggle_mask(2)
    history = ready.bench.docks["history"].panel.history
    history.add_input()
    stored = ready.state.first.input
    ready.pair_toggle.click()
    ready.pair.set_text("a dog")
    ready.text.set_text("on the mat")
    wait(lambda: ready.state.is_settled and ready.state.first.pair == "a dog")
    ready.bench.show_panel("history")
    history.open(next(entry for entry in history.entries if entry.input == stored))
    wait(lambda: ready.state.is_settled)
    assert ready.state.first.input == stored
    assert ready.state.first.masked == (2,)
    assert ready.text.toPlainText() == "the cat sat"
    assert ready.pair.isHidden()
    assert history.entries[0].input.text == "on the mat", "the previous input is stored"


def assert_truncated_with_a_notice(page, wait):
    """A hundred thousand characters that are pasted."""
    page.set_pair_shown(False)
    QGuiApplication.clipboard().setText("the cat sat " * 8_334)
    page.text.selectAll()
    page.text.paste()
    wait(lambda: page.state.is_settled and page.state.first.is_truncated)
    text = page.notice.text()
    assert page.notice.isVisible()
    assert "100008 characters" in text.replace(",", "")
    assert f"first {MAX_CHARACTERS} " in text.replace(",", "")
    assert "first 32 tokens" in text
    page.text.set_text("the cat")
    wait(lambda: page.state.is_settled and not page.state.first.is_truncated)
    assert not page.notice.isVisible()
    page.text.set_text("кот и кит")
    wait(lambda: page.state.is_settled and len(page.state.first.unknown) == 3)
    wait(lambda: page.notice.text().startswith("60 % of the tokens are unknown"))
    assert " Scripts: Cyrillic 100 %." in page.status.full_text()


def test_tokens_are_described_and_picked_and_a_second_text_is_toggled(qtbot, ready, wait):
    assert_accessible(ready)
    ready.state.hover(2)
    assert "“cat”" in ready.status.full_text()
    assert "Token 3" in ready.status.full_text()
    ready.state.toggle_mask(2)
    ready.state.hover(1)
    ready.state.hover(2)
    assert "masked" in ready.status.full_text()
    strip = ready.strip
    points = [box.center().toPoint() for box in strip.boxes]
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=points[1])
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, control, points[3])
    assert (ready.state.picked, ready.state.target) == (1, 3)
    qtbot.keyClick(strip, Qt.Key.Key_Left, control)
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert (ready.state.picked, ready.state.target) == (2, 2)
    assert not strip.grab().isNull()
    ready.pair_toggle.click()
    assert ready.pair.isVisible()
    ready.pair.set_text("a dog")
    wait(lambda: ready.state.is_settled and ready.state.first.pair == "a dog")
    ready.pair_toggle.click()
    wait(lambda: ready.state.is_settled and ready.state.first.pair is None)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("is_real", [False, pytest.param(True, marks=pytest.mark.long)])
def test_predictions_continue_after_a_worker_is_killed(qtbot, studio, model, is_real, monkeypatch):
    """Mask a word and see predictions; kill the worker, edit the text, and open a head."""
    if not is_real:
        program = [sys.executable, "-c", PREDICT_LAST_WORD]
        monkeypatch.setattr(launch, "worker", lambda *_: program)
    page = ExplorePage(studio)
    qtbot.addWidget(page)
    page.resize(1180, 720)
    page.show()
    qtbot.waitUntil(lambda: page.state.is_settled, timeout=TIMEOUT)
    page.text.clear()
    qtbot.keyClicks(page.text, "the cat sat on the mat")
    qtbot.waitUntil(lambda: len(page.state.first.tokens) == 8, timeout=TIMEOUT)
    point = page.strip.boxes[2].center().toPoint()
    qtbot.mouseDClick(page.strip, Qt.MouseButton.LeftButton, pos=point)
    cards = page.bench.docks["words"].panel.predictions.cards
    card = lambda: cards and cards[0]  # noqa: E731
    qtbot.waitUntil(lambda: bool(card()) and bool(card().bars.shown), timeout=TIMEOUT)
    before = card().bars.shown
    qtbot.waitUntil(lambda: not studio.explorer.is_busy, timeout=TIMEOUT)

    os.kill(studio.explorer.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: bool(studio.notices.shown), timeout=TIMEOUT)
    assert "is restarting" in studio.notices.shown[0].problem
    page.text.moveCursor(page.text.textCursor().MoveOperation.End)
    qtbot.keyClicks(page.text, " .")
    qtbot.waitUntil(lambda: card().bars.shown != before, timeout=TIMEOUT)
    assert "“cat”" in card().head.full_text()
    if not is_real:
        return
    page.bench.show_panel("attention")
    state = page.bench.docks["attention"].panel._state
    qtbot.waitUntil(
        lambda: state.maps.thumbnails is not None and len(state.links.weights) > 0, timeout=TIMEOUT
    )
    assert state.maps.size == (3, 2)
    old_map = state.map
    grid = page.bench.docks["attention"].panel.overview.grid
    point = grid.cell(1, 1).center().toPoint()
    qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, pos=point)
    assert (state.map != old_map).any()
    state.exclude_special(False)  # special tokens included, rows sum to 1
    assert state.map.sum(1) == pytest.approx(1, abs=2e-3)


# ── comparing, and the history ───────────────────────────────────────────────────────────────


def assert_second_model(ready, classifier, workshop, wait):
    assert not ready.compare.isEnabled()
    assert "no second model" in ready.compare.toolTip()
    workshop.models_changed.emit()
    wait(ready.compare.isEnabled)
    ready.compare.click()
    wait(lambda: ready.state.is_settled and ready.state.is_compared)
    assert ready.state.second.checkpoint == classifier
    assert ready.comparison.picker.chosen().path == classifier
    assert ready.comparison.picker.isVisible()
    assert "the same tokens" in ready.comparison.status.full_text()
    assert ready.comparison.strip_area.isHidden()
    # the model that the first one was trained from is preselected
    first = ready.state.first.model
    others = [replace(first, name=name, path=first.path.with_name(name)) for name in ("x", "base")]
    ready.state.first.model = replace(first, base=others[1].path)
    ready.comparison.set_models([*others, first])
    assert ready.comparison.other_model() == others[1]
    ready.state.first.model = first
    assert ready.comparison.other_model() == others[0]
    others[1] = replace(others[1], base=ready.state.first.checkpoint)
    ready.comparison.set_models(others)
    assert ready.comparison.other_model() == others[1], "what it was trained into"
    ready.comparison.set_models([])
    assert ready.comparison.picker.chosen().path == classifier, "shown although no longer listed"
    ready.comparison.end.click()
    assert not ready.state.is_compared
    assert ready.comparison.isHidden()


def assert_pinned_text(qtbot, ready, wait):
    history = ready.bench.docks["history"].panel.history
    history.add_input()
    ready.text.set_text("a dog")
    wait(lambda: ready.state.is_settled)
    history.compare(history.entries[-1])
    wait(lambda: ready.state.is_settled and ready.comparison.strip_area.isVisible())
    assert "“the cat sat”" in ready.comparison.status.full_text()
    second = ready.comparison.strip_area.strip
    assert len(second.boxes) == 5
    qtbot.mouseClick(second, Qt.MouseButton.LeftButton, pos=second.boxes[2].center().toPoint())
    assert ready.state.picked == -1  # another text has no such token


def test_compare_adds_a_second_model_or_a_text(
    qtbot, ready, classifier, workshop, wait, monkeypatch
):
    assert_second_model(ready, classifier, workshop, wait)
    assert_pinned_text(qtbot, ready, wait)
    # loading torch takes half of the time until the first statistics over many texts
    starts = []
    monkeypatch.setattr(workshop.standby, "start", lambda: starts.append(1))
    ready.bench.show_panel("heads")
    wait(lambda: ready.bench.is_visible("heads"))
    assert not starts, "no texts are chosen"
    ready.bench.docks["texts"].panel.typed.setPlainText("the cat sat\na dog")
    wait(lambda: ready.state.chosen is not None)
    assert starts
    ready.bench.show_panel("words")
    wait(lambda: ready.bench.is_visible("words"))
    starts.clear()
    ready.bench.docks["texts"].panel.typed.setPlainText("the cat sat\na dog\na mat")
    wait(lambda: ready.state.chosen is not None and ready.state.chosen.count == 3)
    assert not starts, "no panel over texts is visible"
    ready.bench.show_panel("heads")
    wait(lambda: starts)
