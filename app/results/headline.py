"""The score of a result with its interval, and the rows it was measured on."""

import math
from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.results.state import ResultsState
from app.theme import SPACE
from app.translation import in_language, translated
from app.widgets import buttons, layouts
from app.widgets.results.intervals import format_ends, with_ends
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import OneLine, Text, tooltip
from app.widgets.text.run_texts import metric_value
from engine.config.task import F1_MACRO, Metric
from engine.config.tasks import TASKS
from engine.results.ceiling import ceiling, ceiling_note
from engine.results.conditions import CodersDisagree, Outcome
from engine.results.intervals import Interval
from engine.results.masked_tokens import baseline_note
from engine.results.measures import main_metric, main_score
from engine.results.neglected import Remedy, macro_f1, neglect
from engine.results.predictions import Predictions
from engine.results.significance import seeds_interval


class Headline(QWidget):
    """A line with the scores, one about their rows, one about neglected classes with a job that may
    help, one about a baseline without further rows, and one with the mean over several seeds.

    Signals:
        remedy_requested: the Remedy whose job is to be opened.
    """

    remedy_requested = Signal(object)

    def __init__(self, state: ResultsState) -> None:
        super().__init__()
        self._state = state
        self._times_tested = 0
        self.score = OneLine("", "title")
        self.about = Text("", "muted")
        self.neglected = Text("", "warn", selectable=True)
        self.remedy = buttons.plain("", self._on_remedy, "graduation-cap")
        self._remedy: Remedy | None = None
        self.baseline = Text("", "muted", selectable=True)
        self.ceiling = Text("", "muted", selectable=True)
        self.in_dispute = buttons.quiet("", partial(self._list_mistakes, True))
        self.agreed = buttons.quiet("", partial(self._list_mistakes, False))
        coders = layouts.row(self.in_dispute, self.agreed, layouts.STRETCH, spacing=2 * SPACE)
        self.seeds = Text("", "muted", selectable=True)
        self.seeds.hide()
        classes = layouts.row((self.neglected, 10), self.remedy, layouts.STRETCH, spacing=3 * SPACE)
        layouts.column(
            self.score,
            self.about,
            classes,
            self.baseline,
            self.ceiling,
            coders,
            self.seeds,
            parent=self,
            spacing=SPACE,
        )
        state.opened.connect(self._show)
        state.opened.connect(self.seeds.hide)
        self._show()

    def set_times_tested(self, times: int) -> None:
        """Set how often test rows were scored, which is shown next to their score."""
        self._times_tested = times
        self._show()

    def show_seeds(self, metric: Metric, scores: Mapping[int, float]) -> None:
        """Show the mean over seeds with its interval; hidden for a single run."""
        self.seeds.setVisible(len(scores) > 1)
        mean = seeds_interval(list(scores.values()), metric.limits)
        value = partial(value_text, metric)
        self.seeds.setText(
            self.tr("Mean of {0} runs (seeds {1}): {2} · 95 % interval {3}").format(
                len(scores),
                ", ".join(map(str, sorted(scores))),
                value(mean.value),
                format_ends(mean, value),
            )
            if len(scores) > 1
            else ""
        )

    def offer(self, remedy: Remedy | None) -> None:
        """Offer a job that may help neglected classes; None: none is known."""
        self._remedy = remedy
        self.remedy.setVisible(remedy is not None)
        weigh, longer = (
            self.tr("Tr&y again with class weights"),
            self.tr("Tr&y again for twice as long"),
        )
        buttons.set_text(self.remedy, weigh if remedy is None or remedy.adds_weights else longer)

    def _on_remedy(self) -> None:
        self.remedy_requested.emit(self._remedy)

    def _list_mistakes(self, in_dispute: bool) -> None:
        """List the mistakes on rows in dispute, or those on other rows."""
        wrong = (Outcome(right=False), CodersDisagree(holds=in_dispute))
        self._state.choose("ceiling", wrong)

    def _show_ceiling(self, predictions: Predictions | None) -> None:
        """Show how well coders agree on the same rows, and how many mistakes are in dispute."""
        found = None if predictions is None else ceiling(predictions)
        is_split = found is not None and found.disputed > 0 and found.mistakes > 0
        set_shown(self.ceiling, found is not None)
        set_shown(self.in_dispute, is_split)
        set_shown(self.agreed, is_split)
        shared = 0 if found is None else found.shared
        text = self.tr("%Ln mistake(s) in dispute among coders", "", shared)
        buttons.set_text(self.in_dispute, text)
        others = 0 if found is None else found.mistakes - shared
        buttons.set_text(self.agreed, self.tr("%Ln other mistake(s)", "", others))
        if found is None or predictions is None:
            return
        value = partial(value_text, main_metric(predictions))
        human, model = (with_ends(score, value) for score in (found.human, found.model))
        self.ceiling.setText(translated(ceiling_note(found, human, model)))

    def _show(self) -> None:
        predictions = self._state.predictions
        self.offer(None)
        self._show_ceiling(predictions)
        set_shown(self.neglected, False)
        set_shown(self.baseline, False)
        if predictions is None:
            return
        if predictions.is_labelled:
            self.score.setText(" · ".join(_scores(predictions)))
            neglected = translated(neglect(predictions))
            self.neglected.setText(neglected)
            width = self.neglected.fontMetrics().horizontalAdvance(neglected)
            self.neglected.setMaximumWidth(width + SPACE)  # the button is next to the text
            set_shown(self.neglected, bool(neglected))
            baseline = translated(baseline_note(predictions))
            self.baseline.setText(baseline)
            set_shown(self.baseline, bool(baseline))
        else:
            self.score.setText(self.tr("These rows have no labels"))
        self.about.setText(" · ".join(self._about(predictions)))
        is_exact = predictions.info.precision in ("", "fp32")
        self.about.setToolTip(
            ""
            if is_exact
            else tooltip(
                self.tr(
                    "A run is evaluated in its training precision. Explore shows the precision "
                    "that it uses; if that is another one, the last digits can differ."
                )
            )
        )

    def _about(self, predictions: Predictions) -> list[str]:
        info, score = predictions.info, main_score(predictions)
        texts, value = [], partial(value_text, main_metric(predictions))
        if not math.isnan(score.low):
            texts.append(self.tr("95 % interval {0}").format(format_ends(score, value)))
        if TASKS[info.task].info.is_pretraining:
            texts += other_metrics(predictions)
        rows = len(predictions)
        if info.part == "file":
            texts.append(self.tr("%Ln row(s) of {0}", "", rows).format(info.source))
        else:
            text = self.tr("%Ln row(s) of “{0}”, {1}", "", rows)
            texts.append(text.format(info.source, split_title(info.part).lower()))
        if info.part == "test":
            texts.append(self.tr("scored %Ln time(s)", "", self._times_tested))
        if info.step is not None:
            texts.append(self.tr("checkpoint of step {0}").format(numbers.count(info.step)))
        if info.precision not in ("", "fp32"):
            texts.append(self.tr("computed in {0}").format(info.precision))
        return texts


def other_metrics(predictions: Predictions) -> list[str]:
    """The other metrics of the task, over all evaluated rows."""
    scores = predictions.info.metrics
    main = main_metric(predictions)
    return [
        score_text(metric, Interval(scores[metric.name], math.nan, math.nan))
        for metric in TASKS[predictions.info.task].info.metrics
        if metric is not main and metric.name in scores
    ]


def _scores(predictions: Predictions) -> list[str]:
    """The main metric, and macro F1 if that is another one of its task."""
    main, macro = main_metric(predictions), macro_f1(predictions)
    texts = [score_text(main, main_score(predictions))]
    if macro is not None and main is not F1_MACRO:
        texts.append(score_text(F1_MACRO, Interval(macro.value(), math.nan, math.nan)))
    return texts


def score_text(metric: Metric, score: Interval) -> str:
    """Title and value of a score, e.g. “Accuracy 86.2 %”."""
    title = in_language(metric.title)
    return f"{title[:1].upper()}{title[1:]} {value_text(metric, score.value)}"


def value_text(metric: Metric, value: float) -> str:
    return metric_value(metric.name, value)
