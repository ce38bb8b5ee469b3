"""Words that mix two alphabets, and texts in another script than nearly all others."""

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Severity, drop_fix
from engine.data.checks.check_input import CheckInput
from engine.phrases import phrase

SCRIPTS = {
    "Latin": r"\p{Latin}",
    "Cyrillic": r"\p{Cyrillic}",
    "Greek": r"\p{Greek}",
    "Arabic": r"\p{Arabic}",
    "Hebrew": r"\p{Hebrew}",
    "Devanagari": r"\p{Devanagari}",
    "Thai": r"\p{Thai}",
    "Hangul": r"\p{Hangul}",
    "Chinese or Japanese": r"[\p{Han}\p{Hiragana}\p{Katakana}]",
}
ALIKE = ("Cyrillic", "Greek")  # scripts with Latin lookalikes
MAIN_SHARE = 0.95  # fraction of the rows that must have the main script


def find(data: CheckInput) -> list[Finding]:
    return [*_mixed_words(data), *_other_scripts(data)]


def _has(data: CheckInput, pattern: str) -> NDArray[np.bool_]:
    """Rows with a text that matches, bool [N]."""
    matching = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        matching |= data.matching(name, lambda cells: pc.match_substring_regex(cells, pattern))
    return matching


def _mixed_words(data: CheckInput) -> list[Finding]:
    pairs = [(SCRIPTS["Latin"], SCRIPTS[name]) for name in ALIKE]
    either = [f"{one}{other}|{other}{one}" for one, other in pairs]
    rows = np.flatnonzero(_non_ascii(data) & _has(data, "|".join(either)))
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with words that mix Latin with Cyrillic or Greek letters: they look right,"
        " and the tokenizer does not know them.",
        n=len(rows),
    )
    return [_finding("warning", sentence, rows, "drop-mixed")]


def _other_scripts(data: CheckInput) -> list[Finding]:
    foreign = _non_ascii(data)
    if not foreign.any():
        return []
    has = {name: _has(data, pattern) for name, pattern in SCRIPTS.items()}
    lettered = np.any(list(has.values()), axis=0)
    main = max(has, key=lambda name: int(has[name].sum()))
    if has[main].sum() < MAIN_SHARE * lettered.sum():
        return []
    rows = np.flatnonzero(lettered & ~has[main])
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) in another script than nearly all others ({main}).", n=len(rows), main=main
    )
    return [_finding("note", sentence, rows, "drop-other")]


def _non_ascii(data: CheckInput) -> NDArray[np.bool_]:
    non_ascii = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        non_ascii |= ~data.matching(name, pc.string_is_ascii)
    return non_ascii


def _finding(severity: Severity, sentence: str, rows: NDArray[np.int64], fix: str) -> Finding:
    change = phrase("{n:,} row(s) with mixed or other scripts dropped.", n=len(rows))
    fixes = (drop_fix(rows, change, fix),)
    return Finding("mixed_scripts", severity, len(rows), sentence, rows, fixes)
