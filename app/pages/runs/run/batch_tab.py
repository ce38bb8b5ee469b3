"""The inputs of one training step, a few to a page."""

from collections import Counter

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from app.explorer import Explorer
from app.pages.runs.run.batch_tokens import LOOKS, BatchTokens, shown_text
from app.pages.runs.run.state import RunState
from app.theme import SPACE
from app.timers import debounced
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SpinBox, Switch
from app.widgets.page import Card, EmptyState, scrolling
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from engine.messages.batch import BatchRow, BatchShown, ShowBatch
from engine.messages.question import Answer, Refused, Working

FOLLOW_MS = 2000  # between two batches while following the run


class BatchState(QObject):
    """Requests the batch of a step.

    Signals:
        changed: `shown`, `refusal`, `working`, `is_waiting` or `follows` changed.
    """

    changed = Signal()

    def __init__(self, run: RunState, explorer: Explorer) -> None:
        super().__init__(run)
        self.shown: BatchShown | None = None
        self.refusal: Refused | None = None
        self.working: Working | None = None
        self.is_waiting = False
        self.follows = True
        self._run, self._explorer = run, explorer
        self._is_seen = False
        self._asked = 0  # id of the newest question
        self._step = 0  # requested last
        self._pause = debounced(self, FOLLOW_MS, self._follow)
        run.changed.connect(self._on_run)
        explorer.answered.connect(self._on_answer)

    def set_seen(self, seen: bool) -> None:
        """Tell if the batch is on the screen; otherwise nothing is requested."""
        self._is_seen = seen
        self._follow()

    def show_step(self, step: int) -> None:
        """Show this step, and stop following the run."""
        self.follows = False
        self._ask(step)

    def set_follows(self, follows: bool) -> None:
        """Follow the newest step, or stay at this one."""
        self.follows = follows
        self.changed.emit()
        self._follow()

    def _follow(self) -> None:
        row = self._run.row
        if not self._is_seen or self.is_waiting or row is None or self._pause.isActive():
            return
        step = max(1, row.step) if self.follows else self._step
        if step != self._step or (self.shown is None and self.refusal is None):
            self._ask(max(1, step))

    def _on_run(self) -> None:
        if self.follows:
            self._follow()

    def _ask(self, step: int) -> None:
        row = self._run.row
        if row is None:
            return
        self._step, self.is_waiting, self.working = step, True, None
        self._asked = self._explorer.ask(ShowBatch(run=row.folder, step=step))
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._asked or not self.is_waiting:
            return
        if isinstance(answer, Working):
            self.working = answer
            self.changed.emit()
            return
        self.is_waiting, self.working = False, None
        self.shown = answer if isinstance(answer, BatchShown) else None
        self.refusal = answer if isinstance(answer, Refused) else None
        self._pause.start()
        self.changed.emit()


ON_A_PAGE = 4  # inputs


class BatchTab(QWidget):
    """Step, follow switch, legend with counts, and cards of inputs."""

    def __init__(self, state: BatchState) -> None:
        super().__init__()
        self.state = state
        self._first = 0  # index of the first input of the page
        self._showing = False
        self.cards = [InputCard() for _ in range(ON_A_PAGE)]
        self.legend = Text("", "muted")
        self.empty = EmptyState("scan-search", "", "")
        self.stack = QStackedWidget()
        self.stack.addWidget(self._inputs())
        self.stack.addWidget(self.empty)
        layouts.column(
            self._head(),
            self.legend,
            (self.stack, 1),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 3 * SPACE, 0, 0),
        )
        state.changed.connect(self._show)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.state.set_seen(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.state.set_seen(False)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _head(self) -> QHBoxLayout:
        self.step = SpinBox(self.tr("Step"))
        self.step.setRange(1, 1)
        self.step.setGroupSeparatorShown(True)
        self.step.setKeyboardTracking(False)
        self.step.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.step.valueChanged.connect(self._on_step)
        self.of = Text("", "muted", wraps=False)
        self.follow = Switch(self.tr("Follow the run"))
        self.follow.toggled.connect(self._on_follow)
        self.page = Text("", "muted", wraps=False)
        self.back = buttons.icon_button(
            "arrow-left", self.tr("Previous inputs"), lambda: self._turn(-ON_A_PAGE)
        )
        self.on = buttons.icon_button(
            "arrow-right", self.tr("Next inputs"), lambda: self._turn(ON_A_PAGE)
        )
        row = layouts.row(
            Text(self.tr("Step"), "strong", wraps=False),
            self.step,
            self.of,
            4 * SPACE,
            self.follow,
            Text(self.tr("Follow the run"), "body", wraps=False),
            layouts.STRETCH,
            spacing=2 * SPACE,
        )
        for part in (self.page, self.back, self.on):
            row.addWidget(part)
        return row

    def _inputs(self) -> QWidget:
        inner = QWidget()
        column = layouts.column(parent=inner, spacing=3 * SPACE, margins=(0, 0, 2 * SPACE, 0))
        for card in self.cards:
            column.addWidget(card)
        column.addStretch()
        return scrolling(inner)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        self._showing = True
        shown = self.state.shown
        self.follow.setChecked(self.state.follows)
        self.step.setEnabled(shown is not None)
        if shown is not None:
            self.step.setRange(1, shown.steps)
            if not self.step.hasFocus() or self.state.follows:
                self.step.setValue(shown.step)
            self.of.setText(self.tr("of {0}").format(numbers.count(shown.steps)))
            self._show_page(shown)
        else:
            self._show_why()
        self.legend.setVisible(shown is not None)
        self.stack.setCurrentIndex(0 if shown is not None else 1)
        self._showing = False

    def _show_page(self, shown: BatchShown) -> None:
        count = len(shown.rows)
        self._first = min(self._first, (count - 1) // ON_A_PAGE * ON_A_PAGE)
        last = min(self._first + ON_A_PAGE, count)
        template = self.tr("Inputs {0}–{1} of {2}")
        self.page.setText(template.format(self._first + 1, last, numbers.count(count)))
        self.back.setEnabled(self._first > 0)
        self.on.setEnabled(last < count)
        for number, card in enumerate(self.cards, start=self._first):
            card.setVisible(number < count)
            if number < count:
                card.show_input(number, shown.rows[number])
        self.legend.setText(self._counted(shown))

    def _counted(self, shown: BatchShown) -> str:
        """Number of tokens shown in each way."""
        how: Counter[str] = Counter(item.shown_as for given in shown.rows for item in given.targets)
        real = sum(given.length for given in shown.rows)
        padding = sum(len(given.tokens) - given.length for given in shown.rows)
        parts = [
            self.tr("{0} tokens, plus {1} padding tokens that are skipped").format(
                *map(numbers.count, (real, padding))
            )
        ]
        parts += [
            f"{LOOKS[name][1]} {shown_text(name)}: {numbers.count(how[name])}"
            for name in LOOKS
            if how[name]
        ]
        return "   ·   ".join(parts)

    def _show_why(self) -> None:
        """Say why there is no batch."""
        refusal, working = self.state.refusal, self.state.working
        self.page.setText("")
        self.of.setText("")
        self.back.setEnabled(False)
        self.on.setEnabled(False)
        if refusal is not None:
            self.empty.title.setText(refusal.problem)
            self.empty.text.setText(refusal.advice)
            return
        self.empty.title.setText(self.tr("Rebuilding the batch …"))
        self.empty.text.setText(working.stage if working is not None else "")

    # ── what is done ─────────────────────────────────────────────────────────────────────────

    def _on_step(self, step: int) -> None:
        if not self._showing:
            self.state.show_step(step)

    def _on_follow(self, on: bool) -> None:
        if not self._showing:
            self.state.set_follows(on)

    def _turn(self, inputs: int) -> None:
        self._first = max(0, self._first + inputs)
        self._show()


class InputCard(Card):
    """An input: its target, and its tokens."""

    def __init__(self) -> None:
        super().__init__("", padding=4 * SPACE)
        self.head = OneLine("", "strong")
        self.about = Text("", "muted", wraps=False)
        self.tokens = BatchTokens()
        row = layouts.row((self.head, 1), self.about, spacing=3 * SPACE)
        layouts.extend(self.body, row, self.tokens)

    def show_input(self, number: int, given: BatchRow) -> None:
        title = self.tr("Input {0}").format(numbers.count(number + 1))
        self.head.setText(f"{title}: {translated(given.wanted)}" if given.wanted else title)
        about = [self.tr("%Ln token(s)", "", given.length)]
        if given.targets:
            about.append(self.tr("%Ln to predict", "", len(given.targets)))
        self.about.setText(", ".join(about))
        self.tokens.show_input(given)
