"""Dates in cells as days, weeks, months, quarters or years."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from engine.data.columns.times import BY_DAY, BY_MONTH, UNAMBIGUOUS, Parser, parse_times
from engine.errors import StudioError
from engine.phrases import Phrase, phrase

Period = Literal["day", "week", "month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
YEAR = re.compile(r"[12]\d{3}")
EARLIEST, LATEST = 10**8, 4 * 10**9  # seconds since 1970 that are taken as a time
NUMBER = re.compile(r"\d+(\.\d+)?")
MAX_CHARACTERS = 60  # of a date
SAMPLE_CELLS = 500  # different ones, to recognise dates
UNITS = {"day": "D", "month": "M", "year": "Y"}
MIN_DATES = 0.5  # of the filled rows
PERIOD_TITLES: dict[Period, Phrase] = {
    "day": phrase("Day"),
    "week": phrase("Week"),
    "month": phrase("Month"),
    "quarter": phrase("Quarter"),
    "year": phrase("Year"),
}


def group_by_period(cells: Sequence[str], period: Period) -> tuple[list[str], list[str]]:
    """The period of each cell, “” for one that is not a date, and the cells that are not dates.

    Dates have the format of most cells. Periods are written as 2026-11-30, 2026-W49 (ISO 8601),
    2026-11, 2026-Q4, 2026, so that they sort by time. Times with a zone are in UTC.

    Raises StudioError if less than half of the filled cells are dates, or the day and the month
    cannot be distinguished.
    """
    counts = Counter(filter(None, map(str.strip, cells)))
    times = _parse(counts)
    others = [text for text in counts if text not in times]
    if sum(counts[text] for text in times) < MIN_DATES * counts.total() or not times:
        raise StudioError(
            "Most cells are not dates, such as “{cell}”.",
            "Write them as in 2026-11-30, or choose another column.",
            cell=next(iter(others), "")[:60],
        )
    days = np.array([*times.values()]).astype("datetime64[s]").astype("datetime64[D]")
    names = dict(zip(times, _names(days, period), strict=True))
    return [names.get(cell.strip(), "") for cell in cells], others


def are_dates(cells: Iterable[str]) -> bool:
    """True if at least half of the first filled cells are dates of one format."""
    counts = Counter(filter(None, map(str.strip, cells)))
    counts = Counter(dict(islice(counts.items(), SAMPLE_CELLS)))
    try:
        found = sum(counts[text] for text in _parse(counts))
    except StudioError:  # which is first, the day or the month
        return True
    return bool(found) and found >= MIN_DATES * counts.total()


def _parse(counts: Mapping[str, int]) -> dict[str, float]:
    """Seconds since 1970 of the texts in the format of most rows."""
    found = Counter[Parser]()
    last: Parser = _year
    for text, rows in counts.items():
        candidates = NUMBERS if NUMBER.fullmatch(text) else (last, *PARSERS)
        if (parser := next((p for p in candidates if _reads(p, text)), None)) is not None:
            found[parser] += rows
            last = parser
    if not found:
        return {}
    best = found.most_common(1)[0][0]
    twins = dict([*zip(BY_DAY, BY_MONTH, strict=True), *zip(BY_MONTH, BY_DAY, strict=True)])
    if best not in twins:
        return {text: best(text) for text in counts if _reads(best, text)}
    dates = [text for text in counts if _reads(best, text) or _reads(twins[best], text)]
    return dict(zip(dates, parse_times(dates).tolist(), strict=True))


def _reads(parse: Parser, text: str) -> bool:
    if len(text) > MAX_CHARACTERS:
        return False
    try:
        parse(text)
    except (ValueError, OverflowError, OSError):
        return False
    return True


def _year(text: str) -> float:
    if not YEAR.fullmatch(text):
        raise ValueError
    return datetime(int(text), 1, 1, tzinfo=UTC).timestamp()


def _epoch(text: str) -> float:
    """Seconds since 1970, as programs store times."""
    seconds = float(text)
    if not EARLIEST <= seconds <= LATEST:
        raise ValueError
    return seconds


NUMBERS: tuple[Parser, ...] = (_year, UNAMBIGUOUS[1], _epoch)  # ISO 8601 allows 20261130
PARSERS: tuple[Parser, ...] = (*UNAMBIGUOUS[1:], *BY_DAY, *BY_MONTH)


def _names(days: NDArray[np.datetime64], period: Period) -> list[str]:
    match period:
        case "week":
            weeks = (day.isocalendar() for day in days.astype(object).tolist())
            return [f"{week.year}-W{week.week:02}" for week in weeks]
        case "quarter":
            months = days.astype("datetime64[M]").astype(int)
            return [f"{1970 + month // 12}-Q{month % 12 // 3 + 1}" for month in months.tolist()]
        case _:
            texts: list[str] = days.astype(f"datetime64[{UNITS[period]}]").astype(str).tolist()
            return texts
