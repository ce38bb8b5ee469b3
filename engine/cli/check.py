"""`bert-studio check`: what is in a data file, what is wrong with it, and what may mislead."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.options import Encoding, choice_option, with_options
from engine.cli.rows import CLEANING, COLUMNS, given_cleaning, needed_mapping
from engine.data.checks import CHECKS
from engine.data.checks.check import Finding
from engine.data.checks.examining import examine_files
from engine.data.columns.fit import likely_task
from engine.data.datasets.importing import label_notes
from engine.data.datasets.surveying import problems_of_survey
from engine.data.formats.reading import recognise
from engine.errors import BadFile, StudioError
from engine.phrases import phrase
from engine.spec.dataset import Split
from engine.spec.tasks import TASKS
from engine.terminal import say, say_json


def check(
    file: Annotated[Path, typer.Argument(help="A data file, or a folder of texts.")],
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    **given: Any,
) -> None:
    """Read a data file to its end and report what it contains, or what is wrong and where.

    Its rows are checked for duplicates, for validation rows that are in the training set, for
    labels that contradict one another, and more; `docs/DATA.md` has all checks.
    """
    try:
        facts = _facts(file, encoding, given)
    except StudioError as error:
        if as_json:
            line, column = (error.line, error.column) if isinstance(error, BadFile) else (0, 0)
            wrong = {"ok": False, "problem": error.problem, "advice": error.advice}
            say_json(wrong | {"line": line or None, "column": column or None})
        raise
    if as_json:
        say_json(facts)
        return
    for key, value in facts.items():
        if key not in ("ok", "notes", "findings"):
            shown = ", ".join(value) if isinstance(value, list) else value
            said = json.dumps(shown) if isinstance(shown, dict) else shown
            say(f"{key}: {said}")
    for note in facts["notes"]:
        say(f"note: {note}")
    for finding in facts["findings"]:
        say(f"{finding['severity']}: {finding['sentence']}")
        if finding["lines"]:
            more = ", …" if finding["rows"] > len(finding["lines"]) else ""
            say(f"  lines {', '.join(map(str, finding['lines']))}{more}")


check_command = with_options(
    check,
    [
        choice_option(
            "task", TASKS, None, phrase("The task to check for; without it, that of the columns:")
        ),
        *COLUMNS.parameters(),
        *CLEANING.parameters(),
    ],
)


def _facts(file: Path, encoding: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """What is in the file.

    Raises StudioError for the first thing that keeps it from the task.
    """
    found = recognise(file, encoding=encoding)
    mapping = needed_mapping(file, found, COLUMNS.given(given))
    cleaning = given_cleaning(given)
    examined = examine_files({"all": file}, found.reading, mapping, Split(), cleaning=cleaning)
    rows = examined.collected
    kind = given["task"] or likely_task(mapping, rows.labels).kind
    for problem in problems_of_survey(rows, mapping, TASKS[kind](kind=kind)):
        raise problem
    return {
        "ok": True,
        "file": str(file),
        "rows": len(rows.given),
        **found.reading.model_dump(),
        "columns": list(rows.columns),
        "mapping": mapping.model_dump(),
        "task": kind,
        "notes": list(
            dict.fromkeys((*found.notes, *rows.notes, *label_notes(rows.labels or rows.spans)))
        ),
        "findings": [
            _told(one, lines) for one, lines in zip(examined.findings, examined.lines, strict=True)
        ],
    }


def _told(finding: Finding, lines: tuple[int, ...]) -> dict[str, Any]:
    """A finding; of its rows, the first lines."""
    return {
        "check": finding.check,
        "title": CHECKS[finding.check].title,
        "severity": finding.severity,
        "count": finding.count,
        "sentence": finding.sentence,
        "rows": len(finding.rows),
        "lines": list(lines),
        "cures": [cure.title for cure in finding.cures],
    }
