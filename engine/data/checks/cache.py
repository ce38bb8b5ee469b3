"""Cached findings, by the fingerprint of the rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.data.checks.check import Finding, Fix
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular, read_json
from engine.phrases import from_json, to_json

RULES_VERSION = 3  # to be raised if a check changes its findings for the same rows
TEXTS, ROWS = "findings.json", "rows.npz"
BROKEN = (OSError, ValueError, KeyError, TypeError)  # raised by damaged files


def read_findings(cache: Path, fingerprint: str) -> list[Finding] | None:
    """Cached findings of these rows; None if there are none or they cannot be read."""
    folder = _folder(cache, fingerprint)
    try:
        texts = read_json(folder / TEXTS)
        with np.load(check_regular(folder / ROWS), allow_pickle=False) as arrays:
            return [_finding(one, index, arrays) for index, one in enumerate(texts)]
    except BROKEN:
        return None


def cache_findings(cache: Path, fingerprint: str, findings: list[Finding]) -> None:
    """Write findings atomically; does nothing if they are cached already."""
    folder = _folder(cache, fingerprint)
    if folder.exists():
        return
    arrays: dict[str, Any] = {}
    for index, finding in enumerate(findings):
        arrays[f"{index}"] = finding.rows
        for n, fix in enumerate(finding.fixes):
            for name in ("dropped", "moved", "moved_to"):
                arrays[f"{index}.{n}.{name}"] = getattr(fix, name)
    with atomic_folder(folder) as new:
        np.savez_compressed(new / ROWS, **arrays)
        texts = json.dumps([_plain(one) for one in findings])
        (new / TEXTS).write_text(texts, encoding="utf-8")


def _folder(cache: Path, fingerprint: str) -> Path:
    return cache / "checks" / f"{fingerprint[:32]}-{RULES_VERSION}"


def _plain(finding: Finding) -> dict[str, Any]:
    fixes = [
        {
            "name": fix.name,
            "title": to_json(fix.title),
            "change": to_json(fix.change),
            "spellings": dict(fix.spellings),
            "cells": {str(row): dict(cells) for row, cells in fix.cells.items()},
        }
        for fix in finding.fixes
    ]
    return {
        "check": finding.check,
        "severity": finding.severity,
        "count": finding.count,
        "sentence": to_json(finding.sentence),
        "fixes": fixes,
    }


def _finding(saved: dict[str, Any], index: int, arrays: Mapping[str, Any]) -> Finding:
    """Raises one of BROKEN if the entry is damaged."""
    fixes = tuple(
        Fix(
            fix["name"],
            from_json(fix["title"]),
            from_json(fix["change"]),
            spellings=fix["spellings"],
            cells={int(row): cells for row, cells in fix["cells"].items()},
            **{name: arrays[f"{index}.{n}.{name}"] for name in ("dropped", "moved", "moved_to")},
        )
        for n, fix in enumerate(saved["fixes"])
    )
    return Finding(
        saved["check"],
        saved["severity"],
        saved["count"],
        from_json(saved["sentence"]),
        arrays[f"{index}"],
        fixes,
    )
