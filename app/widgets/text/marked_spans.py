"""Spans of a text marked by colour and underline."""

from collections.abc import Iterable

from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app import theme
from app.theme import Role


def mark_spans(
    view: QTextEdit | QPlainTextEdit, text: str, spans: Iterable[tuple[int, int]]
) -> None:
    """Mark spans of the shown `text`: first and last character (code points), the last excluded."""
    selections = []
    for start, end in spans:
        selection = QTextEdit.ExtraSelection()
        cursor = QTextCursor(view.document())
        cursor.setPosition(utf16_length(text[:start]))
        cursor.setPosition(utf16_length(text[:end]), QTextCursor.MoveMode.KeepAnchor)
        format_ = QTextCharFormat()
        format_.setBackground(theme.colour(Role.ACCENT, 0.25))
        format_.setFontWeight(QFont.Weight.DemiBold)
        format_.setFontUnderline(True)
        selection.cursor, selection.format = cursor, format_
        selections.append(selection)
    view.setExtraSelections(selections)


def utf16_length(text: str) -> int:
    """Length of a text in UTF-16 units, as Qt counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_index(text: str, units: int) -> int:
    """Index of the character (code point) of a text at a position in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))
