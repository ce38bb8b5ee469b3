"""Rows of the history: pinned entries first, then the newest."""

from PySide6.QtCore import (
    QAbstractListModel,
    QDateTime,
    QLocale,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app import resources, theme
from app.pages.explore.captions import masked_words
from app.pages.explore.panels.history.state import Entry, History
from app.theme import SPACE, Role
from app.widgets.text.labels import font, tooltip, visible

Index = QModelIndex | QPersistentModelIndex
ENTRY = Qt.ItemDataRole.UserRole
MAX_LINE = 200  # characters of a text read for one line


class Entries(QAbstractListModel):
    """The entries that match a search."""

    def __init__(self, history: History, parent: QWidget) -> None:
        super().__init__(parent)
        self._history = history
        self._wanted = ""
        self.rows: list[Entry] = []
        history.changed.connect(self._take)
        self._take()

    def search(self, wanted: str) -> None:
        self._wanted = wanted.casefold()
        self._take()

    def _take(self) -> None:
        found = [e for e in self._history.entries if self._fits(e)]
        found.sort(key=lambda e: not e.pinned)  # stable: newest first within each group
        self.beginResetModel()
        self.rows = found
        self.endResetModel()

    def _fits(self, entry: Entry) -> bool:
        return all(
            any(word in text.casefold() for text in entry.input.texts)
            for word in self._wanted.split()
        )

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        entry = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.line(entry)
        if role == ENTRY:
            return entry
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip("\n".join(entry.input.texts))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            pinned = self.tr("pinned") if entry.pinned else ""
            return ", ".join(filter(None, (self.line(entry), pinned, self.below(entry))))
        return None

    def line(self, entry: Entry) -> str:
        """The beginning of the text."""
        return visible(" ".join(entry.input.text[:MAX_LINE].split()))

    def below(self, entry: Entry) -> str:
        """Second text, masked words and time."""
        parts = []
        if entry.input.pair is not None:
            parts.append(f"+ {' '.join(entry.input.pair[:MAX_LINE].split())}")
        masked = masked_words(entry.input)
        if masked:
            parts.append(self.tr("masked: {0}").format(", ".join(masked)))
        at = QDateTime.fromString(entry.at, Qt.DateFormat.ISODate)
        if at.isValid():
            parts.append(QLocale().toString(at, QLocale.FormatType.ShortFormat))
        return visible(" · ".join(parts))


class Rows(QStyledItemDelegate):
    """Paints the text, details below it, and a pin at the right."""

    def __init__(self, entries: Entries, parent: QWidget) -> None:
        super().__init__(parent)
        self._entries = entries

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetrics(font()).height() + QFontMetrics(font("small")).height()
        return QSize(40 * SPACE, lines + 4 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: Entry = index.data(ENTRY)
        rect = QRect(option.rect).adjusted(2, 1, -2, -1)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1.5) if chosen else Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Role.ACCENT_SOFT if chosen else Role.HOVER))
            painter.drawRoundedRect(QRectF(rect).adjusted(1, 1, -1, -1), 6, 6)
        words = rect.adjusted(2 * SPACE, 2 * SPACE, -2 * SPACE, -2 * SPACE)
        if entry.pinned:
            side = 16
            place = QRect(words.right() - side, words.top(), side, side)
            resources.icon("pin", Role.ACCENT).paint(painter, place)
            words.setRight(words.right() - side - SPACE)
        for look, text, role, align in (
            (font(), self._entries.line(entry), Role.TEXT, Qt.AlignmentFlag.AlignTop),
            (font("small"), self._entries.below(entry), Role.MUTED, Qt.AlignmentFlag.AlignBottom),
        ):
            painter.setFont(look)
            painter.setPen(theme.colour(role))
            cut = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, words.width())
            painter.drawText(words, align | Qt.AlignmentFlag.AlignLeft, cut)
        painter.restore()
