"""List of problems and notes of an import."""

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.pages.data.importing.checks import Problem
from app.theme import SPACE, Role, px
from app.widgets import buttons, layouts
from app.widgets.page import Picture, clear, scrolling
from app.widgets.text.labels import Text, TextStyle, plain_menu_text
from engine.phrases import join

MAX_HEIGHT = 30 * SPACE
MAX_NOTES = 50


class ProblemList(QWidget):
    """Problems first, then notes; scrolls if there are many, and has no height if there are none.

    Signals:
        cleaning_chosen: the Problem whose button was pressed.
    """

    cleaning_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Problems and notes"))
        self._shown: tuple[list[Problem], tuple[str, ...]] = ([], ())
        self._shown_buttons: list[tuple[QPushButton, str]] = []  # with the text of the problem
        self._inner = QWidget()
        self._list = layouts.column(
            parent=self._inner, spacing=2 * SPACE, margins=(0, 0, 2 * SPACE, 0)
        )
        self._area = scrolling(self._inner)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setAccessibleName(self.tr("Problems and notes"))
        self._area.setMaximumHeight(px(MAX_HEIGHT))
        layouts.column(self._area, parent=self)
        self._area.hide()

    def show_problems(self, problems: Sequence[Problem], notes: tuple[str, ...]) -> None:
        if (list(problems), notes) == self._shown:
            return
        self._shown = (list(problems), notes)
        position = self._area.verticalScrollBar().value()
        focused = next((name for widget, name in self._shown_buttons if widget.hasFocus()), None)
        if focused is not None:
            self._area.setFocus()  # otherwise another part of the page gets it
        clear(self._list)
        self._shown_buttons = []
        for problem in problems:
            role = Role.BAD if problem.is_blocking else Role.WARN
            picture = "circle-alert" if problem.is_blocking else "triangle-alert"
            if problem.is_done:
                picture, role = "info", Role.ACCENT
            self._add(picture, role, problem.text, problem.advice, problem)
        for note in notes[:MAX_NOTES]:
            self._add("info", Role.MUTED, "", note)
        self._area.setVisible(bool(problems or notes))
        same_buttons = [widget for widget, name in self._shown_buttons if name == focused]
        if same_buttons:
            same_buttons[0].setFocus()
        QTimer.singleShot(
            0, self, partial(self._fit_and_scroll, position)
        )  # its height is known only then

    def _fit_and_scroll(self, position: int) -> None:
        """Set the height of new content and restore the scroll position."""
        self._fit()
        self._area.verticalScrollBar().setValue(position)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Set the height that the sentences need at this width."""
        height = self._list.totalHeightForWidth(max(self.width(), 60 * SPACE))
        self._inner.setFixedHeight(max(height, 0))
        self._area.setFixedHeight(min(max(height, 0), MAX_HEIGHT))

    def shows(self, sentence: str) -> bool:
        """Return True if this sentence is shown."""
        return any(problem.text == sentence for problem in self._shown[0])

    def sentences(self) -> list[str]:
        """All shown sentences, for tests and screen readers."""
        problems, notes = self._shown
        return [*(join(" ", filter(None, (p.text, p.advice))) for p in problems), *notes]

    def _buttons(self, problem: Problem) -> Iterator[QPushButton]:
        if problem.cleaning_title:
            yield buttons.quiet(
                plain_menu_text(problem.cleaning_title), lambda: self.cleaning_chosen.emit(problem)
            )

    def _add(
        self, picture: str, role: Role, strong: str, plain: str, problem: Problem | None = None
    ) -> None:
        texts = layouts.column(spacing=0)
        parts: tuple[tuple[str, TextStyle], ...] = ((strong, "strong"), (plain, "muted"))
        for text, style in parts:
            if text:
                label = Text(text, style, selectable=True)
                label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
                texts.addWidget(label)
        row = layouts.row(
            (Picture(picture, 16, role), 0, Qt.AlignmentFlag.AlignTop),
            (texts, 1),
            spacing=2 * SPACE,
        )
        for button in [] if problem is None else self._buttons(problem):
            self._shown_buttons.append((button, strong))
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._list.addLayout(row)
