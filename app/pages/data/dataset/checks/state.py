"""Cached findings of one version, and the next versions with a fix or a split. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.pages.data.dataset.state import DatasetState
from app.studio import Studio
from engine.config.dataset import Split
from engine.data.checks.check import MAX_AUTOMATIC_ROWS, Finding, Fix
from engine.data.checks.fixing import apply_fixes
from engine.data.checks.run import cache_findings, read_findings, run_checks
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.history import split_again_phrase
from engine.data.datasets.store import Dataset
from engine.files.home import free_folder, next_version

DELAY_MS = 500  # after the rows are shown


class ChecksState(QObject):
    """Finds and fixes problems of a version.

    Signals:
        changed: findings, progress or problem.
        fixed: the folder of a version created by a fix or a split, and a text about the change.
    """

    changed = Signal()
    fixed = Signal(Path, str)

    def __init__(self, studio: Studio, data: DatasetState) -> None:
        super().__init__(data)
        self._studio, self._data = studio, data
        self.findings: list[Finding] | None = None  # None: not checked yet
        self.done_and_total = (0, 0)
        self.problem = ""
        self._examining = background.LatestJob(self)
        self._fixing = background.LatestJob(self)
        data.opened.connect(self._on_opened)
        data.target_chosen.connect(self._on_target)

    @property
    def is_examining(self) -> bool:
        return self._examining.is_busy

    @property
    def is_fixing(self) -> bool:
        return self._fixing.is_busy

    @property
    def can_fix(self) -> bool:
        """True if a new version can be created: the data set is in this home."""
        return self._data.folder.is_relative_to(self._studio.home.datasets)

    @property
    def new_version(self) -> int:
        """Number of the version that a fix will create."""
        return next_version(self._data.folder.parent)

    def close(self) -> None:
        """Cancel all jobs."""
        self._examining.cancel()
        self._fixing.cancel()

    # ── checking ─────────────────────────────────────────────────────────────────────────────

    def examine(self) -> None:
        """Check all rows, unless the findings are known."""
        self._start(may_check=True)

    def cancel(self) -> None:
        """Cancel the checks or the fix."""
        self.close()
        self.changed.emit()

    def _on_opened(self) -> None:
        """Start the checks after the rows are shown; at the same time, they would slow the page."""
        QTimer.singleShot(DELAY_MS, self, self._start_automatically)

    def _on_target(self) -> None:
        """Check the labels of another column."""
        self._examining.cancel()
        self.findings = None
        self._start_automatically()

    def _start_automatically(self) -> None:
        if self._data.dataset is not None and self.findings is None:
            self._start(may_check=len(self._data.dataset) <= MAX_AUTOMATIC_ROWS)

    def _start(self, may_check: bool) -> None:
        dataset, cache = self._data.dataset, self._studio.home.cache
        if dataset is None or self.is_examining:
            return
        self.done_and_total, self.problem = (0, 0), ""
        self._examining.run(
            lambda progress: _get_findings(dataset, cache, progress, may_check),
            self._on_examined,
            self._on_examine_failed,
            self._on_progress,
        )
        self.changed.emit()

    def _on_progress(self, done: int, total: int) -> None:
        self.done_and_total = (done, total)
        self.changed.emit()

    def _on_examined(self, findings: list[Finding] | None) -> None:
        self.findings = findings
        self.changed.emit()

    def _on_examine_failed(self, error: BaseException) -> None:
        self.problem = background.as_studio_error(error).phrase
        self.changed.emit()

    # ── fixing ───────────────────────────────────────────────────────────────────────────────

    def fix(self, fix: Fix) -> None:
        """Create the next version with a fix; `fixed` emits its folder."""
        folder, label = self._data.folder, self._data.target

        def write(target: Path, number: int, progress: background.Progress) -> None:
            apply_fixes([fix], folder, target, number, progress, progress.cancelled, label)

        self._make_version(write, fix.change)

    def split(self, split: Split) -> None:
        """Create the next version with another split; `fixed` emits its folder."""
        folder = self._data.folder

        def write(target: Path, number: int, progress: background.Progress) -> None:
            cancelled = progress.cancelled
            derive(folder, target, number, progress=progress, cancelled=cancelled, split=split)

        self._make_version(write, split_again_phrase(split))

    def derive(self, edits: Edits, change: str, then: Callable[[Path], object]) -> None:
        """Create the next version with edits; after `fixed`, `then` gets its folder."""
        folder = self._data.folder

        def write(target: Path, number: int, progress: background.Progress) -> None:
            cancelled = progress.cancelled
            derive(folder, target, number, edits=edits, progress=progress, cancelled=cancelled)

        self._make_version(write, change, then)

    def _make_version(
        self,
        write: Callable[[Path, int, background.Progress], None],
        change: str,
        then: Callable[[Path], object] = lambda _: None,
    ) -> None:
        """Create the next version in the folder and with the number that `write` gets."""
        if self.is_fixing or not self.can_fix:
            return
        folder, number = self._data.folder, self.new_version

        def work(progress: background.Progress) -> Path:
            target = free_folder(folder.parent, str(number))
            write(target, number, progress)
            return target

        def done(version: Path) -> None:
            self.changed.emit()
            self._studio.datasets_changed.emit()
            self.fixed.emit(version, change)
            then(version)

        self.done_and_total = (0, 0)
        self._fixing.run(work, done, self._on_fix_failed, self._on_progress)
        self.changed.emit()

    def _on_fix_failed(self, error: BaseException) -> None:
        self.changed.emit()
        self._studio.notices.show(error)


def _get_findings(
    dataset: Dataset, cache: Path, progress: background.Progress, may_check: bool
) -> list[Finding] | None:
    """Return cached findings, or run the checks if `may_check`; otherwise None."""
    cached = read_findings(cache, dataset.identity)
    if cached is not None or not may_check:
        return cached
    findings = run_checks(dataset, progress, progress.cancelled)
    cache_findings(cache, dataset.identity, findings)
    return findings
