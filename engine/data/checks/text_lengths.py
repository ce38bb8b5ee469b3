"""Texts without anything in them, and texts that no model here can read to their end."""

import numpy as np

from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput, lengths_of
from engine.phrases import phrase

MAX_WORDS = 510  # a word is one token at least, and BERT reads 512 with the two special ones
LOST = 0.1  # of all words: where more are truncated, the file was probably read wrongly


def find(data: CheckInput) -> list[Finding]:
    return [*_empty(data), *_long(data)]


def _empty(data: CheckInput) -> list[Finding]:
    empty = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        empty |= data.matching(name, lambda cells: lengths_of(cells) == 0)
    rows = np.flatnonzero(empty)
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with an empty text: nothing can be learned from it.", n=len(rows)
    )
    fix = Fix(
        "drop-empty",
        phrase("Drop these rows"),
        phrase("{n:,} row(s) without text dropped.", n=len(rows)),
        dropped=rows,
    )
    return [Finding("text_lengths", "problem", len(rows), sentence, rows, (fix,))]


def _long(data: CheckInput) -> list[Finding]:
    """Questions and pre-training go through long texts in parts, so nothing is lost there."""
    if data.mapping.answers is not None or not data.has_targets:
        return []
    words = np.sum([data.words(name).counts for name in data.text_columns], axis=0)
    rows = np.flatnonzero(words > MAX_WORDS)
    if not len(rows):
        return []
    lost = float((words[rows] - MAX_WORDS).sum() / words.sum())
    if lost > LOST:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words, so BERT never reads {share:.0f} % of all"
            " words. Perhaps the file does not mark where these rows end.",
            n=len(rows),
            words=MAX_WORDS,
            share=100 * lost,
        )
    else:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words: BERT reads 512 tokens, and the rest is"
            " truncated.",
            n=len(rows),
            words=MAX_WORDS,
        )
    fix = Fix(
        "drop-long",
        phrase("Drop these rows"),
        phrase("{n:,} row(s) with more than {words} words dropped.", n=len(rows), words=MAX_WORDS),
        dropped=rows,
    )
    longest_first = rows[np.argsort(-words[rows], kind="stable")]
    severity: Severity = "warning" if lost > LOST else "note"
    return [Finding("text_lengths", severity, len(rows), sentence, longest_first, (fix,))]
