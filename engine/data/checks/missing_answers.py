"""Answers that are not in their passage, or are spelled differently there."""

import numpy as np

from engine.data.checks.check import Finding, Fix, drop_fix
from engine.data.checks.check_input import CheckInput
from engine.data.columns.answers import AnswerMismatch, parse_answers, respell_answers
from engine.phrases import phrase


def find(data: CheckInput) -> list[Finding]:
    passage, answers = data.mapping.pair, data.mapping.answers
    if passage is None or answers is None:
        return []
    missing: list[int] = []
    cells_to_fix: dict[int, dict[str, str]] = {}
    row = 0
    for table in data.batches([passage, answers]):
        columns = (table.column(name).to_pylist() for name in (answers, passage))
        for cell, text in zip(*columns, strict=True):
            try:
                parse_answers(cell, text)
            except AnswerMismatch:
                respelled = respell_answers(cell, text)
                if respelled is None:
                    missing.append(row)
                else:
                    cells_to_fix[row] = {answers: respelled}
            row += 1
    findings = []
    if cells_to_fix:
        sentence = phrase(
            "{n:,} row(s) whose passage spells the answer in another way (case, white space, quotes"
            " or punctuation), so that it is not found there.",
            n=len(cells_to_fix),
        )
        change = phrase("{n:,} answer(s) spelled as in the passage.", n=len(cells_to_fix))
        title = phrase("Use the spelling of the passage")
        fix = Fix("respell", title, change, cells=cells_to_fix)
        rows = np.array(list(cells_to_fix), dtype=np.int64)
        findings.append(Finding("missing_answers", "problem", len(rows), sentence, rows, (fix,)))
    if missing:
        rows = np.array(missing, dtype=np.int64)
        change = phrase("{n:,} row(s) without their answer in the passage dropped.", n=len(rows))
        sentence = phrase(
            "{n:,} row(s) whose answer is not in the passage: it cannot be learned.", n=len(rows)
        )
        fix = drop_fix(rows, change)
        findings.append(Finding("missing_answers", "problem", len(rows), sentence, rows, (fix,)))
    return findings
