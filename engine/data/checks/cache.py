"""Cached findings, by the fingerprint of the rows."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.data.checks.check import Finding
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import read_regular

RULES_VERSION = 4  # to be raised if a check changes its findings for the same rows
MAX_CACHED = 1 << 30  # bytes
FINDINGS = TypeAdapter(list[Finding])


def read_findings(cache: Path, fingerprint: str) -> list[Finding] | None:
    """Cached findings of these rows; None if there are none or they cannot be read."""
    try:
        return FINDINGS.validate_json(read_regular(_file(cache, fingerprint), MAX_CACHED))
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
