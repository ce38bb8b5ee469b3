"""Train a job with several runs: a subfolder for each, and a summary of all."""

import json
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from engine.cli.progress import ProgressLine
from engine.config.changes import as_text
from engine.config.job import JobSpec
from engine.config.tasks import metric_limits, metric_text
from engine.desktop.awake import awake_while_training
from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.files.home import Home
from engine.files.regular_file import read_json
from engine.messages.events import Event
from engine.phrases import phrase
from engine.results.significance import seeds_interval
from engine.runs import groups, searching
from engine.runs.folder import RunFolder
from engine.system.terminal import echo, echo_error
from engine.worker import FAILED

VECTORS = "vectors"  # the folder in which a layer sweep caches its vectors until it is done


def is_several(folder: Path) -> bool:
    return (folder / groups.SUMMARY).is_file()


def begin(job: JobSpec, folder: Path) -> int:
    """Create the folders of all runs, then train one after another."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise StudioError(
            "{folder} already exists.", "Choose a folder that does not exist yet.", folder=folder
        )
    names = _create_runs(folder, groups.expand(job, folder / VECTORS), job.training.seeds)
    _write(folder, {"name": job.name, "runs": [{"folder": name} for name in names]})
    return resume(folder)


def _create_runs(folder: Path, jobs: Iterable[JobSpec], seeds: int) -> list[str]:
    names = []
    for job in jobs:
        names.append(groups.run_folder_name(job, seeds))
        RunFolder.create(folder / names[-1], job)
    return names


def resume(folder: Path) -> int:
    """Train the unfinished runs; ends if one was stopped, or failed outside a search."""
    name, names = _read_members(folder)
    is_search = _is_search(RunFolder(folder / names[0]))
    code = _train_search(folder, names) if is_search else _train_each(folder, names)
    if code is None:
        shutil.rmtree(folder / VECTORS, ignore_errors=True)  # no longer needed
    else:
        echo_error(f"Resume with: bert-studio resume {folder}")
    _print_summary(summarise(name, list_runs(folder)))
    echo(folder)
    return code or 0


def _train_each(folder: Path, names: list[str]) -> int | None:
    for name in names:
        if groups.last_outcome(RunFolder(folder / name)) != "finished":
            code = _train(folder, names, name)
            if code or groups.last_outcome(RunFolder(folder / name)) != "finished":
                return code
    return None


def _train_search(folder: Path, names: list[str]) -> int | None:
    """Train the runs of a search and request more; None if it is over, else the exit code.

    A failed run does not stop the search. A run stopped by the user does, for now.
    """
    names = list(names)
    for name in names:  # the list grows
        runs, higher = _search_runs(folder, names)
        why = searching.end_reason(runs, higher)
        if why is not None and not runs[names.index(name)].state:
            echo_error(phrase("The search ends: {why}.", why=why))
            return None
        run = RunFolder(folder / name)
        if not searching.search_run(run)[0].has_ended:
            code = _train(folder, names, name)
            if not searching.search_run(run)[0].has_ended:
                return code
        if name == names[-1]:
            names += _next_runs(folder, names)
    finished = any(run.state == "finished" for run in _search_runs(folder, names)[0])
    return None if finished else FAILED


def _is_search(run: RunFolder) -> bool:
    group = run.job().group
    return group is not None and group.search is not None


def _train(folder: Path, names: list[str], name: str) -> int:
    """Train a run to its end, and update the summary; a pruning search may stop it."""
    from engine.worker.train import main as work

    run, all_runs = RunFolder(folder / name), [RunFolder(folder / name) for name in names]
    echo_error(f"{names.index(name) + 1} of {len(names)}: {name}")
    run.clear_stop()
    group = run.job().group
    prune: Callable[[Event], None] | None = None
    if group is not None and group.search is not None and group.search.prune:
        others = [searching.search_run(member)[0] for member in all_runs if member.path != run.path]
        prune = searching.prune_handler(run, others)

    with ProgressLine(sys.stderr, run) as line, awake_while_training(Home().settings):

        def on_event(event: Event) -> None:
            line.on_event(event)
            if prune is not None:
                prune(event)

        code = work(run.path, on_event)
    _write(folder, summarise(_read_members(folder)[0], all_runs))
    return code


def _search_runs(folder: Path, names: Iterable[str]) -> tuple[list[searching.SearchRun], bool]:
    runs = [searching.search_run(RunFolder(folder / name)) for name in names]
    return [run for run, _ in runs], all(higher for _, higher in runs)


def _next_runs(folder: Path, names: list[str]) -> list[str]:
    """The folders of the next combination, if the search continues; adds them to the summary."""
    runs, higher = _search_runs(folder, names)
    question = searching.next_question(runs, higher)
    if question is None:
        return []
    from engine.search.tpe import OPTUNA, suggest

    values = suggest(question)
    job, group = runs[0].job, runs[0].job.group
    if values is None or group is None:
        return []
    if (note := searching.version_note(runs, OPTUNA)) is not None:
        echo_error(note)
    group = group.model_copy(update={"optuna": OPTUNA})
    number = max(run.job.group.setting for run in runs if run.job.group is not None) + 1
    jobs = groups.expand_combination(job, group, number, values)
    new = _create_runs(folder, jobs, len(group.seeds))
    listed = [{"folder": name} for name in (*names, *new)]
    _write(folder, {"name": group.name, "runs": listed})
    return new


def _print_summary(summary: dict[str, Any]) -> None:
    for row in summary["rows"]:
        mark = phrase(" (best)") if row.get("best") else ""
        values_text = ", ".join(f"{path} {as_text(value)}" for path, value in row["values"].items())
        echo((row["vectors"] or values_text or "All runs") + mark)
        for metric, figure in row["metrics"].items():
            text = _format_figure(metric, figure)
            echo(f"  {metric}: {text} ({figure['runs']} of {row['runs']})")


def _read_members(folder: Path) -> tuple[str, list[str]]:
    """The name of the job, and the subfolders of its runs.

    Raises StudioError if the summary is damaged, or names a folder elsewhere.
    """
    try:
        summary = read_json(folder / groups.SUMMARY)
        name, names = str(summary["name"]), [str(run["folder"]) for run in summary["runs"]]
        if not names:
            raise ValueError("there is no run")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise StudioError(
            "{file} of {folder} is damaged.",
            "Resume each run by its own folder.",
            file=groups.SUMMARY,
            folder=folder.name,
        ) from error
    for member in names:
        if member in ("", "..") or Path(member).name != member or (folder / member).is_symlink():
            raise StudioError(
                "{file} of {folder} names the run “{run}”, which is not a folder in it.",
                "Only runs in the folder itself are trained. Resume others by their own folders.",
                file=groups.SUMMARY,
                folder=folder.name,
                run=member,
            )
    return name, names


def summarise(name: str, runs: list[RunFolder]) -> dict[str, Any]:
    """The result of each run, and per row the mean and deviation of the finished ones.

    A row is a choice of vectors in a layer sweep, or a combination of a search; otherwise there is
    one row for all seeds.
    """
    results = [_run_result(run) for run in runs]
    rows: list[dict[str, Any]] = []
    for vectors, setting in dict.fromkeys((run["vectors"], run["setting"]) for run in results):
        members = [run for run in results if (run["vectors"], run["setting"]) == (vectors, setting)]
        ended = [run["metrics"] for run in members if run["outcome"] == "finished"]
        metrics = {}
        for metric in dict.fromkeys(metric for scores in ended for metric in scores):
            figure = groups.aggregate([scores[metric] for scores in ended if metric in scores])
            if figure is not None:
                values = [scores[metric] for scores in ended if metric in scores]
                ends = seeds_interval(values, metric_limits(metric))
                has_interval = figure.deviation is not None
                metrics[metric] = asdict(figure) | {"interval": ends[1:] if has_interval else None}
        values = members[0]["values"]
        rows.append(
            {"vectors": vectors, "values": values, "runs": len(members), "metrics": metrics}
        )
    _mark_best(rows, runs)
    return {"name": name, "runs": results, "rows": rows}


def _mark_best(rows: list[dict[str, Any]], runs: list[RunFolder]) -> None:
    if not runs or not _is_search(runs[0]):
        return
    search_runs = [searching.search_run(run) for run in runs]
    best = searching.best_trial(
        searching.list_trials([run for run, _ in search_runs]),
        all(higher for _, higher in search_runs),
    )
    for row in rows:
        row["best"] = best is not None and row["values"] == best.values


def _format_figure(metric: str, figure: dict[str, Any]) -> str:
    text = partial(metric_text, metric)
    if figure["deviation"] is None:
        return text(figure["mean"])
    low, high = map(text, figure["interval"])
    return f"{text(figure['mean'])} ± {text(figure['deviation'])}, 95 % interval {low} to {high}"


def list_runs(folder: Path) -> list[RunFolder]:
    """The runs in a folder of several runs.

    Raises StudioError if the summary is damaged, or names a folder elsewhere.
    """
    return [RunFolder(folder / name) for name in _read_members(folder)[1]]


def _run_result(run: RunFolder) -> dict[str, Any]:
    job = run.job()
    step, metrics = groups.best_metrics(run)
    return {
        "folder": run.path.name,
        "seed": job.training.seed,
        "vectors": job.features.vectors if job.group is not None and job.group.vectors else "",
        "setting": job.group.setting if job.group is not None else 0,
        "values": _values(job),
        "outcome": groups.last_outcome(run),
        "step": step,
        "metrics": metrics,
    }


def _values(job: JobSpec) -> dict[str, Any]:
    search = job.group.search if job.group is not None else None
    return {} if search is None else searching.get_values(job, search)


def _write(folder: Path, summary: dict[str, Any]) -> None:
    text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
    write_file(folder / groups.SUMMARY, text.encode("utf-8"))
