"""Long-lived objects, created once and passed to the pages.

A page gets the studio in `__init__`. Its signals concern several pages.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background, library
from app.dispatcher import Dispatcher
from app.explorer import Explorer, OneTimeWorker, Standby
from app.history import History
from app.library import DataEntry, ModelEntry
from app.notices import Notices
from app.running import Running
from app.settings import Settings
from app.translation import tr
from engine.config.job import FromCheckpoint
from engine.files.home import Home
from engine.messages.question import Answer, Question, Refused, Working
from engine.record.checkpoints import Checkpoint, all_checkpoints
from engine.record.metrics import get_value
from engine.record.opening import open_record
from engine.record.runs import Run, all_runs
from engine.record.workers import QueueRunner
from engine.system.drives import Drive, conflict_copies, detect_drive

WARNED_DRIVE = "drive"  # settings key of the last warning


@dataclass
class RowEdits:
    """New cells of rows of a version, by row and column.

    Args:
        undone: the cells before the edit, once it is made.
        is_refused: the version is being saved, so that the edit would be lost.
    """

    folder: Path
    cells: dict[int, dict[str, str]]
    undone: dict[int, dict[str, str]] | None = None
    is_refused: bool = False


class Studio(QObject):
    """Home, settings, notices, record, dispatcher and explorer of one window.

    Signals:
        datasets_changed: a data set was added or removed.
        models_changed: a model was added or removed, or a run saved a checkpoint.
        navigate: show the page with this key and pass the argument to its `arrive`: None for the
            page as it was, {"list": True} for its list, a folder (data, models, explore),
            {"data": folder, "row": index} or {"data": folder, "rows": indices, "title": text}
            (data), {"run": id} or {"lineage": key} (runs), {"import": True} (data, models),
            {"import": "vectors"} or {"get": group} (models), {"model": folder}, {"data": folder},
            {"preset": "first"} or {"preset": "scratch"} (train); with "do": key, also act on a run
            or a model.
        rows_edited: RowEdits, taken by the page of the data set if it is open.
        closing: the record must not be queried any more.
    """

    datasets_changed = Signal()
    models_changed = Signal()
    navigate = Signal(str, object)
    closing = Signal()
    rows_edited = Signal(object)

    def __init__(
        self,
        home: Home,
        notices: Notices,
        parent: QObject | None = None,
        runner: QueueRunner | None = None,
    ) -> None:
        """Open everything for a home whose folders exist and whose lock is held.

        `runner` continues the queue after the window closes. Raises StudioError if the record
        cannot be opened, for example if a newer program wrote it.
        """
        super().__init__(parent)
        self.home, self.notices = home, notices
        self.history = History(self)
        self.settings = Settings(home.settings)
        self.record = open_record(home.record, home.backups)
        self.dispatcher = Dispatcher(self.record, home, runner=runner)
        self.explorer = Explorer(home.cache, self.settings)
        for part in (self.settings, self.dispatcher, self.explorer):
            part.setParent(self)
        self.standby = Standby(self.explorer.scratch, self.settings, self)
        self.running = Running(self.record, self.dispatcher, self)
        self.running.saved.connect(self.models_changed)
        self.dispatcher.refused.connect(lambda _, error: notices.show(error))
        self.explorer.died.connect(self._on_explorer_died)
        self.settings.changed.connect(self._on_preference)
        if self.settings.was_damaged:
            notices.info(
                tr("The settings file was damaged. It was set aside, and the defaults are used.")
            )
        warn_about_drive(home, self.settings, notices)

    def close(self) -> None:
        """Close all parts; runs keep training. The studio is unusable afterwards."""
        self.closing.emit()
        self.standby.end()
        self.explorer.close()
        self.running.close()
        self.dispatcher.close()
        background.finish()
        self.settings.close()
        self.record.close()

    def datasets(self) -> list[DataEntry]:
        """All versions of all data sets, newest first."""
        return library.datasets(self.home)

    def models(self) -> list[ModelEntry]:
        """Included, imported and external models, and the best and last checkpoint of each run.

        Reads files and the record: call it outside the GUI thread.
        """
        external = library.external_models(self.settings.preferences.model_folder)
        return [*library.home_models(self.home), *external, *self._run_models()]

    def one_time_worker(
        self,
        question: Question,
        on_done: Callable[[Answer], object],
        on_refused: Callable[[Refused], object],
        on_working: Callable[[Working], object] | None = None,
        owner: QObject | None = None,
        on_partial: Callable[[Answer], object] = lambda _: None,
    ) -> OneTimeWorker:
        """Ask one question in a separate process, which ends with the answer."""
        process = self.standby.take(question.worker)
        callbacks = (on_done, on_refused, on_working)
        return OneTimeWorker(question, process, *callbacks, owner, self, on_partial)

    def _run_models(self) -> list[ModelEntry]:
        with self.record.read() as session:
            runs = {run.id: run for run in all_runs(session)}
            saved = [c for c in all_checkpoints(session) if c.run_id in runs]
            scores = {
                c.folder: get_value(session, str(c.run_id), runs[str(c.run_id)].best_metric, c.step)
                for c in saved
            }
        last = {c.run_id: c.folder for c in saved}  # ordered by run, then step
        chosen = [c for c in saved if c.best or last[c.run_id] == c.folder]
        newest_first = {run: index for index, run in enumerate(runs)}
        chosen.sort(key=lambda c: (newest_first[str(c.run_id)], not c.best, -c.step))
        return [_model_entry(runs[str(c.run_id)], c, scores[c.folder]) for c in chosen]

    def stand_by(self) -> None:
        """Start a standby worker for a planned run, if the preferences allow it."""
        if self.settings.preferences.stand_by:
            self.dispatcher.stand_by()

    def _on_preference(self, name: str) -> None:
        if name == "model_folder":
            self.models_changed.emit()
        if name == "stand_by" and not self.settings.preferences.stand_by:
            self.dispatcher.stand_down()

    def _on_explorer_died(self, sentence: str) -> None:
        self.notices.error(sentence, details=self.explorer.last_output)


def _model_entry(run: Run, checkpoint: Checkpoint, score: float | None) -> ModelEntry:
    entry = library.describe_model(
        run.name, checkpoint.folder, "run", run.id, checkpoint.step, checkpoint.best
    )
    job = run.readable_job()
    base = job.base_model.path if job and isinstance(job.base_model, FromCheckpoint) else None
    data = job.data.name if job is not None else ""
    return replace(
        entry, data=data, metric=run.best_metric, score=score, saved=checkpoint.saved, base=base
    )


def warn_about_drive(home: Home, settings: Settings, notices: Notices) -> None:
    """Warn once for each drive, and whenever new conflicting copies of the record appear."""
    drive = detect_drive(home.root)
    copies = [copy.name for copy in conflict_copies(home.record)]
    state = [drive.kind, drive.name, *copies]
    if state == settings.get_state(WARNED_DRIVE, ["local", ""]):
        return
    settings.set_state(WARNED_DRIVE, state)
    if drive.kind != "local":
        notices.info(" ".join(_warning(drive)))
    if copies:
        notices.error(
            tr("There are conflicting copies of the run database: {0}.").format(", ".join(copies)),
            tr("Use the home folder on one machine at a time. The copies are not read."),
        )


def _warning(drive: Drive) -> tuple[str, str]:
    if drive.kind == "network":
        return (
            tr("The home folder is on a network drive ({0}).").format(drive.name),
            tr("Use it from one machine at a time; a local folder is faster and safer."),
        )
    return (
        tr("The home folder is synchronised by {0}.").format(drive.name),
        tr("Pause synchronisation while a run trains, or use a folder without it."),
    )
