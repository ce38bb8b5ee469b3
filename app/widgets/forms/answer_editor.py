"""Editor of the answers to a question: words of the passage are selected."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import SPACE, px
from app.widgets import buttons, layouts
from app.widgets.text.labels import Text, TextView, visible
from app.widgets.text.marked_spans import mark_spans, utf16_index, utf16_length
from engine.data.columns.answers import Answer, AnswerMismatch, format_answers, parse_answers

CONTROL = Qt.KeyboardModifier.ControlModifier
MIN_HEIGHT = 26 * SPACE  # px of the passage


class AnswerEditor(QWidget):
    """A passage with its answers marked, and buttons that make the selected words an answer.

    Words are selected by mouse (a double click selects one) or by Shift and the arrow keys. Enter
    makes them the answer, Shift+Enter one more accepted answer, Delete removes all answers.

    Signals:
        edited: the user changed `cell`.
    """

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.answers: tuple[Answer, ...] = ()
        self._text = ""
        self.question = Text("", "strong")
        self.passage = _Passage(self.tr("Passage with the answers"))
        self.passage.setMinimumHeight(px(MIN_HEIGHT))
        self.passage.entered.connect(lambda adds: self._on_add() if adds else self._on_use())
        self.passage.deleted.connect(self.clear)
        self.passage.selectionChanged.connect(self._show_state)
        self.given = Text("", "muted")
        self.use = buttons.plain(self.tr("&Use selection as answer"), self._on_use)
        self.add = buttons.quiet(self.tr("&Add selection"), self._on_add)
        self.add.setToolTip(self.tr("One more accepted answer"))
        self.remove = buttons.quiet(self.tr("&No answer"), self.clear)
        row = layouts.row(self.use, self.add, self.remove, layouts.STRETCH, spacing=2 * SPACE)
        parts = self.question, (self.passage, 1), self.given, row
        layouts.column(*parts, parent=self, spacing=2 * SPACE)
        self.show_row("", "", "")

    def show_row(self, question: str, passage: str, cell: str) -> None:
        """Show a question, its passage, and the answers in a cell.

        The selection stays if the passage is the same.
        """
        self.question.setText(visible(question))
        self.question.setVisible(bool(question))
        if passage != self._text or not passage:
            self._text = passage
            # as many characters as in the passage: Qt makes one line break of two characters
            self.passage.setPlainText(passage.replace("\r\n", " \n").replace("\r", "\n"))
        try:
            self.answers, problem = parse_answers(cell, passage), ""
        except AnswerMismatch as mismatch:
            self.answers, problem = (), str(mismatch)
        self._show_state()
        if problem:
            self.given.setText(problem[:1].upper() + problem[1:] + ".")

    @property
    def cell(self) -> str:
        """The answers as a cell."""
        return format_answers(self.answers)

    def selection(self) -> Answer | None:
        """The selected part of the passage without white space around it; None if it is empty."""
        cursor = self.passage.textCursor()
        start, end = (
            utf16_index(self._text, place)
            for place in (cursor.selectionStart(), cursor.selectionEnd())
        )
        text = self._text[start:end]
        start += len(text) - len(text.lstrip())
        return Answer(text.strip(), start) if text.strip() else None

    def select(self, start: int, end: int) -> None:
        """Select characters of the passage."""
        cursor = self.passage.textCursor()
        cursor.setPosition(utf16_length(self._text[:start]))
        cursor.setPosition(utf16_length(self._text[:end]), QTextCursor.MoveMode.KeepAnchor)
        self.passage.setTextCursor(cursor)

    def set_answers(self, answers: Sequence[Answer]) -> None:
        """Replace the answers, as the user does."""
        if tuple(answers) != self.answers:
            self.answers = tuple(answers)
            self._show_state()
            self.edited.emit()

    def clear(self) -> None:
        """Remove all answers, as the user does."""
        self.set_answers(())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.is_theme_change(event):
            self._show_state()

    def _on_use(self) -> None:
        if (selected := self.selection()) is not None:
            self.set_answers([selected])

    def _on_add(self) -> None:
        if (selected := self.selection()) is not None and selected not in self.answers:
            self.set_answers([*self.answers, selected])

    def _show_state(self) -> None:
        spans = [(start, start + len(text)) for text, start in self.answers]
        mark_spans(self.passage, self._text, spans)
        texts = " · ".join(f"“{visible(answer.text)}”" for answer in self.answers)
        shown = self.tr("Answers: {0}").format(texts) if texts else self.tr("No answer.")
        self.given.setText(shown if self._text else self.tr("Select a row to see its answers."))
        is_selected = self.selection() is not None
        self.use.setEnabled(is_selected)
        self.add.setEnabled(is_selected and bool(self.answers))
        self.remove.setEnabled(bool(self.answers))


class _Passage(TextView):
    """A text in which words are selected by mouse and keys.

    Signals:
        entered: Enter was pressed; True with Shift.
        deleted: Delete was pressed.
    """

    entered = Signal(bool)
    deleted = Signal()

    def __init__(self, name: str) -> None:
        super().__init__(name, mono=False)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        modifiers = event.modifiers()
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if not modifiers & CONTROL:
                self.entered.emit(bool(modifiers & Qt.KeyboardModifier.ShiftModifier))
            case Qt.Key.Key_Delete:
                self.deleted.emit()
            case _:
                super().keyPressEvent(event)
