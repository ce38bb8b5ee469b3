"""Findings kept in the cache by the fingerprint of the rows, so that they are there at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.data.checks.check import Cure, Finding
from engine.files.atomic_write import whole_folder
from engine.files.regular_file import read_json, regular
from engine.phrases import from_plain, plain

RULES = 3  # counts up whenever a check finds something else in the same rows
TEXTS, NUMBERS = "findings.json", "rows.npz"
BROKEN = (OSError, ValueError, KeyError, TypeError)  # what damaged files raise


def read_findings(cache: Path, fingerprint: str) -> list[Finding] | None:
    """What these checks found in these rows; None where nobody looked yet, or it cannot be read."""
    folder = _folder(cache, fingerprint)
    try:
        texts = read_json(folder / TEXTS)
        with np.load(regular(folder / NUMBERS), allow_pickle=False) as numbers:
            return [_finding(one, place, numbers) for place, one in enumerate(texts)]
    except BROKEN:
        return None


def keep_findings(cache: Path, fingerprint: str, findings: list[Finding]) -> None:
    """Write them, whole or not at all; whoever was quicker stays."""
    folder = _folder(cache, fingerprint)
    if folder.exists():
        return
    numbers: dict[str, Any] = {}
    for place, finding in enumerate(findings):
        numbers[f"{place}"] = finding.rows
        for cure_place, cure in enumerate(finding.cures):
            for name in ("dropped", "moved", "moved_to"):
                numbers[f"{place}.{cure_place}.{name}"] = getattr(cure, name)
    with whole_folder(folder) as made:
        np.savez_compressed(made / NUMBERS, **numbers)
        texts = json.dumps([_plain(one) for one in findings])
        (made / TEXTS).write_text(texts, encoding="utf-8")


def _folder(cache: Path, fingerprint: str) -> Path:
    return cache / "checks" / f"{fingerprint[:32]}-{RULES}"


def _plain(finding: Finding) -> dict[str, Any]:
    cures = [
        {
            "by": cure.by,
            "title": plain(cure.title),
            "change": plain(cure.change),
            "spellings": dict(cure.spellings),
            "cells": {str(row): dict(cells) for row, cells in cure.cells.items()},
        }
        for cure in finding.cures
    ]
    return {
        "check": finding.check,
        "severity": finding.severity,
        "count": finding.count,
        "sentence": plain(finding.sentence),
        "cures": cures,
    }


def _finding(one: dict[str, Any], place: int, numbers: Mapping[str, Any]) -> Finding:
    """Raises one of BROKEN where it is none."""
    cures = tuple(
        Cure(
            cure["by"],
            from_plain(cure["title"]),
            from_plain(cure["change"]),
            spellings=cure["spellings"],
            cells={int(row): cells for row, cells in cure["cells"].items()},
            **{
                name: numbers[f"{place}.{number}.{name}"]
                for name in ("dropped", "moved", "moved_to")
            },
        )
        for number, cure in enumerate(one["cures"])
    )
    return Finding(
        one["check"],
        one["severity"],
        one["count"],
        from_plain(one["sentence"]),
        numbers[f"{place}"],
        cures,
    )
