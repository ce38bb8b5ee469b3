"""A combo box of checkpoints, with a line about each or the reason why it cannot be used."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QKeyEvent, QPainter, QPen, QWheelEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app import resources, theme
from app.library import ModelEntry
from app.theme import SPACE, Role, px
from app.timers import debounced
from app.translation import tr
from app.widgets.drawing import write
from app.widgets.forms.controls import ComboBox
from app.widgets.tables import Column, ColumnsModel, Index
from app.widgets.text import numbers
from app.widgets.text.labels import font, one_line, visible
from app.widgets.text.run_texts import checkpoint_score, provenance

PICK_DELAY_MS = 600  # after the last key; Enter picks a model immediately
ENTRY = Qt.ItemDataRole.UserRole
ICONS = {"included": "sparkles", "imported": "box", "elsewhere": "folder", "run": "activity"}


class CheckpointsModel(ColumnsModel[ModelEntry]):
    """Models as rows; `obstacle` returns the reason why one cannot be chosen, or “”."""

    def __init__(self, obstacle: Callable[[ModelEntry], str], parent: QWidget) -> None:
        self._obstacle = obstacle
        name = Column[ModelEntry](
            "",
            lambda entry: visible(entry.name),
            roles={
                Qt.ItemDataRole.AccessibleTextRole: lambda entry: (
                    f"{visible(entry.name)}. {self.line(entry)}"
                ),
                ENTRY: lambda entry: entry,
            },
        )
        super().__init__([name], parent)

    def obstacle(self, entry: ModelEntry) -> str:
        return entry.problem or self._obstacle(entry)

    def flags(self, index: Index) -> Qt.ItemFlag:
        usable = index.isValid() and not self.obstacle(self.rows[index.row()])
        return super().flags(index) if usable else Qt.ItemFlag.NoItemFlags

    def line(self, entry: ModelEntry) -> str:
        """The line below the name: the reason against it, or size, heads and origin."""
        problem = self.obstacle(entry)
        if problem:
            return visible(problem)
        parts = [size_in_words(entry)] if entry.info else []
        if entry.info and entry.info.labels:
            parts.append(self.tr("%Ln label(s)", "", len(entry.info.labels)))
        best = self.tr("best checkpoint") if entry.best else ""
        parts += [part for part in (checkpoint_score(entry), best, *provenance(entry)) if part]
        return visible(" · ".join(parts))


def size_in_words(entry: ModelEntry) -> str:
    """4 layers × 256 · 11.1 M parameters."""
    if entry.info is None:
        return ""
    text = tr("{0} layers × {1}, {2} parameters")
    info = entry.info
    return text.format(info.layers, info.hidden_size, numbers.large_count(info.parameters))


class _RowDelegate(QStyledItemDelegate):
    def __init__(self, model: CheckpointsModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetrics(font("strong")).height() + QFontMetrics(font("small")).height()
        return QSize(px(200), lines + 5 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry = index.data(ENTRY)
        usable = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or (is_hovered and usable):
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1.5) if chosen else Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(Role.ACCENT_SOFT if chosen else Role.HOVER))
            painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), 7, 7)
        box = QRect(int(rect.left()) + 3 * SPACE, int(rect.center().y()) - 10, 20, 20)
        resources.icon(
            "check" if chosen else ICONS[entry.origin], Role.ACCENT if usable else Role.DISABLED
        ).paint(painter, box)
        inner = rect.adjusted(11 * SPACE, 2 * SPACE, -3 * SPACE, -2 * SPACE)
        middle, top = Qt.TextElideMode.ElideMiddle, Qt.AlignmentFlag.AlignTop
        name, line = one_line(entry.name), self._model.line(entry)[:500]
        role = Role.TEXT if usable else Role.DISABLED
        write(painter, inner, name, font("strong"), role, top, middle)
        write(painter, inner, line, font("small"), Role.MUTED, Qt.AlignmentFlag.AlignBottom, middle)
        painter.restore()


class CheckpointBox(ComboBox):
    """A combo box of all checkpoints.

    Signals:
        picked: the ModelEntry that the user chose.
    """

    picked = Signal(object)

    def __init__(self, obstacle: Callable[[ModelEntry], str] = lambda _: "") -> None:
        super().__init__(tr("Model"), 18)
        self._entries = CheckpointsModel(obstacle, self)
        self.setModel(self._entries)
        view = QListView()
        view.setAccessibleName(self.tr("Models"))
        view.setItemDelegate(_RowDelegate(self._entries, view))
        view.setMinimumWidth(px(360))
        self.setView(view)
        self._is_stepping = False  # by keys or wheel, over models in between
        self._pick_timer = debounced(self, PICK_DELAY_MS, self._emit_picked)
        self.activated.connect(self._on_activated)

    def set_models(self, entries: Sequence[ModelEntry]) -> None:
        """Show `entries`; the chosen one stays chosen if it is among them."""
        chosen = self.chosen()
        self._entries.show_rows(entries)
        self.setCurrentIndex(-1)
        if chosen is not None:
            self.choose(chosen.path)

    def choose(self, path: Path) -> bool:
        """Choose the model in a folder if it is listed and usable, without emitting `picked`."""
        for row, entry in enumerate(self._entries.rows):
            if entry.path == path and not self._entries.obstacle(entry):
                self.setCurrentIndex(row)
                return True
        return False

    def chosen(self) -> ModelEntry | None:
        entry = self.currentData(ENTRY)
        return entry if isinstance(entry, ModelEntry) else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._is_stepping = True
        super().keyPressEvent(event)
        self._is_stepping = False
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._pick_timer.isActive():
            self._emit_picked()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._is_stepping = True
        super().wheelEvent(event)
        self._is_stepping = False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self._pick_timer.isActive():
            self._emit_picked()

    def _on_activated(self, row: int) -> None:
        """Pick a model immediately, or after a pause if keys or the wheel step over models."""
        if self._is_stepping:
            self._pick_timer.start()
        else:
            self._emit_picked()

    def _emit_picked(self) -> None:
        self._pick_timer.stop()
        chosen = self.chosen()
        if chosen is not None:
            self.picked.emit(chosen)
