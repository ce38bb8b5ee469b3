"""One calm line on what a run has learned, and a button that prepares what to try."""

from PySide6.QtWidgets import QWidget

from app.pages.runs.run.advice_state import AdviceState
from app.theme import SPACE, Role
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Picture
from app.widgets.screen import set_shown
from app.widgets.text.labels import OneLine


class AdviceLine(QWidget):
    """The advice of the run, one at a time; it takes no place while there is none."""

    def __init__(self, state: AdviceState) -> None:
        super().__init__()
        self._state = state
        self._number = 0
        self.text = OneLine("")
        self.next = buttons.quiet("", self._on_next)
        self.next.setAccessibleName(self.tr("Next advice"))
        self.try_it = buttons.plain(self.tr("Prepare this &run…"), self._on_try, "graduation-cap")
        layouts.row(
            Picture("info", 18, Role.WARN),
            (self.text, 1),
            self.next,
            self.try_it,
            parent=self,
            spacing=2 * SPACE,
        )
        state.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        found = self._state.found
        set_shown(self, bool(found))
        if not found:
            return
        self._number %= len(found)
        advice = found[self._number]
        self.text.setText(f"{translated(advice.problem)} {translated(advice.advice)}")
        self.try_it.setVisible(self._state.can_try(advice))
        self.next.setVisible(len(found) > 1)
        self.next.setText(self.tr("{0} of {1}").format(self._number + 1, len(found)))

    def _on_next(self) -> None:
        self._number += 1
        self._show()

    def _on_try(self) -> None:
        self._state.try_it(self._state.found[self._number])
