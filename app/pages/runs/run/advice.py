"""Advice on a run: one line, and a button that prepares the suggested run."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.theme import SPACE, Role
from app.timers import debounced
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Picture
from app.widgets.screen import set_shown
from app.widgets.text.labels import OneLine
from engine.messages.events import Prepared
from engine.record.metrics import read_points
from engine.record.opening import Record
from engine.runs.advice import Advice, Measurements, advise, needed_curves
from engine.runs.folder import RunFolder

PAUSE_MS = 500  # after an evaluation, so that its metrics are read together
VALIDATION = "validation_"


class AdviceState(QObject):
    """Finds advice off the GUI thread.

    Signals:
        changed: `advice` changed.
    """

    changed = Signal()

    def __init__(self, run: RunState) -> None:
        super().__init__(run)
        self.run = run
        self._last_state = ""  # state of the run at the last reading
        self._reading: background.Job | None = None
        self.advice: list[Advice] = []
        self._pause = debounced(self, PAUSE_MS, self._read)
        run.changed.connect(self._on_row)
        run.measured.connect(self._on_measured)
        self._on_row()

    def _on_row(self) -> None:
        row = self.run.row
        if row is not None and row.state != self._last_state:
            self._last_state = row.state
            self._pause.start()

    def _on_measured(self, points: dict[str, object]) -> None:
        if any(name.startswith(VALIDATION) for name in points):
            self._pause.start()

    def _read(self) -> None:
        row = self.run.row
        if row is None:
            return
        if self._reading is not None:
            self._reading.cancel()
        record = self.run.runs.studio.record
        self._reading = background.run(self, lambda: advice_for(record, row), self._on_read)

    def _on_read(self, result: list[Advice]) -> None:
        self._reading = None
        if result != self.advice:
            self.advice = result
            self.changed.emit()


def advice_for(record: Record, row: RunRow) -> list[Advice]:
    """Advice on a run; none before it has started."""
    if row.job is None:
        return []
    events = RunFolder(row.folder).milestones()
    prepared = next((e for e in reversed(events) if isinstance(e, Prepared)), None)
    if prepared is None:
        return []
    with record.read() as session:
        curves = {
            name: read_points(session, row.id, name).finite() for name in needed_curves(prepared)
        }
    return advise(Measurements(row.job, prepared, curves, is_finished=row.state == "finished"))


class AdviceLine(QWidget):
    """One piece of advice at a time; hidden if there is none."""

    def __init__(self, state: AdviceState) -> None:
        super().__init__()
        self._state = state
        self._index = 0
        self.text = OneLine("")
        self.next = buttons.quiet("", self._on_next)
        self.next.setAccessibleName(self.tr("Next advice"))
        self.prepare = buttons.plain(self.tr("Prepare this &run…"), self._prepare, "graduation-cap")
        layouts.row(
            Picture("info", 18, Role.WARN),
            (self.text, 1),
            self.next,
            self.prepare,
            parent=self,
            spacing=2 * SPACE,
        )
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        result, run = self._state.advice, self._state.run
        set_shown(self, bool(result))
        if not result or run.row is None:
            return
        self._index %= len(result)
        advice = result[self._index]
        self.text.setText(f"{translated(advice.problem)} {translated(advice.advice)}")
        self.prepare.setVisible(run.runs.can_follow(run.row, advice))
        self.next.setVisible(len(result) > 1)
        self.next.setText(self.tr("{0} of {1}").format(self._index + 1, len(result)))

    def _on_next(self) -> None:
        self._index += 1
        self._show()

    def _prepare(self) -> None:
        run = self._state.run
        if run.row is not None:
            run.runs.open_wizard(run.row, self._state.advice[self._index])
