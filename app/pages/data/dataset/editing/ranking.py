"""Ranks the rows still to come again while rows are labelled, in a worker and a thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.state import DatasetState, Page, Rows
from app.studio import Studio
from engine.config.codebook import Drawn
from engine.data.datasets.drawing import Draw, draw_rows
from engine.messages.labelling import LabelsSuggested, Suggestion, SuggestLabels
from engine.messages.question import Answer, Refused

MODEL_ORDERS = ("uncertain", "diverse", "likely")
SUGGESTED = 1_000  # rows in a given order that get a suggestion
RANK_EVERY = 10  # labels
"""In simulations on trec-qc, subj and sst2 (`python -m benchmarks labelling order`), ranking after
every 10 labels is as good as after every 5."""


@dataclass(frozen=True)
class LabelList:
    """The sample of a list of rows to label; `pool` and others are those of `draw_rows`.

    `in_hand` was shown before the list was there: it comes first, and in the order of the file.
    """

    candidates: Rows
    drawn: Drawn
    pool: frozenset[int]
    labelled: frozenset[int]
    seed: int
    in_hand: int | None = None

    def draw(self, order: Sequence[int]) -> dict[int, Draw]:
        """The rows in this order, with those of the control sample between them.

        Another order that begins with the same rows begins with the same draws.
        """
        rows = order
        if self.in_hand is not None:
            rows = [self.in_hand, *(row for row in order if row != self.in_hand)]
        draws = draw_rows(rows, self.drawn, self.pool, self.labelled, self.seed)
        if self.in_hand is not None:
            draws[0] = Draw(self.in_hand, "file")
        return {draw.row: draw for draw in draws}


class Ranking(QObject):
    """The order of the rows after the one in hand.

    Signals:
        ranked: new draws, and suggestions by row.
        answered: the answer whose order follows.
    """

    ranked = Signal(object, object)
    answered = Signal(object)

    def __init__(
        self,
        studio: Studio,
        data: DatasetState,
        edits: EditsState,
        labelled: Callable[[], Sequence[int]],
    ) -> None:
        """`labelled` returns the listed rows that got a label."""
        super().__init__(data)
        self._studio, self._data, self._edits, self._labelled = studio, data, edits, labelled
        self.in_hand: int | None = None  # the current row
        self.label_count = 0  # labels of the list that the present order follows
        self._asked = 0  # the same of the question that is asked
        self._question: SuggestLabels | None = None
        self._list: LabelList | None = None
        self._worker: OneTimeWorker | None = None
        self._placing = background.LatestJob(self)
        edits.changed.connect(self._on_edited)

    def start(self, question: SuggestLabels, listed: LabelList) -> None:
        """Rank again as more of these rows get a label."""
        self.stop()
        self._question, self._list = question, listed

    def stop(self) -> None:
        self._question, self.label_count, self._asked = None, 0, 0
        self._placing.cancel()
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None

    def _on_edited(self) -> None:
        question, listed = self._question, self._list
        if question is None or listed is None or self._worker is not None or self._placing.is_busy:
            return
        labelled = self._labelled()
        if len(labelled) < self._asked + RANK_EVERY or len(labelled) >= len(listed.candidates):
            return
        self._asked = len(labelled)
        rows = tuple[int, ...]()
        if listed.drawn not in MODEL_ORDERS:
            left = self._data.indices[~np.isin(self._data.indices, labelled)]
            rows = tuple(left[:SUGGESTED].tolist())
        changes = {
            "labels": self._edits.training_labels(),
            "codebook": self._edits.codebook,
            "rows": rows,
        }
        self._worker = self._studio.one_time_worker(
            question.model_copy(update=changes),
            self._on_ranked,
            self._on_refused,
            lambda _: None,
            self,
        )

    def _on_refused(self, refused: Refused) -> None:
        self.stop()
        self._studio.notices.error(refused.problem, refused.advice, refused.details)

    def _on_ranked(self, answer: Answer) -> None:
        self._worker = None
        assert isinstance(answer, LabelsSuggested)
        self.answered.emit(answer)
        found = {suggestion.row: suggestion for suggestion in answer.suggestions}
        listed = self._list
        is_shown = self._data.query is None and not self._data.orders
        if listed is not None and listed.drawn in MODEL_ORDERS and is_shown:
            self._place(found, listed)
        else:
            self._finish(self._edits.draws, found)

    def _place(self, found: dict[int, Suggestion], listed: LabelList) -> None:
        """Put the rows in their order after the one in hand, which may change meanwhile."""
        data, in_hand, draws = self._data, self.in_hand, self._edits.draws
        shown, skipped = data.indices, self._edits.skipped_rows()
        places = np.flatnonzero(shown == in_hand)
        if not len(places):
            return
        first = int(places[0]) + 1

        def work(_: background.Progress) -> tuple[dict[int, Draw], Rows, dict[int, Page]]:
            kept, rows = shown[:first], np.array([*found], dtype=np.int64)
            rows = rows[np.isin(rows, listed.candidates)]
            rows = rows[~np.isin(rows, np.union1d(kept, skipped))]
            before = [row for row in kept.tolist() if not draws[row].control]
            new = listed.draw([*before, *rows.tolist()])
            indices = np.array([*new], dtype=np.int64)
            return new, indices, data.read_pages(indices, first)

        def done(result: tuple[dict[int, Draw], Rows, dict[int, Page]]) -> None:
            if data.indices is not shown or data.query is not None:
                return
            if self.in_hand != in_hand:
                self._place(found, listed)
                return
            new, indices, pages = result
            self._finish(new, found)
            data.reorder(indices, first, pages)

        self._placing.run(work, done, self._studio.notices.show, lambda *_: None)

    def _finish(self, draws: dict[int, Draw], found: dict[int, Suggestion]) -> None:
        self.label_count = self._asked
        self.ranked.emit(draws, found)
