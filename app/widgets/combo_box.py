"""The combo box of this program."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QToolTip

from app.widgets.wheel import TurnsWithFocus


class ComboBox(TurnsWithFocus, QComboBox):
    """Its current text ends in “…” where there is too little room, and the tooltip has all of it.

    Qt cuts it off in the middle of a letter, and names of the user may be of any length.
    """

    def shown_text(self) -> str:
        """The current text, or the placeholder, as far as there is room for it."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        return self._elided(option)

    def _elided(self, option: QStyleOptionComboBox) -> str:
        control, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(control, option, part, self).width() - 1
        if not option.currentIcon.isNull():
            room -= option.iconSize.width() + 4
        return option.fontMetrics.elidedText(self._text(), Qt.TextElideMode.ElideRight, room)

    def _text(self) -> str:
        return self.placeholderText() if self.currentIndex() < 0 else self.currentText()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        if self.currentIndex() < 0:
            colour = option.palette.placeholderText()
            option.palette.setBrush(QPalette.ColorRole.ButtonText, colour)
        option.currentText = self._elided(option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self._text()
            if not self.toolTip() and self.shown_text() != text:
                QToolTip.showText(event.globalPos(), text, self)
                return True
        return super().event(event)
