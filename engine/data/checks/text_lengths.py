"""Empty texts, and texts longer than BERT reads."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.data.checks.check import Finding, Severity, drop_fix
from engine.data.checks.check_input import CheckInput
from engine.phrases import phrase

MAX_WORDS = 510  # BERT reads 512 tokens, two of them special; a word is at least one
LOST = 0.1  # fraction of all words: if more is truncated, the file was probably parsed wrongly


def find(data: CheckInput) -> list[Finding]:
    return [*_empty(data), *_long(data)]


def _empty(data: CheckInput) -> list[Finding]:
    empty = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        empty |= data.matching(
            name, lambda cells: pc.equal(pc.utf8_trim_whitespace(cells), pa.scalar(""))
        )
    rows = np.flatnonzero(empty)
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with an empty text: nothing can be learned from it.", n=len(rows)
    )
    change = phrase("{n:,} row(s) without text dropped.", n=len(rows))
    fix = drop_fix(rows, change, "drop-empty")
    return [Finding("text_lengths", "problem", len(rows), sentence, rows, (fix,))]


def _long(data: CheckInput) -> list[Finding]:
    """Not for questions and pre-training, which split long texts into windows."""
    has_targets = bool({*data.mapping.columns, *data.mapping.flags} - {*data.text_columns})
    if data.mapping.answers is not None or not has_targets:
        return []
    words = np.sum([data.words[name].counts for name in data.text_columns], axis=0)
    rows = np.flatnonzero(words > MAX_WORDS)
    if not len(rows):
        return []
    lost = float((words[rows] - MAX_WORDS).sum() / words.sum())
    if lost > LOST:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words, so BERT never reads {percent:.0f} % of all"
            " words. Perhaps the file does not mark where these rows end.",
            n=len(rows),
            words=MAX_WORDS,
            percent=100 * lost,
        )
    else:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words: BERT reads 512 tokens, and the rest is"
            " truncated.",
            n=len(rows),
            words=MAX_WORDS,
        )
    change = phrase(
        "{n:,} row(s) with more than {words} words dropped.", n=len(rows), words=MAX_WORDS
    )
    fix = drop_fix(rows, change, "drop-long")
    longest_first = rows[np.argsort(-words[rows], kind="stable")]
    severity: Severity = "warning" if lost > LOST else "note"
    return [Finding("text_lengths", severity, len(rows), sentence, longest_first, (fix,))]
