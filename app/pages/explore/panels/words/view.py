"""Predictions, candidates, logit lens and pseudo-perplexity; next sentence."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from app.notices import Notices
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.words.candidates import CandidatesView
from app.pages.explore.panels.words.lens import LensView
from app.pages.explore.panels.words.predictions import PredictionsView
from app.pages.explore.panels.words.pseudo_perplexity import PseudoPerplexityView
from app.pages.explore.panels.words.state import WordsState, can_predict
from app.theme import SPACE, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.help import HelpButton
from app.widgets.page import EmptyState, Stack
from app.widgets.text.labels import Text
from app.widgets.text.wrapping import WrapArea
from engine.files.shipped import starter_model
from engine.messages.explore.prediction import NextSentencePredicted

# help concepts of the parts
CONCEPTS = ("predictions", "candidates", "logit-lens", "pseudo-perplexity")


def panel() -> PanelDescription:
    icon = "message-circle-question-mark"
    return PanelDescription("words", tr("Words"), icon, "predictions", _make)


def _make(context: PanelContext) -> MakePanel:
    state = WordsState(context.explore, context.explorer)
    return lambda: WordsView(state, context.notices)


class WordsView(Panel):
    """Shows one of its parts; only that one asks."""

    def __init__(self, state: WordsState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self._is_active = False
        self.predictions, self.candidates = PredictionsView(state), CandidatesView(state)
        self.lens, self.pseudo_perplexity = LensView(state), PseudoPerplexityView(state)
        self.parts = self.predictions, self.candidates, self.lens, self.pseudo_perplexity
        self.next_sentences = NextSentence(state)
        self.choice = buttons.Segments(
            [
                self.tr("Predictions"),
                self.tr("Candidates"),
                self.tr("Logit lens"),
                self.tr("Pseudo-perplexity"),
            ],
            self.tr("View"),
        )
        self.choice.choose(0)
        self.choice.chosen.connect(self.show_part)
        self.unmask = buttons.quiet(self.tr("Unmask all"), state.explore.unmask_all, "eye")
        self.figure_button = FigureButton(self.figure, notices)
        self.figure_button.offer_on(*self.parts)
        self.help = Stack(*map(HelpButton, CONCEPTS))
        self.help.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.shown = Stack(*self.parts)
        self.stack = Stack(self._content(), self._no_head())
        layouts.column((self.stack, 1), parent=self, margins=(0, SPACE, 0, 0))
        state.changed.connect(self.show_state)
        state.explore.tokens_changed.connect(self.show_state)
        state.explore.sides_changed.connect(self.show_state)
        self.show_state()

    def set_active(self, active: bool) -> None:
        self._is_active = active
        for part in self.parts:
            for query in part.queries:
                query.set_active(active and part is self._part())
        self._state.next_sentences.set_active(active)

    def show_part(self, index: int) -> None:
        self.choice.choose(index)
        self.shown.setCurrentIndex(index)
        self.help.setCurrentIndex(index)
        self.set_active(self._is_active)
        self.show_state()

    def show_state(self) -> None:
        self.stack.setCurrentIndex(0 if can_predict(self._state.explore.first) else 1)
        self.unmask.setEnabled(bool(self._state.explore.first.masked))
        self.next_sentences.show_state()
        self._part().show_state()
        self.figure_button.refresh()

    def figure(self) -> Figure | None:
        return self._part().figure()

    def _part(self) -> PredictionsView | CandidatesView | LensView | PseudoPerplexityView:
        return self.parts[self.shown.currentIndex()]

    def _content(self) -> QWidget:
        controls = WrapArea()
        controls.add(self.choice, self.help)
        controls.add(self.unmask)
        self.corner = layouts.row(self.figure_button, spacing=0)
        head = layouts.row((controls, 1), self.corner, spacing=2 * SPACE)
        head.setAlignment(self.corner, Qt.AlignmentFlag.AlignTop)
        return layouts.page(head, self.next_sentences, (self.shown, 1), spacing=SPACE)

    def _no_head(self) -> QWidget:
        return EmptyState(
            "message-circle-question-mark",
            self.tr("This model has no MLM head"),
            self.tr(
                "Most fine-tuned models have no head for masked language modelling. You can "
                "still explore their attention."
            ),
            buttons.primary(
                self.tr("Use the starter model"),
                lambda: self._state.explore.model_requested.emit(starter_model()),
            ),
        )


class NextSentence(QWidget):
    """Next-sentence prediction; shown if there is a second text."""

    def __init__(self, state: WordsState) -> None:
        super().__init__()
        self._state = state
        self.labels = (Text("", wraps=False), Text("", wraps=False))
        self.gauges = (QProgressBar(), QProgressBar())
        grid = layouts.grid(parent=self, h_spacing=3 * SPACE)
        for row, (label, gauge) in enumerate(zip(self.labels, self.gauges, strict=True)):
            gauge.setAccessibleName(self.tr("Probability that the second text follows the first"))
            gauge.setRange(0, 1_000)
            gauge.setTextVisible(False)
            gauge.setFixedWidth(px(40 * SPACE))
            grid.addWidget(gauge, row, 0, Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(label, row, 1)
        grid.addWidget(HelpButton("next-sentence"), 0, 2)
        grid.setColumnStretch(3, 1)

    def show_state(self) -> None:
        explore = self._state.explore
        self.setVisible(bool(explore.first.pair and explore.first.pair.strip()))
        for index, (label, gauge) in enumerate(zip(self.labels, self.gauges, strict=True)):
            is_used = index < len(explore.sides)
            answer = self._state.next_sentences[index].get_answer(NextSentencePredicted)
            value = answer.probability if is_used and answer is not None else None
            label.setVisible(is_used)
            gauge.setVisible(value is not None)
            if is_used:
                label.setText(self._sentence(index, value))
            if value is not None:
                gauge.setValue(round(1_000 * value))
                gauge.setAccessibleDescription(percentage(value))

    def _sentence(self, index: int, value: float | None) -> str:
        side, query = self._state.explore.both[index], self._state.next_sentences[index]
        name = f"{side.model.name}: " if self._state.explore.is_compared and side.model else ""
        if query.refusal is not None:
            return name + query.refusal.problem
        if value is not None:
            text = self.tr("The second text follows the first: {0}")
            return name + text.format(percentage(value))
        if not side.has_head("nsp"):
            return name + self.tr(
                "This model has no next-sentence (NSP) head, so it cannot predict whether the"
                " second text follows."
            )
        return name + self.tr("Running the model …")
