"""Next-sentence probability as a gauge, one line per model."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from app.pages.explore.panels.words.state import WordsState
from app.theme import SPACE, Role, colour
from app.widgets.charts.bars import chance
from app.widgets.help import HelpButton
from app.widgets.text.labels import Text


class Share(QWidget):
    """A fraction from 0 to 1 as a thin bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.value = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_value(self, value: float) -> None:
        self.value = value
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(40 * SPACE, 3 * SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(0, 1, self.width(), self.height() - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(Role.HOVER))
        painter.drawRoundedRect(track, 4, 4)
        track.setWidth(max(2.0, track.width() * min(1.0, self.value)))
        painter.setBrush(colour(Role.ACCENT, 0.85))
        painter.drawRoundedRect(track, 4, 4)


class NextSentence(QWidget):
    """Shown if there is a second text."""

    def __init__(self, state: WordsState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.said = (Text("", wraps=False), Text("", wraps=False))
        self.gauges = (Share(), Share())
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(3 * SPACE)
        for row, (said, gauge) in enumerate(zip(self.said, self.gauges, strict=True)):
            gauge.setAccessibleName(self.tr("Probability that the second text follows the first"))
            grid.addWidget(gauge, row, 0, Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(said, row, 1)
        grid.addWidget(HelpButton("next-sentence"), 0, 2)
        grid.setColumnStretch(3, 1)

    def set_seen(self, seen: bool) -> None:
        for query in self._state.next_sentences:
            query.set_seen(seen)

    def show_state(self) -> None:
        study = self._state.study
        self.setVisible(bool(study.pair and study.pair.strip()))
        for number, (said, gauge) in enumerate(zip(self.said, self.gauges, strict=True)):
            is_there = number < len(study.sides)
            value = self._state.next_sentence_probability(number) if is_there else None
            said.setVisible(is_there)
            gauge.setVisible(value is not None)
            if is_there:
                said.setText(self._told(number, value))
            if value is not None:
                gauge.show_value(value)
                gauge.setAccessibleDescription(chance(value))

    def _told(self, number: int, value: float | None) -> str:
        side, query = self._state.study.both[number], self._state.next_sentences[number]
        name = f"{side.model.name}: " if self._state.study.is_compared and side.model else ""
        if query.refusal is not None:
            return name + query.refusal.problem
        if value is not None:
            text = self.tr("The second text follows the first: {0}")
            return name + text.format(chance(value))
        if not side.has_head("nsp"):
            return name + self.tr(
                "This model has no next-sentence (NSP) head, so it cannot predict whether the"
                " second text follows."
            )
        return name + self.tr("Running the model …")
