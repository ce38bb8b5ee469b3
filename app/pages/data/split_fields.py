"""Controls of a split: fractions, seed, stratification, or a column."""

from collections.abc import Callable, Collection, Sequence
from typing import get_args

from PySide6.QtCore import QStringListModel, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from app.pages.data.cells import one_line
from app.pages.data.section import Section, box_index
from app.widgets.forms.controls import (
    PROBABILITY_DECIMALS,
    ComboBox,
    ProbabilityBox,
    SpinBox,
)
from app.widgets.text.spec_texts import help_of, title_of, value_text
from engine.config.dataset import MAX_FRACTION, Split, SplitBy, SplitName
from engine.data.columns.times import guess_split_by

BY_CHARACTERS = 16  # width of the box


class SplitFields(Section):
    """Fractions of a random split with its seed, or a column.

    Signals:
        chosen: the Split that the user made; `show_fields` shows it.
    """

    chosen = Signal(object)

    def __init__(
        self,
        first_cells: Callable[[str], Sequence[str]],
        title: str = "",
        parent: QWidget | None = None,
    ) -> None:
        """`first_cells` returns cells of a column, from which its contents are guessed."""
        super().__init__(title, parent)
        self._first_cells = first_cells
        self._split = Split()
        self._is_showing = False
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.column = ComboBox()
        self.column.setModel(self._model)
        contents = ((value_text(by), by) for by in get_args(SplitBy))
        self.by = ComboBox("", BY_CHARACTERS, contents)
        self.validation, self.test, self.seed = ProbabilityBox(), ProbabilityBox(), SpinBox()
        for fraction in (self.validation, self.test):
            fraction.setMaximum(MAX_FRACTION)
        self.seed.setRange(0, 2_000_000_000)
        self.stratify = QCheckBox()
        fields = Split.model_fields
        for field, control in (
            ("column", self.column),
            ("by", self.by),
            ("validation", self.validation),
            ("test", self.test),
            ("seed", self.seed),
        ):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        stratify = fields["stratify"]
        self.add_box(title_of("stratify", stratify), self.stratify, help_of(stratify))
        for choice in (self.column, self.by):
            choice.activated.connect(lambda _: self._on_changed())
        for box in (self.validation, self.test, self.seed):
            box.valueChanged.connect(lambda _: self._on_changed())
        self.stratify.clicked.connect(lambda _: self._on_changed())

    def show_fields(
        self,
        split: Split,
        columns: tuple[str, ...],
        random_splits: Collection[SplitName],
        may_have_column: bool,
        has_label: bool,
    ) -> None:
        """Show a split, and only controls that have an effect.

        Args:
            random_splits: those without rows of their own.
            may_have_column: the split may depend on a column.
        """
        self._is_showing, self._split = True, split
        if self._columns != columns:
            self._columns = columns
            names = [one_line(column[:100]) for column in columns]
            self._model.setStringList([self.tr("none"), *names])
        self.column.setCurrentIndex(box_index(split.column, columns))
        self.by.setCurrentIndex(self.by.findData(split.by))
        self.validation.setValue(split.validation)
        self.test.setValue(split.test)
        self.seed.setValue(split.seed)
        self.stratify.setChecked(split.stratify)
        self._is_showing = False
        is_named = split.column is not None and split.by == "name"
        new_splits = () if is_named else random_splits
        has_new = any(getattr(split, name) > 0 for name in new_splits)
        is_random = has_new and split.by != "time"
        self.show_row(self.column, may_have_column)
        self.show_row(self.by, split.column is not None)
        self.show_row(self.validation, "validation" in new_splits)
        self.show_row(self.test, "test" in new_splits)
        self.show_row(self.seed, is_random)
        self.show_row(self.stratify, is_random and has_label)

    def _on_changed(self) -> None:
        if self._is_showing:
            return
        validation = self.validation.value()
        test = min(self.test.value(), 0.99 - validation)
        index = self.column.currentIndex()
        column = self._columns[index - 1] if index > 0 else None
        by: SplitBy = self.by.currentData() if column else "name"
        if column is not None and column != self._split.column:
            by = guess_split_by(self._first_cells(column))
        self.chosen.emit(
            Split(
                validation=validation,
                test=max(0.0, round(test, PROBABILITY_DECIMALS)),
                seed=self.seed.value(),
                stratify=self.stratify.isChecked(),
                column=column,
                by=by,
            )
        )
