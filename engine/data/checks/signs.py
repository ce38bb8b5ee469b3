"""Check of signs in labels: commas in numbers, and separators. Its fixes choose a reading."""

import json
from collections.abc import Callable, Mapping

import numpy as np

from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.columns.label_sets import SEPARATORS, count_label_sets, parse_label_sets
from engine.data.columns.lists import parse_texts
from engine.data.columns.numbers import comma_problem, is_scale, parse_number
from engine.phrases import join, phrase

Change = Callable[[str], str]
MAX_QUOTED = 5  # labels of a cell


def find(data: CheckInput) -> list[Finding]:
    labels = data.labels
    if labels is None or data.mapping.label is None or data.mapping.endings:
        return []
    sentence = sign_note(labels.counts())
    if not sentence:
        return []
    if is_scale(labels.counts()):
        return [_number_finding(labels, sentence)]
    if count_label_sets(labels.counts()) is None:
        several = {cell: json.dumps(parts, ensure_ascii=False) for cell, parts in _parts(labels)}
        fix = _fix(
            "several",
            labels,
            several.__getitem__,
            lambda new: phrase("Several labels: {new}", new=new),
        )
    else:
        single = {cell: " + ".join(parts) for cell, parts in _parts(labels)}
        fix = _fix(
            "one", labels, single.__getitem__, lambda new: phrase("One label: {new}", new=new)
        )
    return [_finding(labels, "note", sentence, (fix,))]


def sign_note(labels: Mapping[str, int]) -> str:
    """Say how a label with a comma or another separator is read; “” if there is none."""
    cell = _example(labels)
    if not cell:
        return ""
    shown = cell[:60]
    if is_scale(labels):
        return phrase("“{shown}” is read as the number {n}.", shown=shown, n=parse_number(cell))
    if count_label_sets(labels) is None:
        return phrase("“{shown}” is read as one label.", shown=shown)
    names = dict(zip(labels, parse_label_sets(labels), strict=True))[cell]
    return phrase(
        "“{shown}” is read as {count} labels: {names}. Text classification reads it as one.",
        shown=shown,
        count=len(names),
        names=join(" · ", names[:MAX_QUOTED]),
    )


def _example(labels: Mapping[str, int]) -> str:
    """The first label with a sign; “” without one, and for lists."""
    cell = next((cell for cell in labels if any(sign in cell for sign in SEPARATORS)), "")
    return "" if parse_texts(cell) is not None else cell


def _parts(labels: Labels) -> list[tuple[str, tuple[str, ...]]]:
    return list(zip(labels.names, parse_label_sets(labels.names), strict=True))


def _number_finding(labels: Labels, sentence: str) -> Finding:
    """A comma in numbers: a problem if it may separate thousands."""
    problem = comma_problem(labels.names)
    if problem is None:
        severity: Severity = "note"
    else:
        severity, sentence = "problem", problem.problem
    thousands = _fix(
        "thousands",
        labels,
        lambda x: x.replace(",", ""),
        lambda new: phrase("Thousands: {new}", new=new),
    )
    decimals = _fix(
        "decimals", labels, _decimal, lambda new: phrase("Decimal comma: {new}", new=new)
    )
    return _finding(labels, severity, sentence, (thousands, decimals))


def _decimal(cell: str) -> str:
    return cell.replace(".", "").replace(",", ".") if "," in cell else cell


def _fix(name: str, labels: Labels, change: Change, title: Change) -> Fix:
    """Write every label in another way; the title has an example."""
    spellings = {cell: change(cell) for cell in labels.names}
    cell = _example(labels.counts())
    example = phrase("“{cell}” as “{new}”", cell=cell[:20], new=spellings[cell][:30])
    return Fix(
        name,
        title(example),
        phrase("Labels such as {example} read.", example=example),
        spellings={old: new for old, new in spellings.items() if old != new},
    )


def _finding(labels: Labels, severity: Severity, sentence: str, fixes: tuple[Fix, ...]) -> Finding:
    has_sign = np.array([any(sign in cell for sign in SEPARATORS) for cell in labels.names])
    rows = np.flatnonzero((labels.indices >= 0) & has_sign[labels.indices])
    return Finding("label_signs", severity, len(rows), sentence, rows, fixes)
