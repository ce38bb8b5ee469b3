"""Fractions of validation and test rows, or the column that has the split."""

from PySide6.QtCore import QStringListModel
from PySide6.QtWidgets import QCheckBox, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.sections.section import Section, place_of
from app.pages.data.importing.state import ImportState
from app.widgets.forms.controls import ComboBox, SpinBox, pad
from app.widgets.text.data_texts import sizes_of_splits
from app.widgets.text.spec_texts import help_of, title_of
from engine.config.dataset import Split


class SplitSection(Section):
    """Fractions of a random split with its seed, or a column."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._is_showing = False
        self.heading.setText(self.tr("Split"))
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.column = ComboBox()
        self.column.setModel(self._model)
        self.validation, self.test, self.seed = SpinBox(), SpinBox(), SpinBox()
        for share in (self.validation, self.test):
            share.setRange(0, 95)
            share.setSuffix(" %")
            share.setSingleStep(5)
        self.seed.setRange(0, 2_000_000_000)
        for number in (self.validation, self.test, self.seed):
            pad(number)
        self.stratify = QCheckBox()
        fields = Split.model_fields
        for field, control in (
            ("column", self.column),
            ("validation", self.validation),
            ("test", self.test),
            ("seed", self.seed),
        ):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        stratify = fields["stratify"]
        self.add_box(title_of("stratify", stratify), self.stratify, help_of(stratify))
        self.column.activated.connect(lambda _: self._on_changed())
        for number in (self.validation, self.test, self.seed):
            number.valueChanged.connect(lambda _: self._on_changed())
        self.stratify.clicked.connect(lambda _: self._on_changed())

    def show_split(self) -> None:
        """Show the state, and only controls that have an effect."""
        state, split = self._state, self._state.split
        self._is_showing = True
        if self._columns != state.columns:
            self._columns = state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
        self.column.setCurrentIndex(place_of(split.column, self._columns))
        self.validation.setValue(round(split.validation * 100))
        self.test.setValue(round(split.test * 100))
        self.seed.setValue(split.seed)
        self.stratify.setChecked(split.stratify)
        self._is_showing = False
        random_splits = state.random_splits if split.column is None else ()
        is_random = any(getattr(split, name) > 0 for name in random_splits)
        self.show_row(self.column, len(state.sources) == 1)
        self.show_row(self.validation, "validation" in random_splits)
        self.show_row(self.test, "test" in random_splits)
        self.show_row(self.seed, is_random)
        self.show_row(self.stratify, is_random and state.roles.label is not None)
        self.setEnabled(bool(self._columns))

    def show_sizes(self) -> None:
        """Show the sizes of the splits once all rows are counted."""
        rows = self._state.count.split_rows
        if rows is None:
            self.show_note("")
            return
        sizes = sizes_of_splits(rows)
        if not rows["validation"]:
            sizes += "\n" + self.tr(
                "Without a validation set, training cannot measure how well the model does on new"
                " text."
            )
        self.show_note(sizes)

    def _on_changed(self) -> None:
        if self._is_showing:
            return
        validation = self.validation.value() / 100
        test = min(self.test.value() / 100, 0.99 - validation)
        place = self.column.currentIndex()
        split = Split(
            validation=validation,
            test=max(0.0, round(test, 2)),
            seed=self.seed.value(),
            stratify=self.stratify.isChecked(),
            column=self._columns[place - 1] if place > 0 else None,
        )
        self._state.set_split(split)
        self.show_split()
