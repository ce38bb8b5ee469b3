"""Speed of the Runs page with many runs (`list`), of one run with many points (`page`), and of the
recovery of run folders that are missing in the record (`recover`).

Runs are written by this module, not trained: settings of all tasks, curves of five metrics, one in
seven failed or stopped. The second figure of each line is CPU time of the GUI thread, which depends
less on other work on the machine. `list` and `page` need a screen or Xvfb.
"""

import os
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness

SIZE = (1280, 800)  # px
INTERVAL = 5  # ms between two checks
CURVES = ("loss", "validation_loss", "validation_accuracy", "learning_rate", "tokens_per_second")
BATCH = 200  # runs per transaction
SENTENCE = "state is finished and learning rate > 2e-5 and not (tags is paper)"
FIRST = datetime(2026, 1, 5, 8, tzinfo=UTC)
LIMITS = {
    "the table opens": "< 1,000 ms",
    "a filter": "< 100 ms",
    "a sentence": "< 100 ms",
    "frames per second": "> 50",
    "memory": "< 400 MB",
}
PAGE_LIMITS = {"memory": "< 350 MB"}


class Figure(NamedTuple):
    """One line of output; `cpu` is the value by CPU time, 0 if there is none."""

    name: str
    value: float
    unit: str
    cpu: float = 0.0


def main(arguments: list[str]) -> None:
    parts = {"list": list_runs, "page": show_run, "recover": recover, "make": make}
    harness.run_part("runs", __doc__, parts, arguments)


def list_runs(arguments: list[str]) -> None:
    parser = harness.parser("runs list", "Open, filter, sort and compare.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=500, help="of each run, over five curves")
    parser.add_argument("--work", type=Path, help="a folder that keeps the home")
    options = parser.parse_args(arguments)
    _measure_home(measure, LIMITS, options.runs, options.points, options.work)


def show_run(arguments: list[str]) -> None:
    parser = harness.parser("runs page", "Open and zoom the page of one run.")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, help="a folder that keeps the home")
    options = parser.parse_args(arguments)
    _measure_home(measure_page, PAGE_LIMITS, 1, options.points, options.work)


def make(arguments: list[str]) -> None:
    """Make a home, in a separate process, since memory of this one is measured later."""
    home, runs, points = arguments
    make_home(Path(home), int(runs), int(points))


def _measure_home(
    act: Callable[[Path], Sequence[Figure]],
    limits: dict[str, str],
    runs: int,
    points: int,
    kept: Path | None,
) -> None:
    with harness.work_folder(kept) as work, harness.screen(SIZE):
        home = work / f"home-{runs}-{points}"
        if not (home / "studio.db").exists():
            harness.run_python("-m", "benchmarks", "runs", "make", home, runs, points)
        for name, value, unit, cpu in act(home):
            by_cpu = f"{cpu:10,.1f}" if cpu else " " * 10
            print(f"{name:28} {value:10,.1f} {by_cpu} {unit:4} {limits.get(name, '')}", flush=True)


# ── the runs ─────────────────────────────────────────────────────────────────────────────────


def make_home(root: Path, runs: int, points: int) -> None:
    """A home with `runs` recorded runs, each with a folder and `points` points."""
    from engine.files.home import Home
    from engine.record.metrics import Metric
    from engine.record.opening import open_record
    from engine.record.runs import Run
    from engine.runs.folder import RunFolder

    home = Home(root)
    home.make()
    record = open_record(home.record, home.backups)
    rng = random.Random(16)
    try:
        for first in range(0, runs, BATCH):
            numbers = range(first, min(runs, first + BATCH))
            with record.session() as session:
                for number in numbers:
                    job = make_job(number, rng)
                    folder = RunFolder.create(home.runs / f"run-{number:05d}", job)
                    folder.append(make_prepared(job))
                    session.add(Run(**run_columns(number, job, folder.path)))
                session.flush()
                rows = [row for number in numbers for row in make_points(number, points)]
                session.execute(Metric.__table__.insert(), rows)
    finally:
        record.close()


def make_job(number: int, rng: random.Random) -> Any:
    """A job of one of the tasks, with a rate, a batch size and a seed of a grid."""
    from engine.config.dataset import StoredData
    from engine.config.job import FromCheckpoint, JobSpec, RunGroup
    from engine.config.tasks import TASKS, parse_task
    from engine.config.training import TrainingSpec

    kinds = [kind for kind in TASKS if kind != "pretraining"]
    kind = kinds[number % len(kinds)]
    group = RunGroup(id=f"group-{number // 3}", name=f"night {number // 3}", runs=3)
    words = " with a name that is longer than its column" if number % 11 == 0 else ""
    return JobSpec(
        name=f"{kind.replace('_', ' ')} {number}{words}",
        task=parse_task(kind),
        base_model=FromCheckpoint(path=Path(f"/models/model-{number % 5}")),
        data=StoredData(folder=Path(f"/datasets/set-{number % 17}/{1 + number % 3}")),
        training=TrainingSpec(
            learning_rate=rng.choice((1e-5, 2e-5, 3e-5, 5e-5, 1e-4)),
            batch_size=rng.choice((8, 16, 32)),
            seed=42 + number % 3,
        ),
        group=group if number % 2 else None,
    )


def run_columns(number: int, job: Any, folder: Path) -> dict[str, Any]:
    """Columns of a run in the record."""
    ended = ("finished",) * 6 + (("failed", "stopped", "crashed")[number // 7 % 3],)
    metric = job.task.info.metrics[0]
    created = FIRST + timedelta(minutes=17 * number)
    return {
        "id": folder.name,
        "name": job.name,
        "notes": "the good one" if number % 13 == 0 else "",
        "tags": ["paper"] if number % 5 == 0 else [],
        "task": job.task.kind,
        "job": job.model_dump_json(),
        "folder": folder,
        "state": ended[number % 7],
        "created": created,
        "started": created,
        "ended": created + timedelta(minutes=15),
        "seconds": 600.0 + number % 300,
        "step": 1000,
        "steps": 1000,
        "loss": 0.1 + number % 97 / 100,
        "best_metric": f"validation_{metric.name}",
        "higher_is_better": metric.higher_is_better,
        "best_score": 0.5 + number % 499 / 1000,
        "best_step": 1000,
    }


def make_prepared(job: Any) -> Any:
    """Event of the worker before the first step."""
    from engine.messages.events import Prepared

    return Prepared(
        steps=1000,
        parameters=1_000_000,
        examples=8000,
        device="cpu",
        threads=2,
        best_metric=f"validation_{job.task.info.metrics[0].name}",
    )


def make_points(number: int, points: int) -> Iterator[dict[str, Any]]:
    """Rows of the metrics table."""
    count = max(1, points // len(CURVES))
    for curve, name in enumerate(CURVES):
        for index in range(1, count + 1):
            value = (1 + number % 7) / (index + curve) + number % 13 / 100
            step = max(1000, count) * index // count
            yield {
                "run_id": f"run-{number:05d}",
                "name": name,
                "step": step,
                "value": value,
                "status": "finite",
            }


# ── the window ───────────────────────────────────────────────────────────────────────────────


def measure(root: Path) -> Sequence[Figure]:
    """Open the page and use it; times end when it has been painted."""
    with _page(root) as (app, page):
        timed = partial(_timed, app=app)
        figures = [
            timed("the table opens", act=lambda: _show(page), is_done=lambda: page.state.is_listed)
        ]
        runs = page.list
        search = runs.search
        rows = page.state.rows.values()
        figures += [
            timed(
                "all settings are read",
                act=int,
                is_done=lambda: all("fields" in vars(r) for r in rows),
            ),
            timed("a filter", act=lambda: search.setText("question 7")),
            timed("a sentence", act=lambda: search.setText(SENTENCE)),
            timed("the filter, gone", act=search.clear),
            timed("sorted by name", act=lambda: runs.sort_by("name")),
        ]
        figures += compared(app)
        return [*figures, _memory()]


def measure_page(root: Path) -> Sequence[Figure]:
    """Open the page of the only run, until its curves are drawn, and zoom in on the loss."""
    from PySide6.QtCore import QThreadPool

    pool = QThreadPool.globalInstance()
    with _page(root) as (app, page):
        before = _memory("memory before")
        page.show()
        opened = _timed(
            "the page opens",
            app,
            lambda: page.arrive("run-00000"),
            lambda: not page.run.charts.is_filling(),
        )
        end = time.monotonic() + 3.0
        while time.monotonic() < end or pool.activeThreadCount():  # advice and alerts come later
            app.processEvents()
            time.sleep(INTERVAL / 1000)
        plot = page.run.charts.loss.plot
        end = max(len(page.run.charts.loss.series(name)) for name in page.run.charts.loss.names())
        zoomed = _timed("zoomed", app, lambda: plot.setXRange(end / 4, end / 2))
        return [before, opened, zoomed, _memory()]


@contextmanager
def _page(root: Path) -> Iterator[tuple[Any, Any]]:
    """The app, and the page of runs over a home."""
    import pyqtgraph  # noqa: F401  # as the program does before its window opens

    from app.notices import Notices
    from app.pages.runs.view import RunsPage
    from app.shell.opening import make_application
    from app.studio import Studio
    from engine.files.home import Home

    app = make_application([])
    studio = Studio(Home(root), Notices())
    page = RunsPage(studio)
    page.resize(*SIZE)
    try:
        yield app, page
    finally:
        page.close()
        page.deleteLater()
        studio.close()


def _memory(name: str = "memory") -> Figure:
    """Peak memory of this process."""
    return Figure(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")


def compared(app: Any, curves: int = 50, points: int = 100_000) -> list[Figure]:
    """Zoom in on so many curves step by step, and move the crosshair over them."""
    import numpy as np

    from app.widgets.charts.chart import Axis, Chart, Line
    from app.widgets.charts.view import ZoomChart

    x = np.arange(points, dtype=np.float64)
    noise = np.random.default_rng(16).normal(0, 0.2, (curves, points))
    np.cumsum(noise, axis=1, out=noise)  # in place: only the memory of the program counts
    noise /= 50
    lines = tuple(Line(f"run {n}", x, noise[n], n) for n in range(curves))
    view = ZoomChart("curves")
    view.resize(1000, 560)
    view.show_chart(Chart(Axis("Step", integer=True), Axis("Loss"), lines))
    view.show()
    app.processEvents()
    frames = 40
    start, cpu = time.perf_counter(), time.thread_time()
    for place in range(frames):
        view.zoom(place * points / 200, points - place * points / 100)
        view.repaint()
    took, cpu = time.perf_counter() - start, time.thread_time() - cpu
    view.close()
    view.deleteLater()
    return [Figure("frames per second", frames / took, "", frames / cpu)]


def _show(page: Any) -> None:
    page.show()
    page.arrive(None)


def _timed(
    name: str, app: Any, act: Callable[[], object], is_done: Callable[[], bool] = lambda: True
) -> Figure:
    """Milliseconds until the effect of `act` has been painted.

    This thread sleeps between events, since polling would take the GIL from reading threads.
    """
    from PySide6.QtCore import QEventLoop, QTimer

    sleep = QEventLoop.ProcessEventsFlag.WaitForMoreEvents
    alarm = QTimer(interval=INTERVAL)
    alarm.start()
    start, cpu = time.perf_counter(), time.thread_time()
    act()
    while not is_done():
        app.processEvents(sleep)
        if time.perf_counter() - start > 120:
            raise TimeoutError
    app.processEvents()
    took, cpu = time.perf_counter() - start, time.thread_time() - cpu
    return Figure(name, took * 1000, "ms", cpu * 1000)


# ── recovery ─────────────────────────────────────────────────────────────────────────────────


def recover(arguments: list[str]) -> None:
    parser = harness.parser("runs recover", "Rebuild the record from run folders.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--points", type=int, default=500, help="of each run, over five curves")
    options = parser.parse_args(arguments)
    with harness.work_folder() as folder:
        os.environ["BERT_STUDIO_HOME"] = str(folder)
        from engine.files.home import Home
        from engine.record.opening import open_record
        from engine.record.rebuild import refill

        home = Home(folder)
        home.make()
        for number in range(options.runs):
            write_run(home.runs / f"2026-01-05_08-00-00_{number:05d}", options.points)
        record = open_record(home.record, home.backups)
        results = []
        wall, cpu = harness.timed(lambda: results.append(refill(record, home)))
        record.close()
    if len(results[0].added) != options.runs or results[0].problems:
        raise SystemExit(f"{len(results[0].added)} runs recovered: {results[0].problems[:3]}")
    print(
        f"{options.runs:,} runs of {options.points:,} points: {cpu:.1f} s of CPU time, "
        f"{wall:.1f} s by the clock, {1000 * cpu / options.runs:.1f} ms per run"
    )


def write_run(path: Path, points: int) -> None:
    """A finished run as its worker leaves it."""
    from engine.config.dataset import StoredData
    from engine.config.job import FromCheckpoint, JobSpec
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import TrainingSpec
    from engine.files.atomic_write import MANIFEST
    from engine.files.shipped import starter_model
    from engine.messages.events import Ended, Event, Measured, Prepared, Saved, Started
    from engine.runs.folder import RunFolder

    job = JobSpec(
        name=path.name,
        task=TextClassification(),
        base_model=FromCheckpoint(path=starter_model()),
        data=StoredData(folder=path.parent.parent / "datasets" / "rows" / "1"),
        training=TrainingSpec(steps=1000),
    )
    folder = RunFolder.create(path, job)
    steps = max(1, points // len(CURVES))
    events: list[Event] = [
        Started(at=FIRST, pid=1),
        Prepared(
            at=FIRST,
            steps=steps,
            parameters=7_000_000,
            examples=2_000,
            device="cpu",
            threads=2,
            best_metric="validation_accuracy",
        ),
    ]
    for step in range(1, steps + 1):
        at = FIRST + timedelta(seconds=step)
        for number, name in enumerate(CURVES):
            value = 1 / (step + number)
            events.append(Measured(at=at, name=name, step=step, value=value))
    saved = folder.checkpoint(steps)
    saved.mkdir()
    (saved / MANIFEST).write_text("{}")
    last = FIRST + timedelta(seconds=steps + 1)
    place = str(saved.relative_to(path))
    events += [
        Saved(at=last, step=steps, folder=place, best=True),
        Ended(at=last, outcome="finished", step=steps),
    ]
    folder.events_file.write_bytes(b"".join(event.line() for event in events))
