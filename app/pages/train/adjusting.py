"""What was chosen for the user, with Undo; and the buttons that settle an obstacle."""

from PySide6.QtWidgets import QWidget

from app.pages.train.fixes import Fix
from app.pages.train.state import TrainState
from app.theme import SPACE, Role
from app.widgets import buttons, layouts
from app.widgets.page import Picture, clear
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, plain_menu_text


class AdjustmentLine(QWidget):
    """The sentence about the last choice that was made for the user; hidden where there is none."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self.sentence = Text("")
        self.undo = buttons.quiet(self.tr("&Undo"), state.undo_adjustment, "undo-2")
        layouts.row(
            Picture("info", 16, Role.ACCENT),
            (self.sentence, 1),
            self.undo,
            parent=self,
            spacing=2 * SPACE,
        )
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        adjustment = self._state.adjustment
        self.sentence.setText(adjustment.sentence if adjustment else "")
        set_shown(self, adjustment is not None)


class FixButtons(QWidget):
    """A button for each thing that can be done at once."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._shown: list[Fix] = []
        self._row = layouts.row(parent=self, spacing=2 * SPACE)
        self.hide()

    def show_fixes(self, fixes: list[Fix]) -> None:
        """Show these in the place of the others."""
        if fixes == self._shown:
            return
        self._shown = fixes
        clear(self._row)
        for fix in fixes:
            act = lambda fix=fix: self._state.apply(fix)  # noqa: E731
            self._row.addWidget(buttons.plain(plain_menu_text(fix.title), act))
        set_shown(self, bool(fixes))
