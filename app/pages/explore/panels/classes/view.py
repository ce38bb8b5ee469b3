"""The classes of a fine-tuned model as bars, updated while typing."""

from dataclasses import replace

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.pages.explore.bars import Bar, Bars, chance
from app.pages.explore.panels.classes.state import MOST, ClassesState
from app.theme import SPACE
from app.widgets.page import Card, EmptyState, scrolling
from app.widgets.text import OneLine, Text


class ClassesView(QWidget):
    """Shows a ClassesState."""

    def __init__(self, state: ClassesState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.verdict = OneLine("", "heading")
        self.note = Text("", "muted")
        self.bars = Bars(self.tr("Classes"))
        card = Card(padding=5 * SPACE)
        card.setMaximumWidth(180 * SPACE)
        for part in (self.verdict, self.bars, self.note):
            card.body.addWidget(part)
        inner = QWidget()
        inside = QVBoxLayout(inner)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.addWidget(card)
        inside.addStretch()
        self.problem = EmptyState("circle-alert", self.tr("No answer"), "")
        self.stack = QStackedWidget()
        self.stack.addWidget(scrolling(inner))
        self.stack.addWidget(self.problem)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.addWidget(self.stack)
        state.changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        """Bring everything in line with the state."""
        refusal, ranked = self._state.asking.refusal, self._state.ranked
        if refusal is not None:
            self.problem.title.setText(refusal.problem)
            self.problem.text.setText(refusal.advice)
            self.stack.setCurrentIndex(1)
            return
        self.stack.setCurrentIndex(0)
        bars = [Bar(one.label, one.probability) for one in ranked[:MOST]]
        self.bars.show_bars([replace(bar, emphasised=not n) for n, bar in enumerate(bars)])
        if ranked:
            best = ranked[0]
            self.verdict.setText(f"{best.label} · {chance(best.probability)}")
        else:
            self.verdict.setText(self.tr("Asking the model …"))
        self.note.setText(self._said(len(ranked)))

    def _said(self, count: int) -> str:
        said = self.tr("Of the text as it stands above; hidden words stay hidden.")
        if count > MOST:
            said += " " + self.tr("The first {0} of {1} classes are shown.").format(MOST, count)
        return said
