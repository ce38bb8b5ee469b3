"""How the files are read, what their columns are, and how rows are dealt out."""

from typing import Any

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QWidget,
)

from app.pages.data.cells import one_line
from app.pages.data.importing.section import Section
from app.pages.data.importing.state import LONGEST_NAME, ImportState, Roles
from app.widgets import numbers
from app.widgets.number_field import pad
from app.widgets.spec_texts import help_of, title_of
from engine.data.formats.reading import FORMATS
from engine.spec.dataset import SPLITS, Mapping, Reading, Split

PAUSE = 400  # ms after a key before what was typed is taken
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1251", "shift_jis", "gb18030", "big5")
AFTER_LABEL = " "
ALWAYS = ("text", "pair", "label")  # parts of a row that are always offered
SEVERAL = ("flags", "endings")  # parts that are more than one column


class ReadingControls(Section):
    """Format, encoding, delimiter, quotes and header: what was recognised, and can be changed."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Read as"))
        self.format = QComboBox()
        for name, one in FORMATS.items():
            self.format.addItem(one.title, name)
        self._hide_folder()
        self.encoding = QComboBox(editable=True)
        self.encoding.addItems(ENCODINGS)
        self.encoding.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.delimiter = QComboBox()
        for text, sign in (
            (self.tr("Comma  ,"), ","),
            (self.tr("Tab"), "\t"),
            (self.tr("Semicolon  ;"), ";"),
            (self.tr("Bar  |"), "|"),
            (self.tr("First space, after the label"), AFTER_LABEL),
        ):
            self.delimiter.addItem(text, sign)
        self.quoted = QCheckBox(self.tr("around some cells"))
        self.header = QCheckBox(self.tr("in the first row"))
        fields = Reading.model_fields
        for field, control in (
            ("format", self.format),
            ("encoding", self.encoding),
            ("delimiter", self.delimiter),
            ("quoted", self.quoted),
            ("header", self.header),
        ):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        self._pause = QTimer(self, singleShot=True, interval=PAUSE)
        self._pause.timeout.connect(self._on_changed)
        for combo in (self.format, self.encoding, self.delimiter):
            combo.activated.connect(lambda _: self._on_changed())
        for box in (self.quoted, self.header):
            box.clicked.connect(lambda _: self._on_changed())
        typed = self.encoding.lineEdit()
        assert typed is not None
        typed.textEdited.connect(lambda _: self._pause.start())

    def _hide_folder(self) -> None:
        """No file can be read as a folder."""
        model = self.format.model()
        assert isinstance(model, QStandardItemModel)
        item = model.item(self.format.findData("folder"))
        item.setEnabled(False)

    def show_reading(self) -> None:
        """Show what the state has."""
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
        for control in (self.delimiter, self.quoted, self.header):
            self.show_row(control, reading.format in ("csv", "tsv"))
        self.format.setEnabled(reading.format != "folder")  # a file is none, and it is no file
        self.show_note("\n".join(self._state.notes))

    def _on_changed(self) -> None:
        self._pause.stop()
        old = self._state.reading
        if old is None:
            return
        name, sign = self.format.currentData(), self.delimiter.currentData()
        if name != old.format and name in ("csv", "tsv"):
            sign = "\t" if name == "tsv" else ","
        changed = Reading(
            format=name,
            encoding=self.encoding.currentText().strip() or old.encoding,
            delimiter=sign or old.delimiter,
            quoted=self.quoted.isChecked(),
            header=self.header.isChecked(),
        )
        self._state.set_reading(changed)
        self.show_reading()


class FileControls(Section):
    """Which part each of several files is."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Files"))
        self.parts: list[QComboBox] = []

    def show_files(self) -> None:
        self.clear()
        self.parts = []
        files = self._state.files
        self.setVisible(len(files) > 1)
        if len(files) < 2:
            return
        for number, (file, part) in enumerate(zip(files, self._state.parts, strict=True)):
            box = QComboBox()
            for each in SPLITS:
                box.addItem(self._named(each), each)
            box.addItem(self.tr("left out"), None)
            box.setCurrentIndex(SPLITS.index(part) if part else len(SPLITS))
            box.activated.connect(lambda _, n=number, b=box: self._on_part(n, b))
            self.add(one_line(file.name), box)
            self.parts.append(box)

    def _named(self, part: str) -> str:
        return {
            "train": self.tr("train: learned from"),
            "validation": self.tr("dev: judged by while training"),
            "test": self.tr("test: kept for the end"),
        }[part]

    def _on_part(self, number: int, box: QComboBox) -> None:
        self._state.set_part(number, box.currentData())


class ColumnControls(Section):
    """Which columns hold what; what only some tasks need is shown when it is asked for or used."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Columns"))
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.boxes: dict[str, QComboBox] = {}
        self.lists: dict[str, SeveralColumns] = {}
        for part, field in Mapping.model_fields.items():
            box: QComboBox | SeveralColumns
            if part in SEVERAL:
                box = self.lists[part] = SeveralColumns()
                box.changed.connect(self._on_changed)
            else:
                box = self.boxes[part] = QComboBox()
                box.setModel(self._model)
                box.activated.connect(lambda _: self._on_changed())
            self.add(title_of(part, field), box, help_of(field))
        self.text, self.pair, self.label = (self.boxes[part] for part in ALWAYS)
        self.more = QCheckBox(self.tr("&More kinds of columns"))
        self.more.toggled.connect(lambda _: self._show_rows())
        self.add("", self.more)
        self.more.setAccessibleName(self.tr("More kinds of columns"))
        self._show_rows()

    def show_columns(self) -> None:
        if self._columns != self._state.columns:
            self._columns = self._state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
            for several in self.lists.values():
                several.show_columns(self._columns)
        roles = self._state.roles
        for part, box in self.boxes.items():
            box.setCurrentIndex(place_of(getattr(roles, part), self._columns))
        for part, several in self.lists.items():
            several.choose(getattr(roles, part))
        self._show_rows()
        self.setEnabled(bool(self._columns))

    def _show_rows(self) -> None:
        roles = self._state.roles
        for part, box in (self.boxes | self.lists).items():
            if part not in ALWAYS:
                self.show_row(box, self.more.isChecked() or bool(getattr(roles, part)))

    def _on_changed(self) -> None:
        chosen: dict[str, Any] = {
            part: self._columns[box.currentIndex() - 1] if box.currentIndex() > 0 else None
            for part, box in self.boxes.items()
        }
        chosen |= {part: several.chosen() for part, several in self.lists.items()}
        self._state.set_roles(Roles(**chosen))


class SeveralColumns(QToolButton):
    """A button that says which columns are chosen, with a menu to tick them in.

    Signals:
        changed: others are chosen, by hand.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._columns: tuple[str, ...] = ()
        self._chosen: frozenset[str] = frozenset()
        self._list = QMenu(self)
        self._list.aboutToShow.connect(self.fill)
        self.setMenu(self._list)
        self._say()

    def show_columns(self, columns: tuple[str, ...]) -> None:
        """Offer these columns, none of them chosen."""
        self._columns = columns
        self._list.clear()
        self.choose(())

    def choose(self, columns: tuple[str, ...]) -> None:
        """Tick just these, without a signal."""
        self._chosen = frozenset(columns)
        for column, action in zip(self._columns, self._list.actions(), strict=False):
            action.setChecked(column in self._chosen)
        self._say()

    def chosen(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(column for column in self._columns if column in self._chosen)

    def fill(self) -> None:
        """Make the entries of the menu, when it is opened: there may be thousands."""
        if self._list.actions():
            return
        for column in self._columns:
            action = self._list.addAction(one_line(column[:100]).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(column in self._chosen)
            action.triggered.connect(lambda on, column=column: self._on_ticked(column, on))

    def _on_ticked(self, column: str, on: bool) -> None:
        self._chosen = self._chosen | {column} if on else self._chosen - {column}
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        names = ", ".join(one_line(column[:40]) for column in self.chosen())
        self.setText((names or self.tr("none")).replace("&", "&&"))


class SplitControls(Section):
    """What part of the rows is for dev and test, or which column says it."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Split"))
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.column = QComboBox()
        self.column.setModel(self._model)
        self.dev, self.test, self.seed = QSpinBox(), QSpinBox(), QSpinBox()
        for share in (self.dev, self.test):
            share.setRange(0, 95)
            share.setSuffix(" %")
            share.setSingleStep(5)
        self.seed.setRange(0, 2_000_000_000)
        for number in (self.dev, self.test, self.seed):
            pad(number)
        self.stratified = QCheckBox(self.tr("of the labels"))
        fields = Split.model_fields
        for field, control in (
            ("column", self.column),
            ("validation", self.dev),
            ("test", self.test),
            ("seed", self.seed),
            ("stratify", self.stratified),
        ):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        self.column.activated.connect(lambda _: self._on_changed())
        for number in (self.dev, self.test, self.seed):
            number.valueChanged.connect(lambda _: self._on_changed())
        self.stratified.clicked.connect(lambda _: self._on_changed())
        self._is_showing = False

    def show_split(self) -> None:
        """Show what the state has, and only what makes a difference."""
        state, split = self._state, self._state.split
        self._is_showing = True
        if self._columns != state.columns:
            self._columns = state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
        self.column.setCurrentIndex(place_of(split.column, self._columns))
        self.dev.setValue(round(split.validation * 100))
        self.test.setValue(round(split.test * 100))
        self.seed.setValue(split.seed)
        self.stratified.setChecked(split.stratify)
        self._is_showing = False
        by_chance = split.column is None
        dealt = state.dealt if by_chance else ()
        is_drawn = any(getattr(split, part) > 0 for part in dealt)
        self.show_row(self.column, len(state.sources) == 1)
        self.show_row(self.dev, "validation" in dealt)
        self.show_row(self.test, "test" in dealt)
        self.show_row(self.seed, is_drawn)
        self.show_row(self.stratified, is_drawn and state.roles.label is not None)
        self.setEnabled(bool(self._columns))

    def show_sizes(self) -> None:
        """How many rows each part will have, once all are counted."""
        rows = self._state.part_rows
        if rows is None:
            self.show_note("")
            return
        parts = [f"{part} {numbers.count(count)}" for part, count in rows.items() if count]
        sizes = " · ".join(parts)
        if not rows["validation"]:
            sizes += "\n" + self.tr(
                "Without dev rows a run cannot tell how good it is on new text."
            )
        self.show_note(sizes)

    def _on_changed(self) -> None:
        if self._is_showing:
            return
        dev = self.dev.value() / 100
        test = min(self.test.value() / 100, 0.99 - dev)
        place = self.column.currentIndex()
        split = Split(
            validation=dev,
            test=max(0.0, round(test, 2)),
            seed=self.seed.value(),
            stratify=self.stratified.isChecked(),
            column=self._columns[place - 1] if place > 0 else None,
        )
        self._state.set_split(split)
        self.show_split()


class NameControls(Section):
    """The name of the data set."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Name"))
        self.name = QLineEdit()
        self.name.setMaxLength(LONGEST_NAME)
        self.add(self.tr("Name"), self.name)
        self.name.textEdited.connect(self._on_edited)

    def show_name(self) -> None:
        if self.name.text() != self._state.name:
            self.name.setText(self._state.name)
        version = self._state.version
        self.show_note(
            self.tr("There is a data set of this name; this becomes its version {0}.").format(
                version
            )
            if version > 1
            else ""
        )

    def _on_edited(self, name: str) -> None:
        self._state.set_name(name)


def place_of(column: str | None, columns: tuple[str, ...]) -> int:
    """The row of a column in a box that begins with “none”."""
    return 0 if column is None or column not in columns else columns.index(column) + 1
