"""Comparison of the shown results with others over the same rows, and the rows that flipped."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QWidget

from app import background
from app.results.state import ResultsState
from app.studio import Studio
from app.theme import SPACE
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask, choose_file, confirm
from app.widgets.page import Card
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import Text, plain_menu_text, visible
from app.widgets.text.run_texts import VALIDATION, metric_heading, metric_value
from engine.config.dataset import StoredData
from engine.config.job import JobSpec
from engine.record.opening import Record
from engine.record.runs import all_runs
from engine.results.comparing import Comparison, compare
from engine.results.predictions import PredictionInfo, Predictions, read_predictions
from engine.results.seeds import SeedsComparison, compare_runs
from engine.results.store import StoredPredictions, results_root, stored_predictions
from engine.runs.folder import RunFolder
from engine.runs.groups import Aggregate, comparable_job

SOURCE = "comparison"


@dataclass(frozen=True)
class ResultFile:
    """Results to compare with, and their name."""

    name: str
    file: Path


@dataclass(frozen=True)
class Verdict:
    """A comparison of two results by row, the supported claim, and the comparison over seeds."""

    rows: Comparison
    claim: str
    seeds: SeedsComparison | None


class ComparisonCard(QWidget):
    """The supported claim in a sentence, and the rows that flipped in either direction."""

    def __init__(self, studio: Studio, state: ResultsState, folder: Path) -> None:
        super().__init__()
        self._studio, self._state, self._folder = studio, state, folder
        self.rows: Comparison | None = None
        self.claim = Text("", "strong", selectable=True)
        self.about = Text("", "muted")
        self.better = buttons.plain(self.tr("Rows that &got better"), partial(self._choose, True))
        self.worse = buttons.plain(self.tr("Rows that got wors&e"), partial(self._choose, False))
        self.stop = buttons.quiet(self.tr("Stop compa&ring"), self.end, "x")
        self.seeds_claim = Text("", "strong", selectable=True)
        self.seeds_about = Text("", "muted", selectable=True)
        row = layouts.row(self.better, self.worse, self.stop, layouts.STRETCH, spacing=2 * SPACE)
        card = Card(padding=3 * SPACE)
        card.body.setSpacing(SPACE)
        layouts.extend(card.body, self.claim, self.about, row, self.seeds_claim, self.seeds_about)
        layouts.column(card, parent=self)
        state.opened.connect(self._on_opened)
        self.hide()

    def ask_for_other(self) -> None:
        """Offer other results of the same task, results over the same rows first."""
        predictions = self._state.predictions
        if predictions is None:
            return
        record, folder, info = self._studio.record, self._folder, predictions.info
        background.run(
            self,
            lambda: find_comparable(record, folder, info),
            self._on_comparable,
            self._studio.notices.show,
        )

    def compare_with(self, other: ResultFile) -> None:
        """Compare the shown results (second) with others (first)."""
        shown, record, folder = self._state.predictions, self._studio.record, self._folder
        if shown is not None:
            background.run(
                self,
                lambda: compare_results(other, shown, record, folder),
                partial(self._on_compared, other.name),
                self._studio.notices.show,
            )

    def end(self) -> None:
        """Stop comparing."""
        if self.rows is not None:
            self.rows = None
            self.hide()
            if self._state.chosen_by(SOURCE):
                self._state.choose(SOURCE, ())

    def _on_opened(self) -> None:
        """Compare with the same training on an earlier version of the data set, if there is one."""
        self.end()
        shown, record, folder = self._state.predictions, self._studio.record, self._folder
        if shown is None:
            return

        def show(other: ResultFile | None) -> None:
            if other is not None and self._state.predictions is shown and self.rows is None:
                self.compare_with(other)

        background.run(
            self, lambda: find_earlier(record, folder, shown.info), show, self._studio.notices.show
        )

    def _on_comparable(self, offered: list[ResultFile]) -> None:
        file = Choice("file", self.tr("Choose a &file…"))
        if not offered:
            confirm(
                self,
                self.tr("Compare with"),
                self.tr(
                    "There is no other result of this task. Finish another run, or choose a file "
                    "of predictions, as in the folder “results” of a run."
                ),
                file,
                self._choose_file,
            )
            return
        choices = QListWidget()
        choices.setAccessibleName(self.tr("Results to compare with"))
        choices.addItems([visible(result.name) for result in offered])
        choices.setCurrentRow(0)

        def answered(key: str) -> None:
            if key == "compare":
                self.compare_with(offered[choices.currentRow()])
            elif key == "file":
                self._choose_file()

        dialog = ask(
            self,
            self.tr("Compare with"),
            self.tr("The other result is the first one, and the one shown now is the second."),
            (
                Choice("compare", self.tr("Compare"), "primary"),
                file,
                Choice("cancel", self.tr("Cancel")),
            ),
            answered,
            [choices],
        )
        choices.itemActivated.connect(lambda _: dialog.buttons["compare"].click())
        choices.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose_file(self) -> None:
        choose_file(
            self,
            self.tr("Compare with"),
            lambda file: self.compare_with(ResultFile(visible(file.name), file)),
            [self.tr("Predictions (*.parquet)"), self.tr("All files (*)")],
        )

    def _on_compared(self, name: str, compared: Verdict) -> None:
        self.rows = rows = compared.rows
        self.claim.setText(translated(compared.claim))
        self._show_seeds(compared.seeds)
        about = self.tr("First: {0}. Second: the one below. {1}.")
        self.about.setText(about.format(name, translated(rows.matching.sentence)))
        better, worse = int(rows.better.sum()), int(rows.worse.sum())
        texts = (
            (self.tr("%Ln row(s) wrong before, correct now", "", better), self.better, better),
            (self.tr("%Ln row(s) correct before, wrong now", "", worse), self.worse, worse),
        )
        if not rows.is_binary:
            texts = (
                (self.tr("%Ln row(s) better now", "", better), self.better, better),
                (self.tr("%Ln row(s) worse now", "", worse), self.worse, worse),
            )
        for text, button, count in texts:
            button.setText(plain_menu_text(text))
            button.setAccessibleName(text)
            button.setEnabled(bool(count))
        self.show()

    def _show_seeds(self, seeds: SeedsComparison | None) -> None:
        for text in (self.seeds_claim, self.seeds_about):
            text.setVisible(seeds is not None)
        if seeds is None:
            return
        self.seeds_claim.setText(self.tr("Over seeds: {0}").format(translated(seeds.claim)))
        first, second = (
            seeds_text(seeds.metric, scores, aggregate)
            for scores, aggregate in zip(seeds.scores, seeds.aggregates, strict=True)
        )
        template = self.tr("{0} of the best checkpoints. First: {1}. Second: {2}.")
        heading = metric_heading(f"{VALIDATION}{seeds.metric}")
        self.seeds_about.setText(template.format(heading, first, second))

    def _choose(self, better: bool) -> None:
        assert self.rows is not None
        chosen = self.rows.better if better else self.rows.worse
        self._state.choose(SOURCE, self.rows.conditions(chosen))


def find_comparable(record: Record, folder: Path, info: PredictionInfo) -> list[ResultFile]:
    """Results of the same task that may share rows with the shown ones, of this model or of runs.

    Results of the same rows come first, then results of another version of the data set.
    """
    with record.read() as session:
        runs = [(run.name, RunFolder(run.folder).results) for run in all_runs(session)]
    folders = [("", folder), *((name, path) for name, path in runs if path != folder)]
    pairs = [
        (name or stored.info.model, stored)
        for name, path in folders
        for stored in stored_predictions(path)
        if stored.info.task == info.task and stored.info != info and _may_share(stored.info, info)
    ]
    pairs.sort(key=lambda pair: _distance(pair[1].info, info))
    return [ResultFile(_title(name, stored), stored.file) for name, stored in pairs]


def find_earlier(record: Record, folder: Path, info: PredictionInfo) -> ResultFile | None:
    """Results of the same training on the previous version of the data set.

    None if there are none, if `folder` belongs to no run, or if the rows are not from its data.
    """
    with record.read() as session:
        runs = [(run.name, RunFolder(run.folder), run.readable_job()) for run in all_runs(session)]
    jobs = {run.results: job for _, run, job in runs}
    shown = jobs.get(folder)
    if shown is None or info.part == "file" or not isinstance(shown.data, StoredData):
        return None
    version = _data_version(shown)
    same = [
        (_data_version(job), name, run)
        for name, run, job in runs
        if job is not None and _data_version(job) < version and _adopt_data(job, shown) == shown
    ]
    for _, name, run in sorted(same, key=lambda item: item[0], reverse=True):
        for stored in stored_predictions(run.results):
            if stored.info.part == info.part:
                return ResultFile(_title(name, stored), stored.file)
    return None


def _data_version(job: JobSpec) -> int:
    """Version of a stored data set; 0 for other data."""
    name = job.data.folder.name if isinstance(job.data, StoredData) else ""
    return int(name) if name.isdecimal() else 0


def _adopt_data(job: JobSpec, other: JobSpec) -> JobSpec:
    """A copy of a job with name, group and data version of another one."""
    if not isinstance(job.data, StoredData) or not isinstance(other.data, StoredData):
        return job
    if job.data.folder.parent != other.data.folder.parent:
        return job
    return job.model_copy(update={"name": other.name, "group": other.group, "data": other.data})


def compare_results(other: ResultFile, shown: Predictions, record: Record, folder: Path) -> Verdict:
    """Compare two results by row: `other` is the first, the one in `folder` the second."""
    rows = compare(read_predictions(other.file), shown)
    first, second = (find_seed_runs(record, path) for path in (other.file.parent, folder))
    seeds = None
    if first and second and first != second and max(len(first), len(second)) > 1:
        seeds = compare_runs([RunFolder(run) for run in first], [RunFolder(run) for run in second])
    return Verdict(rows, rows.sentence, seeds)


def find_seed_runs(record: Record, results: Path) -> list[Path]:
    """Folders of finished runs that differ from the run with these results only by seed, including
    itself, oldest first; empty if the results belong to no run."""
    with record.read() as session:
        runs = [(RunFolder(run.folder), run.state, run.readable_job()) for run in all_runs(session)]
    jobs = {run.results: job for run, _, job in runs}
    shown = jobs.get(results_root(results))
    if shown is None:
        return []
    same = comparable_job(shown)
    return [
        run.path
        for run, state, job in reversed(runs)
        if state == "finished" and job is not None and comparable_job(job) == same
    ]


def seeds_text(metric: str, scores: Mapping[int, float], aggregate: Aggregate | None) -> str:
    """Format scores over seeds, e.g. “82.1 % ± 0.6 % (3 runs, seeds 1, 2, 3)”."""
    if aggregate is None:
        return tr("no finished run")
    mean = metric_value(metric, aggregate.mean)
    if aggregate.deviation is not None:
        mean = f"{mean} ± {metric_value(metric, aggregate.deviation)}"
    seeds = ", ".join(map(str, sorted(scores)))
    return tr("{0} (%n run(s), seeds {1})", len(scores)).format(mean, seeds)


def _may_share(info: PredictionInfo, other: PredictionInfo) -> bool:
    """True if two results may share rows: not for different parts of the same data."""
    return info.part == other.part or info.fingerprint != other.fingerprint


def _distance(info: PredictionInfo, other: PredictionInfo) -> int:
    """0: the same rows; 1: the same part of another version of the data; 2: others."""
    if (info.part, info.source) != (other.part, other.source):
        return 2
    return int(info.fingerprint != other.fingerprint)


def _title(name: str, stored: StoredPredictions) -> str:
    """Title of a result, e.g. “First run · Validation · “Reviews” · step 243”."""
    info = stored.info
    rows = tr("rows of") if info.part == "file" else split_title(info.part)
    parts = [name, f"{rows} “{info.source}”"]
    if info.step is not None:
        parts.append(tr("step {0}").format(numbers.count(info.step)))
    return " · ".join(parts)
