"""First step: what the model should learn."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from app.pages.train.card import ChoiceCard
from app.pages.train.choices import Goal, goals
from app.pages.train.state import TrainState
from app.tasks import part_of
from app.tasks.picture import TaskPicture
from app.theme import SPACE
from app.widgets.text.labels import Text

COLUMNS = 3


class TaskStep(QWidget):
    """A card for each task, with a picture from the input to the output."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(3 * SPACE)
        self.cards: dict[Goal, ChoiceCard] = {}
        for number, goal in enumerate(goals()):
            part, fresh = part_of(goal.kind), goal.from_scratch
            card = ChoiceCard(part.card_title(fresh), self)
            card.add(Text(part.description(fresh), "muted"))
            card.body.addStretch()
            card.add(TaskPicture(part.scene(fresh)))
            card.setAccessibleName(part.card_title(fresh))
            card.setAccessibleDescription(part.description(fresh))
            card.clicked.connect(lambda _=False, goal=goal: state.choose_goal(goal))
            grid.addWidget(card, *divmod(number, COLUMNS))
            self.cards[goal] = card
        grid.setRowStretch(grid.rowCount(), 1)
        grid.setAlignment(Qt.AlignmentFlag.AlignTop)
        state.changed.connect(self._show)
        self._show()

    def focus(self) -> None:
        """Give the keyboard to the card that is chosen, or to the first."""
        self._present().setFocus()
        self.show_chosen()

    def show_chosen(self) -> None:
        """Scroll to the card that is chosen, or to the first."""
        self._bring_into_view(self._present())

    def _present(self) -> ChoiceCard:
        return self.cards[self._state.choices.goal or next(iter(self.cards))]

    def _show(self) -> None:
        chosen = self._state.choices.goal
        for goal, card in self.cards.items():
            if goal == chosen and not card.isChecked():
                card.setChecked(True)
                self._follow(card)
            card.update()

    def _follow(self, chosen: ChoiceCard) -> None:
        """Where the task was chosen for the user, its card has the keyboard and is in view."""
        if any(card.hasFocus() for card in self.cards.values()):
            chosen.setFocus()
        self._bring_into_view(chosen)

    def _bring_into_view(self, card: ChoiceCard) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.ensureWidgetVisible(card, 0, 3 * SPACE)
