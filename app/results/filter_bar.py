"""The filter of the rows as a bar of conditions to add, change and remove."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from app import background
from app.notices import Notices
from app.results.condition_editor import ConditionEditor
from app.results.condition_forms import Subject, Typed, as_typed, subjects
from app.results.state import ResultsState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask_for_name
from app.widgets.results.slices import SLICE_NAME_CHARACTERS
from app.widgets.text import numbers
from app.widgets.text.labels import Text, plain_menu_text
from app.widgets.text.wrapping import Wrapping
from engine.results.conditions import Condition
from engine.results.predictions import Predictions

CHIP_CHARACTERS = 60


class FilterBar(QWidget):
    """“1,204 of 10,000 rows”, with a button to change and one to remove each condition.

    Signals:
        kept: the name under which to save the conditions as a slice.
    """

    kept = Signal(str)

    def __init__(self, state: ResultsState, notices: Notices) -> None:
        super().__init__()
        self._state, self._notices = state, notices
        self.count = Text("", "muted", wraps=False)
        self.count.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.editor = ConditionEditor()
        self.editor.hide()
        self._edited: Condition | None = None  # None: a new one
        self.add = buttons.icon_button("plus", self.tr("Add a condition"), self._on_add)
        self.clear = buttons.quiet(self.tr("Sho&w all rows"), state.clear)
        self.keep = buttons.quiet(self.tr("Keep as a sli&ce…"), self._ask_name)
        self.chips: list[QPushButton] = []
        self.removes: list[QToolButton] = []
        self._wrapping: Wrapping | None = None
        self._column = layouts.column(parent=self, spacing=SPACE)
        head = layouts.row((self.count, 1), self.add, self.keep, self.clear)
        self._column.addLayout(head)
        self._column.addWidget(self.editor)
        self.editor.applied.connect(self._on_applied)
        self.editor.cancelled.connect(self._end_editing)
        state.opened.connect(self._show)
        state.filtered.connect(self._show)
        state.listed.connect(self._show_count)
        self._show()

    def _show(self) -> None:
        """Make two buttons for each condition."""
        focused = next((n for n, one in enumerate(self.removes) if one.hasFocus()), None)
        self.editor.hide()
        if self._wrapping is not None:
            self._wrapping.hide()
            self._wrapping.deleteLater()
        self.chips, self.removes = [], []
        self._wrapping = Wrapping()
        for condition in self._state.conditions:
            text = translated(condition.sentence)
            short = text if len(text) <= CHIP_CHARACTERS else f"{text[:CHIP_CHARACTERS]}…"
            chip = buttons.plain(plain_menu_text(short), partial(self._on_edit, condition))
            chip.setToolTip(self.tr("Change this condition"))
            chip.setAccessibleName(self.tr("Change: {0}").format(text))
            remove = buttons.icon_button(
                "x", self.tr("Remove this condition"), partial(self._state.drop, condition)
            )
            remove.setAccessibleName(self.tr("Remove: {0}").format(text))
            if as_typed(condition) is None:
                chip.setEnabled(False)  # rows selected one by one
            self._wrapping.add(chip, remove)
            self.chips.append(chip)
            self.removes.append(remove)
        self._column.insertWidget(1, self._wrapping)
        self._wrapping.setVisible(bool(self.chips))  # earlier it would be a window of its own
        if focused is not None:
            (
                self.removes[min(focused, len(self.removes) - 1)] if self.removes else self.add
            ).setFocus()
        self._show_count()

    # ── one condition ────────────────────────────────────────────────────────────────────────

    def _on_add(self) -> None:
        """Edit a new condition, initially about a text."""
        predictions = self._state.predictions
        if predictions is not None:
            key = ("cell", predictions.columns[0]) if predictions.columns else ("outcome",)
            self._edit(None, Typed(key, 1, ("",)) if predictions.columns else Typed(key, 1))

    def _on_edit(self, condition: Condition) -> None:
        now = as_typed(condition)
        assert now is not None
        self._edit(condition, now)

    def _edit(self, condition: Condition | None, now: Typed) -> None:
        """Open the editor as soon as the possible subjects are known."""
        predictions = self._state.predictions
        assert predictions is not None
        self._edited = condition
        background.run(
            self,
            lambda: subjects(predictions, now),
            partial(self._on_subjects, predictions, condition, now),
            self._notices.show,
        )

    def _on_subjects(
        self,
        predictions: Predictions,
        condition: Condition | None,
        now: Typed,
        found: list[Subject],
    ) -> None:
        if predictions is self._state.predictions and condition == self._edited:
            self.editor.show()
            self.editor.edit(predictions, found, now)

    def _on_applied(self, condition: Condition) -> None:
        if self._edited is None:
            self._state.add(condition)
        else:
            self._state.replace(self._edited, condition)
        self._edited = condition
        self._end_editing()

    def _end_editing(self) -> None:
        """Return the focus to the condition."""
        self.editor.hide()
        places = list(self._state.conditions)
        if self._edited in places:
            self.chips[places.index(self._edited)].setFocus()
        else:
            self.add.setFocus()
        self._edited = None

    # ── all of them ──────────────────────────────────────────────────────────────────────────

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
        self.add.setEnabled(state.predictions is not None)

    def _ask_name(self) -> None:
        """Ask for the name of the slice; proposes the sentence of the conditions."""
        ask_for_name(
            self,
            (
                self.tr("Keep as a slice"),
                self.tr("Its score is listed under Slices, for every result on the same data."),
            ),
            translated(self._state.sentence()),
            SLICE_NAME_CHARACTERS,
            Choice("keep", self.tr("Save"), "primary"),
            self.kept.emit,
        )
