"""Points in time in the user's zone and notation."""

from datetime import datetime

from PySide6.QtCore import QDateTime, QLocale


def moment(at: datetime | None) -> str:
    """Date and time; a dash where there is none."""
    if at is None:
        return "–"
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    return QLocale().toString(when, QLocale.FormatType.ShortFormat)


def day(at: datetime) -> str:
    """As short as it is told apart: today by the hour, else by the day."""
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    today = QDateTime.currentDateTime().date()
    if when.date() == today:
        return QLocale().toString(when.time(), QLocale.FormatType.ShortFormat)
    same_year = when.date().year() == today.year()
    return QLocale().toString(when.date(), "d MMM" if same_year else "d MMM yyyy")
