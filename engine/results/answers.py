"""Answers to questions: exact match and F1 by kind of question and length, and the no-answer
threshold.

N questions with gold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.question_answering import no_answer_curve, row_scores
from engine.phrases import Phrase
from engine.results.conditions import Between, Conditions, mask, sentence
from engine.results.groups import by_figure, by_first_word
from engine.results.intervals import Interval, mean_interval
from engine.results.labels import labelled
from engine.results.predictions import Predictions
from engine.results.row_figures import details, figure

LENGTH_GROUPS = 4


@dataclass(frozen=True)
class AnswerGroup:
    """A group of questions; the scores are NaN if none has gold."""

    conditions: Conditions
    count: int
    exact_match: Interval
    f1: Interval

    @property
    def name(self) -> Phrase:
        return sentence(self.conditions)


class Answer(NamedTuple):
    """One of the best spans of a question."""

    text: str
    start: int  # characters of the passage
    end: int
    score: float
    exact_match: float
    f1: float


@dataclass(frozen=True)
class ThresholdCurve:
    """F1 and exact match at each no-answer threshold, ascending, each float64 [P].

    A question whose no-answer score is above the threshold gets no answer.
    """

    thresholds: NDArray[np.float64]
    f1: NDArray[np.float64]
    exact_match: NDArray[np.float64]

    @property
    def best(self) -> float:
        """The lowest threshold with the highest F1: best_f1_thresh of the script of SQuAD 2.0."""
        return float(self.thresholds[int(np.argmax(self.f1))])

    def at(self, threshold: float) -> tuple[float, float]:
        index = max(0, int((self.thresholds <= threshold).sum()) - 1)
        return float(self.f1[index]), float(self.exact_match[index])

    def withheld(self, threshold: float) -> Conditions:
        """The questions whose no-answer score is above the threshold."""
        above = float(np.nextafter(threshold, np.inf))
        return (Between(figure="no_answer", least=above),)


def answer_group(predictions: Predictions, conditions: Conditions) -> AnswerGroup:
    """Exact match and F1 of the questions for which conditions hold."""
    rows = mask(predictions, conditions)
    exact = np.array([row.get("exact", np.nan) for row in details(predictions)], dtype=np.float64)
    return AnswerGroup(
        conditions,
        int(rows.sum()),
        mean_interval(exact[rows]),
        mean_interval(figure(predictions, "score")[rows]),
    )


def by_kind(predictions: Predictions) -> tuple[AnswerGroup, ...]:
    """Group questions by their first word, the most frequent first."""
    groups = by_first_word(predictions, predictions.info.mapping.text)
    return tuple(answer_group(predictions, conditions) for conditions in groups)


def by_length(predictions: Predictions) -> tuple[AnswerGroup, ...]:
    """Group questions by quarters of the total length of question and passage."""
    groups = by_figure(predictions, "words", LENGTH_GROUPS)
    return tuple(answer_group(predictions, conditions) for conditions in groups)


def best_answers(predictions: Predictions, index: int) -> tuple[Answer, ...]:
    """The best spans of one question with their exact match and F1, best first."""
    row = details(predictions)[index]
    best = row.get("best") or ()
    exact, f1 = row_scores([text for text, *_ in best], [row.get("gold") or ()] * len(best))
    return tuple(
        Answer(text, start, end, score, float(exact[rank]), float(f1[rank]))
        for rank, (text, start, end, score) in enumerate(best)
    )


def threshold_curve(predictions: Predictions) -> ThresholdCurve | None:
    """Scores at each no-answer threshold; None if no question has a no-answer score.

    Questions that got no answer are scored with their best span, as a higher threshold would answer
    them.
    """
    doubt = figure(predictions, "no_answer").astype(np.float64)
    rows_with_doubt = np.flatnonzero(labelled(predictions) & np.isfinite(doubt))
    if not len(rows_with_doubt):
        return None
    rows = [details(predictions)[row] for row in rows_with_doubt]
    texts = [row["best"][0][0] if row.get("best") else "" for row in rows]
    gold = [tuple(row.get("gold") or ()) for row in rows]
    exact, f1 = row_scores(texts, gold)
    answerable = np.array([bool(answers) for answers in gold], dtype=bool)
    answered = np.array([bool(text) for text in texts], dtype=bool)
    thresholds, f1_means = no_answer_curve(f1, answerable, answered, doubt[rows_with_doubt])
    _, exact_means = no_answer_curve(exact, answerable, answered, doubt[rows_with_doubt])
    return ThresholdCurve(thresholds, f1_means, exact_means)
