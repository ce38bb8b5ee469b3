"""Curves for TensorBoard and MLflow that are written while runs train, where the user wants it."""

import time
from collections.abc import Iterable, Sequence

from engine.desktop.preferences import LiveCurves
from engine.errors import StudioError
from engine.files.home import Home
from engine.record.run_watch import RunEnd, RunUpdate
from engine.record.runs import Run
from engine.runs.curve_files import CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.mlflow import MLflowFiles
from engine.runs.tensorboard import TensorBoardFiles
from engine.system.errors import explained

FORMS: dict[LiveCurves, tuple[type[CurveFiles], ...]] = {
    "off": (),
    "tensorboard": (TensorBoardFiles,),
    "mlflow": (MLflowFiles,),
    "both": (TensorBoardFiles, MLflowFiles),
}
LIVE_SECONDS = 2.0  # s between two looks at a run


class LiveCurvesWriter:
    """Below `curves` of the home, a folder for each form. One thread at a time."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._looked: dict[str, float] = {}  # monotonic time, by the id of a run
        self._given_up: set[str] = set()  # runs whose curves cannot be written

    def follow(
        self, working: Sequence[Run], updates: Iterable[RunUpdate], wanted: LiveCurves
    ) -> list[RunUpdate]:
        """Add what runs at work have said, and finish those that have ended; what went wrong."""
        if wanted == "off":
            return []
        now, said = time.monotonic(), list[RunUpdate]()
        for run in working:
            if now - self._looked.get(run.id, -LIVE_SECONDS) >= LIVE_SECONDS:
                self._looked[run.id] = now
                said += self._write(run.id, run.run_folder(), wanted, False)
        for end in (v for update in updates for v in update.values if isinstance(v, RunEnd)):
            said += self._write(end.run_id, RunFolder(end.folder), wanted, True)
            self._looked.pop(end.run_id, None)
        return said

    def _write(
        self, run_id: str, folder: RunFolder, wanted: LiveCurves, is_over: bool
    ) -> list[RunUpdate]:
        """Say once why the curves of a run cannot be written; its training does not suffer."""
        if run_id in self._given_up:
            return []
        try:
            for kind in FORMS[wanted]:
                kind(folder, self._home.curves / kind.form.lower()).catch_up(is_over)
        except (StudioError, OSError) as error:
            why = explained(error)
            if why is None:
                raise
            self._given_up.add(run_id)
            return [RunUpdate("noted", (run_id, why.phrase))]
        return []
