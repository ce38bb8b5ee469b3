"""Base of the panel states that compute over the chosen texts."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.explore.model_input import TextInput, clean_text
from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.files.home import Home
from engine.messages.explore.text_set import SetAnswer

TypedRow = tuple[str, str | None]  # text and second text, as typed


class TextSetState(QObject):
    """Work on a set of texts; its results are dropped if the model or its heads change.

    Signals:
        changed: the results, their display or the progress changed.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore)
        self.explore, self._home = explore, home
        self.work = SetWork(start_worker, self)
        self.source: ChosenTexts | None = None  # the texts behind the results
        self.rows: Sequence[TypedRow] = ()  # their texts, once read
        self._reading: background.Job | None = None
        self.work.answer_received.connect(self._on_answer)
        self.work.changed.connect(self.changed)
        explore.model_changed.connect(self._reset)
        explore.heads_off_changed.connect(self._reset)

    def show_input(self, row: int) -> None:
        """Show a text on the page."""
        if row < len(self.rows):
            show_row(self.explore, self.rows[row])

    def _question_fields(self, chosen: ChosenTexts) -> dict[str, Any]:
        first = self.explore.first
        return {
            "checkpoint": first.checkpoint,
            "texts": chosen.texts,
            "cache": self._home.cache / "texts",
            **first.ablation,
        }

    def _read_rows(self, chosen: ChosenTexts) -> None:
        texts = chosen.texts
        self._reading = background.run(
            self, lambda: typed_pairs(load_rows(texts)), self._on_rows, lambda _: None
        )

    def _on_rows(self, rows: list[TypedRow]) -> None:
        self._reading, self.rows = None, rows
        self.changed.emit()

    def _on_answer(self, answer: SetAnswer) -> None:
        raise NotImplementedError

    def _clear(self) -> None:
        self.source, self.rows = None, ()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _reset(self) -> None:
        self._clear()
        self.work.clear()


def show_row(explore: ExploreState, row: TypedRow) -> None:
    """Ask the page to show a text, or a pair."""
    text, pair = row
    explore.input_requested.emit(
        TextInput(clean_text(text), None if pair is None else clean_text(pair))
    )
