"""Which rows are listed, as a sentence of parts that can be taken away."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from app.resources import icon
from app.results.state import ResultsState
from app.theme import SPACE, Role
from app.translation import translated
from app.widgets import buttons, numbers
from app.widgets.dialogs import Choice, ask
from app.widgets.text import Text, plain_menu_text
from app.widgets.wrapping import Wrapping

CHIP_CHARACTERS = 60
NAME_CHARACTERS = 200


class FilterBar(QWidget):
    """“1,204 of 10,000 rows”, and a button for each condition, which takes it away.

    Signals:
        kept: the name under which the conditions are to be kept as a slice.
    """

    kept = Signal(str)

    def __init__(self, state: ResultsState) -> None:
        super().__init__()
        self._state = state
        self.count = Text("", "muted", wraps=False)
        self.count.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.clear = buttons.quiet(self.tr("Show all rows"), state.clear)
        self.keep = buttons.quiet(self.tr("Keep as a slice…"), self._ask_name)
        self.chips: list[QWidget] = []
        self._wrapping: Wrapping | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE)
        head = QHBoxLayout()
        head.addWidget(self.count, 1)
        head.addWidget(self.keep)
        head.addWidget(self.clear)
        self._column.addLayout(head)
        state.opened.connect(self._show)
        state.filtered.connect(self._show)
        state.listed.connect(self._show_count)
        self._show()

    def _show(self) -> None:
        """Make the buttons anew, one for each condition."""
        had_focus = any(chip.hasFocus() for chip in self.chips)
        if self._wrapping is not None:
            self._wrapping.hide()
            self._wrapping.deleteLater()
        self.chips = []
        self._wrapping = Wrapping()
        for condition in self._state.conditions:
            text = translated(condition.sentence)
            short = text if len(text) <= CHIP_CHARACTERS else f"{text[:CHIP_CHARACTERS]}…"
            chip = buttons.plain(plain_menu_text(short), partial(self._state.drop, condition))
            chip.setIcon(icon("x", Role.MUTED))
            chip.setToolTip(self.tr("Remove this condition"))
            chip.setAccessibleName(self.tr("Remove: {0}").format(text))
            self._wrapping.add(chip)
            self.chips.append(chip)
        self._wrapping.setVisible(bool(self.chips))
        self._column.addWidget(self._wrapping)
        if had_focus:
            (self.chips[-1] if self.chips else self.clear).setFocus()
        self._show_count()

    def _show_count(self) -> None:
        state = self._state
        total = len(state.predictions) if state.predictions is not None else 0
        if len(state.rows) == total:
            self.count.setText(self.tr("%Ln row(s)", "", total))
        else:
            text = self.tr("{0} of {1} rows").format(
                numbers.count(len(state.rows)), numbers.count(total)
            )
            self.count.setText(text)
        self.clear.setVisible(bool(state.conditions or state.text))
        self.keep.setVisible(bool(state.conditions))

    def _ask_name(self) -> None:
        """Under which name the conditions are kept; their sentence is proposed."""
        name = QLineEdit(translated(self._state.sentence())[:NAME_CHARACTERS])
        name.setMaxLength(NAME_CHARACTERS)
        name.setAccessibleName(self.tr("Name of the slice"))
        ask(
            self,
            self.tr("Keep as a slice"),
            self.tr("Its score is listed under Slices, for every result on the same data."),
            (Choice("keep", self.tr("Save"), "primary"), Choice("cancel", self.tr("Cancel"))),
            lambda key: self.kept.emit(name.text().strip()) if key == "keep" else None,
            [name],
        )
