"""Notices about runs that ended or were deleted."""

import logging

from PySide6.QtCore import QObject

from app.notices import one_line
from app.studio import Studio
from app.translation import translated
from app.widgets.text.run_texts import metric_title, metric_value
from engine.record.run_watch import RunEnd, Trashed
from engine.runs.searching import is_by_search

log = logging.getLogger("studio")


class RunNews(QObject):
    """Turns the dispatcher's signals into notices; a run's own notes go to its page and the log."""

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        studio.dispatcher.noted.connect(self._on_noted)
        studio.dispatcher.ended.connect(self._on_ended)
        studio.dispatcher.trashed.connect(self._on_trashed)

    def _on_noted(self, run_id: str, text: str) -> None:
        if run_id:
            log.info("%s: %s", run_id, one_line(str(text)))
        else:
            self._studio.notices.say(text)

    def _on_ended(self, end: RunEnd) -> None:
        if end.by_user or is_by_search(end.problem):
            return
        notices, show = self._studio.notices, self.tr("Show the run")
        go = lambda: self._studio.go.emit("runs", {"run": end.run_id})  # noqa: E731
        if end.state == "stopped":
            said = self.tr("The run “{0}” stopped.").format(end.name)
            notices.say(f"{said} {translated(end.problem)}".strip(), show, go)
            return
        if end.state != "finished":
            template = self.tr("The run “{0}” failed. {1}")
            problem = template.format(end.name, translated(end.problem))
            notices.error(problem, end.advice, action=show, act=go)
            return
        said = self.tr("The run “{0}” finished.").format(end.name)
        if end.metric and end.score is not None:
            template = self.tr("The run “{0}” finished; best {1}: {2}.")
            score = metric_value(end.metric, end.score)
            said = template.format(end.name, metric_title(end.metric), score)
        notices.say(said, show, go)

    def _on_trashed(self, trashed: tuple[Trashed, ...]) -> None:
        said = self.tr("%Ln run(s) moved to the trash.", "", len(trashed))
        if len(trashed) == 1:
            said = self.tr("“{0}” was moved to the trash.").format(trashed[0].name)
        undo = lambda: self._studio.dispatcher.restore(trashed)  # noqa: E731
        self._studio.notices.say(said, self.tr("Undo"), undo)
