"""Times in cells, for splits by time: numbers, ISO 8601 and common formats of dates."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SplitBy
from engine.data.columns.names import split_from_name
from engine.data.columns.numbers import parse_number
from engine.errors import StudioError

Parser = Callable[[str], float]
HALF_OF_DAY = re.compile(r"[ap]\.?m\b", re.IGNORECASE)
LEADING_ZERO = re.compile(r"0\d+")
YEAR_DIGITS = 4  # shorter numbers are ids
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
ORDERED = ("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m")
DAY_FIRST = ("%d/%m/%Y", "%d/%m/%y", "%d-%m-%Y")
MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%y", "%m-%d-%Y")
MONTH_NAMES = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%B %Y", "%b %Y")
WHOLE = ("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%a %b %d %H:%M:%S %Z %Y")


def parse_times(cells: Sequence[str]) -> NDArray[np.float64]:
    """Parse times that ascend, float64 [cells]: numbers as they are, dates in s since 1970.

    All cells have one format.

    Raises StudioError if no format reads all cells, or two read them differently.
    """
    texts = [cell.strip() for cell in cells]
    for parse in UNAMBIGUOUS:
        if (times := _parse_all(parse, texts)) is not None:
            return times
    by_day, by_month = (_first_fit(parsers, texts) for parsers in (BY_DAY, BY_MONTH))
    if by_day is not None and by_month is not None and not np.array_equal(by_day, by_month):
        raise StudioError(
            "In “{cell}” and all other dates, the day or the month may be first.",
            "Write the dates in the file as in 2026-11-30.",
            cell=texts[int(np.flatnonzero(by_day != by_month)[0])][:60],
        )
    times = by_month if by_day is None else by_day
    if times is None:
        raise StudioError(
            "No format of dates or times fits all cells: “{cell}” does not fit the others.",
            "Write the times in the file as in 2026-11-30 or 2026-11-30 14:05, or choose another "
            "column.",
            cell=_odd_one(texts)[:60],
        )
    return times


def guess_split_by(cells: Sequence[str]) -> SplitBy:
    """Meaning of a column with these cells for a split: names of splits, times or groups."""
    filled = {cell.strip() for cell in cells} - {""}
    if filled and all(map(split_from_name, filled)):
        return "name"
    try:
        times = parse_times(sorted(filled))
    except StudioError:
        return "group"
    are_ids = all(cell.isdecimal() and len(cell) < YEAR_DIGITS for cell in filled)
    return "group" if len(times) < 2 or are_ids else "time"


def _first_fit(parsers: Sequence[Parser], texts: Sequence[str]) -> NDArray[np.float64] | None:
    fits = (_parse_all(parse, texts) for parse in parsers)
    return next((times for times in fits if times is not None), None)


def _parse_all(parse: Parser, texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Parse all texts; None if one does not fit."""
    try:
        return np.array([parse(text) for text in texts], dtype=np.float64)
    except (ValueError, OverflowError):
        return None


def _odd_one(texts: Sequence[str]) -> str:
    """The first cell that the format of the first one does not fit; the first one without any."""
    for parse in (*UNAMBIGUOUS, *BY_DAY, *BY_MONTH):
        if _parse_all(parse, texts[:1]) is not None:
            return next(text for text in texts if _parse_all(parse, [text]) is None)
    return texts[0]


def _number(text: str) -> float:
    number = parse_number(text)
    if number is None or LEADING_ZERO.fullmatch(text):  # 010524 may be a day
        raise ValueError
    return number


def _iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(text))


def _mail(text: str) -> float:
    """Parse a date of RFC 2822, such as those of mails."""
    if HALF_OF_DAY.search(text):
        raise ValueError  # it would be ignored
    return _seconds(parsedate_to_datetime(text))


def _by_format(form: str) -> Parser:
    return lambda text: _seconds(datetime.strptime(text, form))  # noqa: DTZ007 (see _seconds)


def _seconds(time: datetime) -> float:
    """Seconds since 1970; a time without a zone is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _parsers(dates: Sequence[str]) -> tuple[Parser, ...]:
    return tuple(_by_format(date + clock) for date in dates for clock in CLOCKS)


UNAMBIGUOUS = (
    _number,
    _iso,
    _mail,
    *_parsers(ORDERED),
    *_parsers(MONTH_NAMES),
    *map(_by_format, WHOLE),
)
BY_DAY, BY_MONTH = _parsers(DAY_FIRST), _parsers(MONTH_FIRST)
