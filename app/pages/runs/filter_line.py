"""The line that searches or filters the runs: words, or a sentence with completion."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QWidget

from app.pages.runs.arranging import words_test
from app.pages.runs.rows import RunRow
from app.pages.runs.sentence import Parsed, completions, is_sentence, parse, quote
from app.theme import SPACE
from app.timers import debounced
from app.widgets import layouts
from app.widgets.forms.controls import Completer, SearchField
from app.widgets.text.labels import Text

TYPING_PAUSE_MS = 60


class FilterLine(QWidget):
    """A search field with completion and an error line.

    Signals:
        filtered: a test for runs, and the metrics that it needs.
    """

    filtered = Signal(object, object)

    def __init__(self, rows: Callable[[], Iterable[RunRow]]) -> None:
        super().__init__()
        self._rows = rows
        self.field = SearchField(
            self.tr("Search, or filter: task is NER and f1 > 0.7 and learning rate = 3e-5"),
            self.tr("Search the runs"),
            has_icon=True,
        )
        self._options = QStringListModel(self)
        self.completer = Completer(self._options, self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.setWidget(self.field)
        self.completer.activated.connect(self._complete)
        self.error = Text("", "bad")
        self.error.hide()
        self._parsed = Parsed()
        layouts.column(self.field, self.error, parent=self, spacing=SPACE)
        self._pause = debounced(self, TYPING_PAUSE_MS, self._suggest)
        self.field.textChanged.connect(self._on_text)
        self.field.textEdited.connect(lambda _: self._pause.start())
        self.field.installEventFilter(self)

    def add(self, comparison: str) -> None:
        """Add a comparison to the filter."""
        current = self.field.text().strip()
        if current and not is_sentence(current):
            current = f"name contains {quote(current)}"
        if current and " or " in current.casefold():
            current = f"({current})"
        self.field.setText(f"{current} and {comparison}" if current else comparison)

    def _on_text(self, text: str) -> None:
        """Filter immediately; an incomplete sentence leaves the filter unchanged."""
        if not is_sentence(text):
            self._set_error("")
            words = text.replace('"', "").casefold().split()
            self._parsed = Parsed()
            self.filtered.emit(words_test(words), [])
            return
        self._parsed = parse(text)
        error = self._parsed.error
        if error is None:
            self._set_error("")
            self.filtered.emit(self._parsed.test, self._parsed.measures)
            return
        excerpt = text[error.start : error.end].strip()
        message = (
            self.tr("At “{0}”: {1}").format(excerpt, error.message) if excerpt else error.message
        )
        self._set_error(
            "" if error.start >= len(text.rstrip()) and self.field.hasFocus() else message
        )

    def show_error(self) -> None:
        """Show the error, even if the sentence is only incomplete."""
        if self._parsed.error is not None and is_sentence(self.field.text()):
            self._set_error(self._parsed.error.message)
            self.field.setSelection(
                self._parsed.error.start, self._parsed.error.end - self._parsed.error.start
            )

    def _set_error(self, message: str) -> None:
        self.error.setText(message)
        self.error.setVisible(bool(message))

    # ── completion ───────────────────────────────────────────────────────────────────────────

    def _suggest(self) -> None:
        text = self.field.text()
        if not text or self.field.cursorPosition() != len(text) or not self.field.hasFocus():
            self._hide_options()
            return
        parsed = parse(text)
        options = completions(parsed, text, self._rows())
        typed = text[parsed.start :].strip().casefold()
        if not options or [option.casefold() for option in options] == [typed]:
            self._hide_options()
            return
        self._parsed = parsed
        self._options.setStringList(options)
        self.completer.complete()

    def _hide_options(self) -> None:
        popup = self.completer.popup()
        if popup is not None:
            popup.hide()

    def _complete(self, chosen: str) -> None:
        text = self.field.text()
        parsed = parse(text)
        value = quote(chosen) if parsed.expected == "value" else chosen
        self.field.setText(f"{text[: parsed.start]}{value} ")
        self._pause.start()

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.show_error()
            is_space = event.key() == Qt.Key.Key_Space
            if is_space and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._suggest()
                return True
        return False
