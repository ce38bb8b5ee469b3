"""The masked sentences of a pre-training, and their predictions at every evaluation."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app import background
from app.pages.runs.run.state import RunState
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import percentage
from app.widgets.page import PollingWidget
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text, visible
from engine.results.sentences import Filled, Sentence, read_filled

POLL_MS = 1_000  # between readings of the file
GAP = "[…]"  # in place of the masked token


class SentencesTab(PollingWidget):
    """The sentences above a table with a row for each evaluation, the last one first."""

    def __init__(self, state: RunState) -> None:
        super().__init__(POLL_MS)
        self._state = state
        self._filled: list[Filled] = []
        self._reading = background.LatestJob(self)
        self.note = Text(self.tr("Predictions are shown after the first evaluation."), "muted")
        self.sentences = Text("", selectable=True)
        self.model = ColumnsModel[Filled](parent=self)
        self.table = make_table(self.tr("Predictions at each evaluation"), self.model)
        self._content = QWidget()
        layouts.column(self.sentences, (self.table, 1), parent=self._content, spacing=2 * SPACE)
        top = Qt.AlignmentFlag.AlignTop
        layouts.tab(self, (self.note, 0, top), (self._content, 1), spacing=2 * SPACE)
        self._content.hide()

    def poll(self) -> None:
        if not self._reading.is_busy:
            results = self._state.folder.results
            self._reading.run(lambda: read_filled(results), self._on_read)

    def _on_read(self, filled: list[Filled]) -> None:
        if filled == self._filled:
            return
        self._filled = filled
        shown = filled[-1].sentences
        self.note.setText(
            self.tr(
                "The same sentences of the validation texts, each with a masked token: its most "
                "probable tokens, and the rank of the true one."
            )
        )
        self.sentences.setText("\n".join(map(sentence_text, range(1, len(shown) + 1), shown)))
        self.model.show_rows(filled[::-1], _columns(shown))
        self.table.resizeColumnsToContents()
        self._content.show()


def sentence_text(number: int, sentence: Sentence) -> str:
    """“1: the capital […] France – of”."""
    text = " ".join(f"{sentence.before} {GAP} {sentence.after}".split())
    return f"{number}: {visible(text)} – {token_text(sentence.truth)}"


def predictions_text(sentence: Sentence) -> str:
    """The predictions in a cell: “of 41.2 %, in 12.0 %, the 3.1 % · original token: rank 1”."""
    guesses = ", ".join(
        f"{token_text(guess.token)} {percentage(guess.probability)}" for guess in sentence.guesses
    )
    return tr("{0} · original token: rank {1}").format(guesses, numbers.count(sentence.rank))


def _columns(sentences: tuple[Sentence, ...]) -> list[Column[Filled]]:
    def cell(index: int, filled: Filled) -> str:
        return predictions_text(filled.sentences[index]) if index < len(filled.sentences) else ""

    step = Column[Filled](tr("Step"), lambda row: numbers.count(row.step), align_right=True)
    return [
        step,
        *(
            Column[Filled](f"{index + 1}: {token_text(item.truth)}", partial(cell, index))
            for index, item in enumerate(sentences)
        ),
    ]
