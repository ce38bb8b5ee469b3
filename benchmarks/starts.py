"""Start times of the program, of its pages, of commands and of training runs.

frame     start to first frame in a new home and later, then the first visit of each page: at once,
          after modules are preloaded, and after pages are prebuilt
click     click on Start to the first step, with a fresh and a standby worker, starter and base
rows      worker start to the first step with a million rows, first time and later
commands  start to end of some commands

Files and a home stay in WORK. CPU seconds count everything that a worker does up to its first step,
including imports; on a busy machine read them rather than the clock.
"""

import argparse
import csv
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import harness
from benchmarks.harness import PROJECT, wait_until

if TYPE_CHECKING:
    from psutil import Process

    from engine.config.job import JobSpec
    from engine.files.home import Home

STARTER = PROJECT / "resources" / "starter"
LABELS = ("good", "bad", "so-so")
QUIET = 1.0  # s without CPU time, after which a worker counts as idle
STARTED = "BERT_STUDIO_STARTED"  # start of the program, in seconds since 1970
EARLY = "BERT_STUDIO_EARLY"  # preloading to wait for before pages are visited: none, or
MODULES, PAGES = "modules", "pages"


def main(arguments: list[str]) -> None:
    parser = harness.parser("starts", __doc__)
    parser.add_argument("part", choices=(*PARTS, "one-frame", "first-step"))
    parser.add_argument("work", type=Path, help="a folder for data, models and the home")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=3, help="repetitions")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    if options.part == "first-step":
        first_step(options.work)
    os.environ["BERT_STUDIO_HOME"] = str(options.work / "home")
    if options.part == "one-frame":
        one_frame()
    else:
        PARTS[options.part](options)


def _run_self(*arguments: object, **env: str) -> str:
    """A part of this case in a separate process."""
    return harness.run_python("-m", "benchmarks", "starts", *arguments, env=os.environ | env)


# ── first frame and first visits ─────────────────────────────────────────────────────────────


def frames(options: argparse.Namespace) -> None:
    times: dict[str, list[float]] = {}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for turn in range(-1, options.pairs):  # turn -1 warms the disk cache
        shutil.rmtree(options.work / "home", ignore_errors=True)
        for kind in ("new home", "later", MODULES, PAGES):
            env = {STARTED: str(time.time()), EARLY: kind}
            output = _run_self("one-frame", options.work, **env)
            for line in output.splitlines() if turn >= 0 else ():
                name, _, value = line.rpartition(" ")
                times.setdefault(f"{name} ({kind})", []).append(float(value))
    for name, values in times.items():
        print(f"{name}: {harness.median_range(values)} s")


def one_frame() -> None:
    """Run the program until its first frame, then visit each page; prints CPU seconds."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "true"  # as app/__main__.py does
    from app.__main__ import open_window, restore_import

    restore_import()  # before anything else of Qt is loaded, as `open_window` does
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication

    from app.shell import opening

    class WatchedWindow(opening.MainWindow):
        def begin(self) -> None:
            self.watcher = Watcher(self)
            super().begin()

    class Watcher(QObject):
        """Prints the time of the first paint, waits for preloading and visits all pages."""

        def __init__(self, window: opening.MainWindow) -> None:
            super().__init__(window)
            self.window, self.is_drawn = window, False
            window.installEventFilter(self)

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and not self.is_drawn:
                self.is_drawn = True
                QTimer.singleShot(0, self.on_drawn)
            return False

        def on_drawn(self) -> None:
            self.drawn = time.time()
            print(f"first frame, by the clock {self.drawn - float(os.environ[STARTED])}")
            print(f"first frame {time.thread_time()}")
            if os.environ[EARLY] not in {MODULES, PAGES}:
                self.visit()
                return
            self.pieces = [0.0]
            early = self.window.preloader
            early._modules = self.timed(early._modules)
            early._pages = self.timed(early._pages if os.environ[EARLY] == PAGES else iter(()))
            self.timer = QTimer(self)
            self.timer.timeout.connect(self.visit_if_preloaded)
            self.timer.start(10)

        def timed(self, works: Iterator[Callable[[], object]]) -> Iterator[Callable[[], object]]:
            for work in works:
                yield partial(self.measure, work)

        def measure(self, work: Callable[[], object]) -> None:
            began = time.thread_time()
            work()
            self.pieces.append(time.thread_time() - began)

        def visit_if_preloaded(self) -> None:
            if self.window.preloader.is_done:
                self.timer.stop()
                print(f"preloading, by the clock {time.time() - self.drawn}")
                print(f"longest piece of preloading {max(self.pieces)}")
                self.visit()

        def visit(self) -> None:
            for key in self.window.entries:
                began = time.thread_time()
                self.window.go(key)
                QApplication.processEvents()
                print(f"first visit of {key} {time.thread_time() - began}")
            sys.stdout.flush()
            os._exit(0)

    opening.MainWindow = WatchedWindow  # type: ignore[misc]
    open_window()


# ── data, models and jobs ────────────────────────────────────────────────────────────────────


def make_dataset(work: Path, rows: int) -> Path:
    """A data set of `rows` short sentences of known words, with three labels."""
    from engine.config.dataset import Mapping, Reading, Split
    from engine.data.datasets.importing import import_dataset

    folder = work / f"sentences-{rows}"
    if folder.is_dir():
        return folder
    rng = random.Random(1)
    lines = (STARTER / "vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [word for word in lines if word.isalpha()]
    source = work / f"sentences-{rows}.csv"
    with open(source, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for _ in range(rows):
            text = " ".join(rng.choices(words, k=rng.randint(5, 15)))
            writer.writerow([text, rng.choice(LABELS)])
    mapping, split = Mapping(text="text", label="label"), Split(validation=0.001)
    import_dataset("sentences", {"all": source}, Reading(), mapping, split, folder)
    return folder


def make_base(work: Path) -> Path:
    """A checkpoint of base size with random weights."""
    from engine.config.families.bert import PRESETS
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_folder(STARTER)
    spec = PRESETS["base"].model_copy(update={"vocab_size": tokenizer.size})
    return harness.random_model(work / "base", spec, tokenizer)


def make_job(data: Path, model: Path, threads: int) -> "JobSpec":
    from engine.config.dataset import StoredData
    from engine.config.job import FromCheckpoint, JobSpec
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec

    return JobSpec(
        name="Sentences",
        task=TextClassification(),
        base_model=FromCheckpoint(path=model),
        data=StoredData(folder=data),
        training=TrainingSpec(steps=1, batch_size=16, max_length=64),
        hardware=HardwareSpec(device="cpu", threads=threads),
    )


# ── many rows, commands ──────────────────────────────────────────────────────────────────────


def many_rows(options: argparse.Namespace) -> None:
    from engine.runs.folder import RunFolder

    data = make_dataset(options.work, options.rows)
    shutil.rmtree(options.work / "home", ignore_errors=True)
    print(f"{options.rows:,} rows of classes, the starter model, {options.threads} thread(s)\n")
    print(harness.table_head("time", "CPU, s", "clock, s"))
    for name in ("first", "second", "third"):
        folder = options.work / "run"
        shutil.rmtree(folder, ignore_errors=True)
        RunFolder.create(folder, make_job(data, STARTER, options.threads))
        began = time.perf_counter()
        cpu = float(_run_self("first-step", folder, f"--threads={options.threads}"))
        harness.print_row(name, f"{cpu:.1f}", f"{time.perf_counter() - began:.1f}")


def first_step(folder: Path) -> None:
    """Be the worker of a run up to its first step; prints CPU seconds."""
    from engine.messages.events import Event, Measured
    from engine.system.torch_import import load_torch_without_gc
    from engine.worker import configure_threads

    configure_threads()
    load_torch_without_gc()
    from engine.worker.train import main as train

    def on_event(event: Event) -> None:
        if isinstance(event, Measured):
            print(time.process_time(), flush=True)
            os._exit(0)

    sys.exit(train(folder, on_event))


COMMANDS = (
    ("--help",),
    ("queue",),
    ("lineage", "--help"),
    ("similarity", "A film.", "A book."),
    ("fill", "A [MASK] film."),
)


def commands(options: argparse.Namespace) -> None:
    for command in COMMANDS:
        times = [
            harness.timed(lambda command=command: harness.run_studio(*command))[0]
            for _ in range(options.pairs + 1)
        ]
        print(f"{' '.join(command)}: {harness.median_range(times[1:])} s", flush=True)


# ── from a click to the first step ───────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Click:
    """Times of one run in seconds, from the click on except `held_before`."""

    returned: float  # the handler of the click has returned: the page of the run is shown
    ready: float  # the worker has everything for the first step
    done: float  # the first step is done
    known: float  # the window shows it
    cpu: float  # of the worker, from the click to the first step
    held: float  # longest pause of the GUI thread until then
    held_before: float  # the same before the click, while a standby worker starts or none


def clicks(options: argparse.Namespace) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import pyqtgraph  # noqa: F401  # as the program does before its window opens

    data = make_dataset(options.work, 20_000)
    models = {"starter": STARTER, "base": make_base(options.work)}
    home = options.work / "home"
    shutil.rmtree(home, ignore_errors=True)
    print(f"20,000 rows, batches of 16, {options.threads} thread(s); medians of {options.pairs}\n")
    print(
        harness.table_head(
            *("network, worker", "click returns, ms", "ready to train, s", "first step done, s"),
            *("shown in the window, s", "CPU, s", "pause, ms", "pause before, ms"),
        )
    )
    for name, model in models.items():
        job = make_job(data, model, options.threads)
        click_start(home, job, stands_by=False)  # caches the token ids
        times: dict[bool, list[Click]] = {False: [], True: []}
        for _ in range(options.pairs):
            for stands_by in (False, True):
                times[stands_by].append(click_start(home, job, stands_by))
        for stands_by, made in times.items():
            kind = "standby" if stands_by else "fresh"
            print(summarize(f"{name}, {kind}", made), flush=True)


def summarize(name: str, clicks: list[Click]) -> str:
    """Table row of medians, with the range of the first step."""

    def middle(field: str) -> float:
        return statistics.median(getattr(click, field) for click in clicks)

    return harness.table_row(
        (
            name,
            f"{1000 * middle('returned'):.0f}",
            f"{middle('ready'):.2f}",
            harness.median_range([click.done for click in clicks]),
            f"{middle('known'):.2f}",
            f"{middle('cpu'):.2f}",
            f"{1000 * middle('held'):.0f}",
            f"{1000 * middle('held_before'):.0f}",
        )
    )


def click_start(home: Path, job: "JobSpec", stands_by: bool) -> Click:
    """Start a run in the window from the Train page and watch it until the first step."""
    with harness.offscreen_window(home, 0) as (studio, window):
        click = _click_start(studio, window, job, stands_by)
    forget_runs(studio.home)
    return click


def _click_start(studio: Any, window: Any, job: "JobSpec", stands_by: bool) -> Click:
    import psutil
    from PySide6.QtCore import QTimer

    from engine.messages import now
    from engine.messages.events import Measured, Prepared
    from engine.record.runs import find_run

    studio.settings.set("stand_by", False)
    dispatcher, manager = studio.dispatcher, studio.dispatcher._manager
    shown: list[float] = []
    dispatcher.measured.connect(lambda run, points: shown.append(time.perf_counter()))

    def wait(is_done: Callable[[], object]) -> None:
        wait_until(is_done, 600, pause=0.001)

    wait(lambda: studio.explorer.pid > 0)
    wait(is_idle(psutil.Process(studio.explorer.pid)))
    window.go("train")
    beats = [time.perf_counter()]
    timer = QTimer(interval=5)
    timer.timeout.connect(lambda: beats.append(time.perf_counter()))
    timer.start()
    spent = 0.0
    if stands_by:
        studio.settings.set("stand_by", True)
        studio.stand_by()  # as the page does when it is shown
        wait(lambda: manager.workers.standby is not None)
        standby = psutil.Process(manager.workers.standby._process.pid)
        wait(is_idle(standby))
        spent = sum(standby.cpu_times()[:2])
    else:
        quiet = time.monotonic() + QUIET
        wait(lambda: time.monotonic() > quiet)
    before, beats[:] = list(beats), beats[-1:]
    at, began = now(), time.perf_counter()
    run_id = dispatcher.start(job)
    studio.navigate.emit("runs", {"run": run_id})
    returned = time.perf_counter() - began
    wait(lambda: shown)
    held = longest(beats)
    worker = psutil.Process(manager.workers.get_process(run_id).pid)
    with studio.record.read() as session:
        folder = find_run(session, run_id).run_folder()
    spent = sum(worker.cpu_times()[:2]) - spent
    events, _ = folder.events_after(0)
    ready, done = (
        next((event.at - at).total_seconds() for event in events if isinstance(event, kind))
        for kind in (Prepared, Measured)
    )
    wait(lambda: not manager.is_busy)
    timer.stop()
    return Click(returned, ready, done, shown[0] - began, spent, held, longest(before))


def longest(beats: list[float]) -> float:
    """Longest time between two beats."""
    return max((later - earlier for earlier, later in pairwise(beats)), default=0.0)


def forget_runs(home: "Home") -> None:
    """Delete all runs, so that every click starts alike and checkpoints do not fill the disk."""
    shutil.rmtree(home.runs)
    for file in home.root.glob(f"{home.record.name}*"):
        file.unlink()


def is_idle(process: "Process") -> Callable[[], bool]:
    """Condition: the process has worked, and has used no CPU time for `QUIET` seconds."""
    last, since = 0.0, time.monotonic()

    def ask() -> bool:
        nonlocal last, since
        if (spent := sum(process.cpu_times()[:2])) != last:
            last, since = spent, time.monotonic()
        return spent > 1 and time.monotonic() - since > QUIET

    return ask


PARTS = {"frame": frames, "rows": many_rows, "click": clicks, "commands": commands}
