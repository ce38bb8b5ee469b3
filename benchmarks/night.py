"""A night in small with real training: 24 runs of the starter without a window, one of which fails
and one is killed; in the morning it is told what the record says.

    python benchmarks/night.py [--runs 24]

Two rates, two base models and three seeds are 12 runs; with a second batch size, 24. The training
process of one run is killed while it trains. One run has a base model that is not there. Nothing is
changed in the user's home: all of it stands in a temporary folder.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from engine.errors import StudioError
from engine.home import Home
from engine.record.opening import open_record
from engine.record.run_manager import RunManager
from engine.record.runs import all_runs
from engine.record.searches import runs_of
from engine.runs.searching import best_trial, trials_of
from engine.shipped import starter_model
from engine.spec.dataset import FileData, Mapping, Reading
from engine.spec.job import FromCheckpoint, JobSpec
from engine.spec.search import SearchField, SearchSpec
from engine.spec.tasks.text_classification import TextClassification
from engine.spec.training import TrainingSpec

WORDS = ("film", "play", "actor", "story", "scene", "music", "end", "plot")
LOOK = 0.5  # s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, choices=(12, 24), default=24)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bert-studio-night-") as folder:
        return night(Path(folder), asked.runs)


def night(folder: Path, runs: int) -> int:
    """Queue everything, start the queue runner, kill a worker, wait; 0 where all is as planned."""
    home = Home(folder / "home")
    home.make()
    job = search(folder, runs)
    record = open_record(home.record, home.backups)
    manager = RunManager(record, home)
    ids = manager.add(job)
    manager.leave()
    lose_model(home.runs / ids[1])
    began = time.monotonic()
    variables = {**os.environ, "BERT_STUDIO_HOME": str(home.root)}
    runner = subprocess.Popen([sys.executable, "-m", "engine.record.runner"], env=variables)
    killed = ""
    while runner.poll() is None:
        time.sleep(LOOK)
        if not killed:
            killed = kill_one(record, skip=3)
    seconds = time.monotonic() - began
    with record.read() as session:
        found = {run.id: run for run in all_runs(session)}
        states = Counter(run.state for run in found.values())
        group = found[ids[0]].asked().group
    assert group is not None
    print(f"{len(ids)} runs in {seconds:.0f} s: {dict(states)}; killed: {killed}")
    for run in found.values():
        if run.state != "finished":
            print(f"  {run.state}: {run.name}: {run.problem[:160]}")
    searched, higher = runs_of(record, group.id)
    best = best_trial(trials_of(searched), higher)
    print(f"best: {best.values if best else None}, {best.score if best else None}")
    record.close()
    planned = Counter(finished=runs - 2, failed=1, crashed=1)
    return 0 if states == planned and found[ids[1]].state == "failed" else 1


def lose_model(run: Path) -> None:
    """Let the base model of a run that waits be gone."""
    spec = run / "spec.json"
    wanted = JobSpec.model_validate_json(spec.read_bytes())
    gone = wanted.model_copy(update={"base_model": FromCheckpoint(path=run / "gone")})
    spec.write_text(gone.model_dump_json())


def search(folder: Path, runs: int) -> JobSpec:
    """Two rates and three seeds of the starter and of a copy of it."""
    shutil.copytree(starter_model(), folder / "copy")
    models = tuple(
        FromCheckpoint(path=path).model_dump(mode="json")
        for path in (starter_model(), folder / "copy")
    )
    fields = [
        SearchField(path="training.learning_rate", values=(1e-4, 3e-4)),
        SearchField(path="base_model", values=models),
        SearchField(path="training.seed", values=(1, 2, 3)),
    ]
    if runs == 24:
        fields.insert(0, SearchField(path="training.batch_size", values=(16, 32)))
    base = JobSpec(
        name="Night",
        task=TextClassification(),
        base_model=FromCheckpoint(path=starter_model()),
        data=FileData(
            path=sentences(folder / "films.csv"),
            reading=Reading(format="csv"),
            mapping=Mapping(text="text", label="label"),
        ),
        training=TrainingSpec(epochs=2, batch_size=16, max_length=32),
    )
    return JobSpec.model_validate(base.model_dump() | {"search": SearchSpec(fields=tuple(fields))})


def sentences(path: Path) -> Path:
    """160 short texts with two labels."""
    dice = random.Random(1)
    lines = ["text,label"]
    for row in range(160):
        mood = ("good", "bad")[row % 2]
        kind = {"good": "lovely", "bad": "dull"}[mood]
        lines.append(f"a {kind} {dice.choice(WORDS)} and {dice.choice(WORDS)},{mood}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def kill_one(record: object, skip: int) -> str:
    """Kill the worker of the run after the first few; its name, or nothing yet."""
    with record.read() as session:  # type: ignore[attr-defined]
        runs = all_runs(session)
    ended = [run for run in runs if run.ended is not None]
    running = [run for run in runs if run.state == "running"]
    started = running[0].run_folder().last_started() if len(ended) >= skip and running else None
    if started is None:
        return ""
    os.kill(started.pid, signal.SIGKILL)
    return running[0].name


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StudioError as error:
        sys.exit(str(error))
