"""Parts of the page: the text editor, the precision switch, and a validation row to start with."""

from pathlib import Path

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QSizePolicy, QWidget

from app.explorer import Explorer
from app.pages.explore.model_input import MAX_CHARACTERS, TextInput
from app.pages.explore.state import ExploreState
from app.settings import Settings
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.text.labels import Text, height_of_lines, tooltip
from engine.config.dataset import SPLITS, StoredData
from engine.data.columns.text_spans import natural_text
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.explore.prediction import Predicted
from engine.messages.explore.text import PRECISIONS, PreciseAnswer
from engine.messages.question import Answer
from engine.runs.folder import RunFolder

MIN_LINES, MAX_LINES = 1, 3  # visible lines before the editor scrolls


class Editor(QPlainTextEdit):
    """A text editor for at most MAX_CHARACTERS: Qt needs a minute to lay out a line of a megabyte.

    Signals:
        edited: the text changed, for any reason.
        shortened: number of characters before truncation; 0 if the text is complete.
    """

    edited = Signal(str)
    shortened = Signal(int)

    def __init__(self, name: str, hint: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(hint)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(SPACE / 2)
        self._lines = 0
        self.textChanged.connect(self._on_changed)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())

    def set_text(self, text: str) -> None:
        """Show another text; a truncated one emits `shortened`."""
        if text == self.toPlainText():
            return
        self.setPlainText(text[:MAX_CHARACTERS])
        if self.hasFocus():  # the user continues typing after it
            self.moveCursor(QTextCursor.MoveOperation.End)
        self.shortened.emit(len(text) if len(text) > MAX_CHARACTERS else 0)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste or drop as plain text, as much as fits."""
        text = source.text()
        cursor = self.textCursor()
        selected = abs(cursor.selectionEnd() - cursor.selectionStart())
        before = len(self.toPlainText()) - selected
        cursor.insertText(text[: max(0, MAX_CHARACTERS - before)])
        self.ensureCursorVisible()
        if before + len(text) > MAX_CHARACTERS:
            self.shortened.emit(before + len(text))

    def sizeHint(self) -> QSize:
        lines = max(self._lines, MIN_LINES)
        return QSize(super().sizeHint().width(), height_of_lines(self, lines))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() == Qt.FocusReason.TabFocusReason:
            self.moveCursor(QTextCursor.MoveOperation.End)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()  # a new width can change the number of lines, without a signal from Qt

    def _on_changed(self) -> None:
        text = self.toPlainText()
        if len(text) > MAX_CHARACTERS:  # typed, or from an input method
            length = len(text)
            cursor = self.textCursor()
            cursor.setPosition(MAX_CHARACTERS)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            self.shortened.emit(length)
            return
        if len(text) < MAX_CHARACTERS:
            self.shortened.emit(0)
        self.edited.emit(text)

    def _fit(self) -> None:
        lines = min(MAX_LINES, max(MIN_LINES, round(self.document().size().height())))
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()


class PrecisionSwitch(QWidget):
    """Check box for exact answers, stored in the settings, and a status text."""

    def __init__(self, explore: ExploreState, explorer: Explorer, settings: Settings) -> None:
        super().__init__()
        self._explore, self._settings = explore, settings
        self.status = Text("", "small", wraps=False)
        self.exact = QCheckBox(self.tr("E&xact (fp32)"))
        self.exact.setToolTip(
            tooltip(
                self.tr(
                    "Predictions in fp32. When off, a lower precision is used where it is faster "
                    "and agrees on built-in texts: every probability within 5 % and 0.01 of "
                    "the exact one, the same top five tokens. Attention, analyses and "
                    "saved results are always exact."
                )
            )
        )
        self.exact.setChecked(settings.preferences.exact_answers)
        explore.set_exact(self.exact.isChecked())
        layouts.row(self.status, self.exact, parent=self, spacing=3 * SPACE)
        self.exact.toggled.connect(self._on_toggled)
        explore.model_changed.connect(lambda: self.status.setText(""))
        explorer.answered.connect(self._on_answer)

    def _on_toggled(self, exact: bool) -> None:
        self._settings.set("exact_answers", exact)
        self._explore.set_exact(exact)

    def _on_answer(self, answer: Answer) -> None:
        if isinstance(answer, MaskFilled | Predicted):
            self.status.setText(self._precision_text(answer))

    def _precision_text(self, answer: PreciseAnswer) -> str:
        if answer.computed != "float32":
            return self.tr("Fast ({0}).").format(PRECISIONS[answer.computed])
        match answer.why_exact:
            case "preparing":
                return self.tr("Exact (fp32); testing faster precisions.")
            case "none":
                return self.tr("Exact (fp32): no faster precision agrees.")
            case "device":
                return self.tr("Exact (fp32), as always on this device.")
            case "snapshot":
                return self.tr("Exact (fp32), as always with snapshots.")
        return self.tr("Exact (fp32).")


def example_row(checkpoint: Path) -> TextInput | None:
    """The first validation row of the run that wrote this checkpoint.

    Else the first row of another split; None if the checkpoint belongs to no run, or its data is
    missing or damaged.
    """
    run = RunFolder(checkpoint.parents[1])
    if checkpoint.parent != run.checkpoints:
        return None
    try:
        source = run.job().data
        dataset = open_dataset(source.folder if isinstance(source, StoredData) else run.dataset)
        pages = (dataset.page(0, 1, split) for split in (SPLITS[1], *SPLITS))
        row = next((page[0] for page in pages if page), None)
    except StudioError:
        return None
    if row is None:
        return None
    mapping = dataset.spec.mapping
    second = mapping.pair or mapping.beginning
    text, other = row[mapping.text] or "", row[second] if second else None
    if mapping.tags is not None:
        text = natural_text(text, row[mapping.tags] or "")
    return TextInput(text, other or None)
