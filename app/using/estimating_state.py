"""Corrected estimates over machine-coded rows: columns, request and result. No widgets."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.translation import translated
from engine.data.columns.label_sets import count_label_sets
from engine.data.table_columns import TableColumns
from engine.errors import StudioError
from engine.results.estimate_table import (
    EstimateRequest,
    EstimateTable,
    estimate_table,
    random_rows,
)

PREFIX = "predicted_"  # of columns that a model has added
MACHINE, HAND = ("predicted", "prediction"), ("hand", "gold", "human")  # in names of columns
TRUTH = "truth"  # in the name of a column
MAX_LABELS = 200  # to choose from
_Found = tuple[dict[str, Sequence[str]], EstimateTable | StudioError]


class EstimatingState(QObject):
    """Columns of a file or version, and what is estimated of them.

    Signals:
        changed: the columns, the request or the result changed.
    """

    changed = Signal()

    def __init__(self, path: Path, predicted: str | None = None) -> None:
        """Open a file or the folder of a version; `predicted` names the machine codes, if known."""
        super().__init__()
        self.path, self._known = path, predicted
        self.source: TableColumns | None = None
        self.request: EstimateRequest | None = None
        self.table: EstimateTable | None = None
        self.labels: tuple[str, ...] = ()  # of the last result for all labels
        self.problem = ""
        self._cells: dict[str, Sequence[str]] = {}
        self._working = background.LatestJob(self)

    @property
    def is_working(self) -> bool:
        return self._working.is_busy

    @property
    def columns(self) -> tuple[str, ...]:
        return self.source.columns if self.source is not None else ()

    def start(self) -> None:
        """Read the columns outside the GUI thread, and estimate if both codes are known."""
        self._working.run(lambda: TableColumns.open(self.path), self._on_opened, self._on_failed)
        self.changed.emit()

    def choose(self, **changes: object) -> None:
        """Change the request, and estimate again outside the GUI thread."""
        if self.request is None:
            return
        if {"predicted", "hand"} & changes.keys():
            changes = {"share_of": None, "is_mean": False, **changes}
        self.request = replace(self.request, **changes)  # type: ignore[arg-type]
        self._estimate()

    def close(self) -> None:
        self._working.cancel()

    def _on_opened(self, source: TableColumns) -> None:
        self.source = source
        predicted, hand, truth = guess_codes(source, self._known)
        self.request = EstimateRequest(predicted, hand, truth=truth)
        self._estimate()

    def _estimate(self) -> None:
        source, request, known = self.source, self.request, dict(self._cells)
        assert source is not None and request is not None
        self.table, self.problem = None, ""
        if not request.predicted or not request.hand:
            self._working.cancel()
            self.changed.emit()
            return

        def work(progress: background.Progress) -> _Found:
            missing = [name for name in request.columns if name not in known]
            cells = known | (source.read(missing, progress.cancelled) if missing else {})
            is_random = random_rows(source.coding, request.hand, len(cells[request.hand]))
            try:
                return cells, estimate_table(cells, request, is_random)
            except StudioError as error:
                return cells, error

        self._working.run(work, self._on_estimated, self._on_failed, lambda *_: None)
        self.changed.emit()

    def _on_estimated(self, result: _Found) -> None:
        self._cells, found = result
        assert self.request is not None
        if isinstance(found, EstimateTable):
            self.table = found
            labels = found.labels
        else:  # a label may be what is missing
            self.problem = translated(found.phrase)
            labels = labels_of(self._cells.get(self.request.hand, ()))
        if self.request.share_of is None:
            self.labels = labels
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.problem = translated(background.as_studio_error(error).phrase)
        self.changed.emit()


def labels_of(column: Sequence[str]) -> tuple[str, ...]:
    """The labels in a column, sorted; none of more than can be chosen from."""
    counts = Counter(filter(None, map(str.strip, column)))
    labels = sorted(count_label_sets(counts) or counts)
    return tuple(labels) if len(labels) <= MAX_LABELS else ()


def guess_codes(source: TableColumns, predicted: str | None) -> tuple[str, str, str | None]:
    """Columns of machine codes and of hand codes, “” if unknown, and of true codes or None."""
    columns = source.columns
    if predicted not in columns:
        predicted = next((name for name in columns if is_machine(name)), "")
    by_name = next((n for n in columns if any(word in n.casefold() for word in HAND)), None)
    plain = (predicted or "").removeprefix(PREFIX)
    options = (by_name, plain if plain in columns else None, source.label)
    truth = next((name for name in columns if TRUTH in name.casefold()), None)
    hand = next((name for name in options if name and name not in (predicted, truth)), "")
    return predicted or "", hand, truth


def is_machine(name: str) -> bool:
    """True if a column seems to hold the predictions of a model, by its name."""
    return name.casefold().startswith(MACHINE) and not name.startswith(f"{PREFIX}probability")
