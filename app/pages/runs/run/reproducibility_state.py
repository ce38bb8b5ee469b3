"""Whether a run can be reproduced, and whether its files are intact. No widgets."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from engine.config.changes import changes
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import (
    Repetition,
    Reproducibility,
    damaged_checkpoints,
    held_against,
    reproducibility_of,
)

MOST_REPETITIONS = 20  # that are told


class ReproducibilityState(QObject):
    """Signals:
    changed: the run itself is another now.
    read_anew: the Reproducibility of the run as it is now.
    compared: a Repetition for each other run of the same job, the newest first.
    checking: checkpoints whose files were read, and how many there are; both 0 when it is over.
    files_checked: a sentence for each checkpoint that is damaged.
    """

    changed = Signal()
    read_anew = Signal(object)
    compared = Signal(list)
    checking = Signal(int, int)
    files_checked = Signal(list)

    def __init__(self, run: RunState, notices: Notices) -> None:
        super().__init__(run)
        self._run, self._notices = run, notices
        self._checking: background.Job | None = None
        self._reading: background.Job | None = None
        run.changed.connect(self.changed)

    def read(self) -> None:
        """Read it anew, unless that is being done."""
        if self._run.row is None or self._reading is not None:
            return
        row, folder = self._run.row, RunFolder(self._run.row.folder)
        others = [other for other in self._run.runs.rows.values() if _may_repeat(other, row)]

        def work() -> tuple[Reproducibility, list[Repetition]]:
            return reproducibility_of(folder), repetitions(row, others)

        def read(found: tuple[Reproducibility, list[Repetition]]) -> None:
            self._reading = None
            self.read_anew.emit(found[0])
            self.compared.emit(found[1])

        def not_read(error: BaseException) -> None:
            self._reading = None
            self._notices.show(error)

        self._reading = background.run(self, work, read, not_read)

    def run_again(self) -> None:
        """Train the same once more."""
        if self._run.row is not None:
            self._run.runs.run_again([self._run.row])

    def check_files(self) -> None:
        """Compare every byte of every checkpoint with what was saved."""
        if self._run.row is None or self._checking is not None:
            return
        folder = RunFolder(self._run.row.folder)

        def checked(found: list[str]) -> None:
            self.cancel_check()
            self.files_checked.emit(found)

        def not_checked(error: BaseException) -> None:
            self.cancel_check()
            self._notices.show(error)

        self._checking = background.run(
            self,
            lambda progress: damaged_checkpoints(folder, progress),
            checked,
            not_checked,
            progress=self.checking.emit,
        )
        self.checking.emit(0, 1)

    def cancel_check(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None
            self.checking.emit(0, 0)


def _may_repeat(other: RunRow, row: RunRow) -> bool:
    """Whether to compare the jobs of two runs; to read all of them would take long."""
    alike = (other.task, other.data, other.base_model) == (row.task, row.data, row.base_model)
    return alike and other.id != row.id and other.started is not None


def repetitions(row: RunRow, others: Iterable[RunRow]) -> list[Repetition]:
    """How the runs of the same job came out, the newest first; reads their folders."""
    found = []
    for other in sorted(others, key=lambda one: one.created, reverse=True):
        if row.job is None or other.job is None or changes(row.job, other.job):
            continue
        told = held_against(RunFolder(row.folder), RunFolder(other.folder), other.name)
        if told is not None:
            found.append(told)
        if len(found) == MOST_REPETITIONS:
            break
    return found
