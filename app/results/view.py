"""The results of a model: its score, pictures of its predictions, and their rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QWidget

from app import background
from app.notices import Notices
from app.results.comparison import ComparisonCard, ResultFile, find_seed_runs
from app.results.correcting import ask_for_label
from app.results.corrections import PARTS, Corrections, Record, StoredRows
from app.results.evaluating import Evaluator, ResultsSource
from app.results.headline import Headline, value_text
from app.results.pictures import PicturesView
from app.results.rows_view import MIN_TAGS_HEIGHT, RowsView
from app.results.state import ResultsState
from app.studio import Studio
from app.theme import SPACE, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, choose_file, confirm
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton, set_help
from app.widgets.opening import notify_saved
from app.widgets.page import EmptyState, LazyArea, Stack
from app.widgets.progress import ProgressLine
from app.widgets.results.intervals import with_ends
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import Text
from engine.checkpoints.prediction_settings import prediction_settings, save_settings
from engine.config.prediction import PredictionSettings
from engine.config.tasks import TASKS
from engine.data.columns.choices import split_choices
from engine.data.columns.text_spans import natural_text
from engine.errors import StudioError
from engine.results.comparing import (
    BETTER,
    BaselineComparison,
    baseline_advice,
    compare_with_baseline,
)
from engine.results.labels import doubtful_label
from engine.results.measures import main_metric
from engine.results.neglected import Remedy, remedy
from engine.results.predictions import Predictions, read_predictions
from engine.results.seeds import scores_like
from engine.results.store import (
    StoredPredictions,
    baselines_in,
    logged_evaluations,
    results_root,
    stored_predictions,
)
from engine.runs.folder import RunFolder

SettingsChange = Callable[[PredictionSettings], PredictionSettings]
MAX_NAMED = 3  # thresholds named in the notice
PICTURES_WIDTH = 96 * SPACE  # px
MIN_HEIGHT = 80 * SPACE  # px of pictures and rows; a lower window scrolls
CONTENT, NONE, PROBLEM = range(3)


class ResultsView(QWidget):
    """The results of a run or model, from its folder of results."""

    def __init__(self, studio: Studio, source: ResultsSource) -> None:
        super().__init__()
        self._studio, self._source = studio, source
        self.results: list[StoredPredictions] = []
        self._requested: Path | None = None  # shown once it is listed
        self._other: ResultFile | None = None  # compared with once that is shown
        self.times_tested = 0
        self.state = ResultsState(studio.notices, self)
        self.evaluating = Evaluator(studio, self)
        self.headline = Headline(self.state)
        self.pictures = PicturesView(self.state, studio.notices, studio.home.slices)
        self.corrections = Corrections(studio, self.state)
        self.rows = RowsView(self.state, self.corrections, studio.notices)
        self.choice = ComboBox(self.tr("Evaluated rows"))
        folder = None if source.make_baselines is None else source.folder
        self.baselines = BaselineLine(self.state, studio.notices, folder)
        self.comparison = ComparisonCard(studio, self.state, source.folder)
        self.menu_button = self._make_menu()
        self.progress = ProgressLine(self.tr("Evaluation"))
        self.problem = EmptyState("triangle-alert", self.tr("The results cannot be shown"), "")
        self.stack = Stack(self._content(), self._empty_state(), self.problem)
        self.stack.setCurrentIndex(NONE)
        layouts.tab(self, self.progress, (self.stack, 1))
        set_help(self, "results")
        self._connect()
        self.show_results()

    def _connect(self) -> None:
        self.choice.activated.connect(lambda index: self.state.open(self.results[index].file))
        self.state.opened.connect(self._on_opened)
        self.headline.remedy_requested.connect(
            lambda remedy: self._studio.navigate.emit("train", {"job": remedy.job})
        )
        self.state.exported.connect(self._on_exported)
        self.rows.explored.connect(self._on_explored)
        self.rows.dataset_requested.connect(self._show_in_dataset)
        self.rows.correction_requested.connect(self._ask_for_label)
        self.corrections.corrected.connect(self._on_corrected)
        self.rows.filters.saved.connect(self.pictures.add_slice)
        self.pictures.decided.connect(self._on_decided)
        self.progress.cancelled.connect(self.evaluating.cancel)
        self.evaluating.started.connect(self._on_started)
        self.evaluating.progressed.connect(self.progress.show_progress)
        self.evaluating.fitted.connect(self.baselines.read)
        self.baselines.fit_requested.connect(self._fit_baselines)
        self.evaluating.ended.connect(self._on_evaluated)

    def show_results(self) -> None:
        folder = self._source.folder
        background.run(
            self,
            lambda: (stored_predictions(folder), len(logged_evaluations(results_root(folder)))),
            self._on_listed,
            self._studio.notices.show,
        )

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _content(self) -> QWidget:
        parts = (self.choice, self.menu_button, HelpButton("results"))
        at_top = ((part, 0, Qt.AlignmentFlag.AlignTop) for part in parts)
        head = layouts.row((self.headline, 1), *at_top, spacing=3 * SPACE)
        splitter = layouts.splitter(self.pictures, self.rows, sizes=[PICTURES_WIDTH, 10_000])
        splitter.setHandleWidth(4 * SPACE)
        splitter.setMinimumHeight(px(MIN_HEIGHT))
        self._parts = splitter
        # the surrounding area must not use its preferred height
        splitter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        content = layouts.page(
            head, self.baselines, self.comparison, (splitter, 1), spacing=3 * SPACE
        )
        area = LazyArea()  # keeps lists visible in a low window
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.set_content(content)
        return area

    def _empty_state(self) -> QWidget:
        if self._source.has_data:
            self.score = buttons.primary(
                self.tr("Score &the validation rows"),
                lambda: self.evaluating.score_part(self._source, "validation"),
            )
            text = self.tr("The checkpoint predicts the validation rows, which takes a moment.")
        else:
            self.score = buttons.primary(self.tr("Evalua&te on a file…"), self.ask_for_file)
            text = self.tr("Choose a file with labels to score the model.")
        return EmptyState("scan-search", self.tr("No results yet"), text, self.score)

    def _make_menu(self) -> QPushButton:
        button = buttons.plain(self.tr("Evalua&te"))
        menu = self._menu = QMenu(button)
        self.test_action = self._action("", self._on_test)
        self.test_action.setVisible(self._source.has_data)
        self.file_action = self._action(self.tr("Evaluate on a &file…"), self.ask_for_file)
        compare = self.tr("&Compare with…")
        self.compare_action = self._action(compare, self.comparison.ask_for_other)
        menu.addActions([self.test_action, self.file_action])
        menu.addSeparator()
        menu.addAction(self.compare_action)
        button.setMenu(menu)
        return button

    def _action(self, text: str, act: Callable[[], object]) -> QAction:
        """A menu entry owned by this view.

        PySide loses actions made by a menu if a screen reader listens; the text of `test_action`
        changes long after.
        """
        action = QAction(text, self)
        action.triggered.connect(lambda _=False: act())
        return action

    # ── stored results ───────────────────────────────────────────────────────────────────────

    def _on_listed(self, read: tuple[list[StoredPredictions], int]) -> None:
        results, self.times_tested = read
        text = self.tr("Score the &test rows (%Ln time(s) so far)", "", self.times_tested)
        self.test_action.setText(text)
        self.headline.set_times_tested(self.times_tested)
        requested, self._requested = self._requested, None
        if results == self.results and requested is None:
            return
        self.results = results
        self.choice.clear()
        self.choice.addItems([_title(result) for result in results])
        self.choice.setVisible(len(results) > 1)
        if not results:
            self.stack.setCurrentIndex(NONE)
            return
        index = next((n for n, result in enumerate(results) if result.file == requested), 0)
        self.choice.setCurrentIndex(index)
        self.state.open(results[index].file)

    def compare(self, file: Path, other: ResultFile) -> None:
        """Show these predictions and compare them with another result, once both are read."""
        self._requested, self._other = file, other
        self.show_results()

    def _on_opened(self) -> None:
        has_tags = not self.rows.tags_area.isHidden()
        self._parts.setMinimumHeight(px(MIN_HEIGHT + MIN_TAGS_HEIGHT * has_tags))
        error = self.state.problem
        if error is None:
            was_score = self.window().focusWidget() is self.score
            self.stack.setCurrentIndex(CONTENT)
            if was_score:
                self.rows.table.setFocus()
            self._find_seeds()
            self._find_remedy()
            other, self._other = self._other, None
            if other is not None:
                self.comparison.compare_with(other)
            return
        if not isinstance(error, StudioError):
            raise error
        self.problem.text.setText(f"{error.problem} {error.advice}".strip())
        self.stack.setCurrentIndex(PROBLEM)

    def _find_seeds(self) -> None:
        shown, record, folder = self.state.predictions, self._studio.record, self._source.folder
        if shown is None or not shown.is_labelled:
            return
        metric = main_metric(shown)

        def show_scores(scores: dict[int, float]) -> None:
            if self.state.predictions is shown:
                self.headline.show_seeds(metric, scores)

        background.run(
            self,
            lambda: scores_like(
                map(RunFolder, find_seed_runs(record, folder)), shown.info, metric.name
            ),
            show_scores,
            self._studio.notices.show,
        )

    def _find_remedy(self) -> None:
        shown, run = self.state.predictions, self._source.run
        if shown is None or run is None:
            return

        def offer(found: Remedy | None) -> None:
            if self.state.predictions is shown:
                self.headline.offer(found)

        background.run(self, lambda: remedy(shown, run.job()), offer, self._studio.notices.show)

    # ── evaluation ───────────────────────────────────────────────────────────────────────────

    def _on_test(self) -> None:
        """Ask before test rows are scored for the first time."""
        score = partial(self.evaluating.score_part, self._source, "test")
        if self.times_tested:
            score()
            return
        confirm(
            self,
            self.tr("Score the test rows?"),
            self.tr(
                "Keep the test rows for the end: once a model is chosen by their score, the score "
                "is too optimistic. How often they were scored is shown next to the score."
            ),
            Choice("score", self.tr("Score the test rows"), "primary"),
            score,
        )

    def ask_for_file(self) -> None:
        """Ask for a file with labels, and evaluate the model on it."""
        score = partial(self.evaluating.score_file, self._source)
        choose_file(self.window(), self.tr("Evaluate on a file"), score)

    def _fit_baselines(self) -> None:
        if self.state.predictions is not None:
            self.evaluating.fit_baselines(self._source, self.state.predictions.info)

    def _on_started(self, description: str) -> None:
        self.progress.begin(description)
        self._enable(False)

    def _on_evaluated(self, file: Path | None) -> None:
        self.progress.hide()
        self._enable(True)
        if file is not None:
            self._requested = file
            self.show_results()

    def _enable(self, enabled: bool) -> None:
        for button in (self.menu_button, self.baselines.fit, self.score):
            button.setEnabled(enabled)

    # ── actions on rows ──────────────────────────────────────────────────────────────────────

    def _on_exported(self, path: Path) -> None:
        notify_saved(self._studio.notices, path)

    def _checkpoint(self) -> Path | None:
        """The checkpoint of the predictions; None, with a notice, if it is gone."""
        predictions = self.state.predictions
        assert predictions is not None
        checkpoint = self._source.find_checkpoint(predictions.info)
        if checkpoint is None:
            self._studio.notices.error(
                self.tr("The checkpoint that made these predictions no longer exists."),
                self.tr("Evaluate another checkpoint of the run, or open its best one."),
                action=self.tr("Evaluate the validation rows") if self._source.has_data else "",
                act=partial(self.evaluating.score_part, self._source, "validation"),
            )
        return checkpoint

    def _on_decided(self, change: SettingsChange) -> None:
        if (checkpoint := self._checkpoint()) is not None:
            self._change_settings(checkpoint, change, can_undo=True)

    def _change_settings(self, checkpoint: Path, change: SettingsChange, can_undo: bool) -> None:
        def work() -> tuple[PredictionSettings, PredictionSettings]:
            before = prediction_settings(checkpoint)
            after = change(before)
            save_settings(checkpoint, after)
            return before, after

        def done(settings: tuple[PredictionSettings, PredictionSettings]) -> None:
            before, after = settings
            undo = partial(self._change_settings, checkpoint, lambda _: before, False)
            text = self.tr("Undo") if can_undo else ""
            self._studio.notices.info(settings_text(after), text, undo)
            self._on_settings_changed()

        background.run(self, work, done, self._studio.notices.show)

    def _on_settings_changed(self) -> None:
        """Predict the validation rows again; test rows and files only on request."""
        predictions = self.state.predictions
        if predictions is not None and predictions.info.part == "validation":
            self.evaluating.score_part(self._source, "validation")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.corrections.read()  # edits may have been undone on the page of the data set

    def _show_in_dataset(self, row: int) -> None:
        stored = self.corrections.stored
        if stored is not None:
            request = {"data": stored.folder, "row": int(stored.indices[row])}
            self._studio.navigate.emit("data", request)

    def _ask_for_label(self, rows: list[int], row: int) -> None:
        """Ask for the label of some rows; of the current one alone if it is a part of the row."""
        predictions, stored = self.state.predictions, self.corrections.stored
        if predictions is None or stored is None or not rows:
            return
        chosen = [row] if stored.role in PARTS else rows

        def asked(stored: StoredRows, records: list[Record]) -> None:
            def correct(cells: Record) -> None:
                self.corrections.correct(dict.fromkeys(chosen, cells))

            try:
                ask_for_label(self, stored, records, predictions, row, correct)
            except StudioError as error:
                self._studio.notices.show(error)

        self.corrections.read_rows(chosen, asked)

    def _on_corrected(self, rows: int, undo: Callable[[], None]) -> None:
        stored = self.corrections.stored
        name = stored.spec.name if stored is not None else ""
        text = self.tr("%Ln label(s) corrected in “{0}”; save them there as a version.", "", rows)
        self._studio.notices.info(text.format(name), self.tr("Undo"), undo)

    def _on_explored(self, row: int, panel: str) -> None:
        predictions, checkpoint = self.state.predictions, self._checkpoint()
        if predictions is None or checkpoint is None:
            return
        texts, label = explore_inputs(predictions, row), doubtful_label(predictions, row)
        is_tuned = TASKS[predictions.info.task].info.head is not None
        panel = panel or ("predictions" if is_tuned else "words")
        argument = {"model": checkpoint, "panel": panel, "label": label, **texts}
        self._studio.navigate.emit("explore", argument)


def explore_inputs(predictions: Predictions, row: int) -> dict[str, Any]:
    """The text of a row, its second text and its choices, as arguments of Explore."""
    mapping = predictions.info.mapping
    second = mapping.pair or mapping.beginning

    def cell(column: str | None) -> str | None:
        exists = column is not None and column in predictions.columns
        return predictions.cells(column)[row].as_py() if exists and column else None

    text = cell(mapping.text) or ""
    if mapping.tags is not None:
        text = natural_text(text, cell(mapping.tags) or "")
    texts: dict[str, Any] = {"text": text, "pair": cell(second)}
    if mapping.endings:
        choices = tuple(cell(name) or "" for name in mapping.endings)
        texts["choices"] = (split_choices(choices[0]) or ()) if len(choices) == 1 else choices
    return texts


def _title(stored: StoredPredictions) -> str:
    """Title of a result: “Test” or “reviews.csv”, with the step if it is known."""
    info = stored.info
    part = info.source if info.part == "file" else split_title(info.part)
    return part if info.step is None else f"{part} · {numbers.count(info.step)}"


def settings_text(settings: PredictionSettings) -> str:
    """A sentence about the settings that a model now predicts with."""
    if settings.is_default:
        return tr("The model predicts with its default settings again.")
    parts = []
    if settings.temperature != 1:
        parts.append(tr("a temperature of {0}").format(numbers.decimal(settings.temperature, 2)))
    if settings.threshold != 0.5:
        parts.append(tr("a threshold of {0}").format(numbers.percent(settings.threshold)))
    thresholds = list(settings.thresholds.items())
    parts += [
        tr("a threshold of {0} for “{1}”").format(numbers.percent(threshold), label)
        for label, threshold in thresholds[:MAX_NAMED]
    ]
    if len(thresholds) > MAX_NAMED:
        parts.append(tr("%n more threshold(s)", len(thresholds) - MAX_NAMED))
    if settings.unsure_below:
        threshold = numbers.percent(settings.unsure_below)
        parts.append(tr("“unsure” below a probability of {0}").format(threshold))
    if settings.sets is not None:
        parts.append(tr("prediction sets for {0}").format(settings.sets.share))
    if settings.no_answer_threshold is not None:
        threshold = numbers.decimal(settings.no_answer_threshold, 2)
        parts.append(tr("a no-answer threshold of {0}").format(threshold))
    return tr("The model now predicts with {0}.").format(", ".join(parts))


class BaselineLine(QWidget):
    """A sentence about the baselines, or a button that fits them.

    Args:
        folder: the folder of the results; None if they have no baselines.

    Signals:
        fit_requested: for the shown rows.
    """

    fit_requested = Signal()

    def __init__(self, state: ResultsState, notices: Notices, folder: Path | None) -> None:
        super().__init__()
        self._state, self._notices, self._folder = state, notices, folder
        self.verdict = Text("", "muted")
        self.fit = buttons.quiet(self.tr("Compare with baseli&nes"), self.fit_requested.emit)
        self.fit.setToolTip(
            self.tr("Fit simple models, such as TF-IDF with logistic regression, on the same rows")
        )
        layouts.row((self.verdict, 10), self.fit, layouts.STRETCH, parent=self, spacing=2 * SPACE)
        state.opened.connect(self.read)
        self.hide()

    def read(self) -> None:
        predictions, folder = self._state.predictions, self._folder
        self.hide()
        if folder is None or predictions is None or not predictions.is_labelled:
            return
        if predictions.info.part == "file":
            return
        folder = results_root(folder)
        background.run(
            self,
            lambda: read_baselines(folder, predictions),
            partial(self._on_read, predictions),
            self._notices.show,
        )

    def _on_read(self, predictions: Predictions, baselines: list[BaselineComparison]) -> None:
        if predictions is not self._state.predictions:
            return
        self.fit.setVisible(not baselines)
        self.verdict.setVisible(bool(baselines))
        self.show()
        if not baselines:
            return
        format_score = partial(value_text, main_metric(predictions))
        scores = ", ".join(
            f"{baseline.name} {with_ends(baseline.score, format_score)}" for baseline in baselines
        )
        is_beaten = all(baseline.verdict == BETTER for baseline in baselines)
        self.verdict.set_style("good" if is_beaten else "warn")
        verdict = translated(baseline_advice(baselines))
        self.verdict.setText(self.tr("Baselines: {0}. {1}").format(scores, verdict))


def read_baselines(folder: Path, shown: Predictions) -> list[BaselineComparison]:
    """Baselines for the rows of `shown`; none for rows of a file."""
    part = shown.info.part
    if part == "file":
        return []
    baselines = baselines_in(folder, part, shown.info.fingerprint)
    return [compare_with_baseline(shown, read_predictions(baseline.file)) for baseline in baselines]
