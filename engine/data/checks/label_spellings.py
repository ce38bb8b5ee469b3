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
    findings = []
    for one in alone:
        usual, others = (
            one.usual[:60],
            join(", ", [f"“{name[:60]}”" for name in one.others[:SHOWN]]),
        )
        sentence = phrase(
            "The label “{usual}” seems to be written {others}, too: the model learns these as"
            " different classes.",
            others=others,
            usual=usual,
        )
        merge = phrase("Merge into “{usual}”", usual=one.usual[:40])
        change = phrase("{others} merged into “{usual}”.", others=others, usual=usual)
        findings.append(_finding(labels, [one], sentence, merge, change))
    if more:
        sentence = phrase(
            "{n:,} more label(s) are written in several ways: the model learns each of these as a"
            " class of its own.",
            n=len(more),
        )
        change = phrase("Other spellings are merged.")
        findings.append(_finding(labels, more, sentence, phrase("Merge all of these"), change))
    return findings


def _finding(
    labels: Labels, spellings: Sequence[Spellings], sentence: str, merge: str, change: str
) -> Finding:
    usual = {other: one.usual for one in spellings for other in one.others}
    indices = [index for index, name in enumerate(labels.names) if name in usual]
    rows = np.flatnonzero(np.isin(labels.indices, indices))
    fix = Fix("merge", merge, change, spellings=usual)
    count = sum(one.rows for one in spellings)
    return Finding("label_spellings", "problem", count, sentence, rows, (fix,))
