"""The results of both sides, a JSON object in each line; lines are only ever added."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from settings import TASKS, Setting, data_folder, results_file

Side = Literal["transformers", "ours"]


def read(work: Path) -> list[dict[str, Any]]:
    """All results, the oldest first."""
    path = results_file(work)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def add(
    work: Path,
    side: Side,
    task: str,
    seed: int,
    figures: dict[str, float],
    seconds: float,
    versions: dict[str, str],
) -> None:
    """Add a line: `seconds` are those of the whole run, loading and evaluation included."""
    line = {
        "side": side,
        "task": task,
        "seed": seed,
        "figures": figures,
        "seconds": round(seconds, 1),
        "versions": versions,
        **_what(work, TASKS[task]),
    }
    print(json.dumps(line), flush=True)
    with results_file(work).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def is_there(work: Path, side: Side, task: str, seed: int) -> bool:
    """Whether this run was made with the present settings and data."""
    wanted = {"side": side, "task": task, "seed": seed, **_what(work, TASKS[task])}
    return any(wanted.items() <= line.items() for line in read(work))


def of_now(work: Path, side: Side, task: str) -> list[dict[str, Any]]:
    """The runs of a task with the present settings and data; of each seed the last."""
    wanted = {"side": side, "task": task, **_what(work, TASKS[task])}
    found = [line for line in read(work) if wanted.items() <= line.items()]
    return list({line["seed"]: line for line in found}.values())


def _what(work: Path, setting: Setting) -> dict[str, Any]:
    """The settings, and a digest of the files that are trained on and evaluated on."""
    digest = hashlib.sha256()
    for name in (setting.train, *setting.evaluated.values()):
        digest.update((data_folder(work) / name).read_bytes())
    return {"setting": json.loads(json.dumps(asdict(setting))), "data": digest.hexdigest()}
