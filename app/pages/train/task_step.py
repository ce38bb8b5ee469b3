"""First step: the task."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QSizePolicy, QWidget

from app import theme
from app.pages.train.choices import Goal, goals
from app.pages.train.pickers import paint_mark
from app.pages.train.state import TrainState
from app.tasks import task_part
from app.tasks.picture import TaskPicture
from app.theme import SPACE, Role
from app.widgets import layouts
from app.widgets.text.labels import Text

COLUMNS = 3


class ChoiceCard(QAbstractButton):
    """A title, a `body` to fill, and a frame that shows if the card is chosen.

    Cards with the same parent exclude one another; the arrow keys move between them.
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setText(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.body = layouts.column(
            parent=self, spacing=2 * SPACE, margins=(5 * SPACE, 4 * SPACE, 5 * SPACE, 4 * SPACE)
        )
        self.add(Text(title, "heading"))

    def add(self, part: QWidget) -> None:
        """Add a widget to the card; clicks pass through it."""
        part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.body.addWidget(part)

    def sizeHint(self) -> QSize:
        return self.body.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self.body.minimumSize()

    def hasHeightForWidth(self) -> bool:
        return self.body.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        return self.body.heightForWidth(width)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(3, 3, -3, -3)
        chosen = self.isChecked()
        border = Role.ACCENT if chosen else Role.MUTED if self.underMouse() else Role.BORDER
        painter.setPen(QPen(theme.colour(border), 2 if chosen else 1))
        painter.setBrush(theme.colour(Role.SURFACE))
        painter.drawRoundedRect(frame, 10, 10)
        if self.isChecked():
            paint_mark(painter, frame)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame.adjusted(-2.5, -2.5, 2.5, 2.5), 12, 12)
        painter.end()


class TaskStep(QWidget):
    """A card for each task, with a picture of input and output."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        grid = layouts.grid(parent=self, h_spacing=3 * SPACE, v_spacing=3 * SPACE)
        self.cards: dict[Goal, ChoiceCard] = {}
        for index, goal in enumerate(goals()):
            part, from_scratch = task_part(goal.kind), goal.from_scratch
            card = ChoiceCard(part.card_title(from_scratch), self)
            card.add(Text(part.description(from_scratch), "muted"))
            card.body.addStretch()
            card.add(TaskPicture(part.scene, from_scratch))
            card.setAccessibleName(part.card_title(from_scratch))
            card.setAccessibleDescription(part.description(from_scratch))
            card.clicked.connect(lambda _=False, goal=goal: state.choose_goal(goal))
            grid.addWidget(card, *divmod(index, COLUMNS))
            self.cards[goal] = card
        grid.setRowStretch(grid.rowCount(), 1)
        grid.setAlignment(Qt.AlignmentFlag.AlignTop)
        state.changed.connect(self._show)
        self._show()

    def focus(self) -> None:
        """Focus the chosen card, or the first."""
        self._current_card().setFocus()
        self.show_chosen()

    def show_chosen(self) -> None:
        """Scroll to the chosen card, or the first."""
        self._scroll_to(self._current_card())

    def _current_card(self) -> ChoiceCard:
        return self.cards[self._state.choices.goal or next(iter(self.cards))]

    def _show(self) -> None:
        chosen = self._state.choices.goal
        for goal, card in self.cards.items():
            if goal == chosen and not card.isChecked():
                card.setChecked(True)
                self._move_focus(card)
            card.update()

    def _move_focus(self, chosen: ChoiceCard) -> None:
        """If the task was chosen for the user, move focus and view to its card."""
        if any(card.hasFocus() for card in self.cards.values()):
            chosen.setFocus()
        self._scroll_to(chosen)

    def _scroll_to(self, card: ChoiceCard) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.ensureWidgetVisible(card, 0, 3 * SPACE)
