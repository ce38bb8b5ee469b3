"""Format of the files: recognised, and can be changed."""

from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from app.pages.data.importing.sections.section import Section
from app.pages.data.importing.state import ImportState
from app.timers import debounced
from app.translation import in_language
from app.widgets.forms.controls import ComboBox
from app.widgets.text.spec_texts import help_of, title_of
from engine.config.dataset import Reading
from engine.data.formats import FORMATS
from engine.phrases import join

TYPING_PAUSE_MS = 400  # from the last key to applying a typed encoding
ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1251", "shift_jis", "gb18030", "big5")
AFTER_LABEL = " "


class FormatSection(Section):
    """Format, encoding, delimiter, quotes and header."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("File format"))
        self.format = ComboBox()
        for name, one in FORMATS.items():
            self.format.addItem(in_language(one.title), name)
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
        typed = self.encoding.lineEdit()
        assert typed is not None
        typed.textEdited.connect(lambda _: self._pause.start())

    def _enable_formats(self, chosen: str) -> None:
        """Disable formats of folders for files, and binary formats for text."""
        model = self.format.model()
        assert isinstance(model, QStandardItemModel)
        for name, one in FORMATS.items():
            enabled = name == chosen or (one.is_text and bool(one.suffixes))
            model.item(self.format.findData(name)).setEnabled(enabled)

    def show_reading(self) -> None:
        """Show the reading of the state."""
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
        one = FORMATS[reading.format]
        for field, control in self._options.items():
            self.show_row(control, field in one.options)
        self._enable_formats(reading.format)
        # otherwise there is no alternative
        self.format.setEnabled(one.is_text and bool(one.suffixes))
        self.show_note(join("\n", self._state.notes))

    def _on_changed(self) -> None:
        self._pause.stop()
        old = self._state.reading
        if old is None:
            return
        name, sign = self.format.currentData(), self.delimiter.currentData()
        if name != old.format:
            sign = FORMATS[name].delimiter or sign
        changed = Reading(
            format=name,
            encoding=self.encoding.currentText().strip() or old.encoding,
            delimiter=sign or old.delimiter,
            quoted=self.quoted.isChecked(),
            header=self.header.isChecked(),
        )
        self._state.set_reading(changed)
        self.show_reading()
