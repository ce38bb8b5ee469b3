"""Fields that only turn with the wheel of the mouse once they have the focus.

Otherwise Qt changes whatever field comes under the pointer while a page is scrolled, and nobody
notices. All fields of this program with values to step through are made of this.
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget


class TurnsWithFocus:
    """Mixed into such a field, before the class of Qt."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)  # type: ignore[call-arg]
        assert isinstance(self, QWidget)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel does not give it

    def wheelEvent(self, event: QWheelEvent) -> None:
        assert isinstance(self, QWidget)
        if self.hasFocus():
            super().wheelEvent(event)  # type: ignore[misc]
        else:
            event.ignore()  # the page scrolls


class SpinBox(TurnsWithFocus, QSpinBox):
    """A whole number."""


class DoubleSpinBox(TurnsWithFocus, QDoubleSpinBox):
    """A number with decimals."""
