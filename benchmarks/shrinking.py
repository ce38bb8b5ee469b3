"""Smaller models of a fine-tuned network: score, size and speed against it, and the bar.

    python -m benchmarks fidelity prepare ASSETS/datasets WORK
    python -m benchmarks shrinking WORK --model MODEL --student SMALL --texts --seeds 42 43

Fine-tunes MODEL on some rows of each set, unless WORK has that run, and searches for smaller models
with `bert-studio shrink`, once with each seed; an interrupted search continues. With `--texts` they
learn from all other training texts of the set as well, without labels. The last lines say whether a
smaller model keeps 97 % of the score with at most a quarter of the size and at least four times the
speed, and whether the scores of the seeds are within each other's intervals.
"""

import json
import os
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.defaults.measure import sample_file
from benchmarks.defaults.plan import SETS
from benchmarks.fidelity.settings import data_folder
from engine.messages.events import Ended
from engine.runs.folder import RunFolder

SCORE, SIZE, SPEED = 0.97, 1 / 4, 4.0  # the bar, against the teacher in fp32


def main(arguments: list[str]) -> None:
    parser = harness.parser("shrinking", __doc__)
    parser.add_argument("work", type=Path, help="the folder of `fidelity prepare`")
    parser.add_argument("--model", type=Path, required=True, help="the network to fine-tune")
    parser.add_argument("--data", nargs="+", choices=tuple(SETS), default=["sst2", "trec-qc"])
    parser.add_argument("--rows", type=int, default=3_000, help="for training, at most")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--student", type=Path, nargs="+", default=[], help="other models")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42], help="a search each")
    parser.add_argument("--epochs", type=float, help="of the smaller models")
    parser.add_argument("--set", action="append", default=[], help="of the job, FIELD=VALUE")
    parser.add_argument("--texts", action="store_true", help="learn from the other texts, too")
    options = parser.parse_args(arguments)
    for name in options.data:
        searches = [search(options, name, seed) for seed in options.seeds]
        for seed, shrunk in zip(options.seeds, searches, strict=True):
            print(*lines(f"{name}, seed {seed}", shrunk), sep="\n")
        print(*repeated(searches), sep="\n")
    print(f"\n{harness.cpu_name()}, CPU time; load {os.getloadavg()[0]:.1f}")


def search(options: Any, name: str, seed: int) -> dict[str, Any]:
    """The points of one search, as `shrink --json` prints them."""
    home = options.work / "home"
    run = teacher(options, name, home)
    command = ["shrink", run, "--into", options.work / f"{run.name}-{seed}", "--seed", seed]
    command += ["--trials", options.trials, "--json"]
    for student in options.student:
        command += ["--student", student]
    if options.epochs is not None:
        command += ["--epochs", options.epochs]
    if options.texts:
        command += ["--texts", other_texts(options, name)]
    answer: dict[str, Any] = json.loads(harness.run_studio(*command, home=home))
    return answer


def teacher(options: Any, name: str, home: Path) -> Path:
    """The run of a set, trained to its end unless it is there."""
    run, data = home / "runs" / f"{options.model.name}-{name}-{options.rows}", SETS[name]
    if not run.is_dir():
        folder = data_folder(options.work)
        train = sample_file(folder, data.train, options.rows)
        fields = [f"training.max_length={data.max_length}", *options.set]
        sets = [word for field in fields for word in ("--set", field)]
        command = ("job", "--data", train, "--validation", folder / data.validation, "--name", name)
        job = options.work / f"{run.name}.json"
        text = harness.run_studio(*command, "--base-model", options.model, *sets, home=home)
        job.write_text(text, "utf-8")
        harness.run_studio("train", job, "--into", run, home=home)
    elif not has_finished(RunFolder(run)):
        harness.run_studio("resume", run, home=home)
    return run


def has_finished(run: RunFolder) -> bool:
    ends = [event for event in run.milestones() if isinstance(event, Ended)]
    return bool(ends) and ends[-1].outcome == "finished"


def other_texts(options: Any, name: str) -> Path:
    """A file with the training texts of a set that the teacher did not learn from."""
    folder, data = data_folder(options.work), SETS[name]
    header, *all_rows = (folder / data.train).read_text("utf-8").splitlines()
    used = set(sample_file(folder, data.train, options.rows).read_text("utf-8").splitlines())
    column = header.split("\t").index("text")
    file: Path = options.work / f"{name}-other-{options.rows}.txt"
    texts = [row.split("\t")[column] for row in all_rows if row not in used]
    file.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return file


def lines(name: str, shrunk: dict[str, Any]) -> list[str]:
    """A table of the points, the fastest first, and whether the bar is reached."""
    points = [point | {"index": index} for index, point in enumerate(shrunk["points"])]
    whole = points[0]
    heads = ("", "of the frontier", shrunk["metric"], "of the score", "of the size")
    rows = [f"\n### {name}\n", harness.table_head(*heads, "times as fast")]
    for point in sorted(points, key=lambda point: point["milliseconds"]):
        shape = f"{point['layers']} × {point['hidden_size']}, {point['intermediate_size']}"
        rows.append(
            harness.table_row(
                (
                    f"{'teacher, ' * point['is_teacher']}{shape}, {point['computed']}",
                    "yes" * (point["index"] in shrunk["frontier"]),
                    f"{point['score']:.1%} ({point['low']:.1%} to {point['high']:.1%})",
                    f"{point['score'] / whole['score']:.1%}",
                    f"{point['bytes'] / whole['bytes']:.1%}",
                    f"{point['times']:.2f} ({point['slowest']:.2f} to {point['fastest']:.2f})",
                )
            )
        )
    reached = [point for point in points if reaches(point, whole)]
    return [*rows, f"\nThe bar is {'reached' if reached else 'not reached'} on {name}."]


def repeated(searches: list[dict[str, Any]]) -> list[str]:
    """The models of all searches, and how many of them score within each other's intervals."""
    if len(searches) < 2:
        return []
    by_name = [
        {
            (str(point["name"]), point["computed"]): point
            for point in shrunk["points"]
            if not point["is_teacher"]
        }
        for shrunk in searches
    ]
    common = [key for key in by_name[0] if all(key in points for points in by_name)]
    within = [
        all(a[key]["low"] <= b[key]["score"] <= a[key]["high"] for a in by_name for b in by_name)
        for key in common
    ]
    return [f"\n{sum(within)} of {len(common)} models repeat within their intervals."]


def reaches(point: dict[str, Any], whole: dict[str, Any]) -> bool:
    """True if a student keeps enough of the score, at its size and speed."""
    keeps = point["score"] >= SCORE * whole["score"] and point["bytes"] <= SIZE * whole["bytes"]
    return bool(keeps and point["times"] >= SPEED and not point["is_teacher"])
