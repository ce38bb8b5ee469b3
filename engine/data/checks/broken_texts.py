"""Text decoded with a wrong encoding (“Ã©” for “é”), control characters, and leftover HTML."""

import html
import re
from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix, Severity, drop_fix
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import distinct
from engine.data.columns.words import split_words
from engine.phrases import phrase

LATER_BYTES = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # bytes 80 to BF, as cp1252 and as Latin-1
MOJIBAKE = f"[Â-ô][{LATER_BYTES}]"
"""The first two bytes of a UTF-8 character, each decoded as a character."""
RUN = re.compile(f"(?:[Â-ô][{LATER_BYTES}]{{1,3}})+")
UNREADABLE = "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffd]"
BREAK = re.compile("<br ?/?>")
HTML = r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{2,5}|#x[0-9a-fA-F]{2,4});|<br ?/?>"


def find(data: CheckInput) -> list[Finding]:
    return [*_mojibake(data), *_unreadable(data), *_html(data)]


def _decode_again(run: re.Match[str]) -> str:
    """The UTF-8 that was decoded as Western European."""
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


def _matching_rows(data: CheckInput, pattern: str) -> dict[str, NDArray[np.int64]]:
    """The rows that match a pattern, by text column."""
    return {
        name: np.flatnonzero(
            data.matching(name, lambda cells: pc.match_substring_regex(cells, pattern))
        )
        for name in data.text_columns
    }


def _repair(
    data: CheckInput, pattern: str, repair: Callable[[str], str]
) -> dict[int, dict[str, str]]:
    """The cells that the repair changes, by row and column."""
    repaired: dict[int, dict[str, str]] = {}
    for name, rows in _matching_rows(data, pattern).items():
        for row, cell in zip(rows.tolist(), data.cells(name, rows), strict=True):
            better = repair(cell)
            is_fit = (
                bool(better.strip())
                if data.mapping.tags is None
                else len(split_words(cell)) == len(split_words(better))  # as many as tags
            )
            if better != cell and is_fit:
                repaired.setdefault(row, {})[name] = better
    return dict(sorted(repaired.items()))


def _mojibake(data: CheckInput) -> list[Finding]:
    cells = _repair(data, MOJIBAKE, lambda text: RUN.sub(_decode_again, text))
    sentence = phrase(
        "{n:,} row(s) read in a wrong encoding (such as “Ã©” for “é”): the tokenizer does"
        " not know these words.",
        n=len(cells),
    )
    change = phrase("{n:,} row(s) with a broken encoding repaired.", n=len(cells))
    fix = Fix("repair", phrase("Repair"), change, cells=cells)
    return _finding(data, "warning", sentence, fix)


def _html(data: CheckInput) -> list[Finding]:
    cells = _repair(data, HTML, lambda text: html.unescape(BREAK.sub(" ", text)))
    sentence = phrase(
        "{n:,} row(s) with HTML such as “&amp;” or “<br>”: the model reads it as words.",
        n=len(cells),
    )
    change = phrase("HTML in {n:,} row(s) replaced by characters.", n=len(cells))
    fix = Fix("replace", phrase("Replace by characters"), change, cells=cells)
    return _finding(data, "note", sentence, fix)


def _finding(data: CheckInput, severity: Severity, sentence: str, fix: Fix) -> list[Finding]:
    """No fix if answers are offsets into the text."""
    rows = np.array(list(fix.cells), dtype=np.int64)
    if not len(rows):
        return []
    fixes = (fix,) if data.mapping.answers is None else ()
    return [Finding("broken_texts", severity, len(rows), sentence, rows, fixes)]


def _unreadable(data: CheckInput) -> list[Finding]:
    found = _matching_rows(data, UNREADABLE).values()
    rows = distinct(np.concatenate([np.zeros(0, dtype=np.int64), *found]))
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with “\ufffd” or control characters: what stood there is lost.", n=len(rows)
    )
    fix = drop_fix(rows, phrase("{n:,} row(s) with unreadable characters dropped.", n=len(rows)))
    return [Finding("broken_texts", "warning", len(rows), sentence, rows, (fix,))]
