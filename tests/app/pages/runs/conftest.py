"""Run folders as left by workers, listed in the record of a studio."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from app.pages.runs.view import RunsPage
from engine.config.job import JobSpec
from engine.files.atomic_write import MANIFEST
from engine.messages import now
from engine.messages.events import Ended, Event, Noted, Prepared, Saved, Started, measured
from engine.record.follow import record_folder
from engine.runs.folder import RunFolder
from tests.app.fake_workers import fake_workers
from tests.engine.runs import fake_worker

MakeRun = Callable[..., str]


def make_events(
    folder: RunFolder,
    steps: int,
    last_step: int,
    outcome: str | None,
    problem: str = "",
    not_finite: Sequence[int] = (),
    save_every: int = 5,
) -> list[Event]:
    """Events of a worker that trains to `last_step` of `steps` at one step per second."""
    at = now() - timedelta(hours=1)
    events: list[Event] = [
        Started(pid=1, at=at),
        Prepared(
            steps=steps,
            parameters=1234,
            examples=99,
            device="cpu",
            threads=2,
            versions={"torch": "2.13.0"},
            best_metric="validation_accuracy",
            at=at,
        ),
        Noted(text="2 texts were truncated.", at=at),
    ]
    for step in range(1, last_step + 1):
        at += timedelta(seconds=1)
        loss = math.nan if step in not_finite else 2 / step
        values = {"loss": loss, "tokens_per_second": 1000, "tokens": 900 * step}
        if step % save_every == 0:
            values["validation_accuracy"] = 1 - 1 / step
            values["validation_f1_macro"] = 1 - 2 / step
        points = (measured(name, step, value) for name, value in values.items())
        events += [point.model_copy(update={"at": at}) for point in points]
        if step % save_every == 0:
            checkpoint = folder.checkpoint(step)
            checkpoint.mkdir(parents=True)
            (checkpoint / "config.json").write_text("{}")
            (checkpoint / MANIFEST).write_text(json.dumps({"files": {}}))
            relative = checkpoint.relative_to(folder.path).as_posix()
            events.append(Saved(step=step, folder=relative, best=step == save_every, at=at))
    if outcome is not None:
        ended = {"outcome": outcome, "step": last_step, "at": at}
        if problem:
            ended |= {"problem": problem, "advice": "Use a smaller batch size."}
            ended["details"] = "Traceback: in loop.py"
        events.append(Ended.model_validate(ended))
    return events


@pytest.fixture
def make_run(studio) -> MakeRun:
    """`make_run("name", step=…, outcome=…)` lists a run left by a worker; returns its id."""

    def make(
        name: str,
        steps: int = 20,
        step: int = 20,
        outcome: str | None = "finished",
        job: JobSpec | None = None,
        **more: object,
    ) -> str:
        spec = job or fake_worker.job(name)
        number = len(list(studio.home.runs.iterdir()))
        folder = RunFolder.create(studio.home.runs / f"run{number}", spec)
        events = make_events(folder, steps, step, outcome, **more)
        folder.events_file.write_bytes(b"".join(event.line() for event in events))
        folder.log.write_text("loading\nstep 1\n")
        with studio.record.session() as session:
            return record_folder(session, folder, spec).id

    return make


@pytest.fixture
def make_page(studio, qtbot) -> Callable[[], RunsPage]:
    """`make_page()` shows the Runs page, its table read."""
    pages: list[RunsPage] = []  # kept alive

    def make() -> RunsPage:
        page = RunsPage(studio)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(1180, 760)
        with qtbot.waitExposed(page):
            page.show()
        page.arrive(None)
        qtbot.waitUntil(lambda: page.state.is_listed)
        return page

    return make


@pytest.fixture
def workers(monkeypatch, studio) -> Iterator[None]:
    """Workers without torch for the runs of this studio."""
    with fake_workers(monkeypatch, studio.home):
        yield
        studio.dispatcher.close()
