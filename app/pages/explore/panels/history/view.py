"""Searchable list of inputs with actions on the selected one."""

from collections.abc import Callable

from PySide6.QtCore import QDateTime, QLocale, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app import resources, theme
from app.pages.explore.captions import masked_words
from app.pages.explore.model_input import TextInput
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.history.state import Entry, History
from app.theme import SPACE, Role
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SearchField
from app.widgets.tables import Column, ColumnsModel, Index
from app.widgets.text.labels import Text, font, visible

MIN_SEARCHABLE = 8  # number of entries from which the search field is shown

MAX_LINE = 200  # characters of a text read for one line


def panel() -> PanelDescription:
    title = tr("History")
    return PanelDescription(
        "history", title, icon="history", help="history", make=_make, area="right", is_open=False
    )


def _make(context: PanelContext) -> MakePanel:
    history = History(context.explore, context.home.inputs, context.notices)
    return lambda: HistoryView(history)


class HistoryView(Panel):
    def __init__(self, history: History) -> None:
        super().__init__()
        self.history = history
        self._last: TextInput | None = None  # selected input, restored when the rows change
        self.search = SearchField(self.tr("Search inputs"))
        self.entries = Entries(history, self)
        self.list = _List(self._open, self._remove)
        self.list.setModel(self.entries)
        self.list.setItemDelegate(Rows(self.entries))
        self.list.setAccessibleName(self.tr("Inputs"))
        self.empty_note = Text("", "muted")
        self.open_button = buttons.plain(self.tr("&Open"), self._open)
        self.pin = buttons.plain(self.tr("&Pin"), lambda: self._act(self._toggle_pin), "pin")
        self.compare = buttons.plain(
            self.tr("&Compare with this"), lambda: self._act(history.compare), "columns-2"
        )
        self.remove = buttons.plain(self.tr("R&emove"), self._remove, "trash-2")
        grid = layouts.grid(across=SPACE, down=SPACE)
        for index, button in enumerate((self.open_button, self.pin, self.compare, self.remove)):
            button.setMinimumWidth(0)
            grid.addWidget(button, index // 2, index % 2)
        layouts.column(
            self.search,
            (self.list, 1),
            self.empty_note,
            grid,
            parent=self,
            spacing=2 * SPACE,
            margins=(2 * SPACE, 2 * SPACE, 0, 0),
        )
        self.search.textChanged.connect(self.entries.search)
        self.entries.modelReset.connect(self._on_entries)
        self.list.selectionModel().currentChanged.connect(self._on_chosen)
        self.list.doubleClicked.connect(lambda _: self._open())
        self._on_entries()

    def chosen(self) -> Entry | None:
        index = self.list.currentIndex()
        return self.entries.row(index.row()) if index.isValid() else None

    def choose(self, row: int) -> None:
        self.list.setCurrentIndex(self.entries.index(row, 0))

    def _on_entries(self) -> None:
        count = len(self.history.entries)
        self.search.setVisible(count > MIN_SEARCHABLE or bool(self.search.text()))
        has_rows = bool(self.entries.rows)
        self.list.setVisible(has_rows)
        self.empty_note.setVisible(not has_rows)
        self.empty_note.setText(
            self.tr("No matching inputs.")
            if count
            else self.tr("Inputs you view for two seconds are saved here.")
        )
        if self._last is not None:
            self._choose_input(self._last)
        self._on_chosen()

    def _on_chosen(self) -> None:
        entry = self.chosen()
        self._last = entry.input if entry is not None else self._last
        for button in (self.open_button, self.pin, self.compare, self.remove):
            button.setEnabled(entry is not None)
        self.pin.setText(self.tr("Un&pin") if entry and entry.pinned else self.tr("&Pin"))
        self.pin.setAccessibleName(self.pin.text().replace("&", ""))

    def _act(self, act: Callable[[Entry], object]) -> None:
        entry = self.chosen()
        if entry is not None:
            act(entry)

    def _open(self) -> None:
        self._act(self.history.open)

    def _toggle_pin(self, entry: Entry) -> None:
        self.history.pin(entry, not entry.pinned)

    def _remove(self) -> None:
        row = self.list.currentIndex().row()
        self._act(self.history.remove)
        if row >= 0:
            self.choose(min(row, len(self.entries.rows) - 1))

    def _choose_input(self, entered: TextInput) -> None:
        for row, each in enumerate(self.entries.rows):
            if each.input == entered:
                self.choose(row)


class _List(QListView):
    """Enter opens, Delete removes."""

    def __init__(self, opens: Callable[[], None], removes: Callable[[], None]) -> None:
        super().__init__()
        self._acts = {
            Qt.Key.Key_Return: opens,
            Qt.Key.Key_Enter: opens,
            Qt.Key.Key_Delete: removes,
            Qt.Key.Key_Backspace: removes,
        }
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        act = self._acts.get(Qt.Key(event.key()))
        if act is not None:
            act()
        else:
            super().keyPressEvent(event)


class Entries(ColumnsModel[Entry]):
    """The entries that match a search: pinned ones first, then the newest."""

    def __init__(self, history: History, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.columns = [
            Column(
                "",
                self.line,
                tooltip=lambda entry: "\n".join(entry.input.texts),
                roles={Qt.ItemDataRole.AccessibleTextRole: self._spoken_line},
            )
        ]
        self._history = history
        self._words: list[str] = []
        history.changed.connect(self._refresh)
        self._refresh()

    def search(self, text: str) -> None:
        self._words = text.casefold().split()
        self._refresh()

    def _refresh(self) -> None:
        matches = [e for e in self._history.entries if self._matches(e)]
        self.show_rows(sorted(matches, key=lambda e: not e.pinned))

    def _matches(self, entry: Entry) -> bool:
        texts = [text.casefold() for text in entry.input.texts]
        return all(any(word in text for text in texts) for word in self._words)

    def line(self, entry: Entry) -> str:
        """The beginning of the text."""
        return visible(" ".join(entry.input.text[:MAX_LINE].split()))

    def details(self, entry: Entry) -> str:
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

    def _spoken_line(self, entry: Entry) -> str:
        pinned = self.tr("pinned") if entry.pinned else ""
        return ", ".join(filter(None, (self.line(entry), pinned, self.details(entry))))


class Rows(QStyledItemDelegate):
    """Paints the text, details below it, and a pin at the right."""

    def __init__(self, entries: Entries) -> None:
        super().__init__(entries)
        self._entries = entries

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetrics(font()).height() + QFontMetrics(font("small")).height()
        return QSize(40 * SPACE, lines + 4 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry = self._entries.row(index.row())
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
            box = QRect(words.right() - side, words.top(), side, side)
            resources.icon("pin", Role.ACCENT).paint(painter, box)
            words.setRight(words.right() - side - SPACE)
        for text_font, text, role, align in (
            (font(), self._entries.line(entry), Role.TEXT, Qt.AlignmentFlag.AlignTop),
            (font("small"), self._entries.details(entry), Role.MUTED, Qt.AlignmentFlag.AlignBottom),
        ):
            painter.setFont(text_font)
            painter.setPen(theme.colour(role))
            line = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideRight, words.width()
            )
            painter.drawText(words, align | Qt.AlignmentFlag.AlignLeft, line)
        painter.restore()
