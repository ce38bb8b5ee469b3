"""An added format: a label in square brackets, then the text, as in “[good] a lovely film”."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from engine.config.dataset import Reading
from engine.data.formats import FORMATS
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row

LINE = re.compile(r"\[(\w+)\] (.+)")


def open_tagged(lines: Lines, _reading: Reading, _remarks: Remarks) -> Content:
    """The columns “text” and “label”, and a row for each line."""
    result = (LINE.match(line) for line in lines)
    rows = (Row(n, (match[2], match[1])) for n, match in enumerate(result, start=1) if match)
    return Content(("text", "label"), rows)


def guess_tagged(lines: list[str], _suffix: str, _whole: bool) -> Reading | None:
    """Recognise a file whose lines all begin with a label."""
    filled = [line for line in lines if line.strip()]
    return Reading(format=TAGGED.name) if all(map(LINE.match, filled)) else None


TAGGED = Format("tagged", "Tagged lines", (".tagged",), open_tagged, guess_tagged)


@contextmanager
def added_format() -> Iterator[Format]:
    """Add the format to `FORMATS`, before the others."""
    others = dict(FORMATS)
    FORMATS.clear()
    FORMATS.update({TAGGED.name: TAGGED} | others)
    try:
        yield TAGGED
    finally:
        FORMATS.clear()
        FORMATS.update(others)
