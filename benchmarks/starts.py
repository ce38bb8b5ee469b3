"""How long it takes to the first frame, to a page, and from a click to the first step of a run.

    python benchmarks/starts.py frame WORK    from the start of the program to the first frame, the
                                              very first time and later, by the clock and in
                                              processor seconds of the window's thread; then the
                                              first visit of each page, at once, and where it was
                                              made early; medians of --pairs
    python benchmarks/starts.py rows WORK     a data set of a million rows, the first time and later
    python benchmarks/starts.py click WORK    from the click in the window, with a fresh worker and
                                              with one that stands by, the starter model and base,
                                              in turns; and how long the window was held meanwhile
    python benchmarks/starts.py commands WORK from the start of some commands to their end, by the
                                              clock; medians of --pairs

Files and a home of its own stay in WORK. Processor seconds count everything that the worker does
up to its first step, loading Python and torch as well; they tell more than the clock on a machine
that is busy with other things.
"""

import argparse
import csv
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process
    from PySide6.QtWidgets import QApplication

    from engine.config.job import JobSpec
    from engine.files.home import Home

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

STARTER = PROJECT / "resources" / "starter"
LABELS = ("good", "bad", "so-so")
PATIENCE = 600.0  # s for one run to take its first step
QUIET = 1.0  # s without work, after which a worker stands by
STARTED = "BERT_STUDIO_STARTED"  # when a program was started, in seconds since 1970
EARLY = "BERT_STUDIO_EARLY"  # what is waited for before pages are visited: nothing, or
MODULES, PAGES = "modules", "pages"  # that modules are loaded, or pages made as well
TICK = 5  # ms between two beats of the window's loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Raw)
    parser.add_argument(
        "what", choices=("frame", "one-frame", "rows", "click", "commands", "first-step")
    )
    parser.add_argument("work", type=Path, help="a folder for what is made")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    if arguments.what == "first-step":
        first_step(work)
        return
    os.environ["BERT_STUDIO_HOME"] = str(work / "home")
    if arguments.what == "one-frame":
        one_frame()
        return
    if arguments.what == "frame":
        frames(work, arguments.pairs)
        return
    if arguments.what == "commands":
        commands(arguments.pairs)
    elif arguments.what == "rows":
        many_rows(work, arguments.rows, arguments.threads)
    else:
        clicks(work, arguments.pairs, arguments.threads)
    if hasattr(os, "getloadavg"):
        print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}.")


class Raw(argparse.RawDescriptionHelpFormatter):
    """The text above as it stands."""


# ── the first frame and the first visits ─────────────────────────────────────────────────────


def frames(work: Path, times: int) -> None:
    """Start the program twice so often, in a new home and again, and print the medians."""
    found: dict[str, list[float]] = {}
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, __file__, "one-frame", str(work)]
    for turn in range(-1, times):  # the first turn is not counted: it reads all from the disk
        shutil.rmtree(work / "home", ignore_errors=True)
        for home in ("new home", "later", MODULES, PAGES):
            started = usual | {STARTED: str(time.time()), EARLY: home}
            told = subprocess.run(command, check=True, capture_output=True, text=True, env=started)
            for line in told.stdout.splitlines() if turn >= 0 else ():
                name, _, value = line.rpartition(" ")
                found.setdefault(f"{name} ({home})", []).append(float(value))
    for name, values in found.items():
        print(f"{name}: {statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})")


def one_frame() -> None:
    """Be the program until its first frame, then visit each page, and print what each took."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "true"  # as app/__main__.py does
    from app.__main__ import import_as_usual, open_window

    import_as_usual()  # before anything else of Qt is loaded, as `open_window` does
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication

    from app.shell import opening

    class Watched(opening.MainWindow):
        """Says when it was drawn and the loop had nothing left to do."""

        def begin(self) -> None:
            self.watcher = Watcher(self)
            super().begin()

    class Watcher(QObject):
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
            early = self.window.early
            early._modules = self.timed(early._modules)
            early._pages = self.timed(early._pages if os.environ[EARLY] == PAGES else iter(()))
            self.looks = QTimer(self)
            self.looks.timeout.connect(self.look)
            self.looks.start(10)

        def timed(self, works: Iterator[Callable[[], object]]) -> Iterator[Callable[[], object]]:
            for work in works:
                yield partial(self.measure, work)

        def measure(self, work: Callable[[], object]) -> None:
            begun = time.thread_time()
            work()
            self.pieces.append(time.thread_time() - begun)

        def look(self) -> None:
            if self.window.early.is_over:
                self.looks.stop()
                print(f"from it until that is there, by the clock {time.time() - self.drawn}")
                print(f"longest that was done at once {max(self.pieces)}")
                self.visit()

        def visit(self) -> None:
            for key in self.window.entries:
                begun = time.thread_time()
                self.window.go(key)
                QApplication.processEvents()
                print(f"first visit of {key} {time.thread_time() - begun}")
            sys.stdout.flush()
            os._exit(0)

    opening.MainWindow = Watched  # type: ignore[misc]
    open_window()


# ── what is trained ──────────────────────────────────────────────────────────────────────────


def data_set(work: Path, rows: int) -> Path:
    """A made-up version of `rows` short sentences of known words, with three labels."""
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
    mapping = Mapping(text="text", label="label")
    import_dataset(
        "sentences", {"all": source}, Reading(), mapping, Split(validation=0.001), folder
    )
    return folder


def base(work: Path) -> Path:
    """A checkpoint of a base network with random weights."""
    import torch

    from engine.config.families.bert import PRESETS
    from engine.models import checkpoint
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.tokenizers.tokenizer import Tokenizer

    folder = work / "base"
    if not folder.is_dir():
        tokenizer = Tokenizer.from_folder(STARTER)
        torch.manual_seed(0)
        spec = PRESETS["base"].model_copy(update={"vocab_size": tokenizer.size})
        checkpoint.save(folder, Network(spec, Heads(mlm=True)), tokenizer)
    return folder


def job_of(data: Path, model: Path, threads: int) -> "JobSpec":
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


# ── many rows, the first and the second time ─────────────────────────────────────────────────


def many_rows(work: Path, rows: int, threads: int) -> None:
    data = data_set(work, rows)
    shutil.rmtree(work / "home", ignore_errors=True)
    print(f"{rows:,} rows of classes, the starter model, {threads} thread(s)\n")
    print("| time | processor, s | clock, s |\n| --- | --- | --- |")
    for name in ("first", "second", "third"):
        from engine.runs.folder import RunFolder

        folder = work / "run"
        shutil.rmtree(folder, ignore_errors=True)
        RunFolder.create(folder, job_of(data, STARTER, threads))
        command = [sys.executable, __file__, "first-step", str(folder)]
        began = time.perf_counter()
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        took = time.perf_counter() - began
        print(f"| {name} | {float(found.stdout):.1f} | {took:.1f} |", flush=True)


def first_step(folder: Path) -> None:
    """Be the worker of a run up to its first step, and print the processor seconds."""
    from engine.messages.events import Event, Measured
    from engine.system.torch_import import load_torch_without_gc
    from engine.worker import share_the_machine

    share_the_machine()
    load_torch_without_gc()
    from engine.worker.train import main as train

    def on_event(event: Event) -> None:
        if isinstance(event, Measured):
            print(time.process_time(), flush=True)
            os._exit(0)

    sys.exit(train(folder, on_event))


# ── a command ────────────────────────────────────────────────────────────────────────────────

COMMANDS = (
    ("--help",),
    ("queue",),
    ("lineage", "--help"),
    ("similarity", "A film.", "A book."),
    ("fill", "A [MASK] film."),
)


def commands(times: int) -> None:
    """Call each so often, after once that is not counted, and print the medians."""
    for command in COMMANDS:
        took = []
        for _ in range(times + 1):
            began = time.perf_counter()
            called = [sys.executable, "-m", "app", *command]
            subprocess.run(called, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
            took.append(time.perf_counter() - began)
        fast, *_, slow = kept = sorted(took[1:])
        middle = statistics.median(kept)
        print(f"{' '.join(command)}: {middle:.2f} s ({fast:.2f} to {slow:.2f})", flush=True)


# ── from a click ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Click:
    """What one run took: seconds from the click on, but for `held_before`."""

    returned: (
        float  # what was clicked is done: the run is asked for, and its page is made and shown
    )
    ready: float  # its worker had all that the first step needs
    done: float  # it had taken the first step
    known: float  # the window knew it
    processor: float  # of the worker, from the click to the first step
    held: float  # the longest time in which the window did nothing else, until it knew
    held_before: float  # the same before the click, while a worker got ready, or none did


def clicks(work: Path, pairs: int, threads: int) -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import pyqtgraph  # noqa: F401  # as the program does before its window opens

    from app.shell.opening import make_application

    data = data_set(work, 20_000)
    models = {"starter": STARTER, "base": base(work)}
    shutil.rmtree(work / "home", ignore_errors=True)
    app = make_application(sys.argv[:1])
    print(f"20,000 rows of classes, batches of 16, {threads} thread(s); medians of {pairs} (range)")
    print(
        "\n| network, worker | click returns, ms | ready to train, s | first step done, s | "
        "known in the window, s | processor, s | window held, ms | held while it got ready, ms |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, model in models.items():
        job = job_of(data, model, threads)
        with_window(app, job, stands_by=False)  # makes the token ids
        found: dict[bool, list[Click]] = {False: [], True: []}
        for _ in range(pairs):
            for stands_by in (False, True):
                found[stands_by].append(with_window(app, job, stands_by))
        for stands_by, made in found.items():
            print(table_row(f"{name}, {'stands by' if stands_by else 'fresh'}", made), flush=True)


def table_row(name: str, clicks: list[Click]) -> str:
    """The medians of some clicks, and how far the first steps lie apart."""

    def middle(field: str) -> float:
        return statistics.median(getattr(click, field) for click in clicks)

    steps = [click.done for click in clicks]
    return (
        f"| {name} | {1000 * middle('returned'):.0f} | {middle('ready'):.2f} | "
        f"**{middle('done'):.2f}** ({min(steps):.2f} to {max(steps):.2f}) | "
        f"{middle('known'):.2f} | {middle('processor'):.2f} | {1000 * middle('held'):.0f} | "
        f"{1000 * middle('held_before'):.0f} |"
    )


def with_window(app: "QApplication", job: "JobSpec", stands_by: bool) -> Click:
    """Start a run in the real window, on the page on which it is planned, and watch it live."""
    import psutil
    from PySide6.QtCore import QTimer

    from app.notices import Notices
    from app.studio import Studio
    from app.window import MainWindow
    from engine.files.home import Home
    from engine.messages import now
    from engine.messages.events import Measured, Prepared
    from engine.record.runs import run as find

    home = Home()
    home.make()
    studio = Studio.open(home, Notices(app))
    studio.settings.set("stand_by", False)
    window = MainWindow(studio)
    dispatcher, manager = studio.dispatcher, studio.dispatcher._manager
    heard: list[float] = []
    dispatcher.measured.connect(lambda run, points: heard.append(time.perf_counter()))
    settled: list[bool] = []
    dispatcher.settled.connect(lambda: settled.append(True))

    def wait(holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            app.processEvents()
            time.sleep(0.001)
            if time.monotonic() > end:
                sys.exit("it takes too long")

    window.show()
    window.begin()
    wait(lambda: bool(settled) and studio.explorer.pid > 0)
    wait(is_idle(psutil.Process(studio.explorer.pid)))
    window.go("train")
    app.processEvents()
    beats = [time.perf_counter()]
    timer = QTimer(interval=TICK)
    timer.timeout.connect(lambda: beats.append(time.perf_counter()))
    timer.start()
    spent = 0.0
    if stands_by:
        studio.settings.set("stand_by", True)
        studio.stand_by()  # as the page does when it is shown
        wait(lambda: manager.workers.standby is not None)
        waiting = psutil.Process(manager.workers.standby._process.pid)
        wait(is_idle(waiting))
        spent = sum(waiting.cpu_times()[:2])
    else:
        quiet = time.monotonic() + QUIET
        wait(lambda: time.monotonic() > quiet)
    before, beats[:] = list(beats), beats[-1:]
    at, began = now(), time.perf_counter()
    run_id = dispatcher.start(job)
    studio.go.emit("runs", {"run": run_id})
    returned = time.perf_counter() - began
    wait(lambda: bool(heard))
    held = longest(beats)
    worker = psutil.Process(manager.workers.process_of(run_id).pid)
    with studio.record.read() as session:
        folder = find(session, run_id).run_folder()
    spent = sum(worker.cpu_times()[:2]) - spent
    events, _ = folder.events_after(0)
    ready, done = (
        next((event.at - at).total_seconds() for event in events if isinstance(event, kind))
        for kind in (Prepared, Measured)
    )
    wait(lambda: not manager.is_busy)
    timer.stop()
    window.end()
    studio.close()
    forget_runs(home)
    return Click(returned, ready, done, heard[0] - began, spent, held, longest(before))


def longest(beats: list[float]) -> float:
    """The longest time between two of them."""
    return max((later - earlier for earlier, later in pairwise(beats)), default=0.0)


def forget_runs(home: "Home") -> None:
    """Every click begins with none, and checkpoints do not fill the disk."""
    shutil.rmtree(home.runs)
    for file in home.root.glob(f"{home.record.name}*"):
        file.unlink()


def is_idle(process: "Process") -> Callable[[], bool]:
    """Asks whether a process that has worked has done nothing for a while."""
    known, since = 0.0, time.monotonic()

    def ask() -> bool:
        nonlocal known, since
        if (spent := sum(process.cpu_times()[:2])) != known:
            known, since = spent, time.monotonic()
        return spent > 1 and time.monotonic() - since > QUIET

    return ask


if __name__ == "__main__":
    main()
