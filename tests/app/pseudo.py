"""Pseudo-language in which every translatable text is bracketed and longer: ⟦Open ~~~⟧.

Text without brackets could not be translated; text truncated in it would be truncated in German.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPoint, QRect, Qt, QTranslator
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QGraphicsView,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QScrollArea,
    QTabBar,
    QTableView,
    QTextBrowser,
    QTextEdit,
    QToolButton,
    QWidget,
)

from engine.phrases import apply_plural
from tools.texts import collect

PADDING = 0.3  # added to every text, as a fraction of its length
TAG = re.compile(r"<[^<>]*>")
MARKUP = re.compile(r"<[^<>]*>|&[a-z]+;")
BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")
PARTS = re.compile(r"((?:#+ )?)(.*?)(?: (\([^()]*\)))?", re.DOTALL)
ELIDED = re.compile(r"⟦[^⟧]*…$")
WORD = re.compile(r"[^\W\d_]{3,}")
TOKENS = (
    "WordRow",
    "TokenRow",
    "Strip",
    "TokenTable",
    "NumbersTable",
    "LayerGrid",
    "BatchTokens",
)
MAX_CELLS = 300  # read from a table


class Pseudo(QTranslator):
    """Brackets translatable texts of the source; all others have no translation."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known = {(text.source, text.comment) for text in collect()}

    def isEmpty(self) -> bool:
        return False

    def translate(
        self, context: str, source: str, disambiguation: str | None = None, number: int = -1
    ) -> str:
        english = apply_plural(source, number) if number >= 0 else source
        return bracketed(english) if (source, disambiguation or "") in self._known else english


def bracketed(text: str) -> str:
    """A text in the pseudo-language; the hashes of a heading stay outside.

    A part in brackets after a title stays separate: widgets may leave it out to save space.
    """
    prefix, title, suffix = PARTS.fullmatch(text).groups()  # type: ignore[union-attr]
    return f"{prefix}⟦{title} {_padding(title)}⟧" + (f" ⟦{suffix}⟧" if suffix else "")


def _padding(text: str) -> str:
    added = round(PADDING * len(TAG.sub("", text)))
    return " ".join("~" * min(7, added - start) for start in range(0, added, 8))


def untranslated(text: str, known: re.Pattern[str]) -> str:
    """Words outside brackets, without the `known` names."""
    rest = MARKUP.sub(" ", text)
    rest = ELIDED.sub(" ", rest) if rest.endswith("…") else rest
    while (stripped := BRACKETED.sub(" ", rest)) != rest:
        rest = stripped
    return " ".join(WORD.findall(known.sub(" ", rest)))


@dataclass(frozen=True)
class VisibleText:
    """A text and its position."""

    position: str
    text: str


def visible_texts(window: QWidget) -> Iterator[VisibleText]:
    """All texts visible in `window`, including tooltips and accessible texts."""
    for widget in (window, *window.findChildren(QWidget)):
        if widget.isVisible():
            position = _position(widget)
            for kind, text in _texts(widget):
                if text:
                    yield VisibleText(f"{position}.{kind}", text)


def _position(widget: QWidget) -> str:
    names: list[str] = []
    parent: QWidget | None = widget
    while parent is not None and len(names) < 4:
        names.append(type(parent).__name__)
        parent = parent.parentWidget()
    return " < ".join(names)


def _texts(widget: QWidget) -> Iterator[tuple[str, str]]:
    yield "tooltip", widget.toolTip()
    yield "accessible name", widget.accessibleName()
    yield "accessible description", widget.accessibleDescription()
    yield "status tip", widget.statusTip()
    if widget.isWindow():
        yield "title", widget.windowTitle()
    for action in widget.actions():
        yield from _action_texts(action)
    match widget:
        case QLabel() | QAbstractButton():
            yield "text", widget.text().replace("&", "")
            if isinstance(widget, QToolButton) and (menu := widget.menu()) is not None:
                yield from _menu_texts(menu)
        case QLineEdit():
            yield "placeholder", widget.placeholderText()
        case QComboBox():
            yield "placeholder", widget.placeholderText()
            for item in range(widget.count()):
                yield "item", widget.itemText(item)
                yield "item tooltip", str(widget.itemData(item, Qt.ItemDataRole.ToolTipRole) or "")
        case QGroupBox():
            yield "title", widget.title()
        case QTabBar():
            for tab in range(widget.count()):
                yield "tab", widget.tabText(tab).replace("&", "")
                yield "tab tooltip", widget.tabToolTip(tab)
        case QTextBrowser():
            yield "page", widget.toPlainText()
        case QPlainTextEdit() | QTextEdit():
            yield "placeholder", widget.placeholderText()
        case QAbstractSpinBox():
            yield "special", widget.specialValueText()
        case QMenu():
            yield from _menu_texts(widget)
        case QGraphicsView():
            yield from _scene_texts(widget)
        case QHeaderView():
            pass
        case QAbstractItemView():
            yield from _model_texts(widget)


def _menu_texts(menu: QMenu) -> Iterator[tuple[str, str]]:
    for action in menu.actions():
        yield from _action_texts(action)


def _action_texts(action: QAction) -> Iterator[tuple[str, str]]:
    yield "action", action.text().replace("&", "")


def _scene_texts(view: QGraphicsView) -> Iterator[tuple[str, str]]:
    for item in view.scene().items() if view.scene() is not None else []:
        read_text = getattr(item, "toPlainText", None)
        if read_text is not None and item.isVisible():
            yield "drawn", read_text()


def _model_texts(view: QAbstractItemView) -> Iterator[tuple[str, str]]:
    model = view.model()
    if model is None:
        return
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
    headers = (
        view.horizontalHeader()
        if isinstance(view, QTableView)
        else getattr(view, "header", lambda: None)()
    )
    if headers is not None and headers.isVisible():
        for column in range(columns):
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                text = model.headerData(column, Qt.Orientation.Horizontal, role)
                yield "header", str(text or "")
    for row in range(min(model.rowCount(QModelIndex()), max(1, MAX_CELLS // max(columns, 1)))):
        for column in range(columns):
            index = model.index(row, column)
            for role in (
                Qt.ItemDataRole.DisplayRole,
                Qt.ItemDataRole.ToolTipRole,
                Qt.ItemDataRole.AccessibleTextRole,
            ):
                text = model.data(index, role)
                if isinstance(text, str):
                    yield "cell", text


def cut_off_texts(window: QWidget) -> Iterator[VisibleText]:
    """Labels and buttons that need more space than they have and have no tooltip."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QLabel) and widget.text() and widget.pixmap().isNull():
            is_cut = _is_too_small(widget)
        elif isinstance(widget, QAbstractButton) and widget.text():
            is_cut = widget.width() < widget.minimumSizeHint().width() - 1
        else:
            continue
        if overflow := horizontal_overflow(widget):
            yield VisibleText(f"{_position(widget)} ({overflow} px outside)", widget.text())
        if is_cut and not widget.toolTip():
            hint = widget.sizeHint()
            size = f"{widget.width()}×{widget.height()} of {hint.width()}×{hint.height()}"
            yield VisibleText(f"{_position(widget)} ({size})", widget.text())


def horizontal_overflow(widget: QWidget) -> int:
    """Width in px outside an area that does not, or should not, scroll sideways."""
    area = widget.parentWidget()
    while area is not None:
        parent = area.parentWidget()
        if isinstance(parent, QScrollArea) and area is parent.viewport():
            policy = parent.horizontalScrollBarPolicy()
            never = policy == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            is_fixed = never or isinstance(area.window(), QDialog)
            right = widget.mapTo(area, QPoint(widget.width(), 0)).x()
            if is_fixed and right > area.width() + 1:
                return right - area.width()
        area = parent
    return 0


def _is_too_small(label: QLabel) -> bool:
    available = label.contentsRect()
    text = unescape(TAG.sub("", label.text()))
    flags = Qt.TextFlag.TextWordWrap if label.wordWrap() else Qt.TextFlag.TextExpandTabs
    mnemonic = Qt.TextFlag.TextShowMnemonic if label.buddy() is not None else Qt.TextFlag(0)
    bounds = QRect(0, 0, max(available.width(), 1), 1_000_000)
    needed = label.fontMetrics().boundingRect(bounds, int(flags | mnemonic), text)
    if label.wordWrap():
        return needed.height() > available.height() + 2 or needed.width() > available.width() + 1
    return needed.width() > available.width() + 1


def find_untranslated(
    texts: Iterable[VisibleText], known: re.Pattern[str], user_texts: frozenset[str] = frozenset()
) -> list[str]:
    """Untranslated texts, each once.

    `user_texts` have single spaces, and include single words of displayed tokens.
    """
    untranslated_texts = set()
    for item in texts:
        plain = " ".join(unescape(TAG.sub("", item.text)).split())
        words = untranslated(item.text, known) if plain not in user_texts else ""
        is_user_text = all({word, word.lower()} & user_texts for word in words.split())
        if item.position.startswith(TOKENS) and is_user_text:
            continue
        if words:
            untranslated_texts.add(f"{item.position}: {words}   [{item.text[:120]}]")
    return sorted(untranslated_texts)
