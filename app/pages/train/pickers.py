"""A list of cards with one choice, and a menu for further choices."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PySide6.QtCore import QItemSelectionModel, QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QWidget,
)

from app import theme
from app.pages.train.choices import BASE_MODEL, DATA, data_value, model_value
from app.pages.train.state import TrainState
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.card_list import ITEM, CardItem, CardList
from app.widgets.forms.controls import CheckableMenu
from app.widgets.screen import set_shown
from app.widgets.tables import Index
from app.widgets.text.labels import Text, font, one_line, plain_menu_text
from engine.config.dataset import StoredData
from engine.data.columns.fit import dataset_problems

WRAPS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


@dataclass(frozen=True)
class Pick(CardItem):
    """One entry. `verdict` is a word or two, coloured as a warning if `warns`.

    `warning` is shown on an entry that can be chosen, `reason` on one that cannot.
    """

    verdict: str = ""
    warns: bool = False
    warning: str = ""

    @property
    def remark(self) -> str:
        return self.reason or self.warning

    def sentence(self) -> str:
        """All texts in one line, for a screen reader."""
        parts = (self.title, self.verdict, self.facts, self.remark)
        return ", ".join(part for part in parts if part)


class PickList(CardList):
    """Cards, one of which is chosen.

    Signals:
        picked: the key of the entry that the user chose.
    """

    picked = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.setItemDelegate(_CardDelegate(self))
        self.setWordWrap(True)  # a new width is laid out, too: lines depend on it
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self._is_updating = False

    def show_picks(self, picks: list[Pick], chosen: object = None) -> None:
        """Show these, with the entry of key `chosen` selected; does not emit `picked`."""
        self._is_updating = True
        if picks != self.cards.rows:
            position = self.verticalScrollBar().value()
            self.cards.show_rows(picks)
            self.verticalScrollBar().setValue(position)
        row = next((n for n, p in enumerate(picks) if p.key == chosen and not p.reason), -1)
        if row < 0:
            self.selectionModel().clearSelection()
        elif not self.selectionModel().isRowSelected(row):
            self.selectionModel().setCurrentIndex(
                self.cards.index(row, 0), QItemSelectionModel.SelectionFlag.ClearAndSelect
            )
        self._is_updating = False

    def chosen(self) -> object:
        """The chosen key, or None."""
        rows = self.selectionModel().selectedIndexes()
        return self.cards.rows[rows[0].row()].key if rows else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """If none is chosen, arrows and Space choose the first entry."""
        keys = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Space)
        enabled = [row for row, pick in enumerate(self.cards.rows) if not pick.reason]
        if event.key() in keys and self.chosen() is None and enabled:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.selectionModel().setCurrentIndex(self.cards.index(enabled[0], 0), flags)
        else:
            super().keyPressEvent(event)

    def _on_selected(self) -> None:
        if not self._is_updating and (key := self.chosen()) is not None:
            self.picked.emit(key)


class _CardDelegate(QStyledItemDelegate):
    """Paints an entry as a card: title, details, and reason or warning, in as many lines as they
    need: entries may differ in any word."""

    GAP = 2 * SPACE
    PADDING = 3 * SPACE
    MARK = 6 * SPACE  # px at the right of a chosen card; left free on all, which keeps their lines

    def __init__(self, picks: PickList) -> None:
        super().__init__(picks)
        self._list = picks

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        pick: Pick = index.data(ITEM)
        width = max(self._list.viewport().width(), px(60 * SPACE))
        lines = self._lines(pick, self._inner(QRectF(0, 0, width, 0)))
        height = round(lines[-1][0].bottom()) + self.PADDING + self.GAP + 2
        return QSize(px(60 * SPACE), height)

    def _inner(self, item: QRectF) -> QRectF:
        """The space for the texts of an item."""
        return item.adjusted(
            2 + 4 * SPACE,
            2 + self.PADDING,
            -2 - 4 * SPACE - self.MARK,
            -2 - self.GAP - self.PADDING,
        )

    def _lines(self, pick: Pick, inner: QRectF) -> list[tuple[QRectF, QFont, Role, str]]:
        """Every text with its box, font and colour."""
        title_role = Role.MUTED if pick.reason else Role.TEXT
        parts = (
            (pick.title, font("strong"), title_role),
            (pick.facts, font(), Role.MUTED),
            (pick.remark, font(), Role.WARN),
        )
        lines, top = [], inner.top()
        for text, text_font, role in parts:
            shown, width = one_line(text), inner.width()
            if text == pick.title and pick.verdict:
                width -= self._verdict_width(pick) + self.GAP
            if shown:
                box = QRectF(inner.left(), top, width, 10_000)
                box.setHeight(QFontMetricsF(text_font).boundingRect(box, WRAPS, shown).height())
                lines.append((box, text_font, role, shown))
                top = box.bottom() + SPACE / 2
        return lines

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        pick: Pick = index.data(ITEM)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(2, 2, -2, -2 - self.GAP)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        self._paint_card(painter, option, card, chosen, bool(pick.reason))
        inner = self._inner(QRectF(option.rect))
        if chosen:
            paint_mark(painter, card)
        if pick.verdict:
            self._paint_verdict(painter, inner, pick)
        for box, text_font, role, text in self._lines(pick, inner):
            painter.setFont(text_font)
            painter.setPen(theme.colour(role))
            painter.drawText(box, WRAPS, text)
        painter.restore()

    def _paint_card(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        card: QRectF,
        chosen: bool,
        disabled: bool,
    ) -> None:
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver) and not disabled
        has_focus = bool(option.state & QStyle.StateFlag.State_HasFocus)
        border = theme.colour(Role.ACCENT if chosen else Role.MUTED if hovered else Role.BORDER)
        style = Qt.PenStyle.DashLine if disabled else Qt.PenStyle.SolidLine
        painter.setPen(QPen(border, 2 if chosen else 1, style))
        painter.setBrush(theme.colour(Role.WINDOW if disabled else Role.SURFACE))
        painter.drawRoundedRect(card, 10, 10)
        if has_focus:
            painter.setPen(QPen(theme.colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(card.adjusted(4, 4, -4, -4), 7, 7)

    def _verdict_width(self, pick: Pick) -> float:
        return QFontMetricsF(font("small")).horizontalAdvance(pick.verdict) + 3 * SPACE

    def _paint_verdict(self, painter: QPainter, inner: QRectF, pick: Pick) -> None:
        """Paint the verdict on the right."""
        small, width = font("small"), self._verdict_width(pick)
        height = QFontMetricsF(small).height() + 2
        frame = QRectF(inner.right() - width, inner.top(), width, height)
        role = Role.WARN if pick.warns else Role.GOOD
        painter.setPen(QPen(theme.colour(role), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame, 4, 4)
        painter.setFont(small)
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, pick.verdict)


class Candidate(NamedTuple):
    """A further value to train with."""

    name: str
    value: dict[str, Any]


MAX_BOXES = 3  # candidates without a menu


class MoreValues(QWidget):
    """Further values: a check box for each of a few candidates, or a menu of all of them."""

    def __init__(
        self,
        state: TrainState,
        path: str,
        title: str,
        candidates: Callable[[], Sequence[Candidate]],
    ) -> None:
        super().__init__()
        self._state, self._path, self._candidates = state, path, candidates
        self.note = Text("", "muted")
        self.button: QToolButton = buttons.icon_button("plus", title)
        self.menu = CheckableMenu(self.button)
        self.menu.aboutToShow.connect(self._fill)
        self.button.setMenu(self.menu)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.boxes: dict[str, QCheckBox] = {}
        line = layouts.row((self.note, 1), self.button, spacing=2 * SPACE)
        self._column = layouts.column(line, parent=self, spacing=SPACE)
        state.changed.connect(self._show)
        state.lists.changed.connect(self._show)
        self._show()

    def _chosen(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._state.choices.varied_in(self._path).get("", ()))

    def _fill(self) -> None:
        self.menu.clear()
        chosen = self._chosen()
        for candidate in self._candidates():
            action = self.menu.addAction(plain_menu_text(candidate.name))
            action.setCheckable(True)
            action.setChecked(candidate.value in chosen)
            action.toggled.connect(lambda on, value=candidate.value: self.set_selected(value, on))

    def set_selected(self, value: dict[str, Any], on: bool) -> None:
        values = [item for item in self._chosen() if item != value]
        result = {"": tuple([*values, value] if on else values)}
        choices = self._state.choices
        self._state.set(choices.with_varied(self._path, result if result[""] else {}))

    def _show(self) -> None:
        candidates = self._candidates()
        chosen = self._chosen()
        names = [item.name for item in candidates if item.value in chosen]
        set_shown(self, bool(candidates))
        is_short = len(candidates) <= MAX_BOXES
        text = tr("Also trained with: {0}").format(", ".join(names))
        self.note.setText(text if names and not is_short else self.button.accessibleName())
        self.button.setVisible(not is_short)
        self._show_boxes(candidates if is_short else [], names)

    def _show_boxes(self, candidates: Sequence[Candidate], chosen: Sequence[str]) -> None:
        if list(self.boxes) != [item.name for item in candidates]:
            for box in self.boxes.values():
                box.deleteLater()
            self.boxes = {item.name: QCheckBox(plain_menu_text(item.name)) for item in candidates}
            for item, box in zip(candidates, self.boxes.values(), strict=True):
                self._column.addWidget(box)
                box.toggled.connect(lambda on, value=item.value: self.set_selected(value, on))
        for name, box in self.boxes.items():
            with QSignalBlocker(box):
                box.setChecked(name in chosen)


def more_models(state: TrainState) -> MoreValues:
    title = tr("Train with several base models")
    return MoreValues(state, BASE_MODEL, title, lambda: _other_models(state))


def more_data(state: TrainState) -> MoreValues:
    return MoreValues(
        state, DATA, tr("Train on several data sets or label columns"), lambda: _other_data(state)
    )


def _other_models(state: TrainState) -> list[Candidate]:
    choices = state.choices
    if choices.from_scratch or choices.model is None:
        return []
    return [
        Candidate(entry.name, model_value(entry.path))
        for entry in state.lists.usable_models
        if entry.path != choices.model.path
    ]


def _other_data(state: TrainState) -> list[Candidate]:
    """The stored data sets and label columns that suit the task, without the chosen ones."""
    data = state.choices.data
    if data is None or data.spec is None or not isinstance(data.source, StoredData):
        return []
    chosen = data.source.folder, data.spec.mapping.label
    return [
        Candidate(
            f"{entry.name} {entry.version}" + (f" · {target}" if target else ""),
            data_value(entry.folder, target),
        )
        for entry in state.lists.datasets or ()
        if (spec := entry.spec) is not None
        for target in (None, *spec.targets)
        if (entry.folder, target or spec.mapping.label) != chosen
        and not dataset_problems(spec.with_target(target) if target else spec, state.choices.task)
    ]


def paint_mark(painter: QPainter, frame: QRectF) -> None:
    """A disc with a tick in the upper right corner, so that colour is not the only cue."""
    disc = QRectF(frame.right() - 30, frame.top() + 12, 18, 18)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Role.ACCENT))
    painter.drawEllipse(disc)
    painter.setPen(QPen(theme.colour(Role.ON_ACCENT), 2))
    x, y = disc.center().x(), disc.center().y()
    painter.drawPolyline([QPointF(x - 4, y), QPointF(x - 1, y + 3), QPointF(x + 4.5, y - 3.5)])
