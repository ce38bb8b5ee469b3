"""Buttons in their styles.

Texts may mark a key with “&”; pass names chosen by the user through `plain_menu_text` first.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QMargins, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QToolButton, QWidget

from app import resources
from app.theme import Role, px
from app.widgets import layouts
from app.widgets.keys import horizontal_step
from app.widgets.text.labels import tooltip, without_key


def text_icon_size() -> QSize:
    """Size of the icon of a button with 6 px before its text."""
    return QSize(px(22), px(16))


def _button(text: str, kind: str, icon: str, act: Callable[[], object] | None) -> QPushButton:
    button = QPushButton(text)
    _apply_style(button, text, kind, icon, act)
    return button


def _apply_style(
    button: QPushButton, text: str, kind: str, icon: str, act: Callable[[], object] | None
) -> None:
    button.setProperty("kind", kind)
    button.setAccessibleName(without_key(text))
    button.setAutoDefault(False)
    if icon:
        role = {"primary": Role.ON_ACCENT, "quiet": Role.ACCENT, "danger": Role.BAD}.get(
            kind, Role.TEXT
        )
        button.setIcon(resources.icon(icon, role))
        button.setIconSize(text_icon_size())
    if act is not None:
        button.clicked.connect(lambda _=False: act())


def set_text(button: QPushButton, text: str) -> None:
    """Change the text and the accessible name of a button."""
    button.setText(text)
    button.setAccessibleName(without_key(text))


def primary(text: str, act: Callable[[], object] | None = None, icon: str = "") -> QPushButton:
    """A button for the main action of a page."""
    return _button(text, "primary", icon, act)


def plain(text: str, act: Callable[[], object] | None = None, icon: str = "") -> QPushButton:
    """A button for one of several actions."""
    return _button(text, "plain", icon, act)


def quiet(text: str, act: Callable[[], object] | None = None, icon: str = "") -> QPushButton:
    """A button for a minor action; looks like a link."""
    return _button(text, "quiet", icon, act)


def danger(text: str, act: Callable[[], object] | None = None, icon: str = "") -> QPushButton:
    """A button for a destructive action."""
    return _button(text, "danger", icon, act)


def icon_button(
    name: str, text: str, act: Callable[[], object] | None = None, checkable: bool = False
) -> QToolButton:
    """A button with only an icon; `text` is its tooltip and accessible name."""
    button = QToolButton()
    style_icon_button(button, name, text)
    button.setCheckable(checkable)
    if act is not None:
        button.clicked.connect(lambda _=False: act())
    return button


def style_icon_button(button: QToolButton, name: str, text: str) -> None:
    """Give a button the style and accessible name of an icon button."""
    button.setIcon(resources.icon(name, Role.MUTED, Role.ACCENT))
    button.setIconSize(QSize(px(16), px(16)))
    button.setToolTip(tooltip(text))
    button.setAccessibleName(text)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)


class _Segment(QPushButton):
    """A button as wide as its text in bold, which the style sheet uses when it is chosen."""

    def sizeHint(self) -> QSize:
        hint, bold, text = super().sizeHint(), self.font(), without_key(self.text())
        bold.setWeight(QFont.Weight.DemiBold)
        more = QFontMetrics(bold).horizontalAdvance(text) - self.fontMetrics().horizontalAdvance(
            text
        )
        return hint.grownBy(QMargins(0, 0, max(more, 0), 0))


class Segments(QWidget):
    """Joined buttons of which one is chosen, in several rows if necessary; arrow keys move it.

    Signals:
        chosen: index chosen by the user.
    """

    chosen = Signal(int)

    def __init__(self, texts: Sequence[str], name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.group = QButtonGroup(self)
        row = layouts.wrap(parent=self, spacing=0)
        for index, text in enumerate(texts):
            button = _Segment(text)
            _apply_style(button, text, "plain", "", None)
            button.setCheckable(True)
            button.setAccessibleName(f"{name}: {button.accessibleName()}")
            button.setProperty("segment", True)
            button.setProperty("first", index == 0)
            button.setProperty("last", index == len(texts) - 1)
            self.group.addButton(button, index)
            row.addWidget(button)
        self.group.idClicked.connect(self.chosen)

    def choose(self, index: int) -> None:
        """Choose an index, or none for -1, without emitting `chosen`."""
        button = self.group.button(index)
        if button is not None:
            button.setChecked(True)
            return
        self.group.setExclusive(False)
        for other in self.group.buttons():
            other.setChecked(False)
        self.group.setExclusive(True)

    def choice(self) -> int:
        """The chosen index, or -1."""
        return self.group.checkedId()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        buttons = self.group.buttons()
        focused = next((n for n, b in enumerate(buttons) if b.hasFocus()), -1)
        if not step or focused < 0:
            super().keyPressEvent(event)
            return
        target = buttons[(focused + step) % len(buttons)]
        target.setFocus(Qt.FocusReason.TabFocusReason)
        target.click()
