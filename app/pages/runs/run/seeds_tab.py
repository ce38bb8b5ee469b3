"""The runs of one job side by side: seeds, rows of a layer sweep, or combinations of a search."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QWidget

from app import resources
from app.pages.runs.groups import (
    best_scores,
    best_setting,
    field_title,
    is_pruned,
    mean_and_deviation,
    row_search,
    seeds_key,
    trials,
    values_text,
)
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.theme import Role
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text
from app.widgets.text.spec_texts import value_text
from engine.messages.question import Answer, Refused
from engine.messages.searching import ImportanceMeasured, MeasureImportance

MIN_EXPLAINED = 0.1  # R² below which the importance of the fields is not reported
FEATURES, SEED, STATE, BEST, MEAN = range(5)  # columns


def is_search(rows: Sequence[RunRow]) -> bool:
    """True for the runs of a search."""
    return bool(rows) and row_search(rows[0]) is not None


def seeds_columns(rows: Sequence[RunRow] = ()) -> list[Column[RunRow]]:
    """Features or values, seed, state, best score, mean, step and time of the runs of a job."""
    best = best_setting(rows)

    def is_best(row: RunRow) -> bool:
        return best >= 0 and row.setting == best

    def state(row: RunRow) -> str:
        return tr("Pruned") if is_pruned(row) else run_texts.state_text(row.state)

    def score(row: RunRow) -> str:
        return "" if row.best_score is None else run_texts.score(row.best_metric, row.best_score)

    def mean(row: RunRow) -> str:
        return mean_and_deviation([r for r in rows if seeds_key(r) == seeds_key(row)])

    def column(
        title: str, text: Callable[[RunRow], str], icon: Callable[[RunRow], object] | None = None
    ) -> Column[RunRow]:
        def problem(row: RunRow) -> str:
            return f"{translated(row.problem)} {translated(row.advice)}".strip()

        roles: dict[int, Callable[[RunRow], object]] = {}
        if icon is not None:
            roles[Qt.ItemDataRole.DecorationRole] = icon
        return Column(title, text, tooltip=problem, roles=roles)

    return [
        column(
            tr("Values") if is_search(rows) else tr("Features"),
            lambda row: _variant_text(row, is_best(row)),
            lambda row: resources.icon("star", Role.WARN) if is_best(row) else None,
        ),
        column(tr("Seed"), lambda row: str(row.job.training.seed) if row.job else ""),
        column(tr("State"), state, lambda row: resources.icon(*run_texts.ICONS[row.state])),
        column(tr("Best score"), score),
        column(tr("Mean ± SD (seeds)"), mean),
        column(tr("At step"), lambda row: numbers.count(row.best_step) if row.best_step else ""),
        column(tr("Time"), lambda row: numbers.duration(row.seconds) if row.seconds else ""),
    ]


class SeedsTab(QWidget):
    """The table, a sentence about all runs, their comparison, and the importance of fields."""

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state, self._runs = state, state.runs
        self.summary = Text("", "strong")
        self.importance = Text("", "muted")
        self.measure = buttons.plain(self.tr("&Importance of each field"), self._measure, "gauge")
        self.compare = buttons.plain(
            self.tr("Co&mpare"),
            lambda: self._runs.compare_requested.emit(list(self.model.rows)),
            "chart-line",
        )
        self.model = ColumnsModel(seeds_columns(), self)
        self.table = make_table(self.tr("Related runs"), self.model, fitted=(FEATURES, MEAN))
        self.table.activated.connect(self._on_activated)
        head = layouts.row((self.summary, 1), self.measure, self.compare)
        layouts.tab(self, head, self.importance, (self.table, 1))
        for signal in (state.changed, self._runs.listed, self._runs.changed, self._runs.removed):
            signal.connect(self._show)
        self._show()

    def _show(self, changed: RunRow | str | None = None) -> None:
        """Show the runs of the same job, if one of them changed or was removed."""
        row = self._state.row
        if row is None or (isinstance(changed, RunRow) and changed.group != row.group):
            return
        rows = [other for other in self._runs.rows.values() if other.group == row.group]
        rows = [row for row in rows if row.job is not None and row.job.group is not None]
        rows = sorted(rows, key=_job_order)
        if rows != self.model.rows:
            self.model.show_rows(rows, seeds_columns(rows))
        group = rows[0].job.group if rows and rows[0].job else None
        is_sweep = group is not None and bool(group.vectors)
        by_search = is_search(rows)
        has_seeds = group is not None and group.runs > max(1, len(group.vectors))
        if by_search and group is not None:
            has_seeds = len(group.seeds) > 1
        self.table.setColumnHidden(FEATURES, not is_sweep and not by_search)
        self.measure.setVisible(by_search)
        self.compare.setEnabled(len(rows) > 1)
        self.importance.setVisible(by_search and bool(self.importance.text()))
        for column in (SEED, MEAN):
            self.table.setColumnHidden(column, not has_seeds)
        runs = group.runs if group is not None else 0
        format_text = (
            self._search_text if by_search else self._sweep_text if is_sweep else self._seeds_text
        )
        self.summary.setText(format_text(rows, runs))

    def _seeds_text(self, rows: Sequence[RunRow], runs: int) -> str:
        scores = best_scores(rows)
        if not rows:
            return ""
        if not scores:
            return self.tr("None of the {0} runs has finished yet.").format(runs)
        template = self.tr("{0}: {1} (mean ± SD of {2} finished runs, {3} in total)")
        heading = run_texts.metric_heading(_metric(rows))
        return template.format(heading, mean_and_deviation(rows), len(scores), runs)

    def _sweep_text(self, rows: Sequence[RunRow], runs: int) -> str:
        finished = sum(row.state == "finished" for row in rows)
        if not _metric(rows):
            return self.tr("Layer probing sweep: {0} of {1} runs finished.").format(finished, runs)
        template = self.tr("Layer probing sweep: {0} of {1} runs finished. Compared by {2}.")
        return template.format(finished, runs, run_texts.metric_title(_metric(rows)))

    def _search_text(self, rows: Sequence[RunRow], runs: int) -> str:
        finished = sum(row.state == "finished" for row in rows)
        pruned_count = sum(map(is_pruned, rows))
        text = self.tr("{0} of at most {1} runs finished.").format(finished, runs)
        if pruned_count:
            text = self.tr("{0} of at most {1} runs finished, {2} pruned.").format(
                finished, runs, pruned_count
            )
        best = [row for row in rows if row.setting == best_setting(rows)]
        if not best:
            return text
        template = self.tr("{0} Best {1}: {2}, with {3}.")
        title = run_texts.metric_title(_metric(rows))
        return template.format(text, title, mean_and_deviation(best), values_text(best[0]))

    def _measure(self) -> None:
        rows = self.model.rows
        search = row_search(rows[0]) if rows else None
        if search is None:
            return
        self.measure.setEnabled(False)
        self._show_importance(self.tr("Measuring…"))
        question = MeasureImportance(search=search, trials=tuple(trials(rows)))
        done, refused = self._on_importance, self._on_refused
        self._runs.studio.one_time_worker(question, done, refused, None, self)

    def _on_importance(self, answer: Answer) -> None:
        self.measure.setEnabled(True)
        if isinstance(answer, ImportanceMeasured) and self.model.rows:
            job = self.model.rows[0].job
            assert job is not None
            self._show_importance(importance_text(answer, lambda path: field_title(job, path)))

    def _on_refused(self, refused: Refused) -> None:
        self.measure.setEnabled(True)
        self._show_importance(translated(refused.phrase))

    def _show_importance(self, text: str) -> None:
        self.importance.setText(text)
        self.importance.setVisible(bool(text))

    def _on_activated(self, index: QModelIndex) -> None:
        self._runs.open_requested.emit(self.model.row(index.row()).id)


def importance_text(result: ImportanceMeasured, title: Callable[[str], str]) -> str:
    """Sentences about the fraction of the variance that each field explains, with its range."""
    if result.explained < MIN_EXPLAINED:
        template = tr(
            "Not known yet: the fields do not explain the scores of the {0} finished combinations."
        )
        return template.format(result.trials)
    parts = ", ".join(
        tr("{0} {1} ({2} to {3})").format(
            title(item.path),
            *(numbers.percent(value, 0) for value in (item.share, item.low, item.high)),
        )
        for item in result.fields
    )
    template = tr(
        "Fraction of the score’s variance (fANOVA, 90 % range over resampled "
        "combinations): {0}. From {1} combinations; the forest explains {2} of the "
        "variance of unseen combinations."
    )
    return template.format(parts, result.trials, numbers.percent(result.explained, 0))


def _variant_text(row: RunRow, is_best: bool) -> str:
    """The features of a run of a sweep, or the values of a run of a search."""
    if row_search(row) is None:
        return value_text(row.sweep)
    return tr("{0} (best)").format(values_text(row)) if is_best else values_text(row)


def _metric(rows: Sequence[RunRow]) -> str:
    """The metric that compares these runs; “” before the first score."""
    return next((row.best_metric for row in rows if row.best_score is not None), "")


def _job_order(row: RunRow) -> tuple[int, int]:
    """Sort key: job order by features or combination, then seed."""
    if row.job is None or row.job.group is None:
        return 0, 0
    if row.job.group.search is not None:
        return row.job.group.setting, row.job.training.seed
    vectors = row.job.group.vectors
    is_listed = row.job.features.vectors in vectors
    return vectors.index(row.job.features.vectors) if is_listed else 0, row.job.training.seed
