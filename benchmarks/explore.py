"""How fluent Explore is: BERT-base with random weights, in a real window on a virtual screen.

    python benchmarks/explore.py [--inputs 50] [--work FOLDER] [--texts | --training | --all]

`--all` has every row, those over many texts and those of the steps of a training too. Prints a
table with medians. Keys and mouse moves are events of the window; times end when what they
lead to has been painted. The checkpoint is made once and kept in the work folder. Needs Xvfb, or a
screen: where DISPLAY is set, the window opens there.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks.explore_heads import attributions, of_heads  # noqa: E402
from benchmarks.explore_texts import over_texts  # noqa: E402
from benchmarks.explore_training import steps_of_training  # noqa: E402

SIZE = (1400, 900)
PATIENCE = 120  # s for one answer
FRAME = 1000 / 60  # ms
PEAKED = 10.0  # times the weights of queries
WORD = "people"
SENTENCE = "the president spoke to the [MASK] of the united states in the city"
CHANGED = (0, 1, 2, 3, 4, 6)  # words of it that become another, so that no text comes twice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=50, help="of which the medians are")
    parser.add_argument("--work", type=Path, help="a folder that keeps the checkpoint")
    parser.add_argument("--texts", action="store_true", help="the rows over many texts, minutes")
    parser.add_argument("--training", action="store_true", help="the rows of steps of a training")
    parser.add_argument("--all", action="store_true", help="all rows, up to half an hour")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        make_base(arguments.make)
        return
    with tempfile.TemporaryDirectory(prefix="bert-studio-explore-") as temporary:
        work = arguments.work or Path(temporary)
        base = work / "bert-base"
        if not (base / "config.json").is_file():  # in another process: the window knows no torch
            made = [sys.executable, __file__, "--make", str(base)]
            subprocess.run(made, check=True)
        with screen():
            measure(base, Path(temporary), arguments)


def make_base(folder: Path) -> None:
    """BERT-base with random weights and the vocabulary of the starter model, filled up.

    Random attention is nearly even; larger queries make it as uneven as it is after training.
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
    listed = folder / "listed.txt"
    listed.write_text("".join(f"{piece}\n" for piece in pieces[: spec.vocab_size]), "utf-8")
    tokenizer = Tokenizer.from_vocabulary(listed, lowercase=True)
    listed.unlink()
    torch.manual_seed(1)
    network = Network(spec, Heads(mlm=True, nsp=True))
    with torch.no_grad():
        for layer in network.encoder.layers:
            layer.attention.query.weight.mul_(PEAKED)
    write(folder, network, tokenizer)


@contextmanager
def screen() -> Iterator[None]:
    """A virtual screen, unless there is one."""
    if os.environ.get("DISPLAY"):
        yield
        return
    if shutil.which("Xvfb") is None:
        sys.exit("Xvfb is not installed; packaging/install-system-libs.sh --gui-tests does that.")
    read, write = os.pipe()
    options = ["-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), *options],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with open(read, encoding="ascii") as number:
            os.environ["DISPLAY"] = f":{number.readline().strip()}"
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        yield
    finally:
        server.terminate()
        server.wait(10)


# ── the window ───────────────────────────────────────────────────────────────────────────────


class Bench:
    """The window with the model, and rows of the table."""

    def __init__(self, base: Path, home: Path) -> None:
        from app.notices import Notices
        from app.shell.opening import make_application
        from app.studio import Studio
        from app.window import MainWindow
        from engine.files.home import Home

        self.app = make_application(sys.argv[:1])
        made = Home(home)
        made.make()
        self.studio = Studio.open(made, Notices(self.app), self.app)
        self.window = MainWindow(self.studio)
        self.window.resize(*SIZE)
        self.window.show()
        self.window.begin()
        self.held = (0.0, 0.0)  # s of the longest turn of events: by the clock, of the processor
        self.latest = 0.0  # s of the processor, likewise since the last row
        self.rows: list[tuple[str, str, str]] = []
        self.painted: dict[Any, int] = {}
        self._watch = _watcher(self.painted)
        self.window.go("explore", {"model": str(base), "text": SENTENCE})
        self.page: Any = self.window.pages["explore"]
        self.until(lambda: self.page.state.first.checkpoint == base and self.page.state.is_settled)
        self.window.setFocus()  # nobody types: all pages are made now
        self.until(lambda: self.window.early.is_over)
        self.held, self.latest = (0.0, 0.0), 0.0  # the window is open

    def until(self, ready: Callable[[], Any]) -> None:
        """Let the window live until `ready`."""
        end = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > end:
                sys.exit("An answer did not come.")
            began = time.perf_counter(), time.thread_time()
            self.app.processEvents()
            held = (time.perf_counter() - began[0], time.thread_time() - began[1])
            self.held = max(self.held, held, key=lambda one: one[1])
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
        busy = 1000 * self.latest  # ms of the processor, of the longest turn since the last row
        print(f"  {what}: {value} ({aim}); a turn {busy:.0f} ms", file=sys.stderr, flush=True)
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


def measure(base: Path, temporary: Path, asked: argparse.Namespace) -> None:
    """The rows that are asked for. `temporary` has room for the home and for runs."""
    bench = Bench(base, temporary / "home")
    if asked.all or not (asked.texts or asked.training):
        typing(bench, asked.inputs)
        of_heads(bench, asked.inputs, sentence)
        attributions(bench, asked.inputs, sentence)
    if asked.all or asked.texts:
        over_texts(bench)
    memory(bench)
    if asked.all or asked.training:
        steps_of_training(bench, temporary / "runs", sentence)
    wall, busy = (1000 * seconds for seconds in bench.held)
    held = f"{wall:.0f} ms, of which the processor {busy:.0f}"
    bench.row("longest turn of events of the window", held, "≤ 50 ms")
    bench.end()
    print("| what | measured | aim |")
    print("| --- | --- | --- |")
    for row in bench.rows:
        print(f"| {' | '.join(row)} |")


def typing(bench: Bench, inputs: int) -> None:
    for tokens, aim in ((16, 250), (128, 400)):
        words(bench, tokens, inputs, aim)
    for tokens, aim in ((128, 500), (512, 3000)):
        attention(bench, tokens, inputs, aim)
    switching(bench, inputs)
    moving(bench)


def sentence(bench: Bench, tokens: int, number: int = 0) -> None:
    """A text of so many tokens with one mask, answered; another for each number."""
    words = SENTENCE.split()
    words += [WORD] * ((tokens - 2) - len(words))
    for bit, place in enumerate(CHANGED):
        if number >> bit & 1:
            words[place] = WORD
    text = " ".join(words)
    bench.page.text.set_text(text)
    bench.until(lambda: bench.page.state.first.text == text and bench.page.state.is_settled)
    assert len(bench.page.state.first.tokens) == tokens, len(bench.page.state.first.tokens)


def typed(bench: Bench) -> None:
    """One key: the last word of the text becomes another, and the text one that is new."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    QTest.keyClick(bench.page.text, Qt.Key.Key_S)


def at_the_end(bench: Bench) -> None:
    from PySide6.QtGui import QTextCursor

    bench.page.text.moveCursor(QTextCursor.MoveOperation.End)
    bench.page.text.setFocus()


def words(bench: Bench, tokens: int, inputs: int, aim: int) -> None:
    """A key to the bars of the hidden place, the pause of typing included."""
    page, state = bench.page, bench.page.panels["words"]._state
    page.bench.show_panel("words")
    times, worker = [], []
    for number in range(inputs):
        sentence(bench, tokens, number)
        bench.until(lambda: state.positions() and not state.query.is_waiting)
        bars = page.panels["words"].predictions.cards[0]
        bench.watch(bars)
        at_the_end(bench)
        before, answer = bench.painted[bars], state.query.answer
        began = time.perf_counter()
        typed(bench)
        bench.until(lambda answer=answer: state.query.answer is not answer)
        bars.update()  # where random weights give the same bars, nothing would be painted
        bench.until_painted(bars, before)
        times.append((time.perf_counter() - began) * 1000)
        worker.append(state.milliseconds)
    bench.row(
        f"masked word, {tokens} tokens: key to bars",
        f"{statistics.median(times):.0f} ms, of which the worker {statistics.median(worker):.0f}",
        f"≤ {aim} ms",
    )


def attention(bench: Bench, tokens: int, inputs: int, aim: int) -> None:
    """A key to all heads on the screen; and the first layers, and what comes after the answer."""
    import numpy as np

    from app.pages.explore.panels.attention.pixels import GAP

    page, state = bench.page, bench.page.panels["attention"]._state
    wall = page.panels["attention"].overview.grid
    page.bench.show_panel("attention")
    whole = lambda: (  # noqa: E731
        not state.maps.query.is_waiting
        and state.maps.thumbnails is not None
        and not np.any(state.maps.thumbnails == GAP)
    )
    bench.watch(wall)
    times, first, after = [], [], []
    for number in range(inputs):
        sentence(bench, tokens, number)
        bench.until(whole)
        at_the_end(bench)
        answer, wall_then = state.maps.query.answer, state.maps.thumbnails
        began = time.perf_counter()
        typed(bench)
        bench.until(lambda answer=answer: state.maps.query.answer is not answer)
        bench.until(lambda wall_then=wall_then: state.maps.thumbnails is not wall_then)
        painted = bench.painted[wall]
        wall.update()
        bench.until_painted(wall, painted)
        first.append((time.perf_counter() - began) * 1000)
        bench.until(lambda: not state.maps.query.is_waiting)
        computed = time.perf_counter()
        bench.until(whole)
        painted = bench.painted[wall]
        wall.update()
        bench.until_painted(wall, painted)
        times.append((time.perf_counter() - began) * 1000)
        after.append((time.perf_counter() - computed) * 1000)
    median = statistics.median
    what = f"attention of 144 heads, {tokens} tokens: key to wall"
    bench.row(what, f"{median(times):.0f} ms", f"≤ {aim} ms")
    if tokens == 512:
        bench.row("… first layers on the wall", f"{median(first):.0f} ms", "earlier")
        bench.row("… wall after the forward pass", f"{median(after):.0f} ms", "≤ 1000 ms")


def switching(bench: Bench, inputs: int) -> None:
    """Another head, layer, threshold or token, at 512 tokens: until it is painted."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    page = bench.page.panels["attention"]
    state, matrix, lines = page._state, page.matrix, page.lines
    for widget in (matrix, lines):
        bench.watch(widget)

    def timed(act: Callable[[int], object], widget: Any) -> float:
        times = []
        for number in range(inputs):
            bench.until(lambda: state.drawn and lines.is_still)
            time.sleep(0.02)
            bench.app.processEvents()
            before = bench.painted[widget]
            began = time.perf_counter()
            act(number)
            bench.until_painted(widget, before)
            times.append((time.perf_counter() - began) * 1000)
        return statistics.median(times)

    def arrow(number: int) -> None:
        there = Qt.Key.Key_Right if number % 2 == 0 else Qt.Key.Key_Left
        QTest.keyClick(page.overview.grid, there)

    def layer(number: int) -> None:
        there = Qt.Key.Key_Down if number % 2 == 0 else Qt.Key.Key_Up
        QTest.keyClick(page.overview.grid, there)

    def share(_: int) -> None:
        slider = page.filters.threshold
        slider.setValue(1 + slider.value() % 5)  # few enough for each to draw other lines

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
    """Frames per second of the wall of 144 heads at 512 tokens."""
    from PySide6.QtTest import QTest

    wall = bench.page.panels["attention"].overview.grid
    area = wall._area()

    def rate(act: Callable[[int], object], frames: int = 120) -> float:
        began = time.perf_counter()
        for number in range(frames):
            before = bench.painted[wall]
            act(number)
            bench.until_painted(wall, before)
        return frames / (time.perf_counter() - began)

    def zoom(number: int) -> None:
        wall.set_zoom(1.2 + (number % 20) / 5)

    def pan(number: int) -> None:
        bar = area.verticalScrollBar()
        bar.setValue((number * 7) % max(1, bar.maximum()))
        area.horizontalScrollBar().setValue((number * 5) % max(1, bar.maximum()))

    def hover(number: int) -> None:
        place = wall.cell(number % 4, (number // 2) % 4).center().toPoint()
        QTest.mouseMove(wall, place)

    wall.set_zoom(1.0)
    bench.row("wall: hovering", f"{rate(hover):.0f} frames/s", "≥ 50")
    bench.row("wall: zooming", f"{rate(zoom):.0f} frames/s", "≥ 50")
    wall.set_zoom(4.0)
    bench.app.processEvents()
    bench.row("wall: panning", f"{rate(pan):.0f} frames/s", "≥ 50")
    wall.set_zoom(1.0)


def memory(bench: Bench) -> None:
    """Of the window's process, with 144 heads at 512 tokens shown."""
    import psutil

    taken = psutil.Process().memory_info().rss
    bench.row("memory of the window", f"{taken / 1e6:.0f} MB", "< 450 MB")


if __name__ == "__main__":
    main()
