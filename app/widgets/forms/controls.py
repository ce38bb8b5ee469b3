"""Single controls: combo boxes, completions, number fields, switches, checkable menus.

Spin and combo boxes turn with the mouse wheel only if they have the focus; otherwise Qt changes
the field under the pointer while a page scrolls.
"""

import math
from collections.abc import Iterable
from typing import Literal

from PySide6.QtCore import QAbstractItemModel, QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QValidator,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QCompleter,
    QDoubleSpinBox,
    QLineEdit,
    QMenu,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

from app import resources, theme
from app.theme import Role, px
from app.widgets.text.labels import one_line
from engine.config.typed_numbers import parse_probability, parse_typed_number
from engine.phrases import number_text


class WheelMixin:
    """Ignores the wheel in a field without the focus; list it before the Qt class."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        assert isinstance(self, QWidget)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # not by the wheel
        if isinstance(self, QAbstractSpinBox):  # Qt's style sheets cannot pad its text
            self.lineEdit().setTextMargins(7, 0, 0, 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        assert isinstance(self, QWidget)
        if self.hasFocus():
            super().wheelEvent(event)  # type: ignore[misc]
        else:
            event.ignore()  # the page scrolls


class SpinBox(WheelMixin, QSpinBox):
    """An integer field."""


class DoubleSpinBox(WheelMixin, QDoubleSpinBox):
    """A decimal field."""


class ProbabilityBox(DoubleSpinBox):
    """A probability in per cent; 80, 80 % and 0.8 are the same."""

    def __init__(self, name: str = "", value: float = 0.0) -> None:
        super().__init__(name)
        self.setDecimals(PROBABILITY_DECIMALS)
        self.setRange(0, 1)
        self.setSingleStep(0.05)
        self.setValue(value)

    def setValue(self, value: float) -> None:
        """Leave what is being typed if it is this value, as Qt does not."""
        if round(value, PROBABILITY_DECIMALS) != self.value() or not self.hasFocus():
            super().setValue(value)

    def textFromValue(self, value: float) -> str:
        return f"{number_text(round(100 * value, 2))} %"

    def valueFromText(self, text: str) -> float:
        value = self._parse(text)
        return self.value() if value is None else value

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        state = QValidator.State
        if text == self.specialValueText() or self._parse(text) is not None:
            return state.Acceptable, text, position
        return state.Intermediate, text, position

    def _parse(self, text: str) -> float | None:
        return parse_probability(text, self.maximum())


MAX_VISIBLE_ITEMS = 20  # of a popup, before it scrolls


class ComboBox(WheelMixin, QComboBox):
    """A combo box that elides its current text; the tooltip has all of it.

    Qt would truncate it within a letter, and user-defined names may have any length. With
    `characters` the box is that wide, whatever the length of its items.
    """

    def __init__(
        self, name: str = "", characters: int = 0, items: Iterable[tuple[str, object]] = ()
    ) -> None:
        """`items` are texts with their data."""
        super().__init__(name)
        for text, value in items:
            self.addItem(text, value)
        self.setMaxVisibleItems(MAX_VISIBLE_ITEMS)
        if characters:
            policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            self.setSizeAdjustPolicy(policy)
            self.setMinimumContentsLength(characters)

    def shown_text(self) -> str:
        """The current text or placeholder, elided."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        return self._elided(option)

    def setEditable(self, editable: bool) -> None:
        """With completions in a list: Qt's own completer replaces what is typed on Enter."""
        super().setEditable(editable)
        if editable:
            self.setCompleter(Completer(self.model(), self))

    def _elided(self, option: QStyleOptionComboBox) -> str:
        control, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        width = self.style().subControlRect(control, option, part, self).width() - 1
        if not option.currentIcon.isNull():
            width -= option.iconSize.width() + 4
        return option.fontMetrics.elidedText(self._text(), Qt.TextElideMode.ElideRight, width)

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


class Completer(QCompleter):
    """Completions whose popup has the style of the window: it has no owner to inherit it from."""

    def __init__(self, options: list[str] | QAbstractItemModel, parent: QObject) -> None:
        super().__init__(options, parent)
        popup = self.popup()
        assert popup is not None
        theme.set_style(popup)


class SearchField(QLineEdit):
    """A search line with a button that clears it."""

    def __init__(self, text: str, name: str = "", has_icon: bool = False) -> None:
        """`text` is shown while it is empty; `name` for screen readers is the same by default."""
        super().__init__()
        self.setPlaceholderText(text)
        self.setAccessibleName(name or text)
        self.setClearButtonEnabled(True)
        if has_icon:
            self.addAction(resources.icon("search"), QLineEdit.ActionPosition.LeadingPosition)


PROBABILITY_DECIMALS = 6

Stepping = Literal["double", "decades"] | float

MARKS = (1.0, 2.0, 3.0, 5.0, 10.0)  # within a decade


class NumberField(WheelMixin, QAbstractSpinBox):
    """A number, typed in any notation (5e-5, 0.00005, 0,00005) or stepped.

    `stepping` is a distance, “double” for powers of two, or “decades” for 1, 2, 3, 5, 10, … With
    `is_fraction`, 80 and 80 % are 0.8.

    Signals:
        changed: the text has changed, to a number or not.
    """

    changed = Signal()

    def __init__(
        self,
        value: float = 0,
        stepping: Stepping = 1.0,
        integer: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> None:
        super().__init__()
        self._stepping, self.integer = stepping, integer
        self._low, self._high = low, high
        self.is_fraction = False
        self.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.setAccelerated(True)
        self.lineEdit().textChanged.connect(lambda _: self.changed.emit())
        self.set_number(value)

    def number(self) -> float | int | None:
        """The typed number, possibly out of range; None if it is not a number."""
        return self.parse(self.text())

    def parse(self, text: str) -> float | int | None:
        """The number in a text as if it were typed; None if it is none."""
        return (
            parse_probability(text) if self.is_fraction else parse_typed_number(text, self.integer)
        )

    def set_number(self, value: float | None) -> None:
        self.lineEdit().setText("" if value is None else number_text(value))

    def stepBy(self, steps: int) -> None:
        value = self.number()
        now = float(value) if value is not None else max(self._low, 0.0)
        for _ in range(abs(steps)):
            now = self._next(now, 1 if steps > 0 else -1)
        now = min(max(now, self._low), self._high)
        self.set_number(round(now) if self.integer else now)
        self.lineEdit().selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        value = self.number()
        enabled = QAbstractSpinBox.StepEnabledFlag.StepNone
        if value is None or value < self._high:
            enabled |= QAbstractSpinBox.StepEnabledFlag.StepUpEnabled
        if value is None or value > self._low:
            enabled |= QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        return enabled

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept anything; problems are shown next to the field."""
        return QValidator.State.Acceptable, text, position

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
            new = math.floor(power + 1e-9) + 1 if direction > 0 else math.ceil(power - 1e-9) - 1
            return float(2.0**new)
        if self._stepping == "decades":
            return _next_mark(value, direction, self.integer)
        raw = (value / float(self._stepping) + direction) * float(self._stepping)
        return float(f"{raw:.10g}")


def _next_mark(value: float, direction: int, integer: bool) -> float:
    if value < 0 or (value == 0 and direction < 0):
        return value
    if value == 0:
        return 1.0 if integer else 1e-8
    exponent = math.floor(math.log10(value))
    marks = [m * 10.0**e for e in (exponent - 1, exponent, exponent + 1) for m in MARKS[:-1]]
    if direction > 0:
        return float(f"{min(m for m in marks if m > value * (1 + 1e-9)):.6g}")
    lower = max(m for m in marks if m < value * (1 - 1e-9))
    return 0.0 if integer and lower < 1 else float(f"{lower:.6g}")


TRACK = QSize(36, 20)
RING = 3  # px around the track, for the focus


class Switch(QAbstractButton):
    """A switch, toggled by a click or Space."""

    def __init__(self, name: str, on: bool = False) -> None:
        super().__init__()
        self.setCheckable(True)
        self.setChecked(on)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return TRACK + QSize(px(2 * RING), px(2 * RING))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(self.rect()).adjusted(RING, RING, -RING, -RING)
        on, usable = self.isChecked(), self.isEnabled()
        fill = (Role.ACCENT if on else Role.HOVER) if usable else Role.HOVER
        edge = (Role.ACCENT if on else Role.EDGE) if usable else Role.BORDER
        painter.setPen(QPen(theme.colour(edge), 1))
        painter.setBrush(theme.colour(fill))
        inner = track.adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(inner, inner.height() / 2, inner.height() / 2)
        knob = QRectF(0, 0, 12, 12)
        knob.moveCenter(track.center())
        knob.moveLeft(track.right() - 16 if on else track.left() + 4)
        painter.setPen(Qt.PenStyle.NoPen)
        role = (Role.ON_ACCENT if on else Role.MUTED) if usable else Role.DISABLED
        painter.setBrush(theme.colour(role))
        painter.drawEllipse(knob)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour(Role.ACCENT), 2))
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)


class CheckableMenu(QMenu):
    """A menu that stays open while checkable entries are clicked or toggled by Space."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed: QAction | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self._checkable(self.actionAt(event.position().toPoint()))
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        action, self._pressed = self._pressed, None
        if action is None or action is not self.actionAt(event.position().toPoint()):
            super().mouseReleaseEvent(event)
            return
        action.setEnabled(False)  # a click on a disabled one does not close the menu
        super().mouseReleaseEvent(event)
        action.setEnabled(True)
        action.trigger()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._checkable(self.activeAction())
        if event.key() == Qt.Key.Key_Space and action is not None:
            action.trigger()
        else:
            super().keyPressEvent(event)

    def _checkable(self, action: QAction | None) -> QAction | None:
        usable = action is not None and action.isCheckable() and action.isEnabled()
        return action if usable else None


MENU_CHARACTERS = 100  # per column in the menu
SHOWN_CHARACTERS = 40  # per chosen column


class ColumnsBox(ComboBox):
    """A combo box of several columns; its popup is a menu to check them.

    Signals:
        changed: the user has chosen other columns.
    """

    changed = Signal()

    def __init__(self, name: str, characters: int = 0) -> None:
        super().__init__(name, characters)
        self.addItem("")
        self._columns: tuple[str, ...] = ()
        self._chosen: frozenset[str] = frozenset()
        self.menu = CheckableMenu(self)
        self.menu.aboutToShow.connect(self.fill)
        self._update_text()

    def showPopup(self) -> None:
        self.menu.setMinimumWidth(self.width())
        self.menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def show_columns(self, columns: tuple[str, ...], chosen: tuple[str, ...]) -> None:
        """Offer columns and check the chosen ones, without a signal."""
        if columns != self._columns:
            self._columns = columns
            self.menu.clear()
        self._chosen = frozenset(chosen)
        for column, action in zip(self._columns, self.menu.actions(), strict=False):
            action.setChecked(column in self._chosen)
        self._update_text()

    def chosen(self) -> tuple[str, ...]:
        """Chosen columns in the order of the file."""
        return tuple(column for column in self._columns if column in self._chosen)

    def fill(self) -> None:
        """Make the entries when the menu is opened: there may be thousands."""
        if self.menu.actions():
            return
        for column in self._columns:
            action = self.menu.addAction(one_line(column, MENU_CHARACTERS).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(column in self._chosen)
            action.triggered.connect(lambda on, column=column: self._on_ticked(column, on))

    def _on_ticked(self, column: str, on: bool) -> None:
        self._chosen = self._chosen | {column} if on else self._chosen - {column}
        self._update_text()
        self.changed.emit()

    def _update_text(self) -> None:
        names = ", ".join(one_line(column, SHOWN_CHARACTERS) for column in self.chosen())
        self.setItemText(0, names or self.tr("none"))
