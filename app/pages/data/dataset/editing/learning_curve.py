"""Best score of each run against its number of labelled rows."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from app import background
from app.library import DataEntry
from app.pages.data.dataset.editing.gain import GainState, GainView
from app.studio import Studio
from app.theme import SPACE, px
from app.widgets.charts.chart import (
    Axis,
    Chart,
    Line,
    percent_text,
    tick_text,
    value_range,
    widen,
)
from app.widgets.charts.figure_menu import offer_chart
from app.widgets.charts.view import ChartView
from app.widgets.page import Card
from app.widgets.screen import set_shown
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text
from engine.config.dataset import DatasetSpec, StoredData
from engine.data.columns.fit import unlabelled_rows
from engine.record.opening import Record
from engine.record.runs import all_runs

HEIGHT = 52 * SPACE


class ScoredRun(NamedTuple):
    """A finished run: labelled rows of its version, and its best score."""

    labelled_rows: int
    score: float
    metric: str


def read_scores(
    record: Record, versions: list[DataEntry], target: str | None = None
) -> list[ScoredRun]:
    """Finished runs on these versions of a data set, by number of labelled rows.

    Only runs with the most common metric are returned, of those that learned this column of labels;
    None: that of the import.
    """
    labelled = {
        entry.folder: _count_labelled(entry.spec, target)
        for entry in versions
        if entry.spec is not None
    }
    scores = []
    with record.read() as session:
        for run in all_runs(session):
            job = run.readable_job()
            data = job.data if job is not None else None
            if not isinstance(data, StoredData) or data.folder not in labelled:
                continue
            if data.target != target:
                continue
            if run.state == "finished" and run.best_score is not None:
                scores.append(ScoredRun(labelled[data.folder], run.best_score, run.best_metric))
    metrics = [score.metric for score in scores]
    common = max(metrics, key=metrics.count, default="")
    return sorted(score for score in scores if score.metric == common)


def _count_labelled(spec: DatasetSpec, target: str | None) -> int:
    chosen = spec.with_target(target) if target in spec.targets else spec
    return sum(spec.rows.values()) - sum(unlabelled_rows(chosen).values())


class LearningCurveCard(Card):
    """The gain of more labels, and a chart if runs on two numbers of labelled rows have finished.

    Hidden without both.
    """

    def __init__(self, studio: Studio, gain: GainState) -> None:
        super().__init__("")
        self._studio, self._has_gain = studio, False
        self.gain = GainView(gain)
        self.body.addWidget(Text(self.tr("Score over labelled rows"), "heading"))
        self.chart = ChartView(self.tr("Score over labelled rows"))
        self.chart.setFixedHeight(px(HEIGHT))
        offer_chart(self.chart)
        self.summary = Text("", "muted")
        self.body.addWidget(self.chart)
        self.body.addWidget(self.summary)
        self.body.addWidget(self.gain)
        self._set_chart_shown(False)

    def offer_gain(self, is_offered: bool) -> None:
        """Offer an estimate of the gain, or hide the offer."""
        self._has_gain = is_offered
        self._set_chart_shown(not self.chart.isHidden())

    def _set_chart_shown(self, is_shown: bool) -> None:
        set_shown(self.chart, is_shown)
        set_shown(self.summary, is_shown)
        set_shown(self.gain, self._has_gain)
        set_shown(self, is_shown or self._has_gain)

    def read(self, dataset: Path, target: str | None) -> None:
        """Read the runs on all versions of a data set that learned a column."""
        studio = self._studio

        def work() -> list[ScoredRun]:
            entries = [entry for entry in studio.datasets() if entry.folder.parent == dataset]
            return read_scores(studio.record, entries, target)

        background.run(self, work, self._show)

    def _show(self, scores: list[ScoredRun]) -> None:
        rows = np.array([score.labelled_rows for score in scores], dtype=np.float64)
        values = np.array([score.score for score in scores], dtype=np.float64)
        self._set_chart_shown(len(set(rows.tolist())) > 1)
        if self.chart.isHidden():
            return
        title = run_texts.metric_title(scores[0].metric)
        text = percent_text if run_texts.is_share(scores[0].metric) else tick_text
        self.chart.show_chart(
            Chart(
                Axis(self.tr("Labelled rows"), (0.0, float(rows.max()) * 1.05), integer=True),
                Axis(title, widen(*value_range([values]), 0.1), text=text),
                (Line("", rows, values, dots=True),),
            )
        )
        first, last = scores[0], scores[-1]
        summary = self.tr("{0}: {1} with {2} labelled rows, {3} with {4}.").format(
            title,
            run_texts.metric_value(first.metric, first.score),
            numbers.count(first.labelled_rows),
            run_texts.metric_value(last.metric, last.score),
            numbers.count(last.labelled_rows),
        )
        self.summary.setText(summary)
        self.chart.setAccessibleDescription(summary)
