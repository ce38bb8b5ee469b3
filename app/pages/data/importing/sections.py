"""Controls of an import, in groups: files, format, columns, split and name."""

from typing import Any, get_args, get_origin

from PySide6.QtCore import QStringListModel
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.files import MAX_NAME_CHARACTERS, display_names
from app.pages.data.importing.roles import Roles
from app.pages.data.importing.state import ImportState
from app.theme import SPACE
from app.timers import debounced
from app.translation import in_language, tr
from app.widgets import layouts
from app.widgets.forms.controls import (
    PROBABILITY_DECIMALS,
    ColumnsBox,
    ComboBox,
    ProbabilityBox,
    SpinBox,
    pad,
)
from app.widgets.text.data_texts import split_sizes
from app.widgets.text.labels import Text, tooltip
from app.widgets.text.spec_texts import help_of, title_of, value_text
from engine.config.dataset import SPLITS, Mapping, Reading, Split, SplitBy
from engine.data.columns.times import guess_split_by
from engine.data.formats import FORMATS
from engine.phrases import join


class Section(QWidget):
    """One group of controls at the side of the rows."""

    def __init__(self, state: ImportState, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self.note = Text("", "small")
        self.note.hide()
        self._grid = layouts.grid(h_spacing=3 * SPACE, v_spacing=2 * SPACE, stretch=1)
        self._grid.setColumnMinimumWidth(0, 28 * SPACE)
        self._labels: dict[QWidget, Text | None] = {}
        layouts.column(
            Text(title, "heading"), self._grid, self.note, parent=self, spacing=2 * SPACE
        )

    def add(self, name: str, control: QWidget, help_text: str = "") -> None:
        """Add a row; `name` may be untrusted text and is shown literally."""
        row = self._grid.rowCount()
        self._grid.addWidget(self._label(name, control), row, 0)
        self._grid.addWidget(control, row, 1)
        self._describe(name, control, help_text)

    def add_below(self, name: str, control: QWidget) -> None:
        """Add a row whose control has the full width below its label."""
        row = self._grid.rowCount()
        self._grid.addWidget(self._label(name, control), row, 0, 1, 2)
        self._grid.addWidget(control, row + 1, 0, 1, 2)
        self._describe(name, control, "")

    def _label(self, name: str, control: QWidget) -> Text:
        label = Text(name, "muted")
        label.setBuddy(control)
        self._labels[control] = label
        if isinstance(control, QComboBox):  # it may be narrower than its longest item
            policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            control.setSizeAdjustPolicy(policy)
            control.setMinimumContentsLength(6)
        return label

    def add_box(self, name: str, box: QCheckBox, help_text: str = "") -> None:
        """Add a checkbox with its own text."""
        box.setText(name)
        self._grid.addWidget(box, self._grid.rowCount(), 0, 1, 2)
        self._describe(name.replace("&", ""), box, help_text)
        self._labels[box] = None

    def show_row(self, control: QWidget, visible: bool) -> None:
        for part in (control, self._labels[control]):
            if part is not None:
                part.setVisible(visible)

    def show_note(self, text: str) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def clear(self) -> None:
        """Remove all rows."""
        for row in self._labels.items():
            for widget in row:
                if widget is not None:
                    self._grid.removeWidget(widget)
                    widget.hide()
                    widget.deleteLater()
        self._labels = {}

    def _describe(self, name: str, control: QWidget, help_text: str) -> None:
        control.setAccessibleName(name)
        if help_text:
            control.setAccessibleDescription(help_text)
            control.setToolTip(tooltip(help_text))


def box_index(column: str | None, columns: tuple[str, ...]) -> int:
    """Index of a column in a box whose first item is “none”."""
    return 0 if column is None or column not in columns else columns.index(column) + 1


class FilesSection(Section):
    """A box with the splits for each file; not needed for a single file."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state, tr("Files"), parent)
        self.boxes: list[QComboBox] = []

    def show_files(self) -> None:
        self.clear()
        self.boxes = []
        files = self._state.files
        self.setVisible(len(files) > 1)
        if len(files) < 2:
            return
        names = zip(display_names(files), self._state.splits, strict=True)
        for index, (name, split) in enumerate(names):
            box = ComboBox()
            for choice in SPLITS:
                box.addItem(self._split_text(choice), choice)
            box.addItem(self.tr("Don't import"), None)
            box.setCurrentIndex(SPLITS.index(split) if split else len(SPLITS))
            box.activated.connect(
                lambda _, n=index, b=box: self._state.set_file_split(n, b.currentData())
            )
            self.add_below(one_line(name), box)
            self.boxes.append(box)

    def _split_text(self, split: str) -> str:
        return {
            "train": self.tr("Training set – the model learns from it"),
            "validation": self.tr("Validation set – measures training progress"),
            "test": self.tr("Test set – final, untouched evaluation"),
        }[split]


TYPING_PAUSE_MS = 400  # from the last keystroke to applying a typed encoding
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1251", "shift_jis", "gb18030", "big5")
AFTER_LABEL = " "
BY_CHARACTERS = 16  # width of the box
MAX_FRACTION = 0.95  # of a split


class FormatSection(Section):
    """Format, encoding, delimiter, quotes and header."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state, tr("File format"), parent)
        self.format = ComboBox()
        for name, info in FORMATS.items():
            self.format.addItem(in_language(info.title), name)
        self.encoding = ComboBox()
        self.encoding.setEditable(True)
        self.encoding.addItems(ENCODINGS)
        self.encoding.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.delimiter = ComboBox()
        for text, sign in (
            (self.tr("Comma  ,"), ","),
            (self.tr("Tab"), "\t"),
            (self.tr("Semicolon  ;"), ";"),
            (self.tr("Vertical bar  |"), "|"),
            (self.tr("First space, after the label"), AFTER_LABEL),
        ):
            self.delimiter.addItem(text, sign)
        self.quoted, self.header = QCheckBox(), QCheckBox()
        self._options: dict[str, QWidget] = {
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "quoted": self.quoted,
            "header": self.header,
        }
        fields = Reading.model_fields
        self.add(self.tr("Format"), self.format, help_of(fields["format"]))
        for field, control in (("encoding", self.encoding), ("delimiter", self.delimiter)):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        for field, box in (("quoted", self.quoted), ("header", self.header)):
            self.add_box(title_of(field, fields[field]), box, help_of(fields[field]))
        self._pause = debounced(self, TYPING_PAUSE_MS, self._on_changed)
        for combo in (self.format, self.encoding, self.delimiter):
            combo.activated.connect(lambda _: self._on_changed())
        for box in (self.quoted, self.header):
            box.clicked.connect(lambda _: self._on_changed())
        line_edit = self.encoding.lineEdit()
        assert line_edit is not None
        line_edit.textEdited.connect(lambda _: self._pause.start())

    def _enable_formats(self, chosen: str) -> None:
        """Disable formats of folders for files, and binary formats for text."""
        model = self.format.model()
        assert isinstance(model, QStandardItemModel)
        for name, info in FORMATS.items():
            is_enabled = name == chosen or (info.is_text and bool(info.suffixes))
            model.item(self.format.findData(name)).setEnabled(is_enabled)

    def show_reading(self) -> None:
        reading = self._state.reading
        self.setEnabled(reading is not None)
        if reading is None:
            return
        self.format.setCurrentIndex(self.format.findData(reading.format))
        if self.encoding.currentText() != reading.encoding:
            self.encoding.setCurrentText(reading.encoding)
        self.delimiter.setCurrentIndex(self.delimiter.findData(reading.delimiter))
        self.quoted.setChecked(reading.quoted)
        self.header.setChecked(reading.header)
        info = FORMATS[reading.format]
        for field, control in self._options.items():
            self.show_row(control, field in info.options)
        self._enable_formats(reading.format)
        self.format.setEnabled(info.is_text and bool(info.suffixes))  # if there are alternatives
        self.show_note(join("\n", self._state.notes))

    def _on_changed(self) -> None:
        self._pause.stop()
        old = self._state.reading
        if old is None:
            return
        name, sign = self.format.currentData(), self.delimiter.currentData()
        if name != old.format:
            sign = FORMATS[name].delimiter or sign
        reading = Reading(
            format=name,
            encoding=self.encoding.currentText().strip() or old.encoding,
            delimiter=sign or old.delimiter,
            quoted=self.quoted.isChecked(),
            header=self.header.isChecked(),
        )
        self._state.set_reading(reading)
        self.show_reading()


ALWAYS_SHOWN = ("text", "pair", "label")  # roles
LIST_ROLES = tuple(  # roles of several columns
    role for role, field in Mapping.model_fields.items() if get_origin(field.annotation) is tuple
)


class ColumnsSection(Section):
    """A box for each role; rare ones are shown if requested or used."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state, tr("Columns"), parent)
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.boxes: dict[str, QComboBox] = {}
        self.lists: dict[str, ColumnsBox] = {}
        for role, field in Mapping.model_fields.items():
            box: QComboBox
            if role in LIST_ROLES:
                list_box = self.lists[role] = ColumnsBox("")
                list_box.changed.connect(self._on_changed)
                box = list_box
            else:
                box = self.boxes[role] = ComboBox()
                box.setModel(self._model)
                box.activated.connect(lambda _: self._on_changed())
            self.add(title_of(role, field), box, help_of(field))
        self.text, self.pair, self.label = (self.boxes[role] for role in ALWAYS_SHOWN)
        self.several = ComboBox()
        self.several.addItems([self.tr("Coders of one label"), self.tr("Separate labels")])
        self.several.activated.connect(self._on_several)
        self.add(self.tr("Similar columns"), self.several)
        self.more = QCheckBox()
        self.more.toggled.connect(lambda _: self._show_rows())
        self.add_box(self.tr("&Other column roles…"), self.more)
        self._show_rows()

    def show_columns(self) -> None:
        if self._columns != self._state.columns:
            self._columns = self._state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
        self._show_roles()
        self.setEnabled(bool(self._columns))

    def _show_roles(self) -> None:
        roles = self._state.roles
        for role, box in self.boxes.items():
            box.setCurrentIndex(box_index(getattr(roles, role), self._columns))
        for role, list_box in self.lists.items():
            list_box.show_columns(self._columns, getattr(roles, role))
        preview = self._state.preview
        found = preview.coders if preview is not None else ()
        self.several.setCurrentIndex(0 if roles.coders else 1)
        self.show_row(self.several, bool(found))
        self._show_rows()
        self.show_note(join("\n", filter(None, (self._state.columns_note, self._coders_note()))))

    def _coders_note(self) -> str:
        """Explain the label of several coders."""
        roles = self._state.roles
        names = ", ".join(f"“{one_line(name[:40])}”" for name in roles.coders)
        if not roles.coders:
            return ""
        if roles.label is not None:
            text = self.tr("{0} are read as coders of “{1}”.")
            return text.format(names, one_line(roles.label[:40]))
        text = self.tr(
            "{0} are read as coders of one label: that on which they agree. Rows on which they "
            "disagree have no label until you decide."
        )
        return text.format(names)

    def _on_several(self, index: int) -> None:
        """Read columns with the same labels as coders of one label, or as labels of their own."""
        preview = self._state.preview
        if preview is not None:
            roles = Roles.from_mapping(preview.mapping)
            self._state.set_roles(roles.with_coders(() if index else preview.coders))
        self._show_roles()

    def _show_rows(self) -> None:
        roles = self._state.roles
        for role, box in (self.boxes | self.lists).items():
            if role not in ALWAYS_SHOWN:
                self.show_row(box, self.more.isChecked() or bool(getattr(roles, role)))

    def _on_changed(self) -> None:
        chosen: dict[str, Any] = {
            role: self._columns[box.currentIndex() - 1] if box.currentIndex() > 0 else None
            for role, box in self.boxes.items()
        }
        chosen |= {role: list_box.chosen() for role, list_box in self.lists.items()}
        self._state.set_roles(Roles(**chosen))
        self._show_roles()


class SplitSection(Section):
    """Fractions of a random split with its seed, or a column."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state, tr("Split"), parent)
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
        for box in (self.validation, self.test, self.seed):
            pad(box)
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

    def show_split(self) -> None:
        """Show the state, and only controls that have an effect."""
        state, split = self._state, self._state.split
        self._is_showing = True
        if self._columns != state.columns:
            self._columns = state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
        self.column.setCurrentIndex(box_index(split.column, self._columns))
        self.by.setCurrentIndex(self.by.findData(split.by))
        self.validation.setValue(split.validation)
        self.test.setValue(split.test)
        self.seed.setValue(split.seed)
        self.stratify.setChecked(split.stratify)
        self._is_showing = False
        is_named = split.column is not None and split.by == "name"
        new_splits = () if is_named else state.random_splits
        has_new = any(getattr(split, name) > 0 for name in new_splits)
        is_random = has_new and split.by != "time"
        self.show_row(self.column, len(state.sources) == 1)
        self.show_row(self.by, split.column is not None)
        self.show_row(self.validation, "validation" in new_splits)
        self.show_row(self.test, "test" in new_splits)
        self.show_row(self.seed, is_random)
        self.show_row(self.stratify, is_random and state.roles.label is not None)
        self.setEnabled(bool(self._columns))

    def show_sizes(self) -> None:
        """Show the sizes of the splits once all rows are counted."""
        rows = self._state.count.split_rows
        if rows is None:
            self.show_note("")
            return
        sizes = split_sizes(rows)
        if not rows["validation"]:
            sizes += "\n" + self.tr(
                "Without a validation set, performance on new text is not measured during training."
            )
        found = self._state.preview.split_column if self._state.preview else None
        if found and self._state.split.column is None and len(self._state.sources) == 1:
            note = self.tr("“{0}” has the split of each row: choose it as the column.")
            sizes += "\n" + note.format(one_line(found[:60]))
        self.show_note(sizes)

    def _on_changed(self) -> None:
        if self._is_showing:
            return
        validation = self.validation.value()
        test = min(self.test.value(), 0.99 - validation)
        index = self.column.currentIndex()
        column = self._columns[index - 1] if index > 0 else None
        by: SplitBy = self.by.currentData() if column else "name"
        if column is not None and column != self._state.split.column:
            by = guess_split_by(self._state.first_cells(column))
        split = Split(
            validation=validation,
            test=max(0.0, round(test, PROBABILITY_DECIMALS)),
            seed=self.seed.value(),
            stratify=self.stratify.isChecked(),
            column=column,
            by=by,
        )
        self._state.set_split(split)
        self.show_split()


class NameSection(Section):
    """Field for the name; an existing name creates a new version."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state, tr("Name"), parent)
        self.name = QLineEdit()
        self.name.setMaxLength(MAX_NAME_CHARACTERS)
        self.add(self.tr("Name"), self.name)
        self.name.textEdited.connect(state.set_name)

    def show_name(self) -> None:
        if self.name.text() != self._state.name:
            self.name.setText(self._state.name)
        version = self._state.version
        self.show_note(
            self.tr("A data set with this name exists; the import becomes version {0}.").format(
                version
            )
            if version > 1
            else ""
        )
