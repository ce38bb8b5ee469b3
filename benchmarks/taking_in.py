"""How long it takes until runs that the record does not know are listed with all their curves.

    python benchmarks/taking_in.py [--runs 1000] [--points 500]

The folders are written by this script, not trained: a checkpoint, and points of five curves. Then
the record is made anew from them, as after a folder was copied or a record was damaged. Prints
seconds of processor time and by the clock.
"""

import argparse
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

CURVES = ("loss", "validation_loss", "validation_accuracy", "learning_rate", "tokens_per_second")
FIRST = datetime(2026, 1, 5, 8, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--points", type=int, default=500, help="of each run, over five curves")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bert-studio-taking-in-") as folder:
        os.environ["BERT_STUDIO_HOME"] = folder
        from engine.files.home import Home
        from engine.record.opening import open_record
        from engine.record.rebuild import refill

        home = Home(Path(folder))
        home.make()
        for number in range(given.runs):
            write_run(home.runs / f"2026-01-05_08-00-00_{number:05d}", given.points)
        record = open_record(home.record, home.backups)
        clock, spent = time.perf_counter(), time.process_time()
        found = refill(record, home)
        spent, clock = time.process_time() - spent, time.perf_counter() - clock
        record.close()
    if len(found.added) != given.runs or found.problems:
        raise SystemExit(f"{len(found.added)} runs were taken in; problems: {found.problems[:3]}")
    print(
        f"{given.runs:,} runs of {given.points:,} points: {spent:.1f} s of processor time, "
        f"{clock:.1f} s by the clock, {1000 * spent / given.runs:.1f} ms a run"
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


if __name__ == "__main__":
    main()
