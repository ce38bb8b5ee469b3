"""What is done where a run has ended, also without a window: a notification of the desktop, and a
command of the user's own.
"""

import logging
import threading
from collections.abc import Iterable

from engine.desktop import on_end
from engine.desktop.notifications import notify
from engine.desktop.preferences import RunPreferences
from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.record.run_watch import RunEnd, RunUpdate
from engine.runs.searching import is_by_search

log = logging.getLogger("studio")

LONGEST_TEXT = 300  # characters of a notification


def tell_ends(
    updates: Iterable[RunUpdate], home: Home, preferences: RunPreferences
) -> list[RunUpdate]:
    """Tell of the runs that have ended, as the user prefers; what went wrong with that."""
    made: list[RunUpdate] = []
    for update in updates:
        for end in update.values:
            if isinstance(end, RunEnd):
                made += _tell(end, home, preferences)
    return made


def _tell(end: RunEnd, home: Home, preferences: RunPreferences) -> list[RunUpdate]:
    is_wanted = end.by_user or is_by_search(end.problem)
    if preferences.notify and not is_wanted:
        threading.Thread(target=_notify, args=(end, preferences.sound), daemon=True).start()
    if not preferences.on_end:
        return []
    facts = {
        "id": end.run_id,
        "name": end.name,
        "state": end.state,
        "folder": end.folder,
        "problem": end.problem,
        "metric": end.metric,
        "score": end.score,
    }
    try:
        on_end.start(preferences.on_end, facts, home.root, home.on_end_log)
    except StudioError as error:
        return [RunUpdate("noted", ("", error.phrase))]
    return []


def _notify(end: RunEnd, sound: bool) -> None:
    """In a thread: the desktop may take its time."""
    title, text = texts_of(end)
    try:
        notify(title, text, sound, good=end.state == "finished")
    except OSError as error:
        log.info("no notification: %s", error)


def texts_of(end: RunEnd) -> tuple[str, str]:
    """Title and text of the notification of an end."""
    if end.state == "finished":
        title = phrase("“{run}” finished", run=end.name)
    elif end.state == "stopped":
        title = phrase("“{run}” stopped", run=end.name)
    else:
        title = phrase("“{run}” failed", run=end.name)
    text = f"{end.problem} {end.advice}".strip()
    if end.state == "finished" and end.metric and end.score is not None:
        metric = end.metric.replace("_", " ")
        text = phrase("Best {metric}: {score:.4g}", metric=metric, score=end.score)
    return title[:LONGEST_TEXT], text[:LONGEST_TEXT]
