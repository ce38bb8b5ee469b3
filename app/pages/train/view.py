"""The wizard: five steps, a bar above them, and a line that says what is missing."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from app import drops
from app.pages.train.base_model_step import BaseModelStep
from app.pages.train.choices import CUSTOM_SIZE, Step
from app.pages.train.data_step import DataStep
from app.pages.train.obstacles import Fix
from app.pages.train.requests import Requests
from app.pages.train.review_step import ReviewStep
from app.pages.train.settings_step import SettingsStep
from app.pages.train.state import TrainState
from app.pages.train.step_bar import StepBar
from app.pages.train.summary import changed_by_advanced
from app.pages.train.task_step import TaskStep
from app.studio import Studio
from app.theme import SPACE, Role
from app.timers import debounced
from app.widgets import buttons, layouts
from app.widgets.page import Page, Picture, clear, rule, scrolling
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, plain_menu_text
from engine.config.job import JobSpec
from engine.config.tasks import TASKS

MEASURE_PAUSE_MS = 300  # after the last change, before the job under review is measured


class TrainPage(Page):
    """From a task to a started run. Back keeps all choices; Next says what is missing."""

    def __init__(self, studio: Studio) -> None:
        super().__init__("")
        self.set_title(self.tr("Train"))
        self._studio, self._seen = studio, Step.TASK
        self.state = TrainState(studio, self)
        self.requests = Requests(studio, self.state)
        self.bar = StepBar()
        self.bar.wanted.connect(self._on_wanted)
        # a parent from the start: moving large widgets later is slow
        self.steps = QStackedWidget(self)
        self.data = DataStep(self.state, self.requests)
        self.base_model = BaseModelStep(self.state)
        self.data.import_wanted.connect(lambda: studio.go.emit("data", {"import": True}))
        self.base_model.import_wanted.connect(lambda: studio.go.emit("models", {"import": True}))
        self.base_model.get_wanted.connect(lambda: studio.go.emit("models", {"get": True}))
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
        layouts.extend(self.body, self.bar, rule())
        self.adjusted = AdjustmentLine(self.state)
        layouts.extend(self.body, self.adjusted, (self.steps, 1), self._footer())
        self._settled = debounced(self, MEASURE_PAUSE_MS, self._measure)
        self._placed = debounced(self, 0, self._scroll)
        self.state.changed.connect(self._show)
        for signal in (self.state.changed, self.state.preview.changed):
            signal.connect(self._settled.start)
        for changed in (self.state.lists, self.state.preview, self.state.estimate):
            changed.changed.connect(self._show)
        self.state.started.connect(lambda run: studio.go.emit("runs", {"run": run}))
        self.requests.refused.connect(studio.notices.show)
        self._show()

    @property
    def settings(self) -> SettingsStep:
        """The fourth step, made on first use: it takes as long as all others together."""
        if self._settings is None:
            self._settings = SettingsStep(self.state)
            self._settings_area.hold_flow(self._settings)
        return self._settings

    def make_rest(self) -> None:
        """Make what is not needed for the first look at the page."""
        self.settings.ensurePolished()

    def _footer(self) -> QHBoxLayout:
        self.why = Text("", "muted")
        self.why.setAccessibleName(self.tr("What is missing"))
        self.fixes = FixButtons(self.state)
        self.back = buttons.plain(self.tr("&Back"), self._on_back, "arrow-left")
        self.next = buttons.primary(self.tr("&Next"), self._on_next)
        row = layouts.row(spacing=2 * SPACE)
        text = layouts.column(
            self.why, (self.fixes, 0, Qt.AlignmentFlag.AlignLeft), spacing=2 * SPACE
        )
        row.addLayout(text, 1)
        bottom = Qt.AlignmentFlag.AlignBottom
        layouts.extend(row, (self.back, 0, bottom), (self.next, 0, bottom))
        return row

    # ── called by the window ─────────────────────────────────────────────────────────────────

    def arrive(self, argument: object) -> None:
        """Open with the first fine-tuning, a data set, a model, a task family, or a job."""
        request = argument if isinstance(argument, dict) else {}
        if request.get("preset") == "first":
            self.requests.load_first()
            self._go(Step.REVIEW)
        elif isinstance(folder := request.get("data"), str | Path):
            self.requests.load_data(Path(folder), bool(request.get("labelled")))
            self._go(Step.TASK if self.state.choices.goal is None else Step.DATA)
        elif isinstance(path := request.get("model"), str | Path):
            self.requests.load_model(Path(path))
            self._go(Step.TASK)
        elif (kind := request.get("task")) in TASKS:
            self.requests.load_family(pretrains=TASKS[kind].info.head is None)
            self._go(Step.TASK)
        elif isinstance(given := request.get("job"), JobSpec):
            self.requests.load_job(given)
            self._go(Step.SETTINGS)

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Open a saved job; False for other files."""
        if drops.page_for(paths) != "train" or len(paths) != 1:
            return False
        self.requests.load_job_file(paths[0], lambda: self._go(Step.SETTINGS))
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

    def _on_wanted(self, number: int) -> None:
        self._go(Step(number))

    def _on_back(self) -> None:
        if self.step > Step.TASK:
            self._go(Step(self.step - 1))

    def _on_next(self) -> None:
        if self.state.obstacle(self.step):
            return
        if self.step is Step.REVIEW:
            if self.state.start():
                self._go(Step.TASK)  # so that another Enter does not start the same job again
        else:
            self._go(Step(self.step + 1))

    def _go(self, step: Step) -> None:
        if step is Step.SETTINGS:
            self.make_rest()
        self.steps.setCurrentIndex(step)
        self._seen = max(self._seen, step)
        if self.isVisible():
            self._studio.stand_by()
        self._show()
        self._focus()
        self._settled.start()

    def _measure(self) -> None:
        """Measure the job under review when its preview is complete."""
        if self.step is Step.REVIEW and self.isVisible() and not self.state.preview.is_reading:
            self.state.estimate.measure_unasked()

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
        self._placed.start()  # the step has its final height by then

    def _scroll(self) -> None:
        """Scroll to the top of the settings, or to the chosen task."""
        if self.step is Step.SETTINGS:
            self._settings_area.verticalScrollBar().setValue(0)
        elif self.step is Step.TASK:
            self.task.show_chosen()

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        step = self.step
        obstacle = self.state.first_obstacle()
        self.bar.show_step(step, self._seen, self._chosen(), obstacle)
        here, at = self.state.obstacle(step), step
        if step is Step.REVIEW and obstacle is not None:
            at, here = obstacle
        self.why.setText(here)
        self.fixes.show_fixes(self.state.fixes(at) if here else [])
        self.back.setEnabled(step > Step.TASK)
        self.next.setEnabled(not here)
        self.next.setText(self._next_text(step, blocked=bool(here)))
        self.next.setAccessibleName(self.next.text().replace("&", ""))

    def _next_text(self, step: Step, blocked: bool) -> str:
        if step is not Step.REVIEW:
            return self.tr("&Next")
        warned = self.state.warnings() and not blocked
        return self.tr("&Start anyway") if warned else self.tr("&Start")

    def _chosen(self) -> dict[Step, str]:
        """The choice of each step in a few words."""
        choices = self.state.choices
        result = {}
        if (goal := choices.goal) is not None:
            result[Step.TASK] = goal.title
            result[Step.SETTINGS] = (
                self.tr("advanced changes") if changed_by_advanced(choices) else ""
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


class FixButtons(QWidget):
    """A button for each fix of the obstacle."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._shown: list[Fix] = []
        self._row = layouts.row(parent=self, spacing=2 * SPACE)
        self.hide()

    def show_fixes(self, fixes: list[Fix]) -> None:
        """Replace the buttons."""
        if fixes == self._shown:
            return
        self._shown = fixes
        clear(self._row)
        for fix in fixes:
            act = lambda fix=fix: self._state.apply(fix)  # noqa: E731
            self._row.addWidget(buttons.plain(plain_menu_text(fix.title), act))
        set_shown(self, bool(fixes))
