"""Scores of several runs on the same rows: intervals, tests, and the rows that flipped."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app import background
from app.pages.runs.compare.state import CompareState, distinct_names
from app.theme import SPACE
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.progress import ProgressLine
from app.widgets.results.intervals import format_ends
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import Text, visible
from app.widgets.text.run_texts import VALIDATION, metric_value
from engine.config.dataset import SplitName
from engine.files.spreadsheet import format_table
from engine.results.intervals import Interval
from engine.results.several import RunScore, score_runs, stored_parts


def score_columns(names: Mapping[str, str]) -> list[Column[RunScore]]:
    """Columns for the score of a run and its comparison with the first run; `names` are by id."""

    def metric(row: RunScore) -> str:
        return f"{VALIDATION}{row.metric}"

    def score(row: RunScore) -> str:
        return metric_value(metric(row), row.score.value)

    def difference(row: RunScore) -> str:
        if row.difference is None:
            return translated(row.problem) if row.problem else tr("the first")
        return _signed(metric(row), row.difference.value)

    def compared(text: Callable[[RunScore], str]) -> Callable[[RunScore], str]:
        return lambda row: "" if row.difference is None else text(row)

    def claim(row: RunScore) -> str:
        return translated(row.problem or row.claim) or visible(row.run.name)

    texts: dict[str, Callable[[RunScore], str]] = {
        tr("Run"): lambda row: visible(names[row.run.key]).replace("\n", " "),
        tr("Score"): score,
        tr("95 % interval"): lambda row: interval_text(metric(row), row.score),
        tr("Difference"): difference,
        tr("Interval of the difference"): lambda row: (
            "" if row.difference is None else interval_text(metric(row), row.difference)
        ),
        tr("McNemar p"): compared(lambda row: "" if row.p is None else f"{row.p:.2g}"),
        tr("Better"): compared(lambda row: numbers.count(row.better)),
        tr("Worse"): compared(lambda row: numbers.count(row.worse)),
    }
    return [Column(title, text, tooltip=claim) for title, text in texts.items()]


class ScoresTab(QWidget):
    """Scores, differences and tests, with the flipped rows of a pair."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self._job: background.Job | None = None
        self.split_box = ComboBox(tr("Rows to score"))
        self.split_box.activated.connect(self.measure)
        names = dict(zip((row.id for row in state.rows), distinct_names(state.rows), strict=True))
        self.model = ColumnsModel(score_columns(names), self)
        fitting = range(self.model.columnCount() - 1)  # the names are whole, it may scroll
        self.table = make_table(tr("Scores of the compared runs"), self.model, fitted=fitting)
        self.flips = buttons.plain(tr("Show the rows that &flipped"), self._on_flips)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.table.activated.connect(self._on_flips)
        self.progress = ProgressLine(tr("Comparing the results"))
        self.progress.cancelled.connect(self._cancel)
        self.note = Text("", "muted")
        row = layouts.row(
            self.split_box,
            layouts.STRETCH,
            self.flips,
            buttons.plain(tr("Co&py as a table"), self.copy, "copy"),
            spacing=2 * SPACE,
        )
        layouts.tab(self, row, self.progress, (self.table, 1), self.note, spacing=2 * SPACE)
        self._enable()
        runs = state.compared_runs()
        background.run(self, lambda: stored_parts(runs), self._on_splits, state.studio.notices.show)

    def _on_splits(self, splits: Sequence[SplitName]) -> None:
        for split in splits:
            self.split_box.addItem(split_title(split), split)
        self.split_box.setVisible(len(splits) > 1)
        if splits:
            self.measure()
        else:
            self.note.setText(tr("None of these runs has predictions for labelled rows yet."))

    def measure(self) -> None:
        """Score and compare the runs in the background."""
        self._cancel()
        runs, split = self._state.compared_runs(), self.split_box.currentData()
        self.progress.begin(tr("Comparing the results"))
        self._job = background.run(
            self,
            lambda progress: score_runs(runs, split, progress, progress.cancelled),
            self._on_scored,
            self._on_failed,
            progress=self.progress.show_progress,
        )

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self.progress.end()

    def _on_scored(self, result: list[RunScore]) -> None:
        self.progress.end()
        self.model.show_rows(result)
        missing_count = len(self._state.rows) - len(result)
        texts = [
            tr("All are compared with the first run of the table, row by row."),
            tr("With several runs, p is corrected (Benjamini and Hochberg)."),
        ]
        if missing_count:
            texts.append(tr("%Ln run(s) have no predictions for these rows.", missing_count))
        self.note.setText(" ".join(texts))

    def _on_failed(self, error: BaseException) -> None:
        self.progress.end()
        self._state.studio.notices.show(error)

    def _enable(self, *_: object) -> None:
        chosen = self._chosen()
        self.flips.setEnabled(chosen is not None and chosen.difference is not None)

    def _chosen(self) -> RunScore | None:
        rows = self.table.selectionModel().selectedRows()
        return self.model.row(rows[0].row()) if rows else None

    def _on_flips(self, _: QModelIndex | None = None) -> None:
        chosen = self._chosen()
        if chosen is not None and chosen.difference is not None:
            self._state.flips_requested.emit(chosen, self.model.rows[0])

    def copy(self) -> None:
        columns = self.model.columns
        rows = [[column.text(row) or "" for column in columns] for row in self.model.rows]
        titles = [column.title for column in columns]
        QGuiApplication.clipboard().setText(format_table(titles, rows, "\t"))
        self._state.studio.notices.info(tr("Scores copied to the clipboard as a table."))


def interval_text(metric: str, result: Interval) -> str:
    """“81.0 % to 84.2 %”; “” if unknown."""
    return format_ends(result, partial(metric_value, metric))


def _signed(metric: str, value: float) -> str:
    text = metric_value(metric, abs(value))
    return f"{'−' if value < 0 else '+'}{text}" if value else text
