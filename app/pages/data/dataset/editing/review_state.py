"""Review of a list of rows: likely label errors, unlabelled rows, or changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.pages.data.dataset.editing.ranking import MODEL_ORDERS, SUGGESTED, LabelList, Ranking
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.state import DatasetState
from app.studio import Studio
from engine.config.codebook import Drawn
from engine.data.datasets.differences import Counts, RowDifference, count_differences, differences
from engine.data.datasets.drawing import Draw
from engine.data.datasets.store import open_dataset
from engine.messages.labelling import (
    FindLabelErrors,
    LabelErrorsFound,
    LabelsSuggested,
    Suggested,
    Suggestion,
    SuggestLabels,
)
from engine.messages.question import Answer, Question, Refused

Kind = Literal["", "errors", "labels", "changes"]
SEED = 42


class ReviewState(QObject):
    """A list of rows to review, and the decisions on them.

    Signals:
        changed: `kind`, suggestions, decisions or `is_busy`.
        asked: the list of rows to label is being made; the rows without a label once known.
        working: progress of the search.
    """

    changed = Signal()
    asked = Signal(object)
    working = Signal(object)

    def __init__(self, studio: Studio, data: DatasetState, edits: EditsState) -> None:
        super().__init__(data)
        self._studio, self._data, self._edits = studio, data, edits
        self.kind: Kind = ""
        self.suggestions: dict[int, Suggestion] = {}  # by row index, in order
        self.from_codebook = False  # the suggestions are from names and definitions
        self.order: Drawn = "file"  # of the rows to label
        self._is_plain = False  # the list has neither suggestions nor control rows
        self.confirmed: set[int] = set()  # indices of rows
        self.likely_errors = self.row_count = 0
        self.changes: dict[int, RowDifference] = {}  # by row index in this version
        self.counts = Counts(0, 0, 0)  # of all changes
        self.old_version: Path | None = None  # version compared with
        self.deleted_rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of `old_version`
        self._comparing = background.LatestJob(self)
        self._candidates: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # rows without a label
        self._worker: OneTimeWorker | None = None
        self._question: SuggestLabels | None = None  # that the list answers
        self.ranking = Ranking(studio, data, edits, lambda: self.labelled_rows)
        self.ranking.ranked.connect(self._on_ranked)
        self.ranking.answered.connect(self._on_answered)

    @property
    def is_busy(self) -> bool:
        return self.is_asking or self._comparing.is_busy

    @property
    def is_asking(self) -> bool:
        """True while a model is computing suggestions."""
        return self._worker is not None

    def find_errors(self, checkpoint: Path | None, fine_tune: bool = False) -> None:
        """Search for likely label errors; `fine_tune` trains the model itself on folds.

        Finished folds are cached until all are done.
        """
        folder, cache = self._data.folder, self._studio.home.cache
        folds = cache / "folds" if fine_tune else None
        question = FindLabelErrors(
            data=folder,
            target=self._edits.spec.mapping.label,
            checkpoint=checkpoint,
            fine_tune_in=folds,
        )
        self._ask(question, "errors")

    def label_rows(
        self,
        order: Drawn,
        checkpoint: Path | None = None,
        label: str = "",
        with_control: bool = False,
    ) -> None:
        """List the rows without a label that are not with coders to label them, in an order.

        Args:
            checkpoint: the model that orders the rows or suggests labels; None: no suggestions.
            label: that of the likely rows.
            with_control: every fifth row is drawn at random for the control sample.
        """
        if self.is_busy:
            return
        edits, found = self._edits, self._data.indices if order == "search" else None
        dataset, rows, skipped = edits.dataset, edits.label_changes(), edits.skipped_rows()
        left_out = np.concatenate([rows.labelled, skipped, edits.reserved.rows])
        self.order, edits.has_control = order, with_control

        def work() -> NDArray[np.int64]:
            unlabelled = np.union1d(dataset.unlabelled(), rows.removed)
            candidates = np.setdiff1d(unlabelled, left_out)
            match order:
                case "random":
                    return np.random.default_rng(SEED).permutation(candidates)
                case "search" if found is not None:
                    return found[np.isin(found, candidates)]
                case _:
                    return candidates

        def done(candidates: NDArray[np.int64]) -> None:
            if checkpoint is None or not len(candidates):
                self._list_rows(candidates, candidates, self._suggestions_of_packet(candidates))
                return
            is_ordered = order in MODEL_ORDERS
            question = SuggestLabels(
                data=self._data.folder,
                target=edits.spec.coded_column,
                checkpoint=checkpoint,
                order=order,
                label=label,
                rows=() if is_ordered else tuple(candidates[:SUGGESTED].tolist()),
                labels=edits.training_labels(),
                codebook=edits.codebook,
            )
            self._candidates, self._question = candidates, question
            self._ask(question, "labels")
            self.asked.emit(candidates)

        self._comparing.run(lambda _: work(), done, self._on_compare_failed, lambda *_: None)
        self.asked.emit(np.zeros(0, dtype=np.int64))  # before the button hides, with the focus
        self.changed.emit()

    def _suggestions_of_packet(self, rows: NDArray[np.int64]) -> tuple[Suggestion, ...]:
        """The labels that the coder of a packet sees."""
        coding = {row: self._edits.coding(row).suggestion for row in rows.tolist()}
        return tuple(Suggestion(row=row, label=label) for row, label in coding.items() if label)

    def _list_rows(
        self,
        order: NDArray[np.int64],
        candidates: NDArray[np.int64],
        suggestions: tuple[Suggestion, ...],
        in_hand: int | None = None,
    ) -> LabelList:
        """List rows to label, with the random ones of the control sample, which have no suggestion.

        Args:
            order: int64 [N], some of the candidates.
            candidates: int64 [M], all rows without a label.
            in_hand: the row that keys label while the list is made.
        """
        edits = self._edits
        pool, labelled = set[int](), set[int]()
        if edits.has_control:
            pool = {*candidates.tolist(), *edits.coded_rows}
            pool = {row for row in pool if not edits.coding(row).control}
            labelled = pool - {*candidates.tolist()}
        sample = frozenset(pool), frozenset(labelled), SEED + len(edits.coded_rows)
        listed = LabelList(candidates, self.order, *sample, in_hand)
        self.kind, self.row_count, self.suggestions = "labels", len(candidates), {}
        self._is_plain = not suggestions and not edits.has_control
        self.confirmed.clear()
        self._on_ranked(listed.draw(order.tolist()), {s.row: s for s in suggestions})
        self._data.show_rows(np.array(list(edits.draws), dtype=np.int64))
        return listed

    def _on_answered(self, answer: LabelsSuggested) -> None:
        self.from_codebook = answer.from_codebook

    def _on_ranked(self, draws: dict[int, Draw], found: dict[int, Suggestion]) -> None:
        """Take suggestions for the rows not labelled yet; those of the control sample have none."""
        self._edits.draws, labelled = draws, {*self.labelled_rows}
        kept = {row: s for row, s in self.suggestions.items() if row in labelled}
        new = {row: s for row, s in found.items() if row in draws and not draws[row].control}
        self.suggestions = new | kept
        self.changed.emit()

    @property
    def parent_version(self) -> Path | None:
        """Version that this one was derived from, if it still exists."""
        number = self._edits.spec.made_from
        folder = self._data.folder.parent / str(number)
        return folder if number is not None and folder.is_dir() else None

    def show_changes(self) -> None:
        """List the rows that differ from the parent version."""
        new, folder = self._edits.dataset, self.parent_version
        if self.is_busy or folder is None:
            return
        self.old_version = folder
        self._comparing.run(
            lambda progress: differences(open_dataset(folder), new, progress.cancelled),
            self._on_compared,
            self._on_compare_failed,
            lambda _done, _total: None,
        )
        self.changed.emit()

    def _on_compared(self, rows: list[RowDifference]) -> None:
        self.changes = {row.after: row for row in rows if row.after is not None}
        self.counts = count_differences(rows)
        deleted_rows = [row.before for row in rows if row.after is None]
        self.deleted_rows = np.array(deleted_rows, dtype=np.int64)
        self.kind = "changes"
        self._data.show_rows(np.array(list(self.changes), dtype=np.int64))
        self.changed.emit()

    def _on_compare_failed(self, error: BaseException) -> None:
        self.changed.emit()
        self._studio.notices.show(error)

    def cancel(self) -> None:
        """Cancel all jobs."""
        self.ranking.stop()
        self._comparing.cancel()
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        self.changed.emit()

    def end(self) -> None:
        """Show all rows again; decisions stay among the edits."""
        self.clear()
        self._data.show_rows(np.arange(len(self._edits.dataset), dtype=np.int64))

    def clear(self) -> None:
        """End the list; the shown rows stay."""
        self.ranking.stop()
        self.kind, self.suggestions, self.changes = "", {}, {}
        self._edits.draws, self._edits.has_control = {}, False
        self.confirmed.clear()
        self.changed.emit()

    # ── decisions ────────────────────────────────────────────────────────────────────────────

    def accept(self, row: int) -> None:
        """Set the suggested label of a row."""
        if row in self.suggestions:
            self.confirmed.discard(row)
            self._edits.accept(row, self.suggestions[row].label)

    def confirm(self, row: int) -> None:
        """Confirm the label of a row."""
        if row in self.suggestions and self.kind == "errors":
            self._edits.restore_label(row)
            self.confirmed.add(row)
            self.changed.emit()

    @property
    def is_coding(self) -> bool:
        """True if there is a codebook."""
        return self._edits.codebook is not None

    @property
    def codes_spans(self) -> bool:
        """True if labels are of parts of the texts."""
        return self._edits.kind == "spans"

    @property
    def has_column(self) -> bool:
        """True if the list has a column of suggestions, control rows or changes."""
        return bool(self.kind) and not (self.kind == "labels" and self._is_plain)

    @property
    def listed(self) -> int:
        """Number of rows listed."""
        return len(self._edits.draws) if self.kind == "labels" else len(self.suggestions)

    @property
    def labelled_rows(self) -> list[int]:
        """Listed rows whose label was changed."""
        columns = {*self._edits.spec.mapping.label_columns}
        listed = self.suggestions if self.kind == "errors" else self._edits.draws
        rows = self._edits.rows.items()
        return [n for n, edit in rows if n in listed and not columns.isdisjoint(edit.cells)]

    @property
    def agreement(self) -> float | None:
        """Fraction of labelled rows that got the suggested label."""
        edits = self._edits
        labelled = [row for row in self.labelled_rows if row in self.suggestions]
        agreed = sum(edits.has_label(row, self.suggestions[row].label) for row in labelled)
        return agreed / len(labelled) if labelled else None

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def _ask(self, question: Question, kind: Kind) -> None:
        if self.is_busy:
            return
        done: Callable[[Answer], None] = lambda answer: self._on_done(answer, kind)  # noqa: E731
        self._worker = self._studio.one_time_worker(
            question, done, self._on_refused, self.working.emit, self
        )
        self.changed.emit()

    def _on_done(self, answer: Answer, kind: Kind) -> None:
        self._worker = None
        assert isinstance(answer, Suggested)
        if isinstance(answer, LabelsSuggested):
            self.from_codebook = answer.from_codebook
            rows = np.array([suggestion.row for suggestion in answer.suggestions], dtype=np.int64)
            left = self._left()
            order = rows[np.isin(rows, left)] if self.order in MODEL_ORDERS else left
            in_hand = self.ranking.in_hand  # a key may be on its way to it
            listed = self._list_rows(order, left, answer.suggestions, in_hand)
            if answer.learns and self._question is not None:
                self.ranking.start(self._question, listed)
            return
        self.kind, self.row_count = kind, answer.rows
        self.likely_errors = answer.likely if isinstance(answer, LabelErrorsFound) else 0
        self.suggestions = {suggestion.row: suggestion for suggestion in answer.suggestions}
        self.confirmed.clear()
        self.changed.emit()
        self._data.show_rows(np.array(list(self.suggestions), dtype=np.int64))

    def _left(self) -> NDArray[np.int64]:
        """The rows to label, without those decided on since the model was asked."""
        edits = self._edits
        decided = np.union1d(edits.label_changes().labelled, edits.skipped_rows())
        return self._candidates[~np.isin(self._candidates, decided)]

    def _on_refused(self, refused: Refused) -> None:
        self._worker = None
        self.changed.emit()
        self._studio.notices.error(refused.problem, refused.advice, refused.details)
