"""Response times of Explore with BERT base (random weights), in a real window on a screen or Xvfb.

`window` prints medians: by default of typing, attention, heads and attributions, with `--texts`
of what works on many texts, with `--training` of moving through the steps of a training. Keys and
mouse moves are events of the window; times end when the result has been painted. `snapshots`
measures the questions of Words and Attention on one snapshot after another in this process,
not cached and cached.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.explore import heads, snapshots, texts

SIZE = (1400, 900)
TIMEOUT = 120  # s for one answer
FRAME = 1000 / 60  # ms
QUERY_FACTOR = 10.0  # factor of the query weights
WORD = "people"
SENTENCE = "the president spoke to the [MASK] of the united states in the city"
CHANGED_WORDS = (0, 1, 2, 3, 4, 6)  # their positions, so that no text comes twice


def main(arguments: list[str]) -> None:
    parts = {
        "window": measure_window,
        "snapshots": snapshots.main,
        "make": lambda options: make_base(Path(options[0])),
        "make-run": lambda options: snapshots.make(Path(options[0]), options[1], int(options[2])),
    }
    harness.run_part("explore", __doc__, parts, arguments)


def measure_window(arguments: list[str]) -> None:
    parser = harness.parser("explore window", "Medians of response times.")
    parser.add_argument("--inputs", type=int, default=50, help="repetitions")
    parser.add_argument("--work", type=Path, help="a folder that keeps the checkpoint")
    parser.add_argument("--texts", action="store_true", help="the rows over many texts, minutes")
    parser.add_argument("--training", action="store_true", help="the rows of steps of a training")
    parser.add_argument("--all", action="store_true", help="all rows, up to half an hour")
    options = parser.parse_args(arguments)
    with harness.work_folder() as temporary, harness.screen(SIZE):
        base = (options.work or temporary) / "bert-base"
        if not (base / "config.json").is_file():  # in another process: the window loads no torch
            harness.run_python("-m", "benchmarks", "explore", "make", base)
        measure(base, temporary, options)


def make_base(folder: Path) -> None:
    """BERT base with random weights and the vocabulary of the starter model, filled up.

    Random attention is nearly uniform; larger queries make it as uneven as after training.
    """
    import torch

    from engine.config.families.bert import BertSpec
    from engine.files.shipped import starter_model
    from engine.models.checkpoint import write
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.tokenizers.tokenizer import Tokenizer

    spec = BertSpec()
    folder.mkdir(parents=True)
    pieces = list(Tokenizer.from_folder(starter_model()).tokens)
    pieces += [f"filler{number}" for number in range(spec.vocab_size - len(pieces))]
    vocabulary = folder / "listed.txt"
    vocabulary.write_text("".join(f"{piece}\n" for piece in pieces[: spec.vocab_size]), "utf-8")
    tokenizer = Tokenizer.from_vocabulary(vocabulary, lowercase=True)
    vocabulary.unlink()
    torch.manual_seed(1)
    network = Network(spec, Heads(mlm=True, nsp=True))
    with torch.no_grad():
        for layer in network.encoder.layers:
            layer.attention.query.weight.mul_(QUERY_FACTOR)
    write(folder, network, tokenizer)


# ── the window ───────────────────────────────────────────────────────────────────────────────


class Bench:
    """The window with the model, and the measured rows."""

    def __init__(self, base: Path, home: Path) -> None:
        from app.notices import Notices
        from app.shell.opening import make_application
        from app.studio import Studio
        from app.window import MainWindow
        from engine.files.home import Home

        self.app = make_application(sys.argv[:1])
        user_home = Home(home)
        user_home.make()
        self.studio = Studio(user_home, Notices(self.app), self.app)
        self.window = MainWindow(self.studio)
        self.window.resize(*SIZE)
        self.window.show()
        self.window.begin()
        self.held = (0.0, 0.0)  # s of the longest batch of events: wall, CPU
        self.latest = 0.0  # s of CPU, the longest since the last row
        self.rows: list[tuple[str, str, str]] = []
        self.painted: dict[Any, int] = {}
        self._watch = _watcher(self.painted)
        self.window.go("explore", {"model": str(base), "text": SENTENCE})
        self.page: Any = self.window.pages["explore"]
        self.until(lambda: self.page.state.first.checkpoint == base and self.page.state.is_settled)
        self.window.setFocus()  # no typing: all pages are built now
        self.until(lambda: self.window.preloader.is_done)
        self.held, self.latest = (0.0, 0.0), 0.0  # the window is open

    def until(self, ready: Callable[[], Any]) -> None:
        """Process events until `ready`."""
        end = time.monotonic() + TIMEOUT
        while not ready():
            if time.monotonic() > end:
                sys.exit("An answer did not come.")
            began = time.perf_counter(), time.thread_time()
            self.app.processEvents()
            held = (time.perf_counter() - began[0], time.thread_time() - began[1])
            self.held = max(self.held, held, key=lambda times: times[1])
            self.latest = max(self.latest, held[1])
            time.sleep(0.0005)

    def watch(self, widget: Any) -> None:
        """Count how often a widget is painted."""
        self.painted[widget] = 0
        widget.installEventFilter(self._watch)

    def until_painted(self, widget: Any, since: int) -> None:
        self.until(lambda: self.painted[widget] > since)

    def row(self, what: str, value: str, aim: str) -> None:
        self.rows.append((what, value, aim))
        cpu = 1000 * self.latest
        print(
            f"  {what}: {value} ({aim}); longest batch of events {cpu:.0f} ms",
            file=sys.stderr,
            flush=True,
        )
        self.latest = 0.0

    def end(self) -> None:
        self.window.close()
        self.studio.close()


def _watcher(painted: dict[Any, int]) -> Any:
    from PySide6.QtCore import QEvent, QObject

    class Watcher(QObject):
        def eventFilter(self, watched: Any, event: Any) -> bool:
            if event.type() == QEvent.Type.Paint and watched in painted:
                painted[watched] += 1
            return False

    return Watcher()


def measure(base: Path, temporary: Path, options: argparse.Namespace) -> None:
    """Print the requested rows; `temporary` gets the home and runs."""
    bench = Bench(base, temporary / "home")
    if options.all or not (options.texts or options.training):
        typing(bench, options.inputs)
        heads.measure(bench, options.inputs, sentence)
        heads.attributions(bench, options.inputs, sentence)
    if options.all or options.texts:
        texts.measure(bench)
    memory(bench)
    if options.all or options.training:
        snapshots.measure_window(bench, temporary / "runs", sentence)
    wall, cpu = (1000 * seconds for seconds in bench.held)
    held = f"{wall:.0f} ms, CPU {cpu:.0f}"
    bench.row("longest batch of events of the window", held, "≤ 50 ms")
    bench.end()
    print(harness.table_head("what", "measured", "aim"))
    for row in bench.rows:
        harness.print_row(*row)


def typing(bench: Bench, inputs: int) -> None:
    for tokens, aim in ((16, 250), (128, 400)):
        words(bench, tokens, inputs, aim)
    for tokens, aim in ((128, 500), (512, 3000)):
        attention(bench, tokens, inputs, aim)
    switching(bench, inputs)
    moving(bench)


def sentence(bench: Bench, tokens: int, number: int = 0) -> None:
    """Show a text of `tokens` tokens with one mask; a different one for each number."""
    words = SENTENCE.split()
    words += [WORD] * ((tokens - 2) - len(words))
    for bit, place in enumerate(CHANGED_WORDS):
        if number >> bit & 1:
            words[place] = WORD
    text = " ".join(words)
    bench.page.text.set_text(text)
    bench.until(lambda: bench.page.state.first.text == text and bench.page.state.is_settled)
    assert len(bench.page.state.first.tokens) == tokens, len(bench.page.state.first.tokens)


def type_letter(bench: Bench) -> None:
    """Type a letter, which changes the last word."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    QTest.keyClick(bench.page.text, Qt.Key.Key_S)


def move_to_end(bench: Bench) -> None:
    from PySide6.QtGui import QTextCursor

    bench.page.text.moveCursor(QTextCursor.MoveOperation.End)
    bench.page.text.setFocus()


def words(bench: Bench, tokens: int, inputs: int, aim: int) -> None:
    """A key to the bars of the masked word, including the typing delay."""
    page, state = bench.page, bench.page.bench.docks["words"].panel._state
    query = state.mask_queries[0]
    page.bench.show_panel("words")
    times, worker = [], []
    for number in range(inputs):
        sentence(bench, tokens, number)
        bench.until(lambda: state.positions() and not query.is_waiting)
        bars = page.bench.docks["words"].panel.predictions.cards[0]
        bench.watch(bars)
        move_to_end(bench)
        before, answer = bench.painted[bars], query.answer
        began = time.perf_counter()
        type_letter(bench)
        bench.until(lambda answer=answer: query.answer is not answer)
        bars.update()  # equal bars would not be painted
        bench.until_painted(bars, before)
        times.append((time.perf_counter() - began) * 1000)
        worker.append(query.answer.milliseconds)
    bench.row(
        f"masked word, {tokens} tokens: key to bars",
        f"{statistics.median(times):.0f} ms, worker {statistics.median(worker):.0f}",
        f"≤ {aim} ms",
    )


def attention(bench: Bench, tokens: int, inputs: int, aim: int) -> None:
    """A key to all heads painted; also the first layers, and the time after the answer."""
    import numpy as np

    from app.pages.explore.panels.attention.maps import BLANK

    page, state = bench.page, bench.page.bench.docks["attention"].panel._state
    grid = page.bench.docks["attention"].panel.overview.grid
    page.bench.show_panel("attention")
    is_complete = lambda: (  # noqa: E731
        not state.maps.query.is_waiting
        and state.maps.thumbnails is not None
        and not np.any(state.maps.thumbnails == BLANK)
    )
    bench.watch(grid)
    times, first, after = [], [], []
    for number in range(inputs):
        sentence(bench, tokens, number)
        bench.until(is_complete)
        move_to_end(bench)
        answer, thumbnails = state.maps.query.answer, state.maps.thumbnails
        began = time.perf_counter()
        type_letter(bench)
        bench.until(lambda answer=answer: state.maps.query.answer is not answer)
        bench.until(lambda thumbnails=thumbnails: state.maps.thumbnails is not thumbnails)
        painted = bench.painted[grid]
        grid.update()
        bench.until_painted(grid, painted)
        first.append((time.perf_counter() - began) * 1000)
        bench.until(lambda: not state.maps.query.is_waiting)
        computed = time.perf_counter()
        bench.until(is_complete)
        painted = bench.painted[grid]
        grid.update()
        bench.until_painted(grid, painted)
        times.append((time.perf_counter() - began) * 1000)
        after.append((time.perf_counter() - computed) * 1000)
    median = statistics.median
    what = f"attention of 144 heads, {tokens} tokens: key to grid"
    bench.row(what, f"{median(times):.0f} ms", f"≤ {aim} ms")
    if tokens == 512:
        bench.row("… first layers painted", f"{median(first):.0f} ms", "earlier")
        bench.row("… grid after the forward pass", f"{median(after):.0f} ms", "≤ 1000 ms")


def switching(bench: Bench, inputs: int) -> None:
    """Another head, layer, threshold or token at 512 tokens, until painted."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    page = bench.page.bench.docks["attention"].panel
    state, matrix, lines = page._state, page.matrix, page.lines
    for widget in (matrix, lines):
        bench.watch(widget)

    def timed(act: Callable[[int], object], widget: Any) -> float:
        times = []
        for number in range(inputs):
            bench.until(lambda: state.drawn and lines.is_idle)
            time.sleep(0.02)
            bench.app.processEvents()
            before = bench.painted[widget]
            began = time.perf_counter()
            act(number)
            bench.until_painted(widget, before)
            times.append((time.perf_counter() - began) * 1000)
        return statistics.median(times)

    def arrow(number: int) -> None:
        key = Qt.Key.Key_Right if number % 2 == 0 else Qt.Key.Key_Left
        QTest.keyClick(page.overview.grid, key)

    def layer(number: int) -> None:
        key = Qt.Key.Key_Down if number % 2 == 0 else Qt.Key.Key_Up
        QTest.keyClick(page.overview.grid, key)

    def share(_: int) -> None:
        slider = page.filters.threshold
        slider.setValue(1 + slider.value() % 5)  # few enough values for each to draw other lines

    def hover(number: int) -> None:
        row = 3 + number % 20
        QTest.mouseMove(lines, QPoint(4, round((row + 0.5) * lines.row_height())))

    for what, act, widget in (
        ("another head", arrow, matrix),
        ("another layer", layer, matrix),
        ("another threshold", share, lines),
        ("another token under the mouse", hover, lines),
    ):
        bench.row(f"{what}, 512 tokens", f"{timed(act, widget):.1f} ms", f"≤ {FRAME:.1f} ms")


def moving(bench: Bench) -> None:
    """Frames per second of the grid of 144 heads at 512 tokens."""
    from PySide6.QtTest import QTest

    grid = bench.page.bench.docks["attention"].panel.overview.grid
    area = grid._area()

    def rate(act: Callable[[int], object], frames: int = 120) -> float:
        began = time.perf_counter()
        for number in range(frames):
            before = bench.painted[grid]
            act(number)
            bench.until_painted(grid, before)
        return frames / (time.perf_counter() - began)

    def zoom(number: int) -> None:
        grid.set_zoom(1.2 + (number % 20) / 5)

    def pan(number: int) -> None:
        bar = area.verticalScrollBar()
        bar.setValue((number * 7) % max(1, bar.maximum()))
        area.horizontalScrollBar().setValue((number * 5) % max(1, bar.maximum()))

    def hover(number: int) -> None:
        place = grid.cell(number % 4, (number // 2) % 4).center().toPoint()
        QTest.mouseMove(grid, place)

    grid.set_zoom(1.0)
    bench.row("grid: hovering", f"{rate(hover):.0f} frames/s", "≥ 50")
    bench.row("grid: zooming", f"{rate(zoom):.0f} frames/s", "≥ 50")
    grid.set_zoom(4.0)
    bench.app.processEvents()
    bench.row("grid: panning", f"{rate(pan):.0f} frames/s", "≥ 50")
    grid.set_zoom(1.0)


def memory(bench: Bench) -> None:
    """Memory of the window process with 144 heads at 512 tokens."""
    import psutil

    taken = psutil.Process().memory_info().rss
    bench.row("memory of the window", f"{taken / 1e6:.0f} MB", "< 400 MB")
