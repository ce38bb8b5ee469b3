"""The bar of unsaved edits."""

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFrame, QWidget

from app.pages.data.dataset.editing.state import EditsState
from app.theme import SPACE, Role
from app.widgets import buttons, layouts
from app.widgets.page import Picture
from app.widgets.text.labels import Text


class EditBar(QFrame):
    """“12 rows changed · Save as version 4”; hidden while there is nothing to save or undo."""

    def __init__(self, state: EditsState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.setProperty("look", "banner")
        self.count = Text("", "strong", wraps=False)
        self.undo = buttons.quiet(self.tr("Undo"), state.stack.undo)
        self.undo.setShortcut(QKeySequence(QKeySequence.StandardKey.Undo))
        self.redo = buttons.quiet(self.tr("Redo"), state.stack.redo)
        self.redo.setShortcut(QKeySequence(QKeySequence.StandardKey.Redo))
        self.discard = buttons.plain(self.tr("Dis&card"), state.discard)
        self.discard.setAccessibleName(self.tr("Discard all edits"))
        self.save = buttons.primary(self.tr("Sa&ve as a new version"), state.save)
        layouts.row(
            Picture("pencil", 18, Role.ACCENT),
            self.count,
            layouts.STRETCH,
            self.undo,
            self.redo,
            self.discard,
            self.save,
            parent=self,
            spacing=2 * SPACE,
            margins=(4 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE),
        )
        state.changed.connect(self._show)
        state.saving.connect(lambda _: self._show())
        self.hide()

    def _show(self) -> None:
        state = self._state
        rows, stack, is_edited = len(state.rows), state.stack, state.is_edited
        self.setVisible(is_edited or stack.canUndo() or stack.canRedo())
        text = self.tr("%Ln row(s) changed", "", rows) if rows else self.tr("No changes")
        self.count.setText(self.tr("Codebook changed") if is_edited and not rows else text)
        self.undo.setEnabled(stack.canUndo() and not state.is_saving)
        self.redo.setEnabled(stack.canRedo() and not state.is_saving)
        self.discard.setEnabled(is_edited and not state.is_saving)
        self.save.setEnabled(is_edited and not state.is_saving)
        text = (
            self.tr("Saving…")
            if state.is_saving
            else self.tr("Sa&ve as version {0}").format(state.next_number)
        )
        buttons.set_text(self.save, text)
