"""Plain text: one document per paragraph or per line."""

from collections.abc import Iterator
from itertools import chain

from engine.config.dataset import Reading
from engine.data.formats.lines import Lines
from engine.data.formats.rows import EMPTY_LINE, Content, Format, Remarks, Row
from engine.phrases import phrase

MAX_TEXT_CHARACTERS = 1_000_000  # characters in one row


def open_plain(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """One column of texts.

    If there are empty lines between texts, they separate documents, which keep their line breaks;
    otherwise every line is a row. Texts above a million characters are split into rows.
    """
    rows = _paragraphs(lines, remarks) if _has_paragraphs(lines) else _single(lines, remarks)
    return Content(("text",), rows)


def _has_paragraphs(lines: Lines) -> bool:
    """True if an empty line is between two others."""
    text_before = gap = False
    for line in lines.ahead(MAX_TEXT_CHARACTERS, cut=True):
        full = not line.isspace()
        if full and gap:
            return True
        gap = text_before and not full
        text_before = text_before or full
    return False


def _parts(lines: Lines, remarks: Remarks) -> Iterator[tuple[int, str]]:
    """Lines without ends, with their numbers; long ones are split at a space."""
    number, begun = 1, ""
    for raw in lines.upto(MAX_TEXT_CHARACTERS, cut=True):
        text = begun + raw.rstrip("\r\n")
        begun = ""
        if raw[-1] not in "\r\n" and len(raw) >= MAX_TEXT_CHARACTERS:
            remarks.saw(
                phrase("Line of more than a million characters split into several rows"), number
            )
            cut = text.rfind(" ") + 1 or len(text)
            text, begun = text[:cut], text[cut:]
            yield number, text
            continue
        yield number, text
        number += 1
    if begun:
        yield number, begun


def _single(lines: Lines, remarks: Remarks) -> Iterator[Row]:
    for number, text in _parts(lines, remarks):
        if text.strip():
            yield Row(number, (text,))
        else:
            remarks.saw(EMPTY_LINE, number)


def _paragraphs(lines: Lines, remarks: Remarks) -> Iterator[Row]:
    part: list[str] = []
    length = start = 0
    for number, text in chain(_parts(lines, remarks), [(0, "")]):
        full = bool(text.strip())
        if part and (not full or length + len(text) > MAX_TEXT_CHARACTERS):
            if full:
                remarks.saw(
                    phrase("Text of more than a million characters split into several rows"), start
                )
            yield Row(start, ("\n".join(part),))
            part, length = [], 0
        if full:
            start = start if part else number
            part.append(text)
            length += len(text)


def guess_plain(_lines: list[str], _suffix: str, _whole: bool) -> Reading | None:
    """Any text."""
    return Reading(format=PLAIN.name, header=False)


PLAIN = Format("text", phrase("Plain text"), (".txt", ".text", ".md"), open_plain, guess_plain)
