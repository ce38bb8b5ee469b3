"""One input of a batch: a chip for each token.

A chip with a prediction target has a colour, a mark and the target below it. The line under a chip
shows the segment: one line for the first, two for the second. Padding is one chip at the end.
"""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.resources import mono_font
from app.theme import SEGMENTS, SPACE, Role, colour, repaints
from app.translation import tr
from app.widgets.text.labels import tooltip, visible
from engine.messages.batch import BatchRow, Target

LONGEST_TOKEN = 40  # characters painted
INSIDE = 1.5 * SPACE  # padding of the text in a chip
ROUND = 4.0
LOOKS = {  # colour and mark by the way a token is shown
    "mask": (Role.ACCENT, "▪"),
    "random": (Role.WARN, "⇄"),
    "kept": (Role.GOOD, "="),
    "label": (Role.ACCENT, "›"),
}


def shown_text(shown_as: str) -> str:
    """Name of the way in which a target token is shown."""
    texts = {
        "mask": tr("masked"),
        "random": tr("replaced by a random token"),
        "kept": tr("kept unchanged"),
        "label": tr("label"),
    }
    return texts[shown_as]


@dataclass(frozen=True)
class _Chip:
    box: QRectF
    text: str
    below: str = ""
    position: int = -1  # -1: the padding


class BatchTokens(QWidget):
    """Chips in lines, with height for width; a tooltip for each token."""

    def __init__(self) -> None:
        super().__init__()
        self._input: BatchRow | None = None
        self._targets: dict[int, Target] = {}
        self.chips: list[_Chip] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Tokens of the input"))

    def show_input(self, given: BatchRow) -> None:
        self._input = given
        self._targets = {item.position: item for item in given.targets}
        self.setAccessibleDescription(self._sentence(given))
        self._lay_out()
        self.updateGeometry()
        self.update()

    # ── size ─────────────────────────────────────────────────────────────────────────────────

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        chips = self._laid_out(width)
        return round(chips[-1].box.top() + self._line_height()) if chips else 0

    def sizeHint(self) -> QSize:
        width = max(self.width(), 80 * SPACE)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, round(self._line_height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange or repaints(event):
            self._lay_out()
            self.update()

    def _lay_out(self) -> None:
        self.chips = self._laid_out(self.width())

    def _laid_out(self, width: int) -> list[_Chip]:
        given = self._input
        if given is None:
            return []
        tokens, small = QFontMetricsF(mono_font()), QFontMetricsF(_small())
        texts = [(_painted(token), self._below(n)) for n, token in enumerate(given.tokens)]
        shown = [(text, below, n) for n, (text, below) in enumerate(texts[: given.length])]
        if padding := len(given.tokens) - given.length:
            shown.append((f"{padding} × {texts[-1][0]}", "", -1))
        chips: list[_Chip] = []
        x, y = 1.0, 1.0
        for text, below, position in shown:
            wide = max(tokens.horizontalAdvance(text), small.horizontalAdvance(below)) + 2 * INSIDE
            if x > 1 and x + wide > width - 1:
                x, y = 1.0, y + self._line_height()
            chips.append(_Chip(QRectF(x, y, wide, self._chip_height()), text, below, position))
            x += wide + SPACE
        return chips

    def _below(self, position: int) -> str:
        item = self._targets.get(position)
        return "" if item is None else f"{LOOKS[item.shown_as][1]} {_painted(item.wanted)}"

    def _chip_height(self) -> float:
        return QFontMetricsF(mono_font()).height() + 1.5 * SPACE

    def _line_height(self) -> float:
        below = QFontMetricsF(_small()).height() if self._targets else 0
        return self._chip_height() + 2 * SPACE + below + SPACE

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        seen = QRectF(event.rect()).adjusted(0, -self._line_height(), 0, 0)
        for chip in self.chips:
            if chip.box.intersects(seen):
                self._paint(painter, chip)

    def _paint(self, painter: QPainter, chip: _Chip) -> None:
        given, item = self._input, self._targets.get(chip.position)
        assert given is not None
        box = chip.box.adjusted(0.5, 0.5, -0.5, -0.5)
        if chip.position < 0:
            painter.setPen(QPen(colour(Role.MUTED, 0.6), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, ROUND, ROUND)
            self._write(painter, mono_font(), Role.MUTED, chip.box, chip.text)
            return
        segment = SEGMENTS[given.segments[chip.position] % len(SEGMENTS)]
        is_mask = item is not None and item.shown_as == "mask"
        role = segment if item is None else LOOKS[item.shown_as][0]
        is_frame = item is None and _is_special(given.tokens[chip.position])
        painter.setPen(QPen(colour(role, 0.9), 1) if item or is_frame else Qt.PenStyle.NoPen)
        painter.setBrush(colour(role) if is_mask else colour(role, 0.06 if is_frame else 0.14))
        painter.drawRoundedRect(box, ROUND, ROUND)
        ink = Role.ON_ACCENT if is_mask else Role.MUTED if is_frame else Role.TEXT
        self._write(painter, mono_font(), ink, chip.box, chip.text)
        self._paint_segment(painter, chip, segment)
        if chip.below:
            metrics = QFontMetricsF(_small())
            below = QRectF(chip.box.left(), chip.box.bottom() + 7, chip.box.width(), 0)
            below.setHeight(metrics.height())
            self._write(painter, _small(), Role.TEXT, below, chip.below)

    def _paint_segment(self, painter: QPainter, chip: _Chip, role: Role) -> None:
        assert self._input is not None
        painter.setPen(QPen(colour(role), 1.5))
        for line in range(1 + self._input.segments[chip.position] % len(SEGMENTS)):
            y = chip.box.bottom() + 2 + 3 * line
            painter.drawLine(QPointF(chip.box.left() + 1, y), QPointF(chip.box.right() - 1, y))

    def _write(self, painter: QPainter, face: QFont, ink: Role, box: QRectF, text: str) -> None:
        painter.setFont(face)
        painter.setPen(colour(ink))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = QPointF(event.pos())
            chip = next((c for c in self.chips if c.box.adjusted(0, 0, 0, 20).contains(at)), None)
            if chip is None:
                QToolTip.hideText()
            else:
                text = tooltip(self.description_of(chip.position))
                QToolTip.showText(event.globalPos(), text, self, chip.box.toRect())
            return True
        return super().event(event)

    def description_of(self, position: int) -> str:
        """Description of a token, or of the padding (-1)."""
        given = self._input
        assert given is not None
        if position < 0:
            return self.tr("Padding: the model skips it.")
        segment = self.tr("segment A") if given.segments[position] == 0 else self.tr("segment B")
        text = self.tr("“{0}”, id {1}, position {2}, {3}.").format(
            _painted(given.tokens[position]), given.ids[position], position + 1, segment
        )
        item = self._targets.get(position)
        if item is None:
            return text
        wanted = self.tr("Target: “{0}”, {1}.").format(
            _painted(item.wanted), shown_text(item.shown_as)
        )
        return f"{text} {wanted}"

    def _sentence(self, given: BatchRow) -> str:
        """The input in a sentence, for a screen reader."""
        parts = []
        for position, token in enumerate(given.tokens[: given.length]):
            item = self._targets.get(position)
            text = _painted(token)
            if item is not None:
                text += f" ({shown_text(item.shown_as)}: {_painted(item.wanted)})"
            parts.append(text)
        return " ".join(parts)


def _painted(text: str) -> str:
    """A token as one short line with visible control characters."""
    shown = visible(text[: LONGEST_TOKEN + 1]).replace("\n", "⏎")
    return f"{shown[:LONGEST_TOKEN]}…" if len(text) > LONGEST_TOKEN else shown


def _is_special(token: str) -> bool:
    return len(token) > 2 and token[0] in "[<" and token[-1] in "]>"


def _small() -> QFont:
    return mono_font(mono_font().pointSizeF() * 0.82)
