"""Labels that differ by case, white space or a typing error only."""

from collections.abc import Sequence

import numpy as np

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.columns.spellings import Spellings, find_spellings
from engine.phrases import join, phrase

SHOWN = 4  # labels named in a sentence
SHOWN_ALONE = 20  # labels with a finding of their own; the others share one


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None:
        return []
    spellings = sorted(find_spellings(labels.counts()), key=lambda one: -one.rows)
    alone, more = spellings[:SHOWN_ALONE], spellings[SHOWN_ALONE:]
    findings = [_finding(labels, [one], _sentence(one), _merge_title(one)) for one in alone]
    if more:
        sentence = phrase(
            "{n:,} more label(s) are written in several ways: the model learns each of these as a"
            " class of its own.",
            n=len(more),
        )
        findings.append(_finding(labels, more, sentence, phrase("Merge all of these")))
    return findings


def _finding(labels: Labels, spellings: Sequence[Spellings], sentence: str, merge: str) -> Finding:
    usual = {other: one.usual for one in spellings for other in one.others}
    indices = [index for index, name in enumerate(labels.names) if name in usual]
    rows = np.flatnonzero(np.isin(labels.indices, indices))
    change = _change(spellings[0]) if len(spellings) == 1 else phrase("Other spellings are merged.")
    fix = Fix("merge", merge, change, spellings=usual)
    count = sum(one.rows for one in spellings)
    return Finding("label_spellings", "problem", count, sentence, rows, (fix,))


def _sentence(one: Spellings) -> str:
    return phrase(
        "The label “{usual}” seems to be written {others}, too: the model learns these as"
        " different classes.",
        others=_names(one),
        usual=one.usual[:60],
    )


def _merge_title(one: Spellings) -> str:
    return phrase("Merge into “{usual}”", usual=one.usual[:40])


def _change(one: Spellings) -> str:
    return phrase("{others} merged into “{usual}”.", others=_names(one), usual=one.usual[:60])


def _names(one: Spellings) -> str:
    return join(", ", [f"“{label[:60]}”" for label in one.others[:SHOWN]])
