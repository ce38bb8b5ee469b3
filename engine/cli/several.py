"""A job with several runs without a window: a folder for each in one, and a summary of all."""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.atomic_write import write_file
from engine.cli.progress import ProgressLine
from engine.errors import StudioError
from engine.phrases import phrase
from engine.regular_file import read_json
from engine.results.significance import seeds_interval
from engine.runs.folder import RunFolder
from engine.runs.groups import (
    SUMMARY,
    aggregate,
    best_metrics,
    expand,
    folder_of,
    outcome_of,
)
from engine.spec.job import JobSpec
from engine.terminal import remark, say

VECTORS = "vectors"  # the folder in which a layer sweep keeps its vectors until it is done


def is_several(folder: Path) -> bool:
    """Whether a folder was made here."""
    return (folder / SUMMARY).is_file()


def begin(job: JobSpec, into: Path) -> int:
    """Make the folders of all runs, then train one after another."""
    if into.is_symlink() or (into.exists() and (not into.is_dir() or any(into.iterdir()))):
        raise StudioError(
            phrase("{into} already exists.", into=into),
            phrase("Choose a folder that does not exist yet."),
        )
    names = []
    for part in expand(job, into / VECTORS):
        names.append(folder_of(part, job.training.seeds))
        RunFolder.create(into / names[-1], part)
    _write(into, {"name": job.name, "runs": [{"folder": name} for name in names]})
    return resume(into)


def resume(into: Path) -> int:
    """Train what is not finished yet; ends where a run was stopped or failed."""
    from engine.worker.train import main as work

    name, names = _members(into)
    code = 0
    for number, member in enumerate(names, start=1):
        run = RunFolder(into / member)
        if outcome_of(run) != "finished":
            remark(f"{number} of {len(names)}: {member}")
            run.clear_stop()
            line = ProgressLine(sys.stderr, run)
            code = work(run.path, line.hear)
            line.end()
            _write(into, summarise(name, [RunFolder(into / one) for one in names]))
        if code or outcome_of(run) != "finished":
            remark(f"Resume with: bert-studio resume {into}")
            break
    else:
        shutil.rmtree(into / VECTORS, ignore_errors=True)  # nobody will read them any more
    told = summarise(name, [RunFolder(into / one) for one in names])
    for row in told["rows"]:
        say(row["vectors"] or "All runs")
        for metric, found in row["metrics"].items():
            say(f"  {metric}: {_written(found)} ({found['runs']} of {row['runs']})")
    say(into)
    return code


def _members(into: Path) -> tuple[str, list[str]]:
    """The name of the job, and the folders of its runs, which lie in `into` itself.

    Raises StudioError where the summary is damaged, or names a folder elsewhere.
    """
    try:
        summary = read_json(into / SUMMARY)
        name, names = str(summary["name"]), [str(run["folder"]) for run in summary["runs"]]
        if not names:
            raise ValueError("there is no run")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise StudioError(
            phrase("{file} of {folder} is damaged.", file=SUMMARY, folder=into.name),
            phrase("Resume each run by its own folder."),
        ) from error
    for one in names:
        if one in ("", ".", "..") or Path(one).name != one or (into / one).is_symlink():
            raise StudioError(
                phrase(
                    "{file} of {folder} names the run “{run}”, which is not a folder in it.",
                    file=SUMMARY,
                    folder=into.name,
                    run=one,
                ),
                phrase("Only runs in the folder itself are trained. Resume others by their own."),
            )
    return name, names


def summarise(name: str, runs: list[RunFolder]) -> dict[str, Any]:
    """What came of each run, and row by row of those that finished the mean and the deviation.

    A row is a choice of vectors in a layer sweep; else there is one row for all seeds.
    """
    told = [_told(run) for run in runs]
    rows = []
    for vectors in dict.fromkeys(run["vectors"] for run in told):
        asked = [run for run in told if run["vectors"] == vectors]
        ended = [run["metrics"] for run in asked if run["outcome"] == "finished"]
        metrics = {}
        for metric in dict.fromkeys(metric for one in ended for metric in one):
            found = aggregate([one[metric] for one in ended if metric in one])
            if found is not None:
                ends = seeds_interval([one[metric] for one in ended if metric in one])
                known = found.deviation is not None
                metrics[metric] = asdict(found) | {"interval": ends[1:] if known else None}
        rows.append({"vectors": vectors, "runs": len(asked), "metrics": metrics})
    return {"name": name, "runs": told, "rows": rows}


def _written(found: dict[str, Any]) -> str:
    """A mean, its deviation and its interval, as far as there are several runs."""
    if found["deviation"] is None:
        return f"{found['mean']:.4f}"
    low, high = found["interval"]
    mean = f"{found['mean']:.4f} ± {found['deviation']:.4f}"
    return f"{mean}, 95 % interval {low:.4f} to {high:.4f}"


def runs_of(into: Path) -> list[RunFolder]:
    """The runs of a folder that was made here.

    Raises StudioError where the summary is damaged, or names a folder elsewhere.
    """
    return [RunFolder(into / name) for name in _members(into)[1]]


def _told(run: RunFolder) -> dict[str, Any]:
    job = run.job()
    step, metrics = best_metrics(run)
    return {
        "folder": run.path.name,
        "seed": job.training.seed,
        "vectors": job.features.vectors if job.group is not None and job.group.vectors else "",
        "outcome": outcome_of(run),
        "step": step,
        "metrics": metrics,
    }


def _write(into: Path, summary: dict[str, Any]) -> None:
    text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
    write_file(into / SUMMARY, text.encode("utf-8"))
