"""Plain text: one document per paragraph or per line."""

from collections.abc import Iterator
from itertools import chain

from engine.config.dataset import Reading
from engine.data.formats.lines import Lines
from engine.data.formats.rows import EMPTY_LINE, Content, Format, Remarks, Row
from engine.phrases import phrase

MAX_TEXT_CHARACTERS = 1_000_000  # per row


def open_plain(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """One column of texts.

    If there are empty lines between texts, they separate documents, which keep their line breaks;
    otherwise every line is a row. Texts above a million characters are split into rows.
    """
    rows = _paragraph_rows(lines, remarks) if _has_paragraphs(lines) else _line_rows(lines, remarks)
    return Content(("text",), rows)


def _has_paragraphs(lines: Lines) -> bool:
    """True if an empty line is between two lines of text."""
    has_text = has_gap = False
    for line in lines.look_ahead(MAX_TEXT_CHARACTERS, split=True):
        is_text = not line.isspace()
        if is_text and has_gap:
            return True
        has_gap = has_text and not is_text
        has_text = has_text or is_text
    return False


def _numbered_lines(lines: Lines, remarks: Remarks) -> Iterator[tuple[int, str]]:
    """Lines without ends, with their numbers; long ones are split at a space."""
    number, rest = 1, ""
    for raw in lines.limit_lines(MAX_TEXT_CHARACTERS, split=True):
        text = rest + raw.rstrip("\r\n")
        rest = ""
        if raw[-1] not in "\r\n" and len(raw) >= MAX_TEXT_CHARACTERS:
            remarks.count(
                phrase("Line of more than a million characters split into several rows"), number
            )
            end = text.rfind(" ") + 1 or len(text)
            text, rest = text[:end], text[end:]
            yield number, text
            continue
        yield number, text
        number += 1
    if rest:
        yield number, rest


def _line_rows(lines: Lines, remarks: Remarks) -> Iterator[Row]:
    for number, text in _numbered_lines(lines, remarks):
        if text.strip():
            yield Row(number, (text,))
        else:
            remarks.count(EMPTY_LINE, number)


def _paragraph_rows(lines: Lines, remarks: Remarks) -> Iterator[Row]:
    part: list[str] = []
    length = start = 0
    for number, text in chain(_numbered_lines(lines, remarks), [(0, "")]):
        is_text = bool(text.strip())
        if part and (not is_text or length + len(text) > MAX_TEXT_CHARACTERS):
            if is_text:
                remarks.count(
                    phrase("Text of more than a million characters split into several rows"), start
                )
            yield Row(start, ("\n".join(part),))
            part, length = [], 0
        if is_text:
            start = start if part else number
            part.append(text)
            length += len(text)


def guess_plain(_lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise any text."""
    return Reading(format=PLAIN.name, header=False)


PLAIN = Format("text", phrase("Plain text"), (".txt", ".text", ".md"), open_plain, guess_plain)
