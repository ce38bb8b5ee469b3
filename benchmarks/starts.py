"""How long it takes from a click to the first step of a run.

    python benchmarks/starts.py rows WORK     a data set of a million rows, the first time and later
    python benchmarks/starts.py click WORK    from the click, with a fresh worker and with one that
                                              stands by, small and base networks, in turns

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
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process
    from PySide6.QtCore import QCoreApplication

    from engine.spec.job import JobSpec

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

STARTER = PROJECT / "resources" / "starter"
LABELS = ("good", "bad", "so-so")
PATIENCE = 600.0  # s for one run to take its first step
QUIET = 1.0  # s without work, after which a worker stands by
TICK = 5  # ms between two beats of the window's loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Raw)
    parser.add_argument("what", choices=("rows", "click", "first-step"))
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
    if arguments.what == "rows":
        many_rows(work, arguments.rows, arguments.threads)
    else:
        clicks(work, arguments.pairs, arguments.threads)


class Raw(argparse.RawDescriptionHelpFormatter):
    """The text above as it stands."""


# ── what is trained ──────────────────────────────────────────────────────────────────────────


def data_set(work: Path, rows: int) -> Path:
    """A made-up version of `rows` short sentences of known words, with three labels."""
    from engine.data.store import import_dataset
    from engine.spec.dataset import Mapping, Reading, Split

    folder = work / f"sentences-{rows}"
    if folder.is_dir():
        return folder
    chance = random.Random(1)
    lines = (STARTER / "vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [word for word in lines if word.isalpha()]
    source = work / f"sentences-{rows}.csv"
    with open(source, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for _ in range(rows):
            text = " ".join(chance.choices(words, k=chance.randint(5, 15)))
            writer.writerow([text, chance.choice(LABELS)])
    mapping = Mapping(text="text", label="label")
    import_dataset("sentences", {"all": source}, Reading(), mapping, Split(dev=0.001), folder)
    return folder


def base(work: Path) -> Path:
    """A checkpoint of a base network whose weights are chance."""
    import torch

    from engine.data.tokenizer import Tokenizer
    from engine.models import checkpoint
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.spec.model import PRESETS

    folder = work / "base"
    if not folder.is_dir():
        tokenizer = Tokenizer.from_folder(STARTER)
        torch.manual_seed(0)
        spec = PRESETS["base"].model_copy(update={"vocabulary": tokenizer.size})
        checkpoint.save(folder, Network(spec, Heads(masked_words=True)), tokenizer)
    return folder


def job_of(data: Path, model: Path, threads: int) -> "JobSpec":
    from engine.spec.dataset import StoredData
    from engine.spec.job import FromCheckpoint, JobSpec
    from engine.spec.task import Classification
    from engine.spec.training import HardwareSpec, TrainingSpec

    return JobSpec(
        name="Sentences",
        task=Classification(),
        start=FromCheckpoint(path=model),
        data=StoredData(folder=data),
        training=TrainingSpec(steps=1, batch=16, max_length=64),
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
    from engine.messages import Event, Measured
    from engine.worker import share_the_processor

    share_the_processor()
    from engine.worker.train import main as train

    def listen(event: Event) -> None:
        if isinstance(event, Measured):
            print(time.process_time(), flush=True)
            os._exit(0)

    sys.exit(train(folder, listen))


# ── from a click ─────────────────────────────────────────────────────────────────────────────


def clicks(work: Path, pairs: int, threads: int) -> None:
    from PySide6.QtCore import QCoreApplication

    data = data_set(work, 20_000)
    models = {"starter": STARTER, "base": base(work)}
    shutil.rmtree(work / "home", ignore_errors=True)
    app = QCoreApplication.instance() or QCoreApplication([])
    print(f"20,000 rows of classes, batches of 16, {threads} thread(s); medians of {pairs}\n")
    print(
        "| network, worker | the click takes, ms | ready to train, s | first step done, s | "
        "known in the window, s | processor, s | longest pause of the window, ms |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, model in models.items():
        job = job_of(data, model, threads)
        with_window(app, job, stands_by=False)  # makes the token ids
        found: dict[bool, list[list[float]]] = {False: [], True: []}
        for _ in range(pairs):
            for stands_by in (False, True):
                found[stands_by].append(with_window(app, job, stands_by))
        for stands_by, rows in found.items():
            click, ready, done, heard, processor, pause = map(
                statistics.median, zip(*rows, strict=True)
            )
            worker = "stands by" if stands_by else "fresh"
            print(
                f"| {name}, {worker} | {1000 * click:.0f} | {ready:.2f} | {done:.2f} | "
                f"{heard:.2f} | {processor:.2f} | {1000 * pause:.0f} |",
                flush=True,
            )


def with_window(app: "QCoreApplication", job: "JobSpec", stands_by: bool) -> list[float]:
    """What one run took: seconds until the click returned, the run was ready, its first step was
    done, and the window knew it; processor seconds from the click on; the longest pause between
    two beats of the window's loop, also while the worker got ready.
    """
    import psutil
    from PySide6.QtCore import QTimer

    from app.dispatcher import Dispatcher
    from engine.home import Home
    from engine.messages import Measured, Prepared, now
    from engine.record.opening import open_record
    from engine.record.runs import run as find

    home = Home()
    home.make()
    record = open_record(home.record, home.backups)
    dispatcher = Dispatcher(record, home)
    steering = dispatcher._steering
    beats = [time.perf_counter()]
    timer = QTimer(interval=TICK)
    timer.timeout.connect(lambda: beats.append(time.perf_counter()))
    timer.start()

    def wait(holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            app.processEvents()
            time.sleep(0.001)
            if time.monotonic() > end:
                sys.exit("it takes too long")

    heard: list[float] = []
    dispatcher.measured.connect(lambda run, points: heard.append(time.perf_counter()))
    settled: list[bool] = []
    dispatcher.settled.connect(lambda: settled.append(True))
    dispatcher.begin()
    wait(lambda: bool(settled))
    spent = 0.0
    if stands_by:
        dispatcher.stand_by()
        wait(lambda: steering._spare is not None)
        waiting = psutil.Process(steering._spare._process.pid)
        wait(is_idle(waiting))
        spent = sum(waiting.cpu_times()[:2])
    at, began = now(), time.perf_counter()
    run_id = dispatcher.start(job)
    clicked = time.perf_counter() - began
    wait(lambda: bool(heard))
    worker = psutil.Process(steering._workers[run_id].pid)
    with record.read() as session:
        run = find(session, run_id)
        folder = run.run_folder()
    spent = sum(worker.cpu_times()[:2]) - spent
    events, _ = folder.events_after(0)
    ready, done = (
        next((event.at - at).total_seconds() for event in events if isinstance(event, kind))
        for kind in (Prepared, Measured)
    )
    wait(lambda: not steering.is_busy)
    timer.stop()
    pause = max(later - earlier for earlier, later in pairwise(beats))
    dispatcher.close()
    record.close()
    return [clicked, ready, done, heard[0] - began, spent, pause]


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
