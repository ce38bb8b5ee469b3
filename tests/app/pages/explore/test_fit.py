"""Every panel fits its dock, even in the smallest window and with the longest text.

Measured in the window: whether a panel scrolls, whether the values under the mouse stay visible,
and how much of the height is controls.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QTabBar

from app.library import describe_model
from app.pages.explore.panels import DEFAULT_PANEL, PANELS
from app.theme import set_text_size
from app.widgets.navigation import WIDTH
from engine.config.families.bert import BertSpec
from engine.messages.explore.attention import ArrayFile, Attended
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import WORDS, make_model

STATUS = 36  # px of the status bar
WINDOWS = ((1100, 700), (1920, 1080))
DESCRIPTIONS = [panel() for panel in PANELS]
CHECKS = "check_*"  # run by a test in a separate process
TEXT, PAIR = "the cat sat on the mat", "a dog sat on unhappy cats"
LONG = "the cat sat on a mat . " * 80
CASES = [  # a pair and a comparison: of 512 tokens and with a long unknown word, then short ones
    pytest.param([(LONG, PAIR, False), (f"the {'q' * 3_000} sat", None, True)], id="long"),
    pytest.param([(TEXT, PAIR, False), (TEXT, None, True)], id="short", marks=pytest.mark.long),
]
SPEC = BertSpec(
    vocab_size=len(WORDS),
    hidden_size=48,
    layers=12,
    heads=12,
    intermediate_size=16,
    max_positions=512,
)
OTHER_WORDS = tuple(word for word in WORDS if word not in ("cat", "mat"))


def wide_model(path, words):
    """Twelve layers of twelve heads, for 512 tokens."""
    spec = SPEC.model_copy(update={"vocab_size": len(words)})
    return make_model(path, Heads(mlm=True, nsp=True, outputs=3), words, ("a", "b", "c"), spec)


@pytest.fixture
def model(home):
    return wide_model(home.models / "wide", WORDS)


@pytest.fixture
def other(home):
    """A model that splits the text differently."""
    return describe_model("other", wide_model(home.models / "zz-other", OTHER_WORDS), "imported")


@pytest.fixture
def page(make_page, model, other):
    return make_page(model)


def open_panel(page, explorer, wait, panel, text, pair, other):
    """Show a text in a panel and answer its questions with uniform attention."""
    count = len(explorer.questions)
    page.arrive({"text": text, "pair": pair})
    page.state.compare(other)
    wait(lambda: page.state.is_settled and page.state.first.text == text[:10_000])
    page.state.toggle_mask(2)
    page.state.pick(2)
    show_panel(page, explorer, wait, panel, count)


def show_panel(page, explorer, wait, panel, count):
    """Bring a panel to the front and answer all questions from number `count` on."""
    page.bench.set_offered(panel, True)
    page.bench.show_panel(panel)
    wait(lambda: page.bench.is_visible(panel))
    while count < len(explorer.questions):
        question = explorer.questions[count]
        count += 1
        if question.side == 0 or panel != "attention":
            answer(page, explorer, question)
    wait(lambda: not page.bench.docks["attention"].panel._state.maps.query.is_waiting)
    for _ in range(6):
        QApplication.processEvents()


def answer(page, explorer, question):
    if question.kind == "attend":
        tokens = page.state.first.tokens
        path = explorer.scratch / f"attention-{question.number}.npy"
        shape = (12, 12, len(tokens), len(tokens))
        if not path.exists():  # background reads must not repeat
            np.lib.format.open_memmap(path, "w+", np.float32, shape)[0, 0] = 1 / len(tokens)
        file = ArrayFile(path=path, shape=shape, dtype="float32")
        explorer.answered.emit(Attended(to=question.number, tokens=tokens, weights=file))
    elif question.kind in ("fill_mask", "embed", "predict", "predict_next_sentence"):
        explorer.compute(question)


def content(page, panel):
    """The part of the panel that shows its figures, tables, lists and texts."""
    view = page.bench.docks[panel].panel
    return {"attention": lambda: view.halves, "words": lambda: view.shown}.get(
        panel, lambda: view
    )()


def rect_in(page, widget) -> QRect:
    return QRect(widget.mapTo(page, QPoint()), widget.size())


@pytest.mark.parametrize("cases", CASES)
def test_no_panel_scrolls_and_controls_are_small(page, explorer, wait, other, cases):
    """In the smallest window with every input, in larger ones with a comparison."""
    assert_every_tab_is_visible(page, wait)
    for text, pair, is_compared in cases:
        open_panel(page, explorer, wait, DEFAULT_PANEL, text, pair, other if is_compared else None)
        for description in DESCRIPTIONS:
            show_panel(page, explorer, wait, description.id, len(explorer.questions))
            for size in WINDOWS if is_compared else WINDOWS[:1]:
                assert_fits(page, description.id, size)
            close_if_at_side(page, description)


@pytest.mark.long
def test_panels_fit_at_double_scale():
    """In a separate process, since Qt reads the factor only at startup."""
    target = [f"{__file__}::{check_at_double_scale.__name__}", "-o", f"python_functions={CHECKS}"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *target, *options],
        env=os.environ | {"TEST_SCALE": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:]


def check_at_double_scale(page, explorer, other, wait) -> None:
    assert page.devicePixelRatioF() == 2
    open_panel(page, explorer, wait, "attention", TEXT, None, other)
    for description in DESCRIPTIONS:
        show_panel(page, explorer, wait, description.id, len(explorer.questions))
        assert_fits(page, description.id, WINDOWS[0])
        close_if_at_side(page, description)


def close_if_at_side(page, description):
    """Close a panel that is not among the tabs: it takes space from the others."""
    if description.area != "tab":
        page.bench.close_panel(description.id)


def assert_fits(page, key, size):
    """The visible panel fits a window of this size."""
    view, dock = page.bench.docks[key].panel, page.bench.docks[key]
    fit(page, size)
    bars = dock.area.verticalScrollBar(), dock.area.horizontalScrollBar()
    assert [bar.maximum() for bar in bars] == [0, 0], f"{key}, {size}: the panel scrolls"
    main = content(page, key)
    assert rect_in(page, dock.area).contains(rect_in(page, main)), f"{key}, {size}: cut off"
    inputs = (
        *(page.text, page.pair, page.strip_area, page.notice),
        *(page.comparison.status, page.comparison.strip_area),
    )
    rects = [rect_in(page, widget) for widget in inputs if widget.isVisible()]
    used = max(rect.bottom() for rect in rects) - min(rect.top() for rect in rects)
    chrome = page.height() - used - main.height()
    assert chrome < size[1] / 3, f"{key}, {size}: {chrome} px are chrome"
    if key == "attention":
        assert_readout_is_above_pictures(page, view, dock)


def fit(page, size):
    """Resize the page to its size in a window of this size."""
    target = (size[0] - WIDTH, size[1] - STATUS)
    page.resize(*target)
    for _ in range(6):
        QApplication.processEvents()
    assert (page.width(), page.height()) == target, "the page needs a larger window"


def assert_readout_is_above_pictures(page, view, dock):
    inside = rect_in(page, dock.area)
    grid = view.overview.grid
    for widget in (view.readout, view.overview.legend, view.overview.area, view.matrix):
        assert inside.contains(rect_in(page, widget)), widget.accessibleName()
    for picture in (view.overview.area, view.lines_area, view.matrix):
        assert rect_in(page, view.readout).bottom() < rect_in(page, picture).top()
    last = grid.cell(11, 11).toAlignedRect()
    assert grid.visibleRegion().boundingRect().contains(last), "the last head of the grid"


def assert_every_tab_is_visible(page, wait):
    """In the smallest window: all panels of a model with every head; none needs scrolling."""
    page.resize(WINDOWS[0][0] - WIDTH, WINDOWS[0][1] - STATUS)
    tabs = [panel for panel in DESCRIPTIONS if panel.area == "tab"]
    bar = max(page.bench.findChildren(QTabBar), key=QTabBar.count)
    wait(lambda: bar.count() == len(tabs))
    wait(lambda: 0 < bar.tabRect(len(tabs) - 1).right() <= bar.width() <= page.width())


def test_no_panel_scrolls_to_the_side_with_larger_text(page, explorer, wait, qapp):
    """At 150 %, in a window of 1280 × 800."""
    set_text_size(qapp, 150)
    try:
        open_panel(page, explorer, wait, DEFAULT_PANEL, TEXT, None, None)
        found = {}
        for description in DESCRIPTIONS:
            show_panel(page, explorer, wait, description.id, len(explorer.questions))
            fit(page, (1280, 800))
            bar = page.bench.docks[description.id].area.horizontalScrollBar()
            found |= {description.id: bar.maximum()} if bar.maximum() else {}
            close_if_at_side(page, description)
        assert not found
    finally:
        set_text_size(qapp, 100)
