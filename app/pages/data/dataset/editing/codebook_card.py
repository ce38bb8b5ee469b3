"""The codebook next to the rows: the meaning of a label, and lists of marked rows."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu

from app.pages.data.dataset.editing.mark_texts import mark_titles
from app.theme import SPACE
from app.timers import debounced
from app.widgets import buttons, layouts
from app.widgets.page import Card
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line, visible
from app.widgets.text.wrapping import WrapArea
from engine.config.codebook import Code, Codebook

MAX_EXAMPLES = 5
MAX_CHARACTERS = 600  # of a definition
MAX_MEANINGS, MEANING_CHARACTERS = 12, 160  # in the list of all labels
UNLABELLED, RESERVED = "unlabelled", "reserved"


class CodebookCard(Card):
    """Shows a label of the codebook while rows are coded.

    Signals:
        edit_requested: edit the codebook.
        new_requested: code a new column.
        rows_requested: name of a mark, `UNLABELLED` or `RESERVED`; “” for all rows.
    """

    edit_requested = Signal()
    new_requested = Signal()
    rows_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__("")
        self.title = Text(self.tr("Codebook"), "heading")
        self.introduction = Text("", "muted")
        self.meanings = Text("", "body", selectable=True)
        self.label = Text("", "strong")
        self.definition = Text("", "body", selectable=True)
        self.examples = Text("", "muted", selectable=True)
        self.lists = buttons.plain(self.tr("Sho&w rows"))
        self.menu = QMenu(self.lists)
        self.lists.setMenu(self.menu)
        self.edit = buttons.plain(self.tr("Codeboo&k…"), self.edit_requested.emit, "book-open")
        self.new = buttons.plain(self.tr("Label these te&xts…"), self.new_requested.emit, "tag")
        self._codebook: Codebook | None = None
        self._current = self._hovered = ""
        self._pause = debounced(self, 0, self._show_label)  # after the next row is selected
        layouts.extend(self.body, self.title, self.introduction, self.meanings)
        layouts.extend(self.body, self.label, self.definition, self.examples)
        actions = WrapArea(gap=2 * SPACE)
        for button in (self.edit, self.lists, self.new):
            actions.add(button)
        self.body.addWidget(actions)

    def show_codebook(
        self, codebook: Codebook | None, has_labels: bool, is_packet: bool = False
    ) -> None:
        """Show the codebook of the label column, or None if it has none."""
        self.new.setVisible(not is_packet)
        self._codebook = codebook
        self.edit.setVisible(has_labels)
        self.introduction.setText(
            self.tr("Define the labels, and see the definitions while you label rows.")
            if has_labels
            else self.tr("Name and define labels, then label each row with one key.")
        )
        self.introduction.setVisible(codebook is None)
        self.lists.setVisible(codebook is not None)
        text = (
            self.tr("Label these te&xts…")
            if codebook is None
            else self.tr("Label anothe&r column…")
        )
        buttons.set_text(self.new, text)
        defined = [code for code in (codebook.active if codebook else ()) if code.definition]
        lines = (
            self.tr("{0}: {1}").format(
                visible(one_line(code.label[:60])), visible(shorten(code.definition))
            )
            for code in defined[:MAX_MEANINGS]
        )
        self.meanings.setText("\n".join(lines))
        self.meanings.setVisible(bool(defined))
        self._show_label()

    def show_counts(self, counts: dict[str, int]) -> None:
        """Offer the lists of rows with their numbers, by mark."""
        titles = {UNLABELLED: self.tr("Without a label"), **mark_titles()}
        titles[RESERVED] = self.tr("With coders")
        self.menu.clear()
        self.menu.addAction(self.tr("All rows")).triggered.connect(
            lambda _: self.rows_requested.emit("")
        )
        for name, title in titles.items():
            text = self.tr("{0} ({1})").format(title, numbers.count(counts.get(name, 0)))
            action = self.menu.addAction(text)
            action.setEnabled(bool(counts.get(name)))
            action.triggered.connect(lambda _, name=name: self.rows_requested.emit(name))

    def show_current(self, label: str) -> None:
        """Show the label of the current row."""
        self._current = label
        self._pause.start()

    def show_hovered(self, label: str) -> None:
        """Show the label of a button while the mouse is over it; “” for that of the row."""
        self._hovered = label
        self._show_label()

    def _show_label(self) -> None:
        codes = () if self._codebook is None else self._codebook.codes
        code = self._find(self._hovered, codes) or self._find(self._current, codes)
        has_more = code is not None and not self._is_whole(code)
        for part in (self.label, self.definition, self.examples):
            part.setVisible(has_more)
        if code is None:
            return
        self.label.setText(visible(code.label))
        none = self.tr("No definition in the codebook.")
        self.definition.setText(visible(code.definition[:MAX_CHARACTERS]) or none)
        lines = [
            *(self.tr("“{0}”").format(visible(text)) for text in code.examples[:MAX_EXAMPLES]),
            *(
                self.tr("not: “{0}”").format(visible(text))
                for text in code.counterexamples[:MAX_EXAMPLES]
            ),
        ]
        self.examples.setText("\n".join(lines))
        self.examples.setVisible(has_more and bool(lines))

    def _is_whole(self, code: Code) -> bool:
        """True if the list of meanings has all of a label."""
        active = () if self._codebook is None else self._codebook.active
        is_listed = code in [other for other in active if other.definition][:MAX_MEANINGS]
        is_short = shorten(code.definition) == code.definition
        return is_listed and is_short and not (code.examples or code.counterexamples)

    @staticmethod
    def _find(label: str, codes: tuple[Code, ...]) -> Code | None:
        return next((code for code in codes if code.label == label), None)


def shorten(text: str) -> str:
    """The first characters of a definition."""
    line = one_line(text)
    return line if len(line) <= MEANING_CHARACTERS else f"{line[:MEANING_CHARACTERS]}…"
