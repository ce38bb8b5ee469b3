"""`bert-studio check` and `fix`: find and fix problems of data."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from engine.cli.options import AsJson, StoredPath, Target, choice_option, with_options
from engine.cli.progress import ProgressLine
from engine.cli.rows import (
    CLEANING,
    COLUMNS,
    READING,
    parse_cleaning,
    raise_problems,
    recognise_files,
    refuse_file_options,
    refuse_target,
)
from engine.cli.stored import find_version, make_version, print_version, require_dataset
from engine.config.dataset import SPLITS, Split
from engine.config.tasks import TASKS
from engine.data.checks import CHECKS
from engine.data.checks.check import Finding
from engine.data.checks.fixing import apply_fixes
from engine.data.checks.run import MAX_REPORTED_LINES, check_files, run_checks
from engine.data.columns.fit import (
    dataset_problems,
    likely_task,
    unlabelled_notes,
    unlabelled_rows,
)
from engine.data.datasets.collecting import FileImport, Sources
from engine.data.datasets.importing import (
    count_unlabelled,
    label_notes,
    survey_notes,
    survey_problems,
)
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import BadFile, StudioError
from engine.phrases import phrase
from engine.system.terminal import echo, echo_json


def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A data file or a folder of them, or a stored data set by name or folder."
        ),
    ],
    target: Target = None,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Read data to the end and report the contents, or the problems with their lines.

    Of a stored data set, the newest version is read unless one is named, as in reviews/2.

    The rows are checked for duplicates, validation rows in the training set, contradictory labels,
    and more; `docs/DATA.md` lists all checks.
    """
    facts: dict[str, Any] = {}
    problems: list[StudioError] = []
    try:
        folder = find_version(file)
        if folder is None:
            refuse_target(target)
            facts, problems = _check_file(file, extra)
        else:
            refuse_file_options(extra)
            dataset = open_dataset(folder).with_target(target)
            facts, problems = _check_stored(dataset, extra["task"])
    except StudioError as error:
        problems = [error]
    if as_json:
        problem_facts = [_problem_facts(problem) for problem in problems]
        echo_json({"ok": not problems} | facts | {"problems": problem_facts})
    elif facts:
        _print_facts(facts)
    raise_problems(problems)


def _problem_facts(problem: StudioError) -> dict[str, Any]:
    """A problem that makes the data unusable for the task, with its line and column."""
    line, column = (problem.line, problem.column) if isinstance(problem, BadFile) else (0, 0)
    facts = {"problem": problem.problem, "advice": problem.advice}
    return facts | {"line": line or None, "column": column or None}


def _print_facts(facts: dict[str, Any]) -> None:
    for key, value in facts.items():
        if key not in ("notes", "findings"):
            shown = ", ".join(value) if isinstance(value, list) else value
            text = json.dumps(shown) if isinstance(shown, dict) else shown
            echo(f"{key}: {text}")
    for note in facts["notes"]:
        echo(f"note: {note}")
    for finding in facts["findings"]:
        echo(f"{finding['severity']}: {finding['sentence']}")
        if finding["lines"]:
            more = ", …" if finding["rows"] > len(finding["lines"]) else ""
            echo(f"  lines {', '.join(map(str, finding['lines']))}{more}")
        if finding["fixes"]:
            options = (
                f"{finding['check']} {name} ({title})" for name, title in finding["fixes"].items()
            )
            when = "fixes" if "version" in facts else "fixes after `import`"
            echo(f"  {when}: {', '.join(options)}")


check_command = with_options(
    check,
    [
        choice_option(
            "task", TASKS, None, phrase("The task to check for. Default: inferred. One of:")
        ),
        *READING.parameters(),
        *COLUMNS.parameters(),
        *CLEANING.parameters(),
    ],
)


def _check_file(file: Path, extra: dict[str, Any]) -> tuple[dict[str, Any], list[StudioError]]:
    """Summarise the file, and list all problems that make its rows unusable for the task.

    Raises StudioError if it cannot be read to the end.
    """
    files = recognise_files(file, extra)
    mapping, reading, cleaning = files.mapping, files.recognition.reading, parse_cleaning(extra)
    result = check_files(FileImport(files.sources, reading, mapping, Split(), cleaning))
    rows = result.collected
    kind = extra["task"] or likely_task(mapping, rows.labels).kind
    task = TASKS[kind](kind=kind)
    problems = survey_problems(rows, mapping, task)
    labels = rows.labels or rows.spans
    notes = (*files.notes, *rows.notes, *survey_notes(rows, mapping, task), *label_notes(labels))
    facts = {
        "files": {name: list(map(str, paths)) for name, paths in files.sources.items()},
        "rows": _count_rows(rows.splits, files.sources),
        "unlabelled": count_unlabelled(rows, mapping, task),
        **files.recognition.reading.model_dump(),
        "columns": list(rows.columns),
        "mapping": mapping.model_dump(),
        "task": kind,
        "notes": list(dict.fromkeys(notes)),
        "findings": [
            _finding_facts(finding, lines)
            for finding, lines in zip(result.findings, result.lines, strict=True)
        ],
    }
    return facts, problems


def _count_rows(splits: np.ndarray, sources: Sources) -> int | dict[str, int]:
    """The number of rows, by split if the files have splits."""
    counts = {
        name: int((splits == SPLITS.index(name)).sum()) for name in SPLITS[1:] if name in sources
    }
    return {"train": len(splits) - sum(counts.values())} | counts if counts else len(splits)


def _finding_facts(finding: Finding, lines: tuple[int, ...]) -> dict[str, Any]:
    return {
        "check": finding.check,
        "title": CHECKS[finding.check].title,
        "severity": finding.severity,
        "count": finding.count,
        "sentence": finding.sentence,
        "rows": len(finding.rows),
        "lines": list(lines),
        "fixes": {fix.name: fix.title for fix in finding.fixes},
    }


def _check_stored(dataset: Dataset, kind: str | None) -> tuple[dict[str, Any], list[StudioError]]:
    """`_check_file` for a stored version."""
    spec = dataset.spec
    lines = dataset.column("_line").to_numpy()
    findings = _run_checks(dataset)
    task = TASKS[kind](kind=kind) if kind else likely_task(spec.mapping, spec.labels, spec.overlaps)
    facts = {
        "dataset": spec.name,
        "folder": str(dataset.folder),
        "version": spec.version,
        "made_from": spec.made_from,
        "changes": list(spec.changes),
        "rows": spec.rows,
        "unlabelled": unlabelled_rows(spec, task),
        "columns": list(spec.columns),
        "mapping": spec.mapping.model_dump(),
        "targets": list(spec.targets),
        "task": task.kind,
        "notes": [*spec.notes, *unlabelled_notes(spec, task)],
        "findings": [
            _finding_facts(finding, tuple(lines[finding.rows[:MAX_REPORTED_LINES]].tolist()))
            for finding in findings
        ],
    }
    return facts, dataset_problems(spec, task)


def _run_checks(dataset: Dataset) -> list[Finding]:
    if not sys.stderr.isatty():
        return run_checks(dataset)
    with ProgressLine(sys.stderr) as line:
        return run_checks(
            dataset, lambda done, total: line.draw(f"Checking: {100 * done / total:.0f} %")
        )


def fix(
    data: StoredPath,
    check_name: Annotated[
        str,
        typer.Argument(metavar="CHECK", help="The finding, by its name in the output of `check`."),
    ],
    fix_name: Annotated[
        str, typer.Argument(metavar="FIX", help="The fix, by its name in the output of `check`.")
    ],
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Fix what `check` found in a stored data set: drop rows, move them, merge labels, and more.

    The result is a new version; the original is unchanged.
    """
    dataset = require_dataset(data).with_target(target)
    if check_name not in CHECKS:
        raise StudioError(
            "There is no check “{name}”.",
            "Choose one of {names}.",
            name=check_name[:60],
            names=", ".join(CHECKS),
        )
    findings = [finding for finding in _run_checks(dataset) if finding.check == check_name]
    fixes = [item for finding in findings for item in finding.fixes]
    chosen = [item for item in fixes if item.name == fix_name]
    if not findings:
        raise StudioError(
            "The check “{name}” finds nothing in this version.",
            "There is nothing to do.",
            name=check_name,
        )
    if not chosen:
        names = ", ".join(dict.fromkeys(item.name for item in fixes))
        raise StudioError(
            "The findings of “{name}” have no fix “{fix}”.",
            phrase("Choose one of {names}.", names=names)
            if names
            else phrase("Change the rows on the page of the data set."),
            name=check_name,
            fix=fix_name[:60],
        )
    changed = make_version(
        dataset,
        lambda folder, version: apply_fixes(chosen, dataset.folder, folder, version, label=target),
    )
    print_version(changed, as_json)
