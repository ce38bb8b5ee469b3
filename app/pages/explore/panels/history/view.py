"""Searchable list of previous inputs, with actions on the selected one."""

from collections.abc import Callable

from PySide6.QtCore import QDateTime, QLocale, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app import resources, theme
from app.pages.explore.captions import masked_words
from app.pages.explore.model_input import TextInput
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.history.state import Entry, History
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SearchField
from app.widgets.tables import Column, ColumnsModel, Index
from app.widgets.text.labels import Text, font, visible

SEARCH_THRESHOLD = 8  # the search field is shown above this number of entries
MAX_LINE_CHARACTERS = 200


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
        self._selected_input: TextInput | None = None  # restored when the rows change
        self.search = SearchField(self.tr("Search inputs"))
        self.entries = EntriesModel(history, self)
        self.list = _List(self._open, self._remove)
        self.list.setModel(self.entries)
        self.list.setItemDelegate(EntryDelegate(self.entries))
        self.list.setAccessibleName(self.tr("Inputs"))
        self.empty_note = Text("", "muted")
        self.open_button = buttons.plain(self.tr("&Open"), self._open)
        self.pin = buttons.plain(self.tr("&Pin"), lambda: self._apply(self._toggle_pin), "pin")
        self.compare = buttons.plain(
            self.tr("&Compare with this"), lambda: self._apply(history.compare), "columns-2"
        )
        self.remove = buttons.plain(self.tr("R&emove"), self._remove, "trash-2")
        grid = layouts.grid(h_spacing=SPACE, v_spacing=SPACE)
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
        self.search.setVisible(count > SEARCH_THRESHOLD or bool(self.search.text()))
        has_rows = bool(self.entries.rows)
        self.list.setVisible(has_rows)
        self.empty_note.setVisible(not has_rows)
        self.empty_note.setText(
            self.tr("No matching inputs.")
            if count
            else self.tr("Inputs you view for two seconds are saved here.")
        )
        if self._selected_input is not None:
            self._choose_input(self._selected_input)
        self._on_chosen()

    def _on_chosen(self) -> None:
        entry = self.chosen()
        self._selected_input = entry.input if entry is not None else self._selected_input
        for button in (self.open_button, self.pin, self.compare, self.remove):
            button.setEnabled(entry is not None)
        self.pin.setText(self.tr("Un&pin") if entry and entry.pinned else self.tr("&Pin"))
        self.pin.setAccessibleName(self.pin.text().replace("&", ""))

    def _apply(self, action: Callable[[Entry], object]) -> None:
        entry = self.chosen()
        if entry is not None:
            action(entry)

    def _open(self) -> None:
        self._apply(self.history.open)

    def _toggle_pin(self, entry: Entry) -> None:
        self.history.pin(entry, not entry.pinned)

    def _remove(self) -> None:
        row = self.list.currentIndex().row()
        self._apply(self.history.remove)
        if row >= 0:
            self.choose(min(row, len(self.entries.rows) - 1))

    def _choose_input(self, entered: TextInput) -> None:
        for row, entry in enumerate(self.entries.rows):
            if entry.input == entered:
                self.choose(row)


class _List(QListView):
    """A list whose Enter key opens and whose Delete key removes an entry."""

    def __init__(self, on_open: Callable[[], None], on_remove: Callable[[], None]) -> None:
        super().__init__()
        self._actions_by_key = {
            Qt.Key.Key_Return: on_open,
            Qt.Key.Key_Enter: on_open,
            Qt.Key.Key_Delete: on_remove,
            Qt.Key.Key_Backspace: on_remove,
        }
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._actions_by_key.get(Qt.Key(event.key()))
        if action is not None:
            action()
        else:
            super().keyPressEvent(event)


class EntriesModel(ColumnsModel[Entry]):
    """The entries that match a search: pinned ones first, then the newest."""

    def __init__(self, history: History, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self.columns = [
            Column(
                "",
                self.line,
                tooltip=lambda entry: "\n".join(entry.input.texts),
                roles={Qt.ItemDataRole.AccessibleTextRole: self._accessible_text},
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
        return visible(" ".join(entry.input.text[:MAX_LINE_CHARACTERS].split()))

    def details(self, entry: Entry) -> str:
        """Second text, masked words and time."""
        parts = []
        if entry.input.pair is not None:
            parts.append(f"+ {' '.join(entry.input.pair[:MAX_LINE_CHARACTERS].split())}")
        masked = masked_words(entry.input)
        if masked:
            parts.append(self.tr("masked: {0}").format(", ".join(masked)))
        time = QDateTime.fromString(entry.at, Qt.DateFormat.ISODate)
        if time.isValid():
            parts.append(QLocale().toString(time, QLocale.FormatType.ShortFormat))
        return visible(" · ".join(parts))

    def _accessible_text(self, entry: Entry) -> str:
        pinned = self.tr("pinned") if entry.pinned else ""
        return ", ".join(filter(None, (self.line(entry), pinned, self.details(entry))))


class EntryDelegate(QStyledItemDelegate):
    """Paints the text, details below it, and a pin on the right."""

    def __init__(self, entries: EntriesModel) -> None:
        super().__init__(entries)
        self._entries = entries

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetrics(font()).height() + QFontMetrics(font("small")).height()
        return QSize(px(40 * SPACE), lines + 4 * SPACE)

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
        text_rect = rect.adjusted(2 * SPACE, 2 * SPACE, -2 * SPACE, -2 * SPACE)
        if entry.pinned:
            side = 16
            box = QRect(text_rect.right() - side, text_rect.top(), side, side)
            resources.icon("pin", Role.ACCENT).paint(painter, box)
            text_rect.setRight(text_rect.right() - side - SPACE)
        for text_font, text, role, align in (
            (font(), self._entries.line(entry), Role.TEXT, Qt.AlignmentFlag.AlignTop),
            (font("small"), self._entries.details(entry), Role.MUTED, Qt.AlignmentFlag.AlignBottom),
        ):
            painter.setFont(text_font)
            painter.setPen(theme.colour(role))
            line = painter.fontMetrics().elidedText(
                text, Qt.TextElideMode.ElideRight, text_rect.width()
            )
            painter.drawText(text_rect, align | Qt.AlignmentFlag.AlignLeft, line)
        painter.restore()
