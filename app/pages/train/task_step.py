"""First step: what the model should learn."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.pages.train.card import ChoiceCard
from app.pages.train.choices import Kind
from app.pages.train.pictures import TaskPicture
from app.pages.train.state import TrainState
from app.pages.train.texts import sentence, title
from app.theme import SPACE
from app.widgets.text import Text


class TaskStep(QWidget):
    """A card for each task, with a picture from the input to the output."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(3 * SPACE)
        columns = 2 if len(Kind) <= 4 else 3
        self.cards: dict[Kind, ChoiceCard] = {}
        for number, kind in enumerate(Kind):
            card = ChoiceCard(title(kind), self)
            card.add(Text(sentence(kind), "muted"))
            card.body.addStretch()
            card.add(TaskPicture(kind))
            card.setAccessibleName(title(kind))
            card.setAccessibleDescription(sentence(kind))
            card.clicked.connect(lambda _=False, kind=kind: state.choose_kind(kind))
            grid.addWidget(card, *divmod(number, columns))
            self.cards[kind] = card
        grid.setRowStretch(grid.rowCount(), 1)
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
