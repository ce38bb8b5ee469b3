"""The header of a run's page: name, state and actions; and the banner for its problem."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QMenu, QProgressBar, QVBoxLayout, QWidget

from app import resources
from app.pages.runs.actions import (
    ON_HOLD,
    resume_text,
    retrain_text,
    run_action,
    run_actions,
    stop_text,
    why_not,
)
from app.pages.runs.delegate import StateBadge
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.running_texts import stage_text, step_text
from app.theme import SPACE, Role, px
from app.timers import repeated
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import TITLE_WIDTH, Card, Picture
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import OneLine, Text, TextView, one_line, tooltip, visible
from app.widgets.text.spec_texts import value_text

MAX_NAMED, MAX_NAME = 3, 30  # classes, and characters of each
CLOCK_MS = 1000  # between updates of the time
# actions that the menu leaves out: they are buttons, or the page is already open
NOT_IN_MENU = ("open", "stop", "resume", "explore", "fine_tune", "retrain")


class RunHeader(QWidget):
    """Name, state and actions.

    Signals:
        closed: go back to all runs.
        export_requested: the folder of the checkpoint to export.
        smaller_requested: search for smaller models of the run.
    """

    closed = Signal()
    export_requested = Signal(object)
    smaller_requested = Signal()

    def __init__(self, state: RunState, speed: Callable[[], float | None]) -> None:
        """`speed` returns the current tokens per second; None before the first measurement."""
        super().__init__()
        self.state, self._speed = state, speed
        layouts.column(self._name_and_buttons(), self._progress(), parent=self, spacing=3 * SPACE)
        self._clock = repeated(self, CLOCK_MS, self._show_progress)
        self._clock.start()
        state.changed.connect(self._show)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Also look for a newer version of the data set."""
        super().showEvent(event)
        self._show()

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _name_and_buttons(self) -> QVBoxLayout:
        self.back = buttons.quiet(self.tr("B&ack"), self.closed.emit, "arrow-left")
        self.name = OneLine("", "title")
        self.subtitle, self.origin = OneLine("", "muted"), OneLine("", "muted")
        self.origin.hide()
        self.name.setMinimumWidth(px(TITLE_WIDTH))
        names = layouts.column(self.name, self.subtitle, self.origin, spacing=0)
        row = layouts.wrap((names, 1), *self._buttons())
        top = layouts.row(self.back, layouts.STRETCH)
        return layouts.column(top, row, spacing=SPACE)

    def _buttons(self) -> tuple[QWidget, ...]:
        self.stop = buttons.primary("", lambda: self._apply("stop"), "circle-stop")
        self.force_stop = buttons.danger(self.tr("Force s&top"), self._on_force_stop, "x")
        self.force_stop.setToolTip(self.tr("Kills the training process. Unsaved progress is lost."))
        self.resume = buttons.primary("", lambda: self._apply("resume"), "play")
        self.explore = buttons.plain(
            self.tr("Open in E&xplore"), lambda: self._apply("explore"), "microscope"
        )
        self.fine_tune = buttons.plain(
            self.tr("Fine-tune t&his…"), lambda: self._apply("fine_tune"), "flag"
        )
        self.retrain = buttons.primary(retrain_text([]), lambda: self._apply("retrain"), "play")
        self.retrain.setToolTip(
            tooltip(self.tr("Sets up the same run with the newest version of its data set."))
        )
        self.more = buttons.icon_button("ellipsis", self.tr("More"), self._on_more)
        controls = (self.force_stop, self.resume, self.stop)
        return self.fine_tune, self.explore, self.retrain, *controls, self.more

    def _progress(self) -> QVBoxLayout:
        self.badge = StateBadge()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.status = OneLine()
        row = layouts.row(self.badge, (self.status, 1), spacing=4 * SPACE)
        return layouts.column(row, self.bar, spacing=2 * SPACE)

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        row = self.state.row
        if row is None:
            return
        self.name.setText(row.name)
        self.badge.show_state(row.state)
        device = value_text(row.device) if row.device else ""
        parts = (run_texts.task_title(row.task), row.data, row.base_model, device)
        self.subtitle.setText(" · ".join(part for part in parts if part))
        self.origin.setText(row.origin)
        self.origin.setVisible(bool(row.origin))
        self._show_buttons(row)
        self._show_progress()

    def _show_buttons(self, row: RunRow) -> None:
        self.stop.setVisible(row.is_active)
        buttons.set_text(self.stop, stop_text([row]))
        self.stop.setEnabled(not why_not("stop", row))
        self.resume.setVisible(row.state == "stopped" and not row.problem)
        buttons.set_text(self.resume, resume_text(row))
        self.retrain.setVisible(not why_not("retrain", row))
        buttons.set_text(self.retrain, retrain_text([row]))
        for button, key in ((self.explore, "explore"), (self.fine_tune, "fine_tune")):
            button.setEnabled(not why_not(key, row))
            button.setToolTip(why_not(key, row))

    def _show_progress(self) -> None:
        row = self.state.row
        if row is None:
            return
        is_hanging = self.state.is_silent() or row.state == "not responding"
        self.force_stop.setVisible(row.is_working and is_hanging)
        is_unknown = row.state == "starting" or (row.state == "running" and not row.steps)
        self.bar.setRange(0, 0 if is_unknown and not row.stage_total else 1000)
        done = row.stage_done / row.stage_total if is_unknown and row.stage_total else row.fraction
        self.bar.setValue(round(1000 * done))
        texts = (
            stage_text(row),
            step_text(row),
            self._speed_text(row),
            self._time_text(row),
            self._best_text(row),
            self._waiting_text(row),
        )
        self.status.setText(" · ".join(part for part in texts if part))
        self.bar.setAccessibleDescription(self.status.full_text())

    def _speed_text(self, row: RunRow) -> str:
        if row.state != "running" or (speed := self._speed()) is None:
            return ""
        return self.tr("{0} tokens per second").format(numbers.count(round(speed)))

    def _time_text(self, row: RunRow) -> str:
        if row.seconds_left is not None:
            return self.tr("About {0} left").format(numbers.duration(row.seconds_left))
        if not row.seconds:
            return ""
        template = self.tr("Elapsed {0}") if row.is_working else self.tr("Took {0}")
        return template.format(numbers.duration(row.seconds))

    def _best_text(self, row: RunRow) -> str:
        if row.best_score is None:
            return ""
        value = run_texts.metric_value(row.best_metric, row.best_score)
        scores = f"{run_texts.metric_title(row.best_metric)} {value}"
        further = self.state.further
        if further.metric is not None:
            name, number = further.metric
            value = run_texts.metric_value(name, number)
            scores += f", {run_texts.evaluation_title(name)} {value}"
        template = (
            self.tr("Best {0} (step {1})")
            if further.rows is None
            else self.tr("Best {0} on %Ln validation row(s) (step {1})", "", further.rows)
        )
        text = template.format(scores, numbers.count(row.best_step))
        if further.unigram is not None:
            accuracy = numbers.percent(further.unigram)
            text += " · " + self.tr("unigram baseline: accuracy {0}").format(accuracy)
        if further.missing:
            named = (one_line(name, MAX_NAME) for name in further.missing[:MAX_NAMED])
            names = ", ".join(f"“{name}”" for name in named)
            missing = self.tr("%Ln class(es) never predicted: {0}", "", len(further.missing))
            text += f" · {missing.format(names)}"
        return text

    def _waiting_text(self, row: RunRow) -> str:
        if row.state == "queued":
            return self.tr("Starts when the current run ends")
        if row.state == ON_HOLD:
            return self.tr("On hold until you release it")
        if self.state.is_silent():
            duration = numbers.duration(self.state.silent_seconds())
            return self.tr("No response from the training process for {0}").format(duration)
        return ""

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def _on_force_stop(self) -> None:
        self.state.runs.dispatcher.force_stop(self.state.run_id)

    def _on_more(self) -> None:
        row = self.state.row
        if row is None:
            return
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        export = menu.addAction(resources.icon("upload"), self.tr("E&xport…"))
        export.setEnabled(row.checkpoint is not None)
        export.triggered.connect(lambda: self.export_requested.emit(row.checkpoint))
        smaller = menu.addAction(resources.icon("chart-line"), self.tr("Make it s&maller…"))
        smaller.setEnabled(row.checkpoint is not None and can_teach(row))
        smaller.triggered.connect(self.smaller_requested.emit)
        for action in run_actions():
            if action is None:
                menu.addSeparator()
            elif action.key not in NOT_IN_MENU:
                entry = menu.addAction(resources.icon(action.icon), action.text([row]))
                reason = action.why_not(row)
                entry.setEnabled(not reason)
                entry.setToolTip(reason)
                entry.triggered.connect(lambda _=False, key=action.key: self._apply(key))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _apply(self, key: str) -> None:
        row = self.state.row
        action = run_action(key)
        if row is not None and not action.why_not(row):
            action.apply(self, self.state.runs, [row])


def can_teach(row: RunRow) -> bool:
    """True if smaller models can learn from the run; see `engine.config.task.Head.can_teach`."""
    head = row.job.task.info.head if row.job is not None else None
    is_tuned = row.job is not None and not row.job.features.trains_probe
    return head is not None and head.can_teach and is_tuned


DETAILS_HEIGHT = 160  # px


class ProblemBanner(Card):
    """A run's problem with advice; hidden if there is no problem."""

    def __init__(self, state: RunState) -> None:
        super().__init__(padding=4 * SPACE)
        self.problem = Text("", "strong", selectable=True)
        self.advice = Text("", "muted", selectable=True)
        self.details = TextView(self.tr("Details"), wraps=False, height=DETAILS_HEIGHT)
        self.details.hide()
        runs, run_id = state.runs, state.run_id
        self.resume = buttons.primary("", lambda: runs.dispatcher.resume(run_id), "play")
        self.details_button = buttons.plain(self.tr("Sho&w details"))
        self.details_button.setCheckable(True)
        self.details_button.toggled.connect(self.details.setVisible)
        self.copy = buttons.plain(self.tr("&Copy"), self._on_copy, "copy")
        texts = layouts.column(self.problem, self.advice, spacing=SPACE)
        said = layouts.row(Picture("triangle-alert", 22, Role.BAD), (texts, 1), spacing=3 * SPACE)
        controls = self.copy, self.details_button, self.resume
        row = layouts.wrap((said, 1), *controls, spacing=3 * SPACE)
        layouts.extend(self.body, row, self.details)
        self.hide()

    def show_run(self, row: RunRow) -> None:
        has_problem = row.state in ("failed", "crashed", "unreadable") or bool(row.problem)
        self.setVisible(has_problem)
        if not has_problem:
            return
        self.problem.setText(
            row.problem
            or self.tr("The training process ended unexpectedly without an error message.")
        )
        advice = row.advice
        if row.bug:
            advice = self.tr(
                "This is a bug in BERT Studio. Please report it and include the details. {0}"
            ).format(translated(advice))
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))
        details = visible(row.details)
        if self.details.toPlainText() != details:
            self.details.setPlainText(details)
            bar = self.details.verticalScrollBar()
            bar.setValue(bar.maximum())
        self.details_button.setVisible(bool(details))
        self.resume.setVisible(row.can_resume)
        buttons.set_text(self.resume, resume_text(row))

    def _on_copy(self) -> None:
        parts = (self.problem.text(), self.advice.text(), self.details.toPlainText())
        QGuiApplication.clipboard().setText("\n".join(part for part in parts if part))
