"""The steps of the wizard in a row: current, done or to do, and what was chosen in each."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QSizePolicy, QWidget

from app import theme
from app.pages.train.choices import Step
from app.theme import SPACE, Role
from app.widgets import layouts
from app.widgets.text.labels import font, tooltip, visible

DISC_SIZE = 24  # px


class StepBar(QWidget):
    """A row of buttons, one for each step.

    Signals:
        wanted: the step that the user clicked.
    """

    wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        titles = {
            Step.TASK: self.tr("Task"),
            Step.DATA: self.tr("Data"),
            Step.BASE_MODEL: self.tr("Base model"),
            Step.SETTINGS: self.tr("Settings"),
            Step.REVIEW: self.tr("Review"),
        }
        self.setAccessibleName(self.tr("Steps"))
        self._group = QButtonGroup(self)
        self.steps: dict[Step, _StepButton] = {}
        row = layouts.row(parent=self, spacing=0)
        for step, title in titles.items():
            button = _StepButton(step, title, last=step is Step.REVIEW)
            self._group.addButton(button, step)
            self.steps[step] = button
            row.addWidget(button, 0 if step is Step.REVIEW else 1)
        self._group.idClicked.connect(self.wanted)

    def show_step(
        self, shown: Step, seen: Step, chosen: dict[Step, str], obstacle: tuple[Step, str] | None
    ) -> None:
        """Update all steps.

        Args:
            seen: the furthest step shown so far.
            chosen: the choice of each step in a word or two.
            obstacle: the first incomplete step and the reason; later steps are disabled.
        """
        reach, why = obstacle or (Step.REVIEW, "")
        for step, button in self.steps.items():
            button.set_choice(chosen.get(step, ""), done=step < min(reach, seen))
            button.setChecked(step is shown)
            reachable = step <= max(reach, shown)
            button.setEnabled(reachable)
            button.setToolTip("" if reachable else tooltip(why))


class _StepButton(QAbstractButton):
    """A disc with a number or a tick, the title above the choice, and a line to the next step."""

    def __init__(self, step: Step, title: str, last: bool) -> None:
        super().__init__()
        self._number, self._last = step + 1, last
        self._choice, self._done = "", False
        self.setText(title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy.Policy.Preferred if last else QSizePolicy.Policy.Expanding
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self._name()

    def set_choice(self, choice: str, done: bool) -> None:
        self._choice, self._done = visible(choice).replace("\n", " "), done
        self._name()
        self.updateGeometry()
        self.update()

    def _name(self) -> None:
        state = self.tr("done") if self._done else self.tr("to do")
        self.setAccessibleName(
            self.tr("Step {0}: {1}, {2}").format(self._number, self.text(), state)
        )
        self.setAccessibleDescription(self._choice)

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(font("strong")).horizontalAdvance(self.text())
        return QSize(round(DISC_SIZE + 7 * SPACE + max(width, 24 * SPACE)), 11 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        disc = QRectF(4, (self.height() - DISC_SIZE) / 2, DISC_SIZE, DISC_SIZE)
        self._paint_disc(painter, disc)
        left = disc.right() + 2 * SPACE
        strong, small = QFontMetricsF(font("strong")), QFontMetricsF(font("small"))
        room = self.width() - left - (2 * SPACE if self._last else 12 * SPACE)
        height = strong.height() + (small.height() if self._choice else 0)
        top = (self.height() - height) / 2
        painter.setFont(font("strong"))
        painter.setPen(theme.colour(self._title_role()))
        title = QRectF(left, top, room, strong.height())
        painter.drawText(title, Qt.AlignmentFlag.AlignLeft, self.text())
        painter.setFont(font("small"))
        painter.setPen(theme.colour(Role.MUTED))
        choice = small.elidedText(self._choice, Qt.TextElideMode.ElideMiddle, room)
        below = QRectF(left, title.bottom(), room, small.height())
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, choice)
        used = max(strong.horizontalAdvance(self.text()), small.horizontalAdvance(choice))
        self._paint_line(painter, left + used + 3 * SPACE)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            around = QRectF(1, 2, left + used + SPACE, self.height() - 4)
            painter.drawRoundedRect(around, 6, 6)
        painter.end()

    def _title_role(self) -> Role:
        if not self.isEnabled():
            return Role.DISABLED
        return Role.ACCENT if self.isChecked() else Role.TEXT

    def _paint_disc(self, painter: QPainter, disc: QRectF) -> None:
        filled = self.isChecked()
        role = Role.ACCENT if self.isEnabled() else Role.DISABLED
        painter.setPen(QPen(theme.colour(role), 1.5))
        painter.setBrush(theme.colour(role) if filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(disc)
        ink = theme.colour(Role.ON_ACCENT if filled else role)
        if self._done and not filled:
            painter.setPen(QPen(ink, 2))
            x, y = disc.center().x(), disc.center().y()
            painter.drawPolyline(
                [QPointF(x - 5, y), QPointF(x - 1.5, y + 4), QPointF(x + 5, y - 4)]
            )
        else:
            painter.setPen(ink)
            painter.setFont(font("strong"))
            painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, str(self._number))

    def _paint_line(self, painter: QPainter, left: float) -> None:
        if self._last or left > self.width() - 3 * SPACE:
            return
        painter.setPen(QPen(theme.colour(Role.ACCENT if self._done else Role.BORDER), 1.5))
        y = self.height() / 2
        painter.drawLine(QPointF(left, y), QPointF(self.width() - 3 * SPACE, y))
