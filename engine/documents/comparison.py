"""The comparison report: several runs with their settings, scores and environments.

It reads run folders only, so that it can be made on any machine that has them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from engine.config.changes import Change, as_text, changes, non_defaults
from engine.config.dataset import SplitName
from engine.config.job import JobSpec
from engine.config.tasks import get_metric, metric_text
from engine.documents import report
from engine.documents.card import format_ends
from engine.errors import StudioError
from engine.phrases import Phrase, phrase
from engine.progress import ProgressCallback, no_progress
from engine.results.several import ComparedRun, RunScore, score_runs, stored_parts
from engine.runs.folder import RunFolder
from engine.runs.groups import aggregate, best_metrics, comparable_job, last_outcome
from engine.runs.pace import read_pace
from engine.runs.reproducibility import Reproducibility, read_reproducibility

MAX_RUNS = 50
CURVES = "curves"  # section of the pictures
VALIDATION = "validation_"
MINUTE = 60  # s
LISTED_FIELDS = (
    "task",
    "data",
    "data.folder",
    "data.path",
    "base_model",
    "base_model.path",
)  # listed with the runs


def comparison_report(
    runs: Sequence[ComparedRun], progress: ProgressCallback = no_progress
) -> report.Report:
    """Compare runs: common and different settings, scores with tests, environments.

    All scores are compared with those of the first run. Raises StudioError for fewer than two runs,
    more than `MAX_RUNS`, or a folder that is no run.
    """
    if not 1 < len(runs) <= MAX_RUNS:
        raise StudioError(
            "A comparison has 2 to {most} runs, not {n}.",
            "Choose as many.",
            most=MAX_RUNS,
            n=len(runs),
        )
    folders = [RunFolder(run.folder) for run in runs]
    jobs = [folder.job() for folder in folders]
    histories = [read_reproducibility(folder) for folder in folders]
    best = [best_metrics(folder) for folder in folders]
    sections = [
        *(_score_section(part, score_runs(runs, part, progress)) for part in stored_parts(runs)),
        *_seed_groups(runs, jobs, [metrics for _, metrics in best]),
        _runs(runs, folders, jobs, best),
        *_settings(runs, jobs),
        report.Section(CURVES, phrase("Curves")),
        *_environments(runs, histories),
        _repetition(runs, jobs[0]),
    ]
    title = phrase("Comparison of {n} run(s)", n=len(runs))
    subtitle = phrase("Made with BERT Studio.")
    return report.Report(title, subtitle, tuple(sections))


def _runs(
    runs: Sequence[ComparedRun],
    folders: Sequence[RunFolder],
    jobs: Sequence[JobSpec],
    best: Sequence[tuple[int, Mapping[str, float]]],
) -> report.Section:
    """A row for each run: job, outcome, and all metrics at its best step."""
    prepared = [report.last_prepared(f) for f in folders]
    seconds = [read_pace(f).seconds for f in folders]
    names = list(dict.fromkeys(name for _, metrics in best for name in metrics))
    columns: list[tuple[str, ...]] = [
        (phrase("Task"), *(Phrase(job.task.info.title, {}) for job in jobs)),
        (phrase("Data set"), *(job.data.name for job in jobs)),
        (phrase("Base model"), *map(report.base_model_name, jobs)),
        (phrase("Outcome"), *(last_outcome(f) or phrase("not finished") for f in folders)),
        (phrase("Training examples"), *(f"{e.examples:,}" if e else "" for e in prepared)),
        (phrase("Steps"), *(f"{e.steps:,}" if e else "" for e in prepared)),
        (phrase("Minutes"), *(f"{t[-1] / MINUTE:.1f}" if len(t) else "" for t in seconds)),
        (phrase("Best step"), *(f"{step:,}" if step else "" for step, _ in best)),
        *((_metric_title(name), *(_format(name, m.get(name)) for _, m in best)) for name in names),
    ]
    sentence = phrase("Metrics: of the validation rows, at the best checkpoint of each run.")
    table = _table("runs", phrase("Runs"), "", [run.name for run in runs], columns)
    return replace(table, sentences=(sentence,))


def _settings(runs: Sequence[ComparedRun], jobs: Sequence[JobSpec]) -> Iterator[report.Section]:
    """The settings that differ, then the common ones that differ from the defaults."""
    changed = [{change.path: change for change in changes(jobs[0], job)} for job in jobs]
    different = {path: change for fields in changed for path, change in fields.items()}
    different = {path: change for path, change in different.items() if path not in LISTED_FIELDS}
    title = phrase("Settings that differ")
    if different:
        columns = [
            (get_title(change), *(_format_change(fields, path, change) for fields in changed))
            for path, change in different.items()
        ]
        yield _table("different", title, phrase("Setting"), [run.name for run in runs], columns)
    else:
        yield report.Section("different", title, (phrase("These runs have the same settings."),))
    same = [change for change in non_defaults(jobs[0]) if not _is_within(change.path, different)]
    rows = tuple((get_title(change), as_text(change.new), as_text(change.old)) for change in same)
    header = (phrase("Setting"), phrase("Value"), phrase("Default"))
    notes = () if rows else (phrase("All others have their default values."),)
    yield report.Section(
        "same", phrase("Settings of all runs"), notes, header if rows else (), rows
    )


def get_title(change: Change) -> str:
    if change.path == "data.fingerprint":
        return phrase("Data fingerprint")
    return change.path if change.title == change.path else Phrase(change.title, {})


def _format_change(fields: Mapping[str, Change], path: str, default: Change) -> str:
    return as_text(fields[path].new if path in fields else default.old)


def _is_within(path: str, different: Mapping[str, Any]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}.") for prefix in different)


def _table(
    key: str, title: str, corner: str, names: Sequence[str], columns: Sequence[tuple[str, ...]]
) -> report.Section:
    """A table with the `columns` as rows or as columns, whichever is narrower.

    `columns`: a title and a value for each of `names`.
    """
    if len(columns) >= len(names):
        return report.Section(key, title, (), (corner, *names), tuple(columns))
    header = (phrase("Run"), *(first for first, *_ in columns))
    rows = tuple((name, *(column[n + 1] for column in columns)) for n, name in enumerate(names))
    return report.Section(key, title, (), header, rows)


def _seed_groups(
    runs: Sequence[ComparedRun], jobs: Sequence[JobSpec], metrics: Sequence[Mapping[str, float]]
) -> Iterator[report.Section]:
    """Mean and standard deviation of runs that differ only in the seed, if there are any."""
    groups: list[tuple[JobSpec, list[int]]] = []
    for number, job in enumerate(jobs):
        plain = comparable_job(job)
        members = next((members for other, members in groups if other == plain), None)
        if members is None:
            groups.append((plain, [number]))
        else:
            members.append(number)
    if len(groups) == len(jobs):
        return
    names = list(dict.fromkeys(name for row in metrics for name in row))
    rows = []
    for _, members in groups:
        cells = []
        for name in names:
            figure = aggregate([metrics[n][name] for n in members if name in metrics[n]])
            cells.append(_format_mean(name, figure.mean, figure.deviation) if figure else "")
        rows.append((", ".join(runs[n].name for n in members), str(len(members)), *cells))
    header = (phrase("Runs"), "n", *map(_metric_title, names))
    sentence = phrase("Mean ± standard deviation (n − 1) of runs that differ only in the seed.")
    yield report.Section("seeds", phrase("Over seeds"), (sentence,), header, tuple(rows))


def _score_section(part: SplitName, scores: Sequence[RunScore]) -> report.Section:
    """The score of each run with its interval, and its difference to the first."""
    header = (
        *(phrase("Run"), phrase("Metric"), phrase("Score"), phrase("95 % interval")),
        *(phrase("Difference"), phrase("Interval of the difference"), phrase("McNemar p")),
        *(phrase("Better"), phrase("Worse")),
    )
    rows = tuple(_score_row(score) for score in scores)
    notes = [
        phrase("All are compared with the first run of the table, row by row."),
        phrase("With several runs, p is corrected (Benjamini and Hochberg)."),
    ]
    notes += [
        phrase("{run}: {claim}", run=score.run.name, claim=score.problem or score.claim)
        for score in scores
        if score.problem or score.claim
    ]
    return report.Section(
        part, report.PART_TITLES[part], tuple(notes), header if rows else (), rows
    )


def _score_row(score: RunScore) -> tuple[str, ...]:
    text = partial(_format, score.metric)
    title = _metric_title(f"{VALIDATION}{score.metric}")
    ends = format_ends(score.score, text)
    cells = (score.run.name, title, text(score.score.value), ends)
    if score.difference is None:
        return (*cells, "", "", "", "", "")
    p = "" if score.p is None else f"{score.p:.2g}"
    text = partial(_format, score.metric, sign="+")
    difference = (text(score.difference.value), format_ends(score.difference, text))
    return (*cells, *difference, p, f"{score.better:,}", f"{score.worse:,}")


def _environments(
    runs: Sequence[ComparedRun], histories: Sequence[Reproducibility]
) -> Iterator[report.Section]:
    names = list(dict.fromkeys(name for history in histories for name in history.environment))
    columns = [
        (name, *(history.environment.get(name, "") for history in histories)) for name in names
    ]
    same = tuple((name, first) for name, first, *others in columns if {first} == {first, *others})
    different = [column for column in columns if (column[0], column[1]) not in same]
    if same:
        yield report.Section("environment", phrase("Environment of all runs"), rows=same)
    if different:
        title, corner = phrase("Differences of the environment"), phrase("Part")
        yield _table("environments", title, corner, [run.name for run in runs], different)
    weights = [
        (run.name, f"{history.step:,}", history.weights)
        for run, history in zip(runs, histories, strict=True)
        if history.weights
    ]
    if weights:
        header = (phrase("Run"), phrase("Step"), "SHA-256")
        yield report.Section(
            "weights", phrase("Weights of the last checkpoints"), (), header, tuple(weights)
        )


def _repetition(runs: Sequence[ComparedRun], first: JobSpec) -> report.Section:
    sentence = phrase(
        "The folder of each run holds its job as spec.json; it trains again with the same versions "
        "on the same data. Below: the job of “{run}”, with every setting.",
        run=runs[0].name,
    )
    command = "bert-studio train spec.json --into NEW_RUN"
    code = f"{command}\n\n{first.model_dump_json(indent=1)}"
    return report.Section("repeat", phrase("Reproduction"), (sentence,), code=code)


def _metric_title(name: str) -> str:
    """For example “accuracy” of the validation rows, or “training loss”."""
    metric = get_metric(name)
    if not name.startswith(VALIDATION):
        return phrase("training loss") if name == "loss" else name
    return Phrase(metric.title, {}) if metric is not None else name.removeprefix(VALIDATION)


def _format(name: str, value: float | None, sign: str = "") -> str:
    return "" if value is None or math.isnan(value) else metric_text(name, value, sign)


def _format_mean(name: str, mean: float, deviation: float | None) -> str:
    text = _format(name, mean)
    return text if deviation is None else f"{text} ± {_format(name, deviation)}"
