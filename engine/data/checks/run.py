"""Run all checks on a version of a data set, or on files before they are imported."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from engine.data.checks import CHECKS
from engine.data.checks.check import SEVERITIES, Finding
from engine.data.checks.check_input import CheckInput
from engine.data.datasets.collecting import FileImport
from engine.data.datasets.importing import DATA, collected_rows, find_random_splits, split_rows
from engine.data.datasets.row_writer import SourceRows
from engine.data.datasets.store import Dataset
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import check_regular, read_regular
from engine.progress import CancellableProgress, ProgressCallback, no_progress

MAX_REPORTED_LINES = 20  # per finding
NEAR_WORK, CHECK_WORK = 1.0, 0.1
"""Cost of comparing texts, and of each check, relative to reading the rows."""
RULES_VERSION = 7  # increment it if a check changes its findings for the same rows
MAX_CACHE_BYTES = 1 << 30
FINDINGS = TypeAdapter(list[Finding])


def check_progress(
    rows: int, progress: ProgressCallback, cancelled: Callable[[], bool] | None
) -> CancellableProgress:
    """Make a progress in rows; `NEAR_WORK` and `CHECK_WORK` also count as rows."""
    total = int(rows * (1 + NEAR_WORK + CHECK_WORK * len(CHECKS)))
    return CancellableProgress(total, progress, cancelled)


def run_checks(
    dataset: Dataset,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> list[Finding]:
    """Run all checks on a stored version. Returns the findings, worst first.

    Raises:
        StudioError: if the rows cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    spec = dataset.spec
    steps = check_progress(len(dataset), progress, cancelled)
    path = dataset.folder / DATA
    random_splits = find_random_splits(tuple(spec.sources), spec.split)
    return _findings(
        CheckInput(path, spec.mapping, dataset.splits, spec.split, random_splits, steps)
    )


def _findings(data: CheckInput) -> list[Finding]:
    findings: list[Finding] = []
    for check in CHECKS.values():
        findings += check.find(data)
        data.progress.advance(CHECK_WORK * data.rows)
    if data.split.by != "name":  # a single row that moves would break the order or a group
        findings = [
            replace(finding, fixes=tuple(fix for fix in finding.fixes if not len(fix.moved)))
            for finding in findings
        ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


class CheckedFiles(NamedTuple):
    """Rows and findings of files to import."""

    collected: SourceRows
    findings: list[Finding]
    lines: list[tuple[int, ...]]  # for each finding, the line numbers of its first rows


def check_files(
    request: FileImport,
    scratch: Path | None = None,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> CheckedFiles:
    """Read all rows of files as an import would, and check them without storing anything.

    `progress` is called with bytes of the files, then with rows. Raises as `collected_rows` does.
    """
    with collected_rows(request, scratch, progress, cancelled) as collected:
        sources, split = request.sources, request.split
        splits, _ = split_rows(collected, sources, split)
        steps = check_progress(len(splits), progress, cancelled)
        random_splits = find_random_splits(tuple(sources), split)
        data = CheckInput(collected.rows, request.mapping, splits, split, random_splits, steps)
        findings = _findings(data)
        lines = pq.read_table(check_regular(collected.rows), columns=["_line"]).column(0).to_numpy()
        first = [tuple(lines[finding.rows[:MAX_REPORTED_LINES]].tolist()) for finding in findings]
    return CheckedFiles(collected, findings, first)


def read_findings(cache: Path, fingerprint: str) -> list[Finding] | None:
    """Cached findings of these rows; None if missing or unreadable."""
    try:
        return FINDINGS.validate_json(read_regular(_file(cache, fingerprint), MAX_CACHE_BYTES))
    except (OSError, ValidationError, TypeError, OverflowError):
        return None


def cache_findings(cache: Path, fingerprint: str, findings: list[Finding]) -> None:
    """Write findings atomically; does nothing if they are cached already."""
    file = _file(cache, fingerprint)
    if not file.exists():
        with disk_errors_for(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, FINDINGS.dump_json(findings))


def _file(cache: Path, fingerprint: str) -> Path:
    return cache / "checks" / f"{fingerprint[:32]}-{RULES_VERSION}.json"
