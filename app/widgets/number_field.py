"""A field for one number: typed exactly, or stepped to the next sensible value."""

import math
from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QValidator
from PySide6.QtWidgets import QAbstractSpinBox, QWidget

from app.widgets.wheel import TurnsWithFocus

Stepping = Literal["double", "decades"] | float

MARKS = (1.0, 2.0, 3.0, 5.0, 10.0)  # of a decade


class NumberField(TurnsWithFocus, QAbstractSpinBox):
    """A number that may be typed in any notation (5e-5, 0.00005, 0,00005) and stepped.

    `stepping` is a distance, “double” for powers of two, or “decades” for 1, 2, 3, 5, 10, …

    Signals:
        changed: the text has changed, whether or not it is a number.
    """

    changed = Signal()

    def __init__(
        self,
        value: float = 0,
        stepping: Stepping = 1.0,
        whole: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._stepping, self.whole = stepping, whole
        self._low, self._high = low, high
        self.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.setAccelerated(True)
        pad(self)
        self.lineEdit().textChanged.connect(lambda _: self.changed.emit())
        self.set_number(value)

    def number(self) -> float | int | None:
        """What is typed, or None where it is no number; it may be out of range."""
        return parse(self.text(), self.whole)

    def set_number(self, value: float | None) -> None:
        self.lineEdit().setText("" if value is None else written(value))

    def stepBy(self, steps: int) -> None:
        value = self.number()
        now = float(value) if value is not None else max(self._low, 0.0)
        for _ in range(abs(steps)):
            now = self._next(now, 1 if steps > 0 else -1)
        now = min(max(now, self._low), self._high)
        self.set_number(round(now) if self.whole else now)
        self.lineEdit().selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        value = self.number()
        enabled = QAbstractSpinBox.StepEnabledFlag.StepNone
        if value is None or value < self._high:
            enabled |= QAbstractSpinBox.StepEnabledFlag.StepUpEnabled
        if value is None or value > self._low:
            enabled |= QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        return enabled

    def validate(self, text: str, place: int) -> tuple[QValidator.State, str, int]:
        """Everything may be typed; what is wrong with it is said beside the field."""
        return QValidator.State.Acceptable, text, place

    def sizeHint(self) -> QSize:
        width = QFontMetrics(self.font()).horizontalAdvance("0.000000005") + 52
        return QSize(max(width, 132), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _next(self, value: float, direction: int) -> float:
        if self._stepping == "double":
            if value <= 0:
                return 1.0 if direction > 0 else value
            power = math.log2(value)
            up = math.floor(power + 1e-9) + 1 if direction > 0 else math.ceil(power - 1e-9) - 1
            return float(2.0**up)
        if self._stepping == "decades":
            return _next_mark(value, direction, self.whole)
        raw = (value / float(self._stepping) + direction) * float(self._stepping)
        return float(f"{raw:.10g}")


def pad(box: QAbstractSpinBox) -> None:
    """Keep the text of a spin box off its edge; Qt's style sheets cannot do that."""
    box.lineEdit().setTextMargins(7, 0, 0, 0)


def _next_mark(value: float, direction: int, whole: bool) -> float:
    """The next of 1, 2, 3, 5 times a power of ten."""
    if value < 0 or (value == 0 and direction < 0):
        return value
    if value == 0:
        return 1.0 if whole else 1e-8
    exponent = math.floor(math.log10(value))
    around = [m * 10.0**e for e in (exponent - 1, exponent, exponent + 1) for m in MARKS[:-1]]
    if direction > 0:
        return float(f"{min(m for m in around if m > value * (1 + 1e-9)):.6g}")
    lower = max(m for m in around if m < value * (1 - 1e-9))
    return 0.0 if whole and lower < 1 else float(f"{lower:.6g}")


def parse(text: str, whole: bool) -> float | int | None:
    """The number that `text` says, or None; a comma counts as the decimal point."""
    cleaned = text.strip().replace("\u202f", "").replace(" ", "").replace("−", "-")
    if cleaned.count(",") == 1 and "." not in cleaned:
        cleaned = cleaned.replace(",", ".")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    if not math.isfinite(value) or "_" in cleaned:
        return None
    if whole and value.is_integer():
        return int(cleaned) if cleaned.lstrip("+-").isdigit() else int(value)
    return value


def written(value: float) -> str:
    """A number as people write it: 5e-5, 0.1, 512."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return str(int(value))
    if abs(value) < 1e-3:
        mantissa, exponent = f"{value:.6e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.10g}"
