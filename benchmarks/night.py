"""A night in small with real training: 24 runs of the starter without a window, one of which fails
and one is killed; in the morning it is told what the record says, and the window shows it.

    python benchmarks/night.py [--runs 24] [--window FOLDER [--theme light dark]]

Two rates, two base models and three seeds are 12 runs; with a second batch size, 24. The training
process of one run is killed while it trains. One run has a base model that is not there. Nothing is
changed in the user's home: all of it stands in a temporary folder, or in FOLDER.

With --window the program is then opened on the home of the night, once for each theme, by
tools/drive.py: the table of runs and its groups, a filter, the comparison with all its tabs, its
report as HTML, and the lineage of a run, with real mouse and keys. FOLDER/THEME has the pictures
and the report. Where FOLDER has a night already, only the window is opened.
"""

import argparse
import html
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from driven import driven

from engine.config.dataset import FileData, Mapping, Reading
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.shipped import starter_model
from engine.record.opening import open_record
from engine.record.run_manager import RunManager
from engine.record.runs import all_runs
from engine.record.searches import runs_of
from engine.runs.searching import best_trial, trials_of

WORDS = ("film", "play", "actor", "story", "scene", "music", "end", "plot")
LOOK = 0.5  # s
THEMES = ("light", "dark")
FILTER = "learning rate = 3e-4 and state is finished"
OPENED = """
    window "BERT Studio" 120
    key ctrl+5
    window Runs
    expect "table:Runs" 60
    wait 1
    shot 01-runs.png
"""
FILTERED = """
    click "Search the runs"
    type {filter}
    key Return
    wait 2
    shot 02-filter.png
    click "Search the runs"
    key ctrl+a BackSpace
    wait 1
"""
COMPARED = """
    click "table:Runs"
    key ctrl+a
    key ctrl+m
    expect "Compare {count} runs" 60
    wait 2
    shot 03-curves.png
"""
TABS = """
    click "Mean and 95 % band"
    wait 2
    shot 04-curves-by-group.png
    click "page tab:Settings"
    expect "table:Settings of the compared runs" 60
    wait 1
    shot 05-settings.png
    click "page tab:Scores"
    expect "table:Scores of the compared runs" 60
    gone "Comparing the results" 120
    wait 2
    shot 06-scores.png
    click "page tab:Parallel coordinates"
    wait 2
    shot 07-parallel-coordinates.png
    click "page tab:Scatter plot"
    wait 2
    shot 08-scatter-plot.png
"""
REPORTED = """
    click "push button:Save the report…"
    window "Save the report"
    key ctrl+a
    type {report}
    key Return
    window Runs
    gone "push button:Saving the report…" 300
    expect "push button:Save the report…" 60
    wait 1
    shot 09-report-saved.png
"""
LINEAGE = """
    click "push button:All runs"
    click "table:Runs"
    key ctrl+Home
    key ctrl+l
    expect "push button:Its lineage" 60
    wait 2
    shot 10-lineage.png
"""
PARTS = (OPENED, FILTERED, COMPARED, TABS, REPORTED, LINEAGE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, choices=(12, 24), default=24)
    parser.add_argument("--window", type=Path, metavar="FOLDER", help="shows the night in a window")
    parser.add_argument("--theme", nargs="+", choices=THEMES, default=list(THEMES))
    asked = parser.parse_args()
    if asked.window is not None:
        folder = asked.window.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        there = (folder / "home").is_dir()
        failed = 0 if there else night(folder, asked.runs)
        return failed or max(morning(folder, theme) for theme in asked.theme)
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


def morning(folder: Path, theme: str, parts: Sequence[str] = PARTS) -> int:
    """Look at the night in the real window; 0 where it went well and the report has every run."""
    home, work = Home(folder / "home"), folder / theme
    record = open_record(home.record, home.backups)
    with record.read() as session:
        names = [run.name for run in all_runs(session)]
    record.close()
    report = work / "report.html"
    report.unlink(missing_ok=True)
    given = {"filter": f"'{FILTER}'", "report": f'"{report}"', "count": len(names)}
    steps = "".join(parts).format(**given) + "    quit\n"
    said = driven(steps, home.root, work, {"theme": theme, "ask_on_close": False})
    if not said:
        page = report.read_text(encoding="utf-8") if report.is_file() else ""
        missing = [name for name in names if html.escape(name) not in page]
        said = f"{len(missing)} of {len(names)} runs are not in the report" if missing else ""
    print(f"{theme}: {said or f'{report} has all {len(names)} runs'}", flush=True)
    return 1 if said else 0


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
    """160 short texts with two labels, of which a sixth is wrong: else no run would differ."""
    dice = random.Random(1)
    lines = ["text,label"]
    for row in range(160):
        mood = ("good", "bad")[row % 2]
        kind = {"good": "lovely", "bad": "dull"}[mood]
        said = dice.choice(("good", "bad")) if dice.random() < 1 / 3 else mood
        lines.append(f"a {kind} {dice.choice(WORDS)} and {dice.choice(WORDS)},{said}")
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
