"""The accuracy that more labelled rows would add, estimated in a worker."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.explorer import OneTimeWorker
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.state import DatasetState
from app.studio import Studio
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line
from engine.data.columns.fit import unlabelled_rows
from engine.messages.labelling import MIN_CURVE_ROWS, EstimateGain, GainEstimated
from engine.messages.question import Answer, Refused, Working

GROWTH = 1.1  # of the labelled rows until the next estimate


class GainState(QObject):
    """Estimates the gain, again as more rows get a label.

    Signals:
        changed: `result` or `is_busy`.
        working: progress.
    """

    changed = Signal()
    working = Signal(object)

    def __init__(self, studio: Studio, data: DatasetState, edits: EditsState) -> None:
        super().__init__(data)
        self._studio, self._data, self._edits = studio, data, edits
        self.result: GainEstimated | None = None
        self._worker: OneTimeWorker | None = None

    @property
    def is_busy(self) -> bool:
        return self._worker is not None

    @property
    def labelled(self) -> int:
        """Number of rows with a label, unsaved ones included."""
        spec, changes = self._edits.spec, self._edits.label_changes()
        stored = sum(spec.rows.values()) - sum(unlabelled_rows(spec).values())
        return stored + len(changes.labelled) - len(changes.removed)

    def refresh(self, checkpoint: Path) -> None:
        """Estimate again if there are a tenth more labels."""
        if self.labelled >= GROWTH * (self.result.rows if self.result else MIN_CURVE_ROWS / GROWTH):
            self.estimate(checkpoint)

    def estimate(self, checkpoint: Path) -> None:
        if self.is_busy:
            return
        question = EstimateGain(
            data=self._data.folder,
            target=self._edits.spec.mapping.label,
            checkpoint=checkpoint,
            labels=self._edits.training_labels(),
            codebook=self._edits.codebook,
        )
        self._worker = self._studio.one_time_worker(
            question, self._on_done, self._on_refused, self.working.emit, self
        )
        self.changed.emit()

    def cancel(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
            self.changed.emit()

    def _on_done(self, answer: Answer) -> None:
        self._worker = None
        assert isinstance(answer, GainEstimated)
        self.result = answer
        self.changed.emit()

    def _on_refused(self, refused: Refused) -> None:
        self._worker = None
        self.changed.emit()
        self._studio.notices.error(refused.problem, refused.advice, refused.details)


class GainView(QWidget):
    """A button and the estimate. `requested`: the button was pressed."""

    requested = Signal()

    def __init__(self, state: GainState) -> None:
        super().__init__()
        self._state = state
        self.text = Text("", "body")
        self.note = Text("", "muted")
        self.button = buttons.plain(
            self.tr("Estimate &gain of more labels"), self.requested.emit, "chart-line"
        )
        self.progress = ProgressLine(self.tr("Estimating the gain"))
        self.progress.cancelled.connect(state.cancel)
        layouts.column(self.text, self.note, self.button, self.progress, parent=self)
        state.changed.connect(self.show_state)
        state.working.connect(self._on_working)
        self.show_state()

    def show_state(self) -> None:
        state, result = self._state, self._state.result
        self.button.setVisible(not state.is_busy)
        if not state.is_busy:
            self.progress.end()
        elif self.progress.isHidden():
            self.progress.begin(self.tr("Starting…"))
        self.text.setVisible(result is not None)
        self.note.setVisible(result is not None)
        if result is not None:
            self.text.setText(gain_text(result))
            self.note.setText(
                self.tr(
                    "95 % interval, from a light model with {0} accuracy on %Ln labelled row(s).",
                    "",
                    result.rows,
                ).format(numbers.percent(result.accuracy))
            )

    def _on_working(self, working: Working) -> None:
        self.progress.show_progress(working.done, working.total, working.stage)


def gain_text(result: GainEstimated) -> str:
    """200 more rows: +2.1 points (0.9 to 3.4), mostly “C”."""
    gain, low, high = (100 * value for value in (result.gain, result.low, result.high))
    template = (
        tr("%Ln more row(s): {0} points ({1} to {2}), mostly “{3}”.", result.more)
        if result.label
        else tr("%Ln more row(s): {0} points ({1} to {2}).", result.more)
    )
    shown = numbers.sign(gain) + numbers.decimal(abs(gain), 1)
    ends = numbers.decimal(low, 1), numbers.decimal(high, 1)
    text = template.format(shown, *ends, one_line(result.label[:60]))
    return tr("{0} More labels hardly pay.").format(text) if result.hardly_pays else text
