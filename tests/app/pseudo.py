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

LONGER = 0.3  # fraction of its length added to every text
TAG = re.compile(r"<[^<>]*>")
MARKUP = re.compile(r"<[^<>]*>|&[a-z]+;")
BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")
BEHIND = re.compile(r"((?:#+ )?)(.*?)(?: (\([^()]*\)))?", re.DOTALL)
CUT = re.compile(r"⟦[^⟧]*…$")  # the end did not fit
WORD = re.compile(r"[^\W\d_]{3,}")
TOKENS = ("Words", "TokenRow", "Strip", "TokenTable", "NumbersTable", "LayerGrid", "BatchTokens")
CELLS = 300  # read of a table


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
    """A text in the pseudo-language, after the mark of a heading.

    A part in brackets after a title may be left out if there is little space.
    """
    mark, title, behind = BEHIND.fullmatch(text).groups()  # type: ignore[union-attr]
    return f"{mark}⟦{title} {_longer(title)}⟧" + (f" ⟦{behind}⟧" if behind else "")


def _longer(text: str) -> str:
    added = round(LONGER * len(TAG.sub("", text)))
    return " ".join("~" * min(7, added - at) for at in range(0, added, 8))


def untranslated(text: str, known: re.Pattern[str]) -> str:
    """Words outside of brackets that are no `known` names."""
    left = MARKUP.sub(" ", text)
    left = CUT.sub(" ", left) if left.endswith("…") else left
    while (less := BRACKETED.sub(" ", left)) != left:
        left = less
    return " ".join(WORD.findall(known.sub(" ", left)))


@dataclass(frozen=True)
class Seen:
    """A text and its position."""

    where: str
    text: str


def texts_of(window: QWidget) -> Iterator[Seen]:
    """All texts visible in `window`, including tooltips and accessible texts."""
    for widget in (window, *window.findChildren(QWidget)):
        if widget.isVisible():
            where = _place(widget)
            for kind, text in _of(widget):
                if text:
                    yield Seen(f"{where}.{kind}", text)


def _place(widget: QWidget) -> str:
    names: list[str] = []
    at: QWidget | None = widget
    while at is not None and len(names) < 4:
        names.append(type(at).__name__)
        at = at.parentWidget()
    return " < ".join(names)


def _of(widget: QWidget) -> Iterator[tuple[str, str]]:
    yield "tooltip", widget.toolTip()
    yield "accessible name", widget.accessibleName()
    yield "accessible description", widget.accessibleDescription()
    yield "status tip", widget.statusTip()
    if widget.isWindow():
        yield "title", widget.windowTitle()
    for action in widget.actions():
        yield from _of_action(action)
    match widget:
        case QLabel() | QAbstractButton():
            yield "text", widget.text().replace("&", "")
            if isinstance(widget, QToolButton) and (menu := widget.menu()) is not None:
                yield from _of_menu(menu)
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
            yield from _of_menu(widget)
        case QGraphicsView():
            yield from _of_scene(widget)
        case QHeaderView():
            pass
        case QAbstractItemView():
            yield from _of_model(widget)


def _of_menu(menu: QMenu) -> Iterator[tuple[str, str]]:
    for action in menu.actions():
        yield from _of_action(action)


def _of_action(action: QAction) -> Iterator[tuple[str, str]]:
    yield "action", action.text().replace("&", "")


def _of_scene(view: QGraphicsView) -> Iterator[tuple[str, str]]:
    for item in view.scene().items() if view.scene() is not None else []:
        read_text = getattr(item, "toPlainText", None)
        if read_text is not None and item.isVisible():
            yield "drawn", read_text()


def _of_model(view: QAbstractItemView) -> Iterator[tuple[str, str]]:
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
    for row in range(min(model.rowCount(QModelIndex()), max(1, CELLS // max(columns, 1)))):
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


def cut_off(window: QWidget) -> Iterator[Seen]:
    """Labels and buttons that need more space than they have and have no tooltip."""
    for widget in window.findChildren(QWidget):
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QLabel) and widget.text() and widget.pixmap().isNull():
            short = _too_small(widget)
        elif isinstance(widget, QAbstractButton) and widget.text():
            short = widget.width() < widget.minimumSizeHint().width() - 1
        else:
            continue
        if under := beyond_an_edge(widget):
            yield Seen(f"{_place(widget)} ({under} px beyond what is shown)", widget.text())
        if short and not widget.toolTip():
            needs = widget.sizeHint()
            size = f"{widget.width()}×{widget.height()} of {needs.width()}×{needs.height()}"
            yield Seen(f"{_place(widget)} ({size})", widget.text())


def beyond_an_edge(widget: QWidget) -> int:
    """Width in px beyond an area that does not, or should not, scroll sideways."""
    area = widget.parentWidget()
    while area is not None:
        around = area.parentWidget()
        if isinstance(around, QScrollArea) and area is around.viewport():
            policy = around.horizontalScrollBarPolicy()
            off = policy == Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            stays = off or isinstance(area.window(), QDialog)
            right = widget.mapTo(area, QPoint(widget.width(), 0)).x()
            if stays and right > area.width() + 1:
                return right - area.width()
        area = around
    return 0


def _too_small(label: QLabel) -> bool:
    room = label.contentsRect()
    text = unescape(TAG.sub("", label.text()))
    flags = Qt.TextFlag.TextWordWrap if label.wordWrap() else Qt.TextFlag.TextExpandTabs
    shown = Qt.TextFlag.TextShowMnemonic if label.buddy() is not None else Qt.TextFlag(0)
    tall = QRect(0, 0, max(room.width(), 1), 1_000_000)
    needs = label.fontMetrics().boundingRect(tall, int(flags | shown), text)
    if label.wordWrap():
        return needs.height() > room.height() + 2 or needs.width() > room.width() + 1
    return needs.width() > room.width() + 1


def faults(
    seen: Iterable[Seen], known: re.Pattern[str], theirs: frozenset[str] = frozenset()
) -> list[str]:
    """Untranslated texts, each once.

    `theirs` are texts of the user, with single spaces, and single words of displayed tokens.
    """
    left = set()
    for each in seen:
        whole = " ".join(unescape(TAG.sub("", each.text)).split())
        words = untranslated(each.text, known) if whole not in theirs else ""
        are_theirs = all({word, word.lower()} & theirs for word in words.split())
        if each.where.startswith(TOKENS) and are_theirs:
            continue
        if words:
            left.add(f"{each.where}: {words}   [{each.text[:120]}]")
    return sorted(left)
