"""The shown predictions and the selection of their rows. No widgets."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from engine.config.tasks import TASKS
from engine.files.table_files import write_table
from engine.results import conditions
from engine.results.ceiling import ceiling
from engine.results.conditions import Condition, Conditions
from engine.results.masked_tokens import unigram_scores
from engine.results.measures import main_score
from engine.results.neglected import neglect
from engine.results.predictions import Predictions, read_predictions
from engine.results.row_figures import details
from engine.results.row_lists import Indices, mistakes_first, plain_table, rows_with, sort_rows

Mask = NDArray[np.bool_]


class ResultsState(QObject):
    """One file of predictions; long work runs in the background.

    Signals:
        opened: `predictions` were replaced, or could not be read.
        filtered: `conditions` have changed; their rows follow.
        listed: `rows` have changed.
        exported: the rows were written to this path.
    """

    opened = Signal()
    filtered = Signal()
    listed = Signal()
    exported = Signal(object)

    def __init__(self, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.predictions: Predictions | None = None
        self.problem: BaseException | None = None
        # indices in the table, in the order of the list
        self.rows: Indices = np.empty(0, dtype=np.int64)
        self.sorted_by: tuple[str, bool] | None = None  # column, and True if descending
        self.text = ""  # search text
        self._notices = notices
        self._chosen: dict[str, Conditions] = {}  # by source
        self._ids = count()  # of typed conditions
        self._masks: dict[Condition, Mask] = {}
        self._order: Indices | None = None
        self._jobs: dict[str, background.Job] = {}
        self._path: Path | None = None

    # ── opening ──────────────────────────────────────────────────────────────────────────────

    def open(self, path: Path) -> None:
        """Show the predictions in a file; the filter stays if the columns are the same."""
        self._path = path
        self._run("read", lambda: load_predictions(path), self._on_read, self._on_unreadable)

    def _on_read(self, predictions: Predictions) -> None:
        before, self.predictions = self.predictions, predictions
        self.problem = None
        self._masks, self._order, self.sorted_by = {}, None, None
        if before is not None and before.columns != predictions.columns:
            self._chosen, self.text = {}, ""
        self.rows = mistakes_first(predictions)
        self.opened.emit()
        self.filtered.emit()
        self._list()

    def _on_unreadable(self, error: BaseException) -> None:
        self.predictions, self.problem = None, error
        self.rows = np.empty(0, dtype=np.int64)
        self.opened.emit()

    # ── filter ───────────────────────────────────────────────────────────────────────────────

    @property
    def conditions(self) -> Conditions:
        """All conditions, joined by “and”, in the order in which they were chosen."""
        return tuple(
            dict.fromkeys(condition for group in self._chosen.values() for condition in group)
        )

    def choose(self, source: str, conditions: Conditions) -> None:
        """Restrict the rows by conditions, which replace the earlier ones of `source`.

        Choosing the same conditions again removes them.
        """
        before = self._chosen.pop(source, ())
        if conditions and conditions != before:
            self._chosen[source] = conditions
        self._refilter()

    def chosen_by(self, source: str) -> Conditions:
        return self._chosen.get(source, ())

    def add(self, condition: Condition) -> None:
        self._chosen[f"typed {next(self._ids)}"] = (condition,)
        self._refilter()

    def drop(self, condition: Condition) -> None:
        self._edit(condition, ())

    def replace(self, condition: Condition, other: Condition) -> None:
        self._edit(condition, (other,))

    def _edit(self, condition: Condition, new: Conditions) -> None:
        """Replace a condition; the conditions of a picture then no longer belong to it."""
        edited: dict[str, Conditions] = {}
        for source, group in self._chosen.items():
            if condition in group:
                parts = [new if existing == condition else (existing,) for existing in group]
                name = f"typed {next(self._ids)}"
                edited[name] = tuple(item for part in parts for item in part)
            else:
                edited[source] = group
        self._chosen = {source: group for source, group in edited.items() if group}
        self._refilter()

    def clear(self) -> None:
        self._chosen, self.text = {}, ""
        self._refilter()

    def search(self, text: str) -> None:
        """List the rows whose texts or labels contain this, ignoring case."""
        if text != self.text:
            self.text = text
            self._list()

    def sort(self, column: str, descending: bool) -> None:
        self.sorted_by = column, descending
        self._order = None
        self._list()

    def sort_by_mistakes(self) -> None:
        self.sorted_by = None
        self._order = None
        self._list()

    def _refilter(self) -> None:
        self.filtered.emit()
        self._list()

    def _list(self) -> None:
        predictions, conditions, text = self.predictions, self.conditions, self.text
        if predictions is None:
            return
        masks, by, order = dict(self._masks), self.sorted_by, self._order

        def work() -> tuple[Indices, Indices, dict[Condition, Mask]]:
            for condition in conditions:
                if condition not in masks:
                    masks[condition] = condition.mask(predictions)
            rows = order
            if rows is None:
                rows = sort_rows(predictions, *by) if by else mistakes_first(predictions)
            mask = np.ones(len(predictions), dtype=bool)
            for condition in conditions:
                mask &= masks[condition]
            if text:
                mask &= rows_with(predictions, text)
            return (
                rows[mask[rows]],
                rows,
                {condition: masks[condition] for condition in conditions},
            )

        self._run("list", work, self._on_listed)

    def _on_listed(self, listed: tuple[Indices, Indices, dict[Condition, Mask]]) -> None:
        self.rows, self._order, self._masks = listed
        self.listed.emit()

    def sentence(self) -> str:
        return conditions.sentence(self.conditions)

    # ── export ───────────────────────────────────────────────────────────────────────────────

    def export(self, path: Path) -> None:
        """Write the listed rows in order; the suffix of `path` selects the format."""
        if self.predictions is not None:
            table, rows = plain_table(self.predictions), self.rows
            self._run(
                "export",
                lambda: write_table(path, table.schema, [table.take(rows)]),
                lambda _: self.exported.emit(path),
                self._notices.show,
            )

    def _run(
        self,
        kind: str,
        work: Callable[[], object],
        on_done: Callable[..., None],
        on_failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Run the newest work of a kind; earlier work is cancelled."""
        if kind in self._jobs:
            self._jobs[kind].cancel()
        self._jobs[kind] = background.run(self, work, on_done, on_failed or self._notices.show)


def load_predictions(path: Path) -> Predictions:
    """Read predictions and prepare them for listing."""
    predictions = read_predictions(path)
    combined = Predictions(predictions.info, predictions.table.combine_chunks())
    mistakes_first(combined)
    main_score(combined)
    neglect(combined)
    ceiling(combined)
    if TASKS[combined.info.task].info.is_pretraining:
        unigram_scores(combined)
    if TASKS[combined.info.task].info.has_partial_scores:
        details(combined)  # cached for the details of selected rows
    return combined
