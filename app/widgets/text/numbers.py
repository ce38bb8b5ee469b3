"""Numbers, dates, durations and sizes in the user's notation."""

import math
import re
from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QDateTime, QLocale

from app.translation import tr


def count(number: int) -> str:
    """12,000."""
    return QLocale().toString(number)


def decimal(value: float | None, places: int = 4) -> str:
    """0.6931; “not a number” for None and NaN."""
    if value is None or math.isnan(value):
        return tr("not a number")
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value and (abs(value) < 10**-places or abs(value) >= 1e6):
        return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", QLocale().toString(value, "e", 2))
    return QLocale().toString(value, "f", places)


def sign(value: float) -> str:
    """The sign of a difference, “±” for zero."""
    return "+" if value > 0 else "−" if value < 0 else "±"


def percent(fraction: float, places: int = 1) -> str:
    """0.82 as 82.0 %."""
    return f"{QLocale().toString(fraction * 100, 'f', places)} %"


def large_count(number: float) -> str:
    """4.4 M, 12 k; for parameters and other large counts."""
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    return _scaled(number, units) or QLocale().toString(round(number))


def size(number: float) -> str:
    """Bytes as 17.7 MB."""
    units = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    return _scaled(number, units) or f"{round(number)} B"


def _scaled(number: float, units: Sequence[tuple[float, str]]) -> str:
    """The number in the first unit that it reaches; “” if it is smaller than all."""
    for limit, unit in units:
        if abs(number) >= limit:
            value = number / limit
            return f"{QLocale().toString(value, 'f', 0 if value >= 100 else 1)} {unit}"
    return ""


def duration(seconds: float) -> str:
    """42 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    whole = max(0, round(seconds))
    if whole < 60:
        return tr("{0} s").format(whole)
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        if minutes >= 10 or not rest:
            return tr("{0} min").format(minutes)
        return tr("{0} min {1} s").format(minutes, rest)
    if whole < 86400:
        hours, rest = divmod(whole, 3600)
        return tr("{0} h {1} min").format(hours, rest // 60)
    days, rest = divmod(whole, 86400)
    return tr("{0} d {1} h").format(days, rest // 3600)


def ago(seconds: float) -> str:
    """Time since: just now, 5 minutes ago, yesterday."""
    if seconds < 60:
        return tr("just now")
    if seconds < 3600:
        return tr("%Ln minute(s) ago", int(seconds // 60))
    if seconds < 86400:
        return tr("%Ln hour(s) ago", int(seconds // 3600))
    return tr("%Ln day(s) ago", int(seconds // 86400))


def moment(at: datetime | None) -> str:
    """Date and time; a dash for None."""
    if at is None:
        return "–"
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    return QLocale().toString(when, QLocale.FormatType.ShortFormat)


def day(at: datetime) -> str:
    """Shortest unambiguous form: the time if today, else the day."""
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    today = QDateTime.currentDateTime().date()
    if when.date() == today:
        return QLocale().toString(when.time(), QLocale.FormatType.ShortFormat)
    same_year = when.date().year() == today.year()
    return QLocale().toString(when.date(), "d MMM" if same_year else "d MMM yyyy")
