"""Editors of single cells: text, label, split."""

from functools import partial
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app.theme import SPACE
from app.widgets.forms.controls import ComboBox, Completer
from app.widgets.tables import Index
from app.widgets.text.data_texts import split_title
from app.widgets.text.tagged import ChipDelegate
from engine.config.dataset import SPLITS

TEXT_HEIGHT = 30 * SPACE
ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TextDelegate(QStyledItemDelegate):
    """Edits a text in a multi-line field: Enter accepts, Shift+Enter is a line break."""

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QPlainTextEdit:
        editor = QPlainTextEdit(parent)
        editor.setTabChangesFocus(True)
        editor.setAccessibleName(self.tr("Edit text"))
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QPlainTextEdit)
        editor.setPlainText(str(index.data(Qt.ItemDataRole.EditRole)))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QPlainTextEdit)
        model.setData(index, editor.toPlainText())

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        box, parent = option.rect, editor.parentWidget()
        assert parent is not None
        top = min(box.top(), max(parent.height() - TEXT_HEIGHT, 0))
        editor.setGeometry(box.left(), top, box.width(), TEXT_HEIGHT)

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in ENTER
            and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            assert isinstance(editor, QWidget)
            self.commitData.emit(editor)
            self.closeEditor.emit(editor)
            return True
        return super().eventFilter(editor, event)


class LabelDelegate(ChipDelegate):
    """Edits a short cell on one line, with existing labels as completions; shows tags as spans."""

    def __init__(self, labels: tuple[str, ...], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._labels = labels

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QLineEdit:
        editor = QLineEdit(parent)
        editor.setFrame(False)
        editor.setAccessibleName(self.tr("Edit label"))
        completer = Completer(list(self._labels), editor)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        editor.setCompleter(completer)
        editor.returnPressed.connect(partial(self._commit, editor))  # while completions are shown
        return editor

    def _commit(self, editor: QLineEdit) -> None:
        """Accept the chosen completion, or the text as typed."""
        completer = editor.completer()
        popup = completer.popup() if completer is not None else None
        if popup is not None and popup.isVisible() and popup.currentIndex().isValid():
            editor.setText(str(popup.currentIndex().data()))
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)


class SplitDelegate(QStyledItemDelegate):
    """Selects the split of a row."""

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QComboBox:
        editor = ComboBox(self.tr("Split of the row"))
        editor.setParent(parent)
        for split in SPLITS:
            editor.addItem(split_title(split), split)
        editor.activated.connect(lambda _: self._commit(editor))
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QComboBox)
        value: Any = index.data(Qt.ItemDataRole.EditRole)
        editor.setCurrentIndex(max(editor.findText(str(value)), 0))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QComboBox)
        model.setData(index, editor.currentData())

    def _commit(self, editor: QComboBox) -> None:
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)
