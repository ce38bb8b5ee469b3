"""What the colours of the maps mean."""

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.explore.panels.attention import pixels
from app.theme import SPACE, Role, colour
from app.widgets.text.labels import font
from app.widgets.text.numbers import decimal

TICKS = (0.0, 0.1, 0.5, 1.0)
HEIGHT = 8  # px of the ramp
EDGE = 3 * SPACE  # px beside it, for the outer numbers


class Legend(QWidget):
    """The ramp from 0 to the most with its numbers; they are shown by their square roots."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Colour scale"))
        self.setAccessibleDescription(self._told())

    def show_most(self, most: float) -> None:
        """The number that has the strongest colour."""
        if most != self._most:
            self._most = most
            self.setAccessibleDescription(self._told())
            self.update()

    def _told(self) -> str:
        text = self.tr("The stronger the colour, the larger the value, from 0 to {0}.")
        return text.format(decimal(self._most, 2))

    def sizeHint(self) -> QSize:
        return QSize(50 * SPACE, HEIGHT + round(font("small").pointSizeF() * 2) + SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(36 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        ramp = QRectF(EDGE, 1, self.width() - 2 * EDGE, HEIGHT)
        levels = np.arange(pixels.TOP + 1, dtype=np.uint8)[None, :]
        painter.drawImage(ramp, pixels.themed(np.ascontiguousarray(levels)))
        painter.setPen(colour(Role.BORDER))
        painter.drawRect(ramp)
        painter.setFont(font("small"))
        painter.setPen(colour(Role.MUTED))
        for tick in TICKS:
            x = ramp.left() + ramp.width() * tick**0.5
            box = QRectF(x - 20, ramp.bottom() + 2, 40, self.height() - ramp.bottom() - 2)
            whole = tick in (0.0, 1.0) and self._most == 1
            shown = decimal(tick * self._most, 0 if whole or not tick else 1)
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, shown)
