"""Checks of texts."""

import html
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix, Severity, drop_fix
from engine.data.checks.check_input import CheckInput
from engine.data.columns.text_spans import marks_characters, read_spans
from engine.data.columns.words import split_words
from engine.phrases import phrase

NO_TEXT = ("nan", "NaN", "null", "NULL", "N/A", "#N/A", "<NA>", "[deleted]", "[removed]")
MAX_WORDS = 510  # BERT reads 512 tokens, two of them special; a word is at least one
MAX_LOST_FRACTION = 0.1  # of all words; if more is truncated, the file was probably misread
LATER_BYTES = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # bytes 80 to BF, as cp1252 and as Latin-1
MOJIBAKE = f"[Â-ô][{LATER_BYTES}]"
"""The first two bytes of a UTF-8 character, each decoded as a character."""
MOJIBAKE_RUN = re.compile(f"(?:[Â-ô][{LATER_BYTES}]{{1,3}})+")
UNREADABLE = "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffd]"
BREAK = re.compile("<br ?/?>")
HTML = r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{2,5}|#x[0-9a-fA-F]{2,4});|<br ?/?>"
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
LOOKALIKES = ("Cyrillic", "Greek")  # scripts with Latin lookalikes
MIN_MAIN_FRACTION = 0.95  # of the rows must have the main script


def find_lengths(data: CheckInput) -> list[Finding]:
    """Empty texts, and texts longer than BERT reads."""
    return [*_find_empty(data), *_find_missing(data), *_find_long(data)]


def _find_empty(data: CheckInput) -> list[Finding]:
    rows = np.flatnonzero(
        _match_any_text(data, lambda cells: pc.equal(pc.utf8_trim_whitespace(cells), pa.scalar("")))
    )
    if not len(rows):
        return []
    sentence = phrase("{n:,} row(s) with an empty text: nothing to learn.", n=len(rows))
    change = phrase("{n:,} row(s) without text dropped.", n=len(rows))
    fix = drop_fix(rows, change, "drop-empty")
    return [Finding("text_lengths", "problem", len(rows), sentence, rows, (fix,))]


def _find_missing(data: CheckInput) -> list[Finding]:
    """Texts such as “nan” and “[deleted]”, which programs and forums write for none."""
    names: Any = pa.array(NO_TEXT)
    rows = np.flatnonzero(_match_any_text(data, lambda cells: pc.is_in(cells, names)))
    if not len(rows) or data.mapping.endings:
        return []
    sentence = phrase(
        "{n:,} row(s) with a text such as “nan” or “[deleted]”, which means that there is none.",
        n=len(rows),
    )
    change = phrase("{n:,} row(s) with a text that means none dropped.", n=len(rows))
    fix = drop_fix(rows, change, "drop-missing")
    return [Finding("text_lengths", "warning", len(rows), sentence, rows, (fix,))]


def _find_long(data: CheckInput) -> list[Finding]:
    """Long texts; none for questions and pre-training, which split them into windows."""
    has_targets = bool({*data.mapping.columns, *data.mapping.flags} - {*data.text_columns})
    if data.mapping.answers is not None or not has_targets:
        return []
    words = np.sum([data.words[name].counts for name in data.text_columns], axis=0)
    rows = np.flatnonzero(words > MAX_WORDS)
    if not len(rows):
        return []
    lost = float((words[rows] - MAX_WORDS).sum() / words.sum())
    if lost > MAX_LOST_FRACTION:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words: {percent:.0f} % of all words "
            "are truncated, unless training reads long texts in windows. Perhaps the file does not "
            "mark where these rows end.",
            n=len(rows),
            words=MAX_WORDS,
            percent=100 * lost,
        )
    else:
        sentence = phrase(
            "{n:,} row(s) with more than {words} words, truncated to 512 tokens unless training "
            "reads long texts in windows.",
            n=len(rows),
            words=MAX_WORDS,
        )
    change = phrase(
        "{n:,} row(s) with more than {words} words dropped.", n=len(rows), words=MAX_WORDS
    )
    fix = drop_fix(rows, change, "drop-long")
    longest_first = rows[np.argsort(-words[rows], kind="stable")]
    severity: Severity = "warning" if lost > MAX_LOST_FRACTION else "note"
    return [Finding("text_lengths", severity, len(rows), sentence, longest_first, (fix,))]


def find_broken(data: CheckInput) -> list[Finding]:
    """Text decoded with a wrong encoding (“Ã©” for “é”), control characters, and leftover HTML."""
    return [*_find_mojibake(data), *_find_unreadable(data), *_find_html(data)]


def _decode_utf8(run: re.Match[str]) -> str:
    """Decode UTF-8 that was decoded as Western European."""
    raw = bytearray()
    for character in run[0]:
        try:
            raw += character.encode("cp1252")
        except UnicodeEncodeError:
            if ord(character) > 0xFF:
                return run[0]
            raw.append(ord(character))  # bytes that cp1252 does not define
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return run[0]


def _repair(
    data: CheckInput, pattern: str, repair: Callable[[str], str]
) -> dict[int, dict[str, str]]:
    """Repair the cells that match `pattern`; returns the changed ones, by row and column."""
    repaired: dict[int, dict[str, str]] = {}
    for name in data.text_columns:
        rows = np.flatnonzero(
            data.match_cells(name, lambda cells: pc.match_substring_regex(cells, pattern))
        )
        column = data.mapping.tags
        marks = [""] * len(rows) if column is None else data.cells(column, rows)
        for row, cell, tags in zip(rows.tolist(), data.cells(name, rows), marks, strict=True):
            new = repair(cell)
            is_valid = bool(new.strip())
            if column is not None and not marks_characters(cell, tags):
                is_valid = len(split_words(cell)) == len(split_words(new))  # as many as tags
            elif read_spans(tags):
                is_valid = False  # the positions of its spans would be wrong
            if new != cell and is_valid:
                repaired.setdefault(row, {})[name] = new
    return dict(sorted(repaired.items()))


def _find_mojibake(data: CheckInput) -> list[Finding]:
    cells = _repair(data, MOJIBAKE, lambda text: MOJIBAKE_RUN.sub(_decode_utf8, text))
    sentence = phrase(
        "{n:,} row(s) read in a wrong encoding (such as “Ã©” for “é”): the tokenizer does"
        " not know these words.",
        n=len(cells),
    )
    change = phrase("{n:,} row(s) with a broken encoding repaired.", n=len(cells))
    fix = Fix("repair", phrase("Repair"), change, cells=cells)
    return _broken_findings(data, "warning", sentence, fix)


def _find_html(data: CheckInput) -> list[Finding]:
    cells = _repair(data, HTML, lambda text: html.unescape(BREAK.sub(" ", text)))
    sentence = phrase(
        "{n:,} row(s) with HTML such as “&amp;” or “<br>”: the model reads it as words.",
        n=len(cells),
    )
    change = phrase("HTML in {n:,} row(s) replaced by characters.", n=len(cells))
    fix = Fix("replace", phrase("Replace by characters"), change, cells=cells)
    return _broken_findings(data, "note", sentence, fix)


def _broken_findings(
    data: CheckInput, severity: Severity, sentence: str, fix: Fix
) -> list[Finding]:
    """Report a finding, without the fix if answers are offsets into the text."""
    rows = np.array(list(fix.cells), dtype=np.int64)
    if not len(rows):
        return []
    fixes = (fix,) if data.mapping.answers is None else ()
    return [Finding("broken_texts", severity, len(rows), sentence, rows, fixes)]


def _find_unreadable(data: CheckInput) -> list[Finding]:
    rows = np.flatnonzero(_find_matches(data, UNREADABLE))
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with “\ufffd” or control characters: the original characters are lost.",
        n=len(rows),
    )
    fix = drop_fix(rows, phrase("{n:,} row(s) with unreadable characters dropped.", n=len(rows)))
    return [Finding("broken_texts", "warning", len(rows), sentence, rows, (fix,))]


def find_mixed_scripts(data: CheckInput) -> list[Finding]:
    """Words that mix two alphabets, and texts in another script than nearly all others."""
    return [*_find_mixed_words(data), *_find_other_scripts(data)]


def _find_matches(data: CheckInput, pattern: str) -> NDArray[np.bool_]:
    """Rows with a text that matches, bool [N]."""
    return _match_any_text(data, lambda cells: pc.match_substring_regex(cells, pattern))


def _find_mixed_words(data: CheckInput) -> list[Finding]:
    pairs = [(SCRIPTS["Latin"], SCRIPTS[name]) for name in LOOKALIKES]
    either = [f"{latin}{other}|{other}{latin}" for latin, other in pairs]
    rows = np.flatnonzero(_find_non_ascii(data) & _find_matches(data, "|".join(either)))
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with words that mix Latin with Cyrillic or Greek letters "
        "(homoglyphs), unknown to the tokenizer.",
        n=len(rows),
    )
    return [_script_finding("warning", sentence, rows, "drop-mixed")]


def _find_other_scripts(data: CheckInput) -> list[Finding]:
    non_ascii = _find_non_ascii(data)
    if not non_ascii.any():
        return []
    by_script = {name: _find_matches(data, pattern) for name, pattern in SCRIPTS.items()}
    has_letters = np.any(list(by_script.values()), axis=0)
    main = max(by_script, key=lambda name: int(by_script[name].sum()))
    if by_script[main].sum() < MIN_MAIN_FRACTION * has_letters.sum():
        return []
    rows = np.flatnonzero(has_letters & ~by_script[main])
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) in another script than nearly all others ({main}).", n=len(rows), main=main
    )
    return [_script_finding("note", sentence, rows, "drop-other")]


def _find_non_ascii(data: CheckInput) -> NDArray[np.bool_]:
    return _match_any_text(data, lambda cells: pc.invert(pc.string_is_ascii(cells)))


def _script_finding(
    severity: Severity, sentence: str, rows: NDArray[np.int64], fix: str
) -> Finding:
    change = phrase("{n:,} row(s) with mixed or other scripts dropped.", n=len(rows))
    fixes = (drop_fix(rows, change, fix),)
    return Finding("mixed_scripts", severity, len(rows), sentence, rows, fixes)


def _match_any_text(data: CheckInput, matches: Callable[[Any], Any]) -> NDArray[np.bool_]:
    """Rows with a text that matches, bool [N]."""
    hits: NDArray[np.bool_] = np.logical_or.reduce(
        [data.match_cells(name, matches) for name in data.text_columns]
    )
    return hits
