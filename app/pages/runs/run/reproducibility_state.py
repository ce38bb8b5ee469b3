"""Whether a run can be reproduced, and whether its files are intact. No widgets."""

from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from app.pages.runs.run.state import RunState
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import Reproducibility, damaged_checkpoints, reproducibility_of


class ReproducibilityState(QObject):
    """Signals:
    changed: the run itself is another now.
    read_anew: the Reproducibility of the run as it is now.
    checking: checkpoints whose files were read, and how many there are; both 0 when it is over.
    files_checked: a sentence for each checkpoint that is damaged.
    """

    changed = Signal()
    read_anew = Signal(object)
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
        folder = RunFolder(self._run.row.folder)

        def read(found: Reproducibility) -> None:
            self._reading = None
            self.read_anew.emit(found)

        def not_read(error: BaseException) -> None:
            self._reading = None
            self._notices.show(error)

        self._reading = background.run(self, lambda: reproducibility_of(folder), read, not_read)

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
