"""The pages of the window, one at a time; the keyboard stays with the page that has it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QWidget


class PageStack(QStackedWidget):
    """Where what has the keyboard is hidden or disabled, the next part of the page gets it.

    Qt gives it to the next in the window, which may be a button of the navigation: Enter would
    then lead to another page.
    """

    def focusNextPrevChild(self, forward: bool) -> bool:
        focused, page = self.focusWidget(), self.currentWidget()
        is_lost = focused is None or not (focused.isVisible() and focused.isEnabled())
        if is_lost and page is not None:
            (_after(focused or page, page) or self).setFocus()
            return True
        return super().focusNextPrevChild(forward)


def _after(widget: QWidget, page: QWidget) -> QWidget | None:
    """What can have the keyboard next to `widget` on a page."""
    after = widget.nextInFocusChain()
    while after is not None and after is not widget:
        can = after.isVisible() and after.isEnabled()
        if can and after.focusPolicy() & Qt.FocusPolicy.TabFocus and page.isAncestorOf(after):
            return after
        after = after.nextInFocusChain()
    return None
