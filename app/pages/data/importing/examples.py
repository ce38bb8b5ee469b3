"""First examples, tokenized."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.preview import EXAMPLE_LENGTH, Example
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.page import scrolling
from app.widgets.text.labels import Text
from app.widgets.text.token_row import TokenRow


class Examples(QWidget):
    """Tokens with segments, and the label, of a few rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Text, TokenRow, Text]] = []
        self.problem = Text("", "muted")
        inner = QWidget()
        self._grid = layouts.grid(
            across=4 * SPACE, down=3 * SPACE, stretched=1, margins=(0, 0, 2 * SPACE, 0)
        )
        layouts.column(self.problem, self._grid, layouts.STRETCH, parent=inner)
        layouts.column(scrolling(inner), parent=self)

    def show_examples(self, examples: list[Example], unknown: int, problem: str) -> None:
        """Show examples, or `problem` if there are none."""
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        while len(self.rows) < len(examples):
            self._add_row()
        for number, (line, tokens, label) in enumerate(self.rows):
            is_used = number < len(examples)
            for widget in (line, tokens, label):
                widget.setVisible(is_used)
            if is_used:
                self._show(examples[number], unknown, line, tokens, label)

    def _add_row(self) -> None:
        row = len(self.rows)
        widgets = (Text("", "small", wraps=False), TokenRow(most=EXAMPLE_LENGTH), Text("", "small"))
        widgets[2].setFixedWidth(30 * SPACE)
        for column, widget in enumerate(widgets):
            self._grid.addWidget(widget, row, column, Qt.AlignmentFlag.AlignTop)
        self.rows.append(widgets)

    def _show(
        self, example: Example, unknown: int, line: Text, tokens: TokenRow, label: Text
    ) -> None:
        line.setText(self.tr("line {0}").format(example.line))
        tokens.show_tokens(example.tokens, unknown)
        said = []
        if example.label is not None:
            name = one_line(example.label)
            said.append(self.tr("label “{0}”").format(name) if name else self.tr("no label"))
        if example.truncated:
            said.append(self.tr("truncated to {0} tokens").format(EXAMPLE_LENGTH))
        label.setText("\n".join(said))
