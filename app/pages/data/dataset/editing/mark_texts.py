"""The marks of coded rows in words."""

from app.translation import tr
from app.widgets.text import numbers
from engine.config.codebook import Drawn
from engine.data.datasets.coding import RowCoding


def mark_titles() -> dict[str, str]:
    """Titles of the marks of a row, by field of `RowCoding`."""
    return {
        "skipped": tr("Skipped"),
        "unsure": tr("Unsure"),
        "flagged": tr("Flagged"),
        "note": tr("With a note"),
        "control": tr("Control sample"),
    }


def mark_text(coding: RowCoding) -> str:
    """The marks of a row in one line, with its note."""
    titles = mark_titles().items()
    shown = [title for name, title in titles if name != "note" and getattr(coding, name)]
    return " · ".join(filter(None, [*shown, coding.note]))


def order_titles() -> dict[Drawn, str]:
    """Titles of the orders in which rows come up."""
    return {
        "file": tr("In the order of the file"),
        "random": tr("At random"),
        "search": tr("Rows found by the search"),
        "uncertain": tr("Most uncertain"),
        "diverse": tr("Most diverse"),
        "likely": tr("Likely rows of a label"),
    }


def origin_text(coding: RowCoding) -> str:
    """Who coded a row, when, how it came up, and its marks, in lines."""
    if coding.at is None:
        return mark_text(coding)
    when = coding.at.astimezone().strftime("%Y-%m-%d %H:%M")
    lines = [tr("Coded by {0}, {1}").format(coding.coder, when), order_titles()[coding.drawn]]
    if coding.chance < 1:
        lines.append(tr("drawn as one of {0} rows").format(numbers.count(round(1 / coding.chance))))
    return "\n".join([*lines, *filter(None, [mark_text(coding)])])
