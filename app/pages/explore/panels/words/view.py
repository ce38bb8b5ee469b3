"""Predictions, candidates, logit lens and pseudo-perplexity; next sentence."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.notices import Notices
from app.pages.explore.panel import Panel
from app.pages.explore.panels.words.candidates import Candidates
from app.pages.explore.panels.words.lens import Lens
from app.pages.explore.panels.words.next_sentence import NextSentence
from app.pages.explore.panels.words.part import Part
from app.pages.explore.panels.words.predictions import Predictions
from app.pages.explore.panels.words.pseudo_perplexity import PseudoPerplexity
from app.pages.explore.panels.words.state import WordsState
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.help import HelpButton
from app.widgets.page import EmptyState, Stack
from app.widgets.text.wrapping import Wrapping
from engine.files.shipped import starter_model

# help concepts of the parts
CONCEPTS = ("predictions", "candidates", "logit-lens", "pseudo-perplexity")


class WordsView(Panel):
    """Shows one of its parts; only that one asks."""

    def __init__(self, state: WordsState, notices: Notices, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self._state = state
        self._is_seen = False
        self.predictions, self.candidates = Predictions(state), Candidates(state)
        self.lens, self.pseudo_perplexity = Lens(state), PseudoPerplexity(state)
        self.parts: tuple[Part, ...] = (
            self.predictions,
            self.candidates,
            self.lens,
            self.pseudo_perplexity,
        )
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
        self.unmask = buttons.quiet(self.tr("Unmask all"), state.study.unmask_all, "eye")
        self.keep = FigureButton(self.figure, notices)
        self.keep.offer_on(*self.parts)
        self.help = Stack()
        self.help.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        for concept in CONCEPTS:
            self.help.addWidget(HelpButton(concept))
        self.shown = Stack()
        for part in self.parts:
            self.shown.addWidget(part)
        self.stack = Stack()
        self.stack.addWidget(self._all())
        self.stack.addWidget(self._no_head())
        layouts.column((self.stack, 1), parent=self, margins=(0, SPACE, 0, 0))
        state.changed.connect(self.show_state)
        state.study.tokens_changed.connect(self.show_state)
        state.study.sides_changed.connect(self.show_state)
        self.show_state()

    def set_seen(self, seen: bool) -> None:
        """Only the displayed part asks, and the next-sentence gauge."""
        self._is_seen = seen
        for part in self.parts:
            part.set_seen(seen and part is self.shown.currentWidget())
        self.next_sentences.set_seen(seen)

    def show_part(self, number: int) -> None:
        """Show another part."""
        self.choice.choose(number)
        self.shown.setCurrentIndex(number)
        self.help.setCurrentIndex(number)
        self.set_seen(self._is_seen)
        self.show_state()

    def show_state(self) -> None:
        self.stack.setCurrentIndex(0 if self._state.can_predict else 1)
        self.unmask.setEnabled(bool(self._state.study.masked))
        self.next_sentences.show_state()
        part = self.shown.currentWidget()
        assert isinstance(part, Part)
        part.show_state()
        self.keep.refresh()

    def figure(self) -> Figure | None:
        part = self.shown.currentWidget()
        assert isinstance(part, Part)
        return part.figure()

    def _want_starter(self) -> None:
        self._state.study.model_wanted.emit(starter_model())

    def _all(self) -> QWidget:
        controls = Wrapping()
        controls.add(self.choice, self.help)
        controls.add(self.unmask)
        self.corner = layouts.row(self.keep, spacing=0)
        head = layouts.row((controls, 1), self.corner, spacing=2 * SPACE)
        head.setAlignment(self.corner, Qt.AlignmentFlag.AlignTop)
        page = QWidget()
        layouts.column(head, self.next_sentences, (self.shown, 1), parent=page, spacing=SPACE)
        return page

    def _no_head(self) -> QWidget:
        return EmptyState(
            "message-circle-question-mark",
            self.tr("This model has no MLM head"),
            self.tr(
                "Most fine-tuned models have no head for masked language modelling. You can "
                "still explore their attention."
            ),
            buttons.primary(self.tr("Use the starter model"), self._want_starter),
        )
