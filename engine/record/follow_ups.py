"""Actions after updates of runs: notices when a run ends, and live curve files.

At the end of a run the desktop may show a notification and the user's own command may run, also
without a window. Curves for TensorBoard and MLflow are written while runs train.
"""

import logging
import threading
import time
from collections.abc import Iterable, Sequence

from engine.config.tasks import metric_text
from engine.desktop import on_end
from engine.desktop.notifications import notify
from engine.desktop.preferences import LiveCurves, RunPreferences
from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.record.run_watch import RunEnd, RunUpdate
from engine.record.runs import Run
from engine.runs.curve_files import CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.mlflow import MLflowFiles
from engine.runs.searching import is_by_search
from engine.runs.tensorboard import TensorBoardFiles
from engine.system.errors import explain_error

log = logging.getLogger("studio")

MAX_TEXT = 300  # characters of a notification
FORMS: dict[LiveCurves, tuple[type[CurveFiles], ...]] = {
    "off": (),
    "tensorboard": (TensorBoardFiles,),
    "mlflow": (MLflowFiles,),
    "both": (TensorBoardFiles, MLflowFiles),
}
LIVE_SECONDS = 2.0  # between writes of a run


def notify_ends(
    updates: Iterable[RunUpdate], home: Home, preferences: RunPreferences
) -> list[RunUpdate]:
    """Notify about runs that have ended, as the user prefers; returns notes about failures."""
    notes: list[RunUpdate] = []
    for update in updates:
        for end in update.values:
            if isinstance(end, RunEnd):
                notes += _notify_end(end, home, preferences)
    return notes


def _notify_end(end: RunEnd, home: Home, preferences: RunPreferences) -> list[RunUpdate]:
    is_expected = end.by_user or is_by_search(end.problem)
    if preferences.notify and not is_expected:
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
    """Show a notification; runs in a thread, since the desktop may be slow."""
    title, text = notification_texts(end)
    try:
        notify(title, text, sound, good=end.state == "finished")
    except OSError as error:
        log.info("no notification: %s", error)


def notification_texts(end: RunEnd) -> tuple[str, str]:
    if end.state == "finished":
        title = phrase("“{run}” finished", run=end.name)
    elif end.state == "stopped":
        title = phrase("“{run}” stopped", run=end.name)
    else:
        title = phrase("“{run}” failed", run=end.name)
    text = f"{end.problem} {end.advice}".strip()
    if end.state == "finished" and end.metric and end.score is not None:
        metric = end.metric.replace("_", " ")
        score = metric_text(end.metric, end.score)
        text = phrase("Best {metric}: {score}", metric=metric, score=score)
    return title[:MAX_TEXT], text[:MAX_TEXT]


class LiveCurvesWriter:
    """Writes live curves below `curves` of the home, a folder for each form. One thread at a
    time."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._last_write: dict[str, float] = {}  # monotonic time, by the id of a run
        self._failed: set[str] = set()  # runs whose curves cannot be written

    def follow(
        self, working: Sequence[Run], updates: Iterable[RunUpdate], form: LiveCurves
    ) -> list[RunUpdate]:
        """Append new points of working runs and finish those that ended; returns notes about
        failures."""
        if form == "off":
            return []
        now, notes = time.monotonic(), list[RunUpdate]()
        for run in working:
            if now - self._last_write.get(run.id, -LIVE_SECONDS) >= LIVE_SECONDS:
                self._last_write[run.id] = now
                notes += self._write(run.id, run.run_folder(), form, False)
        for end in (v for update in updates for v in update.values if isinstance(v, RunEnd)):
            notes += self._write(end.run_id, RunFolder(end.folder), form, True)
            self._last_write.pop(end.run_id, None)
        return notes

    def _write(
        self, run_id: str, folder: RunFolder, form: LiveCurves, is_finished: bool
    ) -> list[RunUpdate]:
        """Write the curves of a run; a failure is reported once and never stops training."""
        if run_id in self._failed:
            return []
        try:
            for kind in FORMS[form]:
                kind(folder, self._home.curves / kind.form.lower()).catch_up(is_finished)
        except (StudioError, OSError) as error:
            problem = explain_error(error)
            if problem is None:
                raise
            self._failed.add(run_id)
            return [RunUpdate("noted", (run_id, problem.phrase))]
        return []
