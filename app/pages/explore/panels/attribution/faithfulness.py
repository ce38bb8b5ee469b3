"""Faithfulness on request: mask the strongest words and watch the score."""

from statistics import mean, stdev

from PySide6.QtWidgets import QWidget

from app.explorer import Explorer
from app.pages.explore.model_input import ModelInput
from app.pages.explore.parts_query import PartsQuery
from app.pages.explore.word_effects import WordEffectsState
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.text.labels import Text
from app.widgets.text.numbers import decimal
from engine.messages.explore.attribution import Attribute, CheckFaithfulness, FaithfulnessChecked


class FaithfulnessState(PartsQuery[CheckFaithfulness, FaithfulnessChecked]):
    """Sufficiency and comprehensiveness of one side's word effects."""

    def __init__(self, attribution: WordEffectsState, explorer: Explorer) -> None:
        super().__init__(
            attribution.explore,
            explorer,
            self._make_question,
            attribution.side.index,
            lambda part: {"so_far": part.scores},
        )
        self._attribution = attribution
        self._checked: Attribute | None = None
        self._order: tuple[int, ...] = ()
        attribution.changed.connect(self.changed)

    @property
    def measures(self) -> FaithfulnessChecked | None:
        """Measures for the effects on display, as far as computed."""
        return self.answer if self._is_current() else None

    @property
    def is_running(self) -> bool:
        return self._is_current() and self.query.is_waiting

    @property
    def can_run(self) -> bool:
        return (
            self._attribution.is_complete
            and len(self._attribution.words) > 1
            and not self.is_running
            and (self.measures is None or self.measures.own is None)
        )

    @property
    def problem(self) -> str:
        return self.query.problem if self._is_current() else ""

    def start(self) -> None:
        if not self.can_run:
            return
        self._checked = self._attribution.question
        effects = [word.effect for word in self._attribution.words]
        self._order = tuple(sorted(range(len(effects)), key=lambda n: -effects[n]))
        self.query.ask()

    def stop(self) -> None:
        self._checked = None
        self.query.invalidate()
        self.changed.emit()

    def _is_current(self) -> bool:
        return self._checked is not None and self._checked == self._attribution.question

    def _make_question(self, side: ModelInput) -> CheckFaithfulness | None:
        question = self._checked
        if question is None or not self._is_current():
            return None
        fields = question.model_dump(
            exclude={"kind", "method", "baseline", "start", "points", "so_far"}
        )
        return CheckFaithfulness.model_validate({**fields, "order": self._order})


class FaithfulnessView(QWidget):
    """A button, and two measures compared with random orders of the words."""

    def __init__(self, state: FaithfulnessState) -> None:
        super().__init__()
        self._state = state
        self.run = buttons.plain(self.tr("Check &faithfulness"), self._on_run, "gauge")
        self.comprehensiveness, self.sufficiency = (Text("", selectable=True) for _ in range(2))
        self.note = Text("", "small")
        title = Text(self.tr("Faithfulness of the attributions"), "strong", wraps=False)
        head = layouts.wrap(title, layouts.STRETCH, self.run)
        self._results = self.comprehensiveness, self.sufficiency
        layouts.column(head, *self._results, self.note, layouts.STRETCH, parent=self, spacing=SPACE)
        state.changed.connect(self.show_state)
        self.show_state()

    def _on_run(self) -> None:
        self._state.stop() if self._state.is_running else self._state.start()

    def show_state(self) -> None:
        state = self._state
        running = state.is_running
        buttons.set_text(self.run, self.tr("&Stop") if running else self.tr("Check &faithfulness"))
        self.run.setEnabled(running or state.can_run)
        answer = state.measures
        result = answer.own if answer is not None else None
        for line in self._results:
            line.setVisible(result is not None)
        if answer is not None and result is not None:
            random = answer.random
            self.comprehensiveness.setText(
                self.tr("Comprehensiveness {0}").format(
                    self._compare_with_random(
                        result.comprehensiveness, [order.comprehensiveness for order in random], 1
                    )
                )
            )
            self.sufficiency.setText(
                self.tr("Sufficiency {0}").format(
                    self._compare_with_random(
                        result.sufficiency, [order.sufficiency for order in random], -1
                    )
                )
            )
        self.note.setText(self._note())

    def _compare_with_random(self, value: float, others: list[float], better: int) -> str:
        """Compare a measure with random orders; `better` is 1 if higher is better, else -1."""
        beaten = sum(better * (value - other) > 0 for other in others)
        return self.tr("{0} · random {1} ± {2} · better than {3} of {4}").format(
            decimal(value, 3),
            decimal(mean(others), 3),
            decimal(stdev(others), 3),
            beaten,
            len(others),
        )

    def _note(self) -> str:
        state = self._state
        if state.problem:
            return state.problem
        answer = state.measures
        if state.is_running:
            done, total = (len(answer.scores), answer.total) if answer is not None else (0, 0)
            return self.tr("{0} of {1} inputs …").format(done, total) if total else "…"
        if answer is None or answer.own is None:
            return self.tr(
                "Masks the strongest words, then all the others, and compares the scores with 20 "
                "random orders of the words."
            )
        return self.tr(
            "Comprehensiveness: how much the logit falls without the strongest words; higher is "
            "better. Sufficiency: how much it falls with only these; lower is better. Means over "
            "the first 1, 5, 10, 20 and 50 % of the words; ± is the standard deviation."
        )
