"""The wizard: five steps, a bar above them, and a line with the missing input."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app import drops, theme
from app.pages.train.base_model_step import BaseModelStep
from app.pages.train.choices import CUSTOM_SIZE, Step
from app.pages.train.data_step import DataStep
from app.pages.train.obstacles import Fix
from app.pages.train.requests import Requests
from app.pages.train.review_step import ReviewStep
from app.pages.train.settings_step import SettingsStep
from app.pages.train.state import TrainState
from app.pages.train.summary import list_advanced_changes
from app.pages.train.task_step import TaskStep
from app.studio import Studio
from app.theme import SPACE, Role, px
from app.timers import debounced
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask
from app.widgets.page import Page, Picture, clear, rule, scrolling, size_by_shown
from app.widgets.screen import set_shown
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text, font, plain_menu_text, tooltip, visible
from engine.config.job import JobSpec
from engine.config.tasks import TASKS
from engine.record.same_jobs import SameJob

DISC_SIZE = 24  # px
MEASURE_PAUSE_MS = 300  # after the last change, before the job under review is measured


class TrainPage(Page):
    """Leads from a task to a started run. Back keeps all choices; a line says what is missing."""

    def __init__(self, studio: Studio) -> None:
        super().__init__("")
        self.set_title(self.tr("Train"))
        self._studio, self._furthest = studio, Step.TASK
        self.state = TrainState(studio, self)
        self.requests = Requests(studio, self.state)
        self.bar = StepBar()
        self.bar.step_clicked.connect(lambda number: self._open_step(Step(number)))
        # a parent from the start: moving large widgets later is slow
        self.steps = QStackedWidget(self)
        size_by_shown(self.steps)
        self.data = DataStep(self.state, self.requests)
        self.base_model = BaseModelStep(self.state)
        self.data.import_requested.connect(lambda: studio.navigate.emit("data", {"import": True}))
        self.base_model.import_requested.connect(
            lambda: studio.navigate.emit("models", {"import": True})
        )
        self.base_model.get_requested.connect(
            lambda group: studio.navigate.emit("models", {"get": group})
        )
        self.task = TaskStep(self.state)
        self.review = ReviewStep(self.state)
        self._settings: SettingsStep | None = None
        self._settings_area = scrolling(None, self.steps)
        pages = (
            scrolling(self.task, self.steps),
            self.data,
            self.base_model,
            self._settings_area,
            self.review,
        )
        for page in pages:
            self.steps.addWidget(page)
        self.adjusted = AdjustmentLine(self.state)
        self.last_model = LastModelLine(self.state, lambda: self._open_step(Step.BASE_MODEL))
        layouts.extend(
            self.body,
            self.bar,
            rule(),
            self.adjusted,
            self.last_model,
            (self.steps, 1),
            self._footer(),
        )
        self._measure_timer = debounced(self, MEASURE_PAUSE_MS, self._measure)
        self._scroll_timer = debounced(self, 0, self._scroll)
        self.state.changed.connect(self._show)
        for signal in (self.state.changed, self.state.preview.changed):
            signal.connect(self._measure_timer.start)
        for part in (self.state.lists, self.state.preview, self.state.estimate):
            part.changed.connect(self._show)
        self.state.started.connect(self._on_started)
        self.state.repeated.connect(self._on_repeated)
        self._show()

    @property
    def settings(self) -> SettingsStep:
        """The fourth step, created on first use: it takes as long as all the others together."""
        if self._settings is None:
            self._settings = SettingsStep(self.state)
            self._settings_area.set_flow(self._settings)
        return self._settings

    def create_rest(self) -> None:
        """Create the parts that are not needed when the page opens."""
        self.settings.ensurePolished()

    def _footer(self) -> QHBoxLayout:
        self.reason = Text("", "muted")
        self.reason.setAccessibleName(self.tr("Missing"))
        self.fixes = FixButtons(self.state)
        self.back = buttons.plain(self.tr("&Back"), self._on_back, "arrow-left")
        self.next = buttons.primary(self.tr("&Next"), self._on_next)
        left, bottom = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignBottom
        text = layouts.column(self.reason, (self.fixes, 0, left), spacing=2 * SPACE)
        return layouts.row(
            (text, 1), (self.back, 0, bottom), (self.next, 0, bottom), spacing=2 * SPACE
        )

    # ── called by the window ─────────────────────────────────────────────────────────────────

    def arrive(self, argument: object) -> None:
        """Open with the first fine-tuning, a data set, a model, a task family, or a job."""
        request = argument if isinstance(argument, dict) else {}
        if (preset := request.get("preset")) in ("first", "scratch"):
            self.requests.load_first(pretrains=preset == "scratch")
            self._open_step(Step.REVIEW)
        elif isinstance(folder := request.get("data"), str | Path):
            self.requests.load_data(Path(folder), request.get("target"))
            self._open_step(Step.DATA)
        elif isinstance(path := request.get("model"), str | Path):
            self.requests.load_model(Path(path))
            self._open_step(Step.TASK)
        elif (kind := request.get("task")) in TASKS:
            self.requests.load_family(pretrains=TASKS[kind].info.head is None)
            self._open_step(Step.TASK)
        elif isinstance(job := request.get("job"), JobSpec):
            self.requests.load_job(job)
            self._open_step(Step.SETTINGS)

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Open a saved job; False for other files."""
        if drops.page_for(paths) != "train" or len(paths) != 1:
            return False
        self.requests.load_job_file(paths[0], lambda: self._open_step(Step.SETTINGS))
        return True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.state.lists.datasets is None:
            self.state.lists.read()
        self._studio.stand_by()
        self._focus()

    # ── moving ───────────────────────────────────────────────────────────────────────────────

    @property
    def step(self) -> Step:
        return Step(self.steps.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.next.isEnabled():
            self._on_next()
        else:
            super().keyPressEvent(event)

    def _on_back(self) -> None:
        if self.step > Step.TASK:
            self._open_step(Step(self.step - 1))

    def _on_next(self) -> None:
        if self.state.obstacle(self.step):
            return
        if self.step is Step.REVIEW:
            self.state.ask_to_start()
        else:
            self._open_step(Step(self.step + 1))

    def _on_started(self, run: str) -> None:
        self._open_step(Step.TASK)  # another Enter must not start the same job again
        self._studio.navigate.emit("runs", {"run": run})

    def _on_repeated(self, same: SameJob) -> None:
        """Ask before a job is started that was started before."""
        seed = tr("Start with &seed {0}").format(same.free_seed)

        def answered(key: str) -> None:
            if key == "open":
                self._studio.navigate.emit("runs", {"run": same.run_id})
            elif key == "seed":
                self.state.start(same.free_seed)

        ask(
            self,
            self.tr("This job exists already"),
            same_job_text(same),
            [
                Choice("open", self.tr("&Open it"), "primary"),
                Choice("seed", seed),
                Choice("cancel", self.tr("Cancel")),
            ],
            answered,
        )

    def _open_step(self, step: Step) -> None:
        if step is Step.SETTINGS:
            self.create_rest()
        self.steps.setCurrentIndex(step)
        self._furthest = max(self._furthest, step)
        if self.isVisible():
            self._studio.stand_by()
        self._show()
        self._focus()
        self._measure_timer.start()

    def _measure(self) -> None:
        """Measure the job under review when its preview is complete."""
        if self.step is Step.REVIEW and self.isVisible() and not self.state.preview.is_reading:
            self.state.estimate.measure_automatically()

    def _focus(self) -> None:
        """Focus the first control of the step."""
        if not self.isVisible():
            return
        match self.step:
            case Step.TASK:
                self.task.focus()
            case Step.DATA:
                self.data.list.setFocus()
            case Step.BASE_MODEL:
                self.base_model.focus()
            case Step.SETTINGS:
                self.settings.mode.group.button(self.settings.mode.choice()).setFocus()
            case Step.REVIEW:
                self.next.setFocus()
        self._scroll_timer.start()  # the step has its final height by then

    def _scroll(self) -> None:
        """Scroll to the top of the settings, or to the chosen task."""
        if self.step is Step.SETTINGS:
            self._settings_area.verticalScrollBar().setValue(0)
        elif self.step is Step.TASK:
            self.task.show_chosen()

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        step = self.step
        obstacle = self.state.first_obstacle()
        self.bar.show_step(step, self._furthest, self._chosen(), obstacle)
        reason, incomplete = self.state.obstacle(step), step
        if step is Step.REVIEW and obstacle is not None:
            incomplete, reason = obstacle
        self.reason.setText(reason)
        self.fixes.show_fixes(self.state.fixes(incomplete) if reason else [])
        self.back.setEnabled(step > Step.TASK)
        self.next.setEnabled(not reason)
        if self.fixes.has_applied and not reason:
            self.fixes.has_applied = False
            self.next.setFocus()  # the pressed button is gone
        if (text := self._next_text(step, blocked=bool(reason))) != self.next.text():
            buttons.set_text(self.next, text)

    def _next_text(self, step: Step, blocked: bool) -> str:
        if step is not Step.REVIEW:
            return self.tr("&Next")
        has_warnings = not blocked and any(item.is_serious for item in self.state.warnings())
        return self.tr("&Start anyway") if has_warnings else self.tr("&Start")

    def _chosen(self) -> dict[Step, str]:
        """The choice of each step in a few words."""
        choices = self.state.choices
        result = {}
        if (goal := choices.goal) is not None:
            result[Step.TASK] = goal.title
            result[Step.SETTINGS] = (
                self.tr("advanced changes") if list_advanced_changes(choices) else ""
            )
        if choices.data is not None:
            result[Step.DATA] = choices.data.name
        if choices.from_scratch:
            size = choices.scratch.size
            result[Step.BASE_MODEL] = self.tr("custom size") if size == CUSTOM_SIZE else size
        elif choices.model is not None:
            result[Step.BASE_MODEL] = choices.model.name
        return result


class AdjustmentLine(QWidget):
    """The last change made for the user, with Undo; hidden if there is none."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self.sentence = Text("")
        self.undo = buttons.quiet(self.tr("&Undo"), state.undo_adjustment, "undo-2")
        layouts.row(
            Picture("info", 16, Role.ACCENT),
            (self.sentence, 1),
            self.undo,
            parent=self,
            spacing=2 * SPACE,
        )
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        adjustment = self._state.adjustment
        self.sentence.setText(adjustment.sentence if adjustment else "")
        set_shown(self, adjustment is not None)


class LastModelLine(QWidget):
    """Says that the base model is that of the last job; hidden if it was chosen since."""

    def __init__(self, state: TrainState, choose: Callable[[], object]) -> None:
        super().__init__()
        self._state = state
        self.sentence = Text("")
        self.choose = buttons.quiet(self.tr("Choose &another"), choose)
        layouts.row(
            Picture("info", 16, Role.ACCENT),
            (self.sentence, 1),
            self.choose,
            parent=self,
            spacing=2 * SPACE,
        )
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        name = self._state.last_model
        self.sentence.setText(self.tr("The base model “{0}” is from your last job.").format(name))
        set_shown(self, bool(name))


def same_job_text(same: SameJob) -> str:
    """Outcome of the same job in a sentence, and the purpose of another seed."""
    text = tr("The same job is in the queue or running.")
    if same.ended is not None:
        when = numbers.ago((datetime.now(UTC) - same.ended).total_seconds())
        text = tr("The same job finished {0}.").format(when)
        if same.score is not None:
            score = run_texts.score(same.metric, same.score)
            text = tr("The same job finished {0} with {1}.").format(when, score)
    return f"{text} " + tr("The same seed gives the same result.")


class FixButtons(QWidget):
    """A button for each fix of the obstacle."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._shown: list[Fix] = []
        self.has_applied = False
        self._row = layouts.row(parent=self, spacing=2 * SPACE)
        self.hide()

    def show_fixes(self, fixes: list[Fix]) -> None:
        if fixes == self._shown:
            return
        self._shown = fixes
        clear(self._row)
        for fix in fixes:
            act = partial(self._apply, fix)
            self._row.addWidget(buttons.plain(plain_menu_text(fix.title), act))
        set_shown(self, bool(fixes))

    def _apply(self, fix: Fix) -> None:
        self.has_applied = True
        self._state.apply(fix)


class StepBar(QWidget):
    """A row of buttons, one for each step.

    Signals:
        step_clicked: the clicked step.
    """

    step_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        titles = {
            Step.TASK: self.tr("Task"),
            Step.DATA: self.tr("Data"),
            Step.BASE_MODEL: self.tr("Base model"),
            Step.SETTINGS: self.tr("Settings"),
            Step.REVIEW: self.tr("Review"),
        }
        self.setAccessibleName(self.tr("Steps"))
        self._group = QButtonGroup(self)
        self.steps: dict[Step, _StepButton] = {}
        row = layouts.row(parent=self, spacing=0)
        for step, title in titles.items():
            button = _StepButton(step, title, last=step is Step.REVIEW)
            self._group.addButton(button, step)
            self.steps[step] = button
            row.addWidget(button, 0 if step is Step.REVIEW else 1)
        self._group.idClicked.connect(self.step_clicked)

    def show_step(
        self,
        shown: Step,
        furthest: Step,
        chosen: dict[Step, str],
        obstacle: tuple[Step, str] | None,
    ) -> None:
        """Update all steps.

        Args:
            furthest: the furthest step shown so far.
            chosen: the choice of each step in a word or two.
            obstacle: the first incomplete step and the reason; later steps are disabled.
        """
        last_enabled, reason = obstacle or (Step.REVIEW, "")
        for step, button in self.steps.items():
            button.set_choice(chosen.get(step, ""), done=step < min(last_enabled, furthest))
            button.setChecked(step is shown)
            reachable = step <= max(last_enabled, shown)
            button.setEnabled(reachable)
            button.setToolTip("" if reachable else tooltip(reason))


class _StepButton(QAbstractButton):
    """A disc with a number or a tick, the title above the choice, and a line to the next step."""

    def __init__(self, step: Step, title: str, last: bool) -> None:
        super().__init__()
        self._number, self._last = step + 1, last
        self._choice, self._done = "", False
        self.setText(title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy.Policy.Preferred if last else QSizePolicy.Policy.Expanding
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self._update_name()

    def set_choice(self, choice: str, done: bool) -> None:
        self._choice, self._done = visible(choice).replace("\n", " "), done
        self._update_name()
        self.updateGeometry()
        self.update()

    def _update_name(self) -> None:
        state = self.tr("done") if self._done else self.tr("to do")
        self.setAccessibleName(
            self.tr("Step {0}: {1}, {2}").format(self._number, self.text(), state)
        )
        self.setAccessibleDescription(self._choice)
        self.setToolTip(tooltip(self._choice))  # it may be elided

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(font("strong")).horizontalAdvance(self.text())
        return QSize(round(DISC_SIZE + 7 * SPACE + max(width, 24 * SPACE)), px(11 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        disc = QRectF(4, (self.height() - DISC_SIZE) / 2, DISC_SIZE, DISC_SIZE)
        self._paint_disc(painter, disc)
        left = disc.right() + 2 * SPACE
        strong, small = QFontMetricsF(font("strong")), QFontMetricsF(font("small"))
        room = self.width() - left - 2 * SPACE
        line = 0 if self._last else 10 * SPACE  # to the next step, if there is space for it
        widest = max(strong.horizontalAdvance(self.text()), small.horizontalAdvance(self._choice))
        text_width = max(room - line, min(room, widest + 1))
        height = strong.height() + (small.height() if self._choice else 0)
        top = (self.height() - height) / 2
        painter.setFont(font("strong"))
        painter.setPen(theme.colour(self._title_role()))
        title = QRectF(left, top, text_width, strong.height())
        painter.drawText(title, Qt.AlignmentFlag.AlignLeft, self.text())
        painter.setFont(font("small"))
        painter.setPen(theme.colour(Role.MUTED))
        choice = small.elidedText(self._choice, Qt.TextElideMode.ElideRight, text_width)
        choice_rect = QRectF(left, title.bottom(), text_width, small.height())
        painter.drawText(choice_rect, Qt.AlignmentFlag.AlignLeft, choice)
        used = max(strong.horizontalAdvance(self.text()), small.horizontalAdvance(choice))
        self._paint_line(painter, left + used + 3 * SPACE)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            focus_frame = QRectF(1, 2, left + used + SPACE, self.height() - 4)
            painter.drawRoundedRect(focus_frame, 6, 6)
        painter.end()

    def _title_role(self) -> Role:
        if not self.isEnabled():
            return Role.DISABLED
        return Role.ACCENT if self.isChecked() else Role.TEXT

    def _paint_disc(self, painter: QPainter, disc: QRectF) -> None:
        filled = self.isChecked()
        role = Role.ACCENT if self.isEnabled() else Role.DISABLED
        painter.setPen(QPen(theme.colour(role), 1.5))
        painter.setBrush(theme.colour(role) if filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(disc)
        mark_colour = theme.colour(Role.ON_ACCENT if filled else role)
        if self._done and not filled:
            painter.setPen(QPen(mark_colour, 2))
            x, y = disc.center().x(), disc.center().y()
            painter.drawPolyline(
                [QPointF(x - 5, y), QPointF(x - 1.5, y + 4), QPointF(x + 5, y - 4)]
            )
        else:
            painter.setPen(mark_colour)
            painter.setFont(font("strong"))
            painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, str(self._number))

    def _paint_line(self, painter: QPainter, left: float) -> None:
        if self._last or left > self.width() - 3 * SPACE:
            return
        painter.setPen(QPen(theme.colour(Role.ACCENT if self._done else Role.BORDER), 1.5))
        y = self.height() / 2
        painter.drawLine(QPointF(left, y), QPointF(self.width() - 3 * SPACE, y))
