"""A night of 24 real runs of the starter without a window, one of which fails and one is killed.

Two rates, two base models and three seeds are 12 runs; with a second batch size, 24. The training
process of one run is killed; one run has a missing base model. Prints the states of the record. All
files go to a temporary folder, or to the folder of `--window`; then the program is opened on that
home once per theme: table of runs, groups, filter, comparison, HTML report and lineage, by mouse
and keys (night.steps). FOLDER/THEME gets the pictures and the report. If FOLDER has a night
already, only the window is opened.
"""

import html
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness
from engine.config.dataset import FileData, Mapping, Reading
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import TrainingSpec
from engine.files.home import Home
from engine.files.shipped import starter_model
from engine.record.opening import open_record
from engine.record.run_manager import RunManager
from engine.record.runs import all_runs
from engine.record.searches import list_search_runs
from engine.runs.searching import best_trial, list_trials

WORDS = ("film", "play", "actor", "story", "scene", "music", "end", "plot")
POLLING = 0.5  # s
THEMES = ("light", "dark")
FILTER = "learning rate = 3e-4 and state is finished"
STEPS = harness.read_sections(Path(__file__).with_name("night.steps"))


def main(arguments: list[str]) -> None:
    parser = harness.parser("quality night", __doc__)
    parser.add_argument("--runs", type=int, choices=(12, 24), default=24)
    parser.add_argument("--window", type=Path, metavar="FOLDER", help="show the night in a window")
    parser.add_argument("--theme", nargs="+", choices=THEMES, default=list(THEMES))
    options = parser.parse_args(arguments)
    with harness.work_folder(options.window) as folder:
        is_new = not (folder / "home").is_dir()
        is_good = not is_new or night(folder, options.runs)
        if options.window is not None and is_good:
            is_good = all(morning(folder, theme) for theme in options.theme)
    sys.exit(not is_good)


def night(folder: Path, runs: int) -> bool:
    """Queue all runs, start the queue runner, kill a worker, wait; True if all ended as planned."""
    home = Home(folder / "home")
    home.make()
    job = make_search(folder, runs)
    record = open_record(home.record, home.backups)
    manager = RunManager(record, home)
    ids = manager.add(job)
    manager.detach()
    remove_model(home.runs / ids[1])
    began = time.monotonic()
    variables = {**os.environ, "BERT_STUDIO_HOME": str(home.root)}
    runner = subprocess.Popen([sys.executable, "-m", "engine.record.runner"], env=variables)
    killed = ""
    while runner.poll() is None:
        time.sleep(POLLING)
        if not killed:
            killed = kill_one(record, skip=3)
    seconds = time.monotonic() - began
    with record.read() as session:
        found = {run.id: run for run in all_runs(session)}
        states = Counter(run.state for run in found.values())
        group = found[ids[0]].parse_job().group
    assert group is not None
    print(f"{len(ids)} runs in {seconds:.0f} s: {dict(states)}; killed: {killed}")
    for run in found.values():
        if run.state != "finished":
            print(f"  {run.state}: {run.name}: {run.problem[:160]}")
    searched, higher = list_search_runs(record, group.id)
    best = best_trial(list_trials(searched), higher)
    print(f"best: {best.values if best else None}, {best.score if best else None}")
    record.close()
    planned = Counter(finished=runs - 2, failed=1, crashed=1)
    return states == planned and found[ids[1]].state == "failed"


def morning(folder: Path, theme: str, parts: Sequence[str] = tuple(STEPS)) -> bool:
    """Use the window on a night's home; True if all steps succeed and the report is complete."""
    home, work = Home(folder / "home"), folder / theme
    record = open_record(home.record, home.backups)
    with record.read() as session:
        names = [run.name for run in all_runs(session)]
    record.close()
    report = work / "report.html"
    report.unlink(missing_ok=True)
    values = {"filter": f"'{FILTER}'", "report": f'"{report}"', "count": len(names)}
    steps = "".join(STEPS[part] for part in parts).format(**values) + "quit\n"
    preferences = {"theme": theme, "ask_on_close": False, "stand_by": False}
    error = harness.drive(steps, home.root, work, preferences)
    if not error:
        page = report.read_text(encoding="utf-8") if report.is_file() else ""
        missing = [name for name in names if html.escape(name) not in page]
        error = f"{len(missing)} of {len(names)} runs are not in the report" if missing else ""
    print(f"{theme}: {error or f'{report} has all {len(names)} runs'}", flush=True)
    return not error


def remove_model(run: Path) -> None:
    """Give a queued run a missing base model."""
    spec = run / "spec.json"
    job = JobSpec.model_validate_json(spec.read_bytes())
    broken = job.model_copy(update={"base_model": FromCheckpoint(path=run / "gone")})
    spec.write_text(broken.model_dump_json())


def make_search(folder: Path, runs: int) -> JobSpec:
    """Two rates and three seeds of the starter and a copy of it."""
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
            path=write_sentences(folder / "films.csv"),
            reading=Reading(format="csv"),
            mapping=Mapping(text="text", label="label"),
        ),
        training=TrainingSpec(epochs=2, batch_size=16, max_length=32),
    )
    return JobSpec.model_validate(base.model_dump() | {"search": SearchSpec(fields=tuple(fields))})


def write_sentences(path: Path) -> Path:
    """160 short texts with two labels; a sixth are wrong, so that runs differ."""
    rng = random.Random(1)
    lines = ["text,label"]
    for row in range(160):
        mood = ("good", "bad")[row % 2]
        kind = {"good": "lovely", "bad": "dull"}[mood]
        label = rng.choice(("good", "bad")) if rng.random() < 1 / 3 else mood
        lines.append(f"a {kind} {rng.choice(WORDS)} and {rng.choice(WORDS)},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def kill_one(record: object, skip: int) -> str:
    """Kill a worker after `skip` runs have ended; return the name of its run, or “” yet."""
    with record.read() as session:  # type: ignore[attr-defined]
        runs = all_runs(session)
    ended = [run for run in runs if run.ended is not None]
    running = [run for run in runs if run.state == "running"]
    started = running[0].run_folder().last_started() if len(ended) >= skip and running else None
    if started is None:
        return ""
    os.kill(started.pid, signal.SIGKILL)
    return running[0].name
