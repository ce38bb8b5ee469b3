"""Controls of an import, in groups: files, format, columns, split and name."""

from dataclasses import replace
from typing import Any, get_origin

from PySide6.QtCore import QStringListModel
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.files import MAX_NAME_CHARACTERS, display_names
from app.pages.data.importing.roles import Roles
from app.pages.data.importing.state import ImportState
from app.pages.data.section import Section, box_index
from app.pages.data.split_fields import SplitFields
from app.timers import debounced
from app.translation import in_language, tr
from app.widgets.forms.controls import (
    ColumnsBox,
    ComboBox,
)
from app.widgets.text.data_texts import split_sizes
from app.widgets.text.spec_texts import help_of, title_of
from engine.config.dataset import SPLITS, Mapping, Reading, Split
from engine.data.formats import FORMATS
from engine.phrases import join


class FilesSection(Section):
    """A box with the splits for each file; not needed for a single file."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(tr("Files"), parent)
        self._state = state
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


class FormatSection(Section):
    """Format, encoding, delimiter, quotes and header."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(tr("File format"), parent)
        self._state = state
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
        self.quoted, self.header, self.hidden = QCheckBox(), QCheckBox(), QCheckBox()
        self._options: dict[str, QWidget] = {
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "quoted": self.quoted,
            "header": self.header,
            "hidden": self.hidden,
        }
        fields = Reading.model_fields
        self.add(self.tr("Format"), self.format, help_of(fields["format"]))
        for field, control in (("encoding", self.encoding), ("delimiter", self.delimiter)):
            self.add(title_of(field, fields[field]), control, help_of(fields[field]))
        boxes = {"quoted": self.quoted, "header": self.header, "hidden": self.hidden}
        for field, box in boxes.items():
            self.add_box(title_of(field, fields[field]), box, help_of(fields[field]))
        self._pause = debounced(self, TYPING_PAUSE_MS, self._on_changed)
        for combo in (self.format, self.encoding, self.delimiter):
            combo.activated.connect(lambda _: self._on_changed())
        for box in boxes.values():
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
        self.hidden.setChecked(reading.hidden)
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
            hidden=self.hidden.isChecked(),
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
        super().__init__(tr("Columns"), parent)
        self._state = state
        self._columns: tuple[str, ...] = ()
        self._model = QStringListModel(self)
        self.boxes: dict[str, QComboBox] = {}
        self.lists: dict[str, ColumnsBox] = {}
        self.template, self.levels = QLineEdit(), QLineEdit()
        self._templates = {"text": self.template, "label": self.levels}
        self._typing = debounced(self, TYPING_PAUSE_MS, self._on_template)
        for line in self._templates.values():
            line.textEdited.connect(lambda _: self._typing.start())
            line.editingFinished.connect(self._on_template)
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
            if role == "text":
                self._add_template()
            if role == "label":
                text = self.tr("Columns in braces, one for each level of a hierarchy: {0}.")
                self.add(self.tr("Levels"), self.levels, text.format("“{topic} > {subtopic}”"))
        self.text, self.pair, self.label = (self.boxes[role] for role in ALWAYS_SHOWN)
        self._joined_model = QStringListModel(self)
        self.text.setModel(self._joined_model)
        self.label.setModel(self._joined_model)
        self.several = ComboBox()
        self.several.addItems([self.tr("Coders of one label"), self.tr("Separate labels")])
        self.several.activated.connect(self._on_several)
        text = self.tr(
            "Columns that share labels: codes of several people, or labels of their own."
        )
        self.add(self.tr("Similar columns"), self.several, text)
        self.more = QCheckBox()
        self.more.toggled.connect(lambda _: self._show_rows())
        self.add_box(self.tr("&Other column roles…"), self.more)
        self._show_rows()

    def _add_template(self) -> None:
        text = self.tr(
            "Columns in braces, and what is between them, such as {0}. With [SEP] between two, the "
            "model reads a pair of texts. Nothing is written for an empty cell."
        )
        self.add(self.tr("Template"), self.template, text.format("“{subject}. {body}”"))

    def _on_template(self) -> None:
        self._typing.stop()
        roles = self._state.roles
        typed: dict[str, Any] = {
            role: line.text().strip() or None
            for role, line in self._templates.items()
            if line.isVisibleTo(self)
        }
        if (changed := replace(roles, **typed)) != roles:
            self._state.set_roles(changed)
            self._show_roles()

    def show_columns(self) -> None:
        if self._columns != self._state.columns:
            self._columns = self._state.columns
            names = [one_line(column[:100]) for column in self._columns]
            self._model.setStringList([self.tr("none"), *names])
            several = [self.tr("Several columns…")] if len(names) > 1 else []
            self._joined_model.setStringList([*self._model.stringList(), *several])
        self._show_roles()
        self.setEnabled(bool(self._columns))

    def _show_roles(self) -> None:
        roles = self._state.roles
        for role, box in self.boxes.items():
            box.setCurrentIndex(box_index(getattr(roles, role), self._columns))
        for role, line in self._templates.items():
            value = getattr(roles, role)
            is_agreed = role == "label" and bool(roles.coders)
            is_template = value not in (None, *self._columns) and not is_agreed
            if is_template:
                self.boxes[role].setCurrentIndex(len(self._columns) + 1)
                if not self._typing.isActive() and line.text().strip() != value:
                    line.setText(value)
            self.show_row(line, is_template)
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
        roles, preview = self._state.roles, self._state.preview
        names = ", ".join(f"“{one_line(name[:40])}”" for name in roles.coders)
        if not roles.coders:
            return ""
        cells = preview.find_uncoded(roles.coders) if preview is not None and not roles.tags else []
        none = ", ".join(f"“{one_line(cell[:20])}”" for cell in cells)
        text = self.tr("{0} in these columns means that a row was not coded.").format(none)
        return "\n".join(filter(None, (self._label_note(names), text if none else "")))

    def _label_note(self, names: str) -> str:
        """Explain the label of coders with these names."""
        roles = self._state.roles
        if roles.label is not None:
            text = self.tr("{0} are read as coders of “{1}”.")
            return text.format(names, one_line(roles.label[:40]))
        text = self.tr(
            "{0} are read as coders of one label. Rows on which they disagree have no label until "
            "you decide them."
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
            if box.currentIndex() <= len(self._columns)
        }
        if "label" not in chosen:
            chosen["label"] = self._state.levels_template()
        if "text" not in chosen:
            chosen["text"] = self._state.template()
            if self._state.roles.text in (None, *self._columns):
                chosen["pair"] = None  # the template has it
        chosen |= {role: list_box.chosen() for role, list_box in self.lists.items()}
        self._state.set_roles(Roles(**chosen))
        self._show_roles()


class SplitSection(SplitFields):
    """The split of an import, with its sizes."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(state.first_cells, tr("Split"), parent)
        self._state = state
        self.chosen.connect(self._on_chosen)

    def show_split(self) -> None:
        """Show the state, and only controls that have an effect."""
        state = self._state
        may_have_column, has_label = len(state.sources) == 1, state.roles.label is not None
        self.show_fields(
            state.split, state.columns, state.random_splits, may_have_column, has_label
        )
        self.setEnabled(bool(state.columns))

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

    def _on_chosen(self, split: Split) -> None:
        self._state.set_split(split)
        self.show_split()


class NameSection(Section):
    """Field for the name; an existing name creates a new version."""

    def __init__(self, state: ImportState, parent: QWidget) -> None:
        super().__init__(tr("Name"), parent)
        self._state = state
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
