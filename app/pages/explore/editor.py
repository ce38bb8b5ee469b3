"""Editor of a text: plain, a few lines high, limited in length."""

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy

from app.pages.explore.model_input import MAX_CHARACTERS
from app.theme import SPACE
from app.widgets.text.labels import height_of_lines

MIN_LINES, MAX_LINES = 1, 3  # visible lines before the editor scrolls


class Editor(QPlainTextEdit):
    """Accepts at most MAX_CHARACTERS: Qt needs a minute to lay out a line of a megabyte.

    Signals:
        edited: the text changed, in any way.
        shortened: number of characters before truncation; 0 if the text is complete.
    """

    edited = Signal(str)
    shortened = Signal(int)

    def __init__(self, name: str, hint: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(hint)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(SPACE / 2)
        self._lines = 0
        self.textChanged.connect(self._on_changed)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())

    def set_text(self, text: str) -> None:
        """Show another text; a truncated one emits `shortened`."""
        if text == self.toPlainText():
            return
        self.setPlainText(text[:MAX_CHARACTERS])
        if self.hasFocus():  # the user continues typing after it
            self.moveCursor(QTextCursor.MoveOperation.End)
        self.shortened.emit(len(text) if len(text) > MAX_CHARACTERS else 0)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste or drop as plain text, as much as fits."""
        text = source.text()
        cursor = self.textCursor()
        marked = abs(cursor.selectionEnd() - cursor.selectionStart())
        before = len(self.toPlainText()) - marked
        cursor.insertText(text[: max(0, MAX_CHARACTERS - before)])
        self.ensureCursorVisible()
        if before + len(text) > MAX_CHARACTERS:
            self.shortened.emit(before + len(text))

    def sizeHint(self) -> QSize:
        lines = max(self._lines, MIN_LINES)
        return QSize(super().sizeHint().width(), height_of_lines(self, lines))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() == Qt.FocusReason.TabFocusReason:
            self.moveCursor(QTextCursor.MoveOperation.End)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()  # another width can mean other lines, without a signal from Qt

    def _on_changed(self) -> None:
        text = self.toPlainText()
        if len(text) > MAX_CHARACTERS:  # typed, or from an input method
            whole = len(text)
            cursor = self.textCursor()
            cursor.setPosition(MAX_CHARACTERS)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self.shortened.emit(whole)
            return
        if len(text) < MAX_CHARACTERS:
            self.shortened.emit(0)
        self.edited.emit(text)

    def _fit(self) -> None:
        """Fit the height to the text, between MIN_LINES and MAX_LINES lines."""
        lines = min(MAX_LINES, max(MIN_LINES, round(self.document().size().height())))
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
