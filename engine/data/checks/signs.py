"""Check of signs in labels: separators, and signs of numbers. Its fixes choose a reading."""

import json
from collections.abc import Callable, Mapping

import numpy as np

from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.columns.label_sets import (
    SEPARATORS,
    are_yes_no_lists,
    count_label_sets,
    mixed_separators,
    mixture_note,
    other_separator,
    parse_label_sets,
    split_labels,
)
from engine.data.columns.lists import parse_texts
from engine.data.columns.numbers import (
    comma_problem,
    is_scale,
    may_be_thousands,
    parse_number,
    plain_numbers,
)
from engine.phrases import join, phrase

Change = Callable[[str], str]
MAX_QUOTED = 5  # labels of a cell


def find(data: CheckInput) -> list[Finding]:
    labels = data.labels
    if labels is None or data.mapping.label is None or data.mapping.endings:
        return []
    counts = labels.counts()
    sentence = sign_note(counts)
    if not sentence:
        return []
    if is_scale(counts):
        return [_number_finding(labels, sentence)]
    if (mixed := mixed_separators(labels.names)) is not None:
        first, second, _ = mixed
        sets = {c: split_labels(c.replace(second, first), first) for c in labels.names}
        both = {cell: json.dumps(parts, ensure_ascii=False) for cell, parts in sets.items()}
        title: Change = lambda new: phrase("Both separate labels: {new}", new=new)  # noqa: E731
        return [_finding(labels, "warning", sentence, (_fix("both", labels, both, title),))]
    if (plain := plain_numbers(counts)) is not None:
        fix = _fix("numbers", labels, plain, lambda new: phrase("Numbers: {new}", new=new))
    elif count_label_sets(counts) is None:
        several = {cell: json.dumps(parts, ensure_ascii=False) for cell, parts in _parts(labels)}
        fix = _fix("several", labels, several, lambda new: phrase("Several labels: {new}", new=new))
        if all(parse_number(cell) is not None for cell in filter(str.strip, labels.names)):
            return [_finding(labels, "note", sentence, (_decimal_fix(labels), fix))]
    elif parse_texts(_example(counts)) is not None:
        fix = None
    else:
        single = {cell: " · ".join(parts) for cell, parts in _parts(labels)}
        fix = _fix("one", labels, single, lambda new: phrase("One label: {new}", new=new))
    return [_finding(labels, "note", sentence, (fix,) if fix else ())]


def sign_note(labels: Mapping[str, int]) -> str:
    """Say how a label with a comma or another separator is read; “” if there is none."""
    cell = _example(labels)
    if not cell:
        return ""
    shown = cell[:60]
    if is_scale(labels):
        return phrase("“{shown}” is read as the number {n}.", shown=shown, n=parse_number(cell))
    if mixture := mixture_note(labels):
        return mixture
    if plain_numbers(labels) is not None:
        return phrase("“{shown}” is read as a label, not as a number.", shown=shown)
    if count_label_sets(labels) is None:
        return phrase("“{shown}” is read as one label.", shown=shown)
    names = dict(zip(labels, parse_label_sets(labels), strict=True))[cell]
    if parse_texts(cell) is not None:
        return phrase(
            "“{shown}” is read as yes or no for each label, named by its position from 0: {names}.",
            shown=shown,
            names=join(" · ", names[:MAX_QUOTED]),
        )
    return phrase(
        "“{shown}” is read as {n} label(s): {names}. Text classification reads it as one.",
        shown=shown,
        n=len(names),
        names=join(" · ", names[:MAX_QUOTED]),
    )


def _example(labels: Mapping[str, int]) -> str:
    """The first label with a sign that can be read in two ways; “” without one."""
    if (plain := plain_numbers(labels)) is not None:
        return next((cell for cell, number in plain.items() if cell.strip() != number), "")
    lists = {cell: parse_texts(cell) for cell in labels}
    if are_yes_no_lists(lists.values()):
        return next((cell for cell, bits in lists.items() if bits), "")
    signs = [*SEPARATORS, *filter(None, [other_separator(labels)])]
    signs += ["."] if is_scale(labels) and may_be_thousands(labels) else []
    found = [cell for cell in labels if any(sign in cell for sign in signs)]
    inner = (cell for cell in found if any(sign in cell.strip(f"{sign} ") for sign in signs))
    cell = next(inner, next(iter(found), ""))
    return "" if parse_texts(cell) is not None else cell


def _parts(labels: Labels) -> list[tuple[str, tuple[str, ...]]]:
    if (sign := other_separator(labels.names)) is not None:
        return [(label, split_labels(label, sign)) for label in labels.names]
    return list(zip(labels.names, parse_label_sets(labels.names), strict=True))


def _number_finding(labels: Labels, sentence: str) -> Finding:
    """A comma or a point in numbers: a problem if a comma may separate thousands."""
    problem = comma_problem(labels.names)
    if problem is None and may_be_thousands(labels.names):
        numbers = {cell: cell.replace(".", "") for cell in labels.names}
        fix = _fix("thousands", labels, numbers, _thousands)
        return _finding(labels, "note", sentence, (fix,))
    if problem is None:
        severity: Severity = "note"
    else:
        severity, sentence = "problem", problem.problem
    numbers = {cell: cell.replace(",", "") for cell in labels.names}
    thousands = _fix("thousands", labels, numbers, _thousands)
    return _finding(labels, severity, sentence, (thousands, _decimal_fix(labels)))


def _decimal_fix(labels: Labels) -> Fix:
    has_thousands = may_be_thousands(labels.names)
    numbers = {
        cell: cell.replace(".", "").replace(",", ".") if has_thousands or "," in cell else cell
        for cell in labels.names
    }
    return _fix("decimals", labels, numbers, lambda new: phrase("Decimal comma: {new}", new=new))


def _thousands(new: str) -> str:
    return phrase("Thousands: {new}", new=new)


def _fix(name: str, labels: Labels, spellings: Mapping[str, str], title: Change) -> Fix:
    """Write every label in another way; the title has an example."""
    cell = _example(labels.counts())
    example = phrase("“{cell}” as “{new}”", cell=cell[:20], new=spellings[cell][:30])
    return Fix(
        name,
        title(example),
        phrase("Labels such as {example} read.", example=example),
        spellings={old: new for old, new in spellings.items() if old != new},
    )


def _finding(labels: Labels, severity: Severity, sentence: str, fixes: tuple[Fix, ...]) -> Finding:
    changed = {old for fix in fixes for old in fix.spellings}
    has_sign = np.array([not fixes or cell in changed for cell in labels.names])
    rows = np.flatnonzero((labels.indices >= 0) & has_sign[labels.indices])
    return Finding("label_signs", severity, len(rows), sentence, rows, fixes)
