"""Findings of the checks in the rows to import. No widgets."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.pages.data.importing.counting import CountState
from app.translation import tr
from engine.data.checks.check import MAX_AUTOMATIC_ROWS, Finding, Fix
from engine.data.checks.fixing import FixName
from engine.data.checks.run import check_files
from engine.data.datasets.collecting import FileImport

DELAY_MS = 500  # after the count
REPORTED_ELSEWHERE = ("label_spellings",)  # reported by the counts, with a button


class FindingsState(QObject):
    """Checks the rows whenever a count and its splits are complete; very many only on request.

    Signals:
        changed: `findings` or the `chosen_fixes`.
        progressed: `fraction` or `can_examine`.
    """

    changed = Signal()
    progressed = Signal()

    def __init__(self, count: CountState, scratch: Path) -> None:
        """`scratch` is a folder for temporary files."""
        super().__init__(count)
        self._count, self._scratch = count, scratch
        self.findings: list[Finding] | None = None  # None: unknown
        self._listed: list[Finding] = []
        self.chosen_fixes: set[FixName] = set()  # fixes applied by the import
        self._request: FileImport | None = None  # input that is checked or being checked
        self.fraction = 0.0  # fraction done while `is_examining`
        self._total_bytes = 0  # 0: not known yet
        self._starts_soon = False
        self._examining = background.LatestJob(self)
        count.changed.connect(self._on_count)

    @property
    def is_examining(self) -> bool:
        return self._examining.is_busy

    @property
    def can_examine(self) -> bool:
        """True if there are rows that are not checked yet."""
        is_known = self._request is not None and self.findings is None
        return is_known and not self.is_examining and not self._starts_soon

    def examine(self) -> None:
        """Check the rows, even if there are very many."""
        if self._request is not None and self.can_examine:
            self._start(self._request)

    def cancel(self) -> None:
        """Cancel the checks; `examine` starts over."""
        if self.is_examining:
            self._examining.cancel()
            self.progressed.emit()

    @property
    def listed(self) -> Sequence[Finding]:
        """The findings with choices of their own; none before the rows are checked."""
        return self._listed

    def choose(self, finding: Finding, fix: Fix | None) -> None:
        """Apply a fix at the end of the import, in a second version, or none of this finding."""
        self.chosen_fixes -= {(finding.check, other.name) for other in finding.fixes}
        if fix is not None:
            self.chosen_fixes.add((finding.check, fix.name))
        self.changed.emit()

    def note(self) -> str:
        """Summary of the findings; “” if the rows are not checked yet."""
        if self.findings is None:
            return ""
        if not self.findings:
            return tr("The row checks found no problems.")
        return tr(
            "Checked fixes are applied together after the import, as a separate version; the rows"
            " are shown on the data set's page."
        )

    def stop(self) -> None:
        """Discard the findings and stop checking."""
        self._set_request(None)

    def _on_count(self) -> None:
        self._set_request(None if self._count.split_rows is None else self._count.request)

    def _set_request(self, request: FileImport | None) -> None:
        if request == self._request:
            return
        self._request = request
        self._examining.cancel()
        if self.findings is not None:
            self.findings, self._listed = None, []
            self.changed.emit()
        rows = sum((self._count.split_rows or {}).values())
        self._starts_soon = request is not None and rows <= MAX_AUTOMATIC_ROWS
        self.progressed.emit()
        if request is not None and self._starts_soon:
            QTimer.singleShot(DELAY_MS, self, partial(self._start, request))

    def _start(self, request: FileImport) -> None:
        """Check the rows after the page is painted, unless the input changed."""
        if request != self._request or self.findings is not None or self.is_examining:
            return
        scratch = self._scratch

        def work(progress: background.Progress) -> list[Finding]:
            return check_files(request, scratch, progress, progress.cancelled).findings

        self.fraction, self._total_bytes, self._starts_soon = 0.0, 0, False
        self._examining.run(work, self._on_examined, self._on_failed, self._on_progress)
        self.progressed.emit()

    def _on_progress(self, done: int, total: int) -> None:
        """Progress is in bytes while files are read, then in rows; each is half of the work."""
        self._total_bytes = self._total_bytes or total
        half = done / max(total, 1) / 2
        self.fraction = half if total == self._total_bytes else half + 0.5
        self.progressed.emit()

    def _on_examined(self, findings: list[Finding]) -> None:
        self.findings = findings
        self._listed = [item for item in findings if item.check not in REPORTED_ELSEWHERE]
        self.progressed.emit()
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        """Ignore problems of the files, which the count and the import report; raise bugs."""
        self.progressed.emit()
        background.as_studio_error(error)
