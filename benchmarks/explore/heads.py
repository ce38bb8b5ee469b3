"""Explore rows about heads of one text, disabled heads and attributions."""

import statistics
import time
from collections.abc import Callable
from typing import Any

POINTS = 32


def measure(bench: Any, inputs: int, sentence: Callable[..., None]) -> None:
    """List, ranking and switches of heads; `sentence(bench, tokens, number)` shows a text."""
    measure_list(bench, inputs, sentence)
    measure_ranking(bench, inputs, sentence)
    measure_disabling(bench, inputs, sentence)


def attributions(bench: Any, inputs: int, sentence: Callable[..., None]) -> None:
    """Attributions of the top prediction at the mask."""
    page = bench.page
    state, controls = (
        page.bench.docks["attribution"].panel._states[0],
        page.bench.docks["attribution"].panel.controls,
    )
    page.bench.show_panel("attribution")
    for method, tokens, aim in (
        ("occlusion", 27, "≤ 1.5 s"),
        ("integrated_gradients", 27, "≤ 5 s"),
        ("integrated_gradients", 128, "≤ 25 s"),
    ):
        controls.method.setCurrentIndex(controls.method.findData(method))
        controls.method.activated.emit(controls.method.currentIndex())
        times, points = [], 0
        for number in range(max(1, inputs // (10 if tokens > 100 else 1))):
            began = time.perf_counter()
            sentence(bench, tokens, number)
            bench.until(
                lambda: (
                    state.is_complete
                    and state.answered_question.text == bench.page.state.first.text
                )
            )
            times.append(time.perf_counter() - began)
            points = max(points, state.answer.points or 0)
        what = f"{method.replace('_', ' ')}, {tokens - 2} words"
        if method == "integrated_gradients":
            what += f" ({points} points, bar at {POINTS})"
        bench.row(what, f"{statistics.median(times):.2f} s", aim)


def measure_list(bench: Any, inputs: int, sentence: Callable[..., None]) -> None:
    """The list of heads, after the grid is complete."""
    from app.pages.explore.panels.attention.view import HEADS

    page = bench.page
    view = page.bench.docks["attention"].panel
    state, table = view._state, view.heads_table.table
    page.bench.show_panel("attention")
    view.show_form(HEADS)
    bench.watch(table.viewport())
    times = []
    for number in range(inputs):
        figures = view.heads.figures
        bench.page.text.set_text("")
        bench.until(lambda: page.state.is_settled)
        sentence(bench, 128, number)
        bench.until(lambda: state.maps.weights is not None and not state.maps.query.is_waiting)
        began = time.perf_counter()
        bench.until(
            lambda figures=figures: (
                (view.heads.figures is not figures and table.model().rowCount() == 144)
                or view.heads.size[0] * view.heads.size[1] == table.model().rowCount() > 0
            )
        )
        painted = bench.painted[table.viewport()]
        table.viewport().update()
        bench.until_painted(table.viewport(), painted)
        times.append((time.perf_counter() - began) * 1000)
    what = "heads of this text, 128 tokens: grid to list"
    bench.row(what, f"{statistics.median(times):.0f} ms", "≤ 100 ms")


def measure_ranking(bench: Any, inputs: int, sentence: Callable[..., None]) -> None:
    """Ranking of all heads for another pair of tokens, until painted."""
    page = bench.page
    view = page.bench.docks["attention"].panel
    table = view.heads_table.table
    sentence(bench, 512)
    maps = view._state.maps
    bench.until(lambda: maps.weights is not None and not maps.query.is_waiting)
    bench.until(lambda: table.model().rowCount() == 144)  # the figures of all heads
    page.state.pick(3)
    times = []
    for number in range(inputs):
        painted = bench.painted[table.viewport()]
        began = time.perf_counter()
        page.state.pick_target(4 + number)
        bench.until_painted(table.viewport(), painted)
        times.append((time.perf_counter() - began) * 1000)
    what = "ranking of a pair, all heads, 512 tokens"
    bench.row(what, f"{statistics.median(times):.1f} ms", "≤ 16 ms")


def measure_disabling(bench: Any, inputs: int, sentence: Callable[..., None]) -> None:
    """Disable a head, until the new predictions are painted."""
    page = bench.page
    state, words = (
        page.bench.docks["words"].panel._state,
        page.bench.docks["words"].panel.predictions,
    )
    query = state.mask_queries[0]
    page.bench.show_panel("words")
    sentence(bench, 16)
    bench.until(lambda: state.positions() and not query.is_waiting)
    times = []
    layers, heads = page.state.first.model.info.layers, page.state.first.model.info.heads
    for number in range(inputs):
        head = number % layers, number // layers % heads
        answer = query.answer
        began = time.perf_counter()
        page.state.switch_head(*head)
        bench.until(lambda answer=answer: query.answer is not answer and not query.is_waiting)
        card = words.cards[0]
        bench.watch(card)
        card.update()
        bench.until_painted(card, 0)
        times.append((time.perf_counter() - began) * 1000)
        page.state.switch_head(*head)
        bench.until(lambda: page.state.is_settled and not query.is_waiting)
    what = "head off, 16 tokens: to new predictions"
    bench.row(what, f"{statistics.median(times):.0f} ms", "≤ 300 ms")
