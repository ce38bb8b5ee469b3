"""The form of one label of a codebook: name, key, colour, definition and examples."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from app import resources
from app.theme import CHART, SPACE, px
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import Text, tooltip
from engine.config.codebook import MAX_LABEL, Code

WIDTH, KEY_WIDTH, TEXT_HEIGHT = 400, 70, 64  # px
MAX_DEFINITION = 5_000  # characters


class CodeForm(QWidget):
    """Edits a label. `edited`: by the user."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._is_showing = False
        self.label, self.key = QLineEdit(), QLineEdit()
        self.label.setMaxLength(MAX_LABEL)
        self.key.setMaxLength(20)
        self.key.setFixedWidth(px(KEY_WIDTH))
        self.key.setToolTip(
            tooltip(
                self.tr(
                    "A letter or digit labels a row at once. Empty: the next free key. A longer "
                    "code is kept for your own use."
                )
            )
        )
        self.colour = ComboBox(self.tr("Colour"))
        self.colour.addItem(self.tr("By its place"), None)
        for number, role in enumerate(CHART, start=1):
            icon = resources.icon("circle", role)
            self.colour.addItem(icon, self.tr("Colour {0}").format(number), number)
        self.definition, self.examples, self.counterexamples = (QPlainTextEdit() for _ in range(3))
        self.deprecated = buttons.plain(self.tr("De&precated"))
        self.deprecated.setCheckable(True)
        self.deprecated.setToolTip(tooltip(self.tr("Rows keep the label; it has no key any more.")))
        self.setMinimumWidth(px(WIDTH))
        rows = layouts.column(parent=self, spacing=SPACE)
        for title, widget in (
            (self.tr("Label"), self.label),
            (self.tr("Definition"), self.definition),
            (self.tr("Examples, one in each line"), self.examples),
            (self.tr("Counter-examples, one in each line"), self.counterexamples),
        ):
            text = Text(title, "muted")
            text.setBuddy(widget)
            widget.setAccessibleName(title)
            rows.addWidget(text)
            rows.addWidget(widget)
            if isinstance(widget, QPlainTextEdit):
                widget.setTabChangesFocus(True)
                widget.setMinimumHeight(px(TEXT_HEIGHT))
                widget.textChanged.connect(self._on_edited)
        key_title = Text(self.tr("Key"), "muted", wraps=False)
        key_title.setBuddy(self.key)
        self.key.setAccessibleName(self.tr("Key"))
        row = layouts.row(
            *(key_title, self.key, 2 * SPACE, self.colour, layouts.STRETCH, self.deprecated),
            spacing=2 * SPACE,
        )
        rows.insertLayout(2, row)
        self.label.textEdited.connect(lambda _: self._on_edited())
        self.key.textEdited.connect(lambda _: self._on_edited())
        self.colour.activated.connect(lambda _: self._on_edited())
        self.deprecated.toggled.connect(lambda _: self._on_edited())

    def show_code(self, code: Code | None, free_key: str) -> None:
        """Show a label and the key that it gets without its own; None: an empty form."""
        self._is_showing = True
        shown = code or Code(label="-")
        self.label.setText("" if code is None else code.label)
        self.key.setText(shown.key)
        self.key.setPlaceholderText("" if shown.key else free_key)
        self.colour.setCurrentIndex(max(self.colour.findData(shown.colour), 0))
        self.definition.setPlainText(shown.definition)
        self.examples.setPlainText("\n".join(shown.examples))
        self.counterexamples.setPlainText("\n".join(shown.counterexamples))
        self.deprecated.setChecked(shown.deprecated)
        self._is_showing = False

    def fields(self) -> dict[str, object]:
        """The fields of the label, by their names in `Code`."""
        examples, counterexamples = (
            tuple(line.strip() for line in box.toPlainText().splitlines() if line.strip())
            for box in (self.examples, self.counterexamples)
        )
        return {
            "label": self.label.text().strip(),
            "key": self.key.text().strip(),
            "colour": self.colour.currentData(),
            "definition": self.definition.toPlainText().strip()[:MAX_DEFINITION],
            "examples": examples,
            "counterexamples": counterexamples,
            "deprecated": self.deprecated.isChecked(),
        }

    def _on_edited(self) -> None:
        if not self._is_showing:
            self.edited.emit()
