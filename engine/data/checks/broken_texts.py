"""Encodings that were broken before (“Ã©” for “é”), and what else is left of other programs."""

import html
import re
from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import distinct
from engine.data.columns.words import words_of
from engine.phrases import phrase

LATER_BYTES = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # 80 to BF in cp1252, and as they are
MOJIBAKE = f"[Â-ô][{LATER_BYTES}]"
"""The first byte of a character in UTF-8 and the next one, each read as a character."""
RUN = re.compile(f"(?:[Â-ô][{LATER_BYTES}]{{1,3}})+")
UNREADABLE = "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffd]"
HTML = r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{2,5}|#x[0-9a-fA-F]{2,4});|<br ?/?>"


Mend = Callable[[str], str]


def find(data: CheckInput) -> list[Finding]:
    return [*_mojibake(data), *_unreadable(data), *_html(data)]


def repaired(text: str) -> str:
    """The text with what UTF-8 read as Western European gives back."""
    return RUN.sub(lambda run: _decoded(run[0]), text)


def _decoded(run: str) -> str:
    """The characters whose bytes in UTF-8 were read as characters; the same where they are none."""
    raw = bytearray()
    for character in run:
        try:
            raw += character.encode("cp1252")
        except UnicodeEncodeError:
            if ord(character) > 0xFF:
                return run
            raw.append(ord(character))  # what cp1252 leaves out is kept as it is
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return run


def without_html(text: str) -> str:
    """The text with characters in place of HTML entities, and blanks in place of line breaks."""
    return html.unescape(re.sub(r"<br ?/?>", " ", text))


def _with(data: CheckInput, pattern: str) -> dict[str, NDArray[np.int64]]:
    """By column of texts, the rows in which a pattern is found."""
    return {
        name: np.flatnonzero(
            data.matching(name, lambda cells: pc.match_substring_regex(cells, pattern))
        )
        for name in data.text_columns
    }


def _mended(data: CheckInput, pattern: str, mend: Mend) -> dict[int, dict[str, str]]:
    """By row and column, the texts that are others once they are mended."""
    found: dict[int, dict[str, str]] = {}
    for name, rows in _with(data, pattern).items():
        for row, cell in zip(rows.tolist(), data.cells(name, rows), strict=True):
            better = mend(cell)
            if better != cell and _keeps_words(data, cell, better):
                found.setdefault(row, {})[name] = better
    return dict(sorted(found.items()))


def _keeps_words(data: CheckInput, cell: str, better: str) -> bool:
    """Whether there is still a text, and where words have tags, as many words."""
    if data.mapping.tags is not None:
        return len(words_of(cell)) == len(words_of(better))
    return bool(better.strip())


def _mojibake(data: CheckInput) -> list[Finding]:
    cells = _mended(data, MOJIBAKE, repaired)
    sentence = phrase(
        "{n:,} row(s) read in a wrong encoding (such as “Ã©” for “é”): the tokenizer does"
        " not know these words.",
        n=len(cells),
    )
    change = phrase("{n:,} row(s) with a broken encoding repaired.", n=len(cells))
    fix = Fix("repair", phrase("Repair"), change, cells=cells)
    return _finding(data, "warning", sentence, fix)


def _html(data: CheckInput) -> list[Finding]:
    cells = _mended(data, HTML, without_html)
    sentence = phrase(
        "{n:,} row(s) with HTML such as “&amp;” or “<br>”: the model reads it as words.",
        n=len(cells),
    )
    change = phrase("HTML in {n:,} row(s) replaced by characters.", n=len(cells))
    fix = Fix("replace", phrase("Replace by characters"), change, cells=cells)
    return _finding(data, "note", sentence, fix)


def _finding(data: CheckInput, severity: Severity, sentence: str, fix: Fix) -> list[Finding]:
    """The rows of a fix; where answers are places in a text, no text is changed."""
    rows = np.array(list(fix.cells), dtype=np.int64)
    if not len(rows):
        return []
    fixes = (fix,) if data.mapping.answers is None else ()
    return [Finding("broken_texts", severity, len(rows), sentence, rows, fixes)]


def _unreadable(data: CheckInput) -> list[Finding]:
    found = _with(data, UNREADABLE).values()
    rows = distinct(np.concatenate([np.zeros(0, dtype=np.int64), *found]))
    if not len(rows):
        return []
    sentence = phrase(
        "{n:,} row(s) with “\ufffd” or control characters: what stood there is lost.",
        n=len(rows),
    )
    fix = Fix(
        "drop",
        phrase("Drop these rows"),
        phrase("{n:,} row(s) with unreadable characters dropped.", n=len(rows)),
        dropped=rows,
    )
    return [Finding("broken_texts", "warning", len(rows), sentence, rows, (fix,))]
