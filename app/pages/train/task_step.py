"""First step: what the model should learn."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.pages.train.card import ChoiceCard
from app.pages.train.choices import Kind
from app.pages.train.pictures import TaskPicture
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.widgets.text import Text


class TaskStep(QWidget):
    """Four cards, each with a picture from the input to the output."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        texts = {
            Kind.SENTENCE: (
                self.tr("Classify a sentence"),
                self.tr(
                    "One text, one label: moods, topics, eras. A trained model learns your labels."
                ),
            ),
            Kind.PAIR: (
                self.tr("Classify a pair"),
                self.tr(
                    "Two texts, one label: does the second follow, repeat or answer the first?"
                ),
            ),
            Kind.ONWARD: (
                self.tr("Go on pre-training"),
                self.tr(
                    "A trained model gets used to the language of your texts. No labels needed."
                ),
            ),
            Kind.SCRATCH: (
                self.tr("Pre-train from scratch"),
                self.tr(
                    "A new model learns a language by guessing hidden words. Takes many texts."
                ),
            ),
        }
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(3 * SPACE)
        self.cards: dict[Kind, ChoiceCard] = {}
        for number, (kind, (title, sentence)) in enumerate(texts.items()):
            card = ChoiceCard(title, self)
            card.add(Text(sentence, "muted"))
            card.body.addStretch()
            card.add(TaskPicture(kind))
            card.setAccessibleName(title)
            card.setAccessibleDescription(sentence)
            card.clicked.connect(lambda _=False, kind=kind: state.choose_kind(kind))
            grid.addWidget(card, number // 2, number % 2)
            self.cards[kind] = card
        grid.setRowStretch(2, 1)
        grid.setAlignment(Qt.AlignmentFlag.AlignTop)
        state.changed.connect(self._show)
        self._show()

    def focus(self) -> None:
        """Give the keyboard to the card that is chosen, or to the first."""
        chosen = self._state.choices.kind or next(iter(self.cards))
        self.cards[chosen].setFocus()

    def _show(self) -> None:
        for kind, card in self.cards.items():
            if kind is self._state.choices.kind:
                card.setChecked(True)
            card.update()
