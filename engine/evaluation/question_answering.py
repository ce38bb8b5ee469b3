"""Metrics of question answering, as the evaluation of SQuAD defines them.

Exact match and F1 are those of Rajpurkar et al. (2016, §6.1); unanswerable questions and the
no-answer threshold those of Rajpurkar et al. (2018, §4) and the script of SQuAD 2.0. If all
questions have answers, the metrics are those of SQuAD 1.1, except that an answer of only articles
and punctuation, which never scores F1 there, may score here.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from engine.config import Spec
from engine.config.task import percent
from engine.evaluation.measures import Measure, ScoredRows, mean, mean_measure
from engine.evaluation.report import Report

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class QuestionFigures(Spec):
    """The metrics of some questions; 0 if there are none."""

    questions: int
    exact_match: float = Field(description="Fraction of the predictions that are a true answer.")
    f1: float = Field(description="Mean overlap with the true answer that fits best.")


class Best(Spec):
    """The best possible value of a metric, and its threshold."""

    value: float
    threshold: float


class QuestionReport(QuestionFigures, Report):
    """All metrics of one evaluation, from 0 to 1."""

    loss: float = Field(0.0, description="Mean cross entropy of both ends, over windows, in nats.")
    has_answer: QuestionFigures
    no_answer: QuestionFigures
    best_exact_match: Best | None = Field(None, description="None: no threshold was searched.")
    best_f1: Best | None = None

    def metrics(self) -> dict[str, float]:
        metrics = {
            "exact_match": self.exact_match,
            "f1": self.f1,
            "loss": self.loss,
            "examples": self.questions,
        }
        if self.best_f1 is not None:
            metrics["best_f1"] = self.best_f1.value
        return metrics

    def lines(self) -> list[str]:
        lines = [
            f"exact match {percent(self.exact_match)}, F1 {percent(self.f1)}",
            f"{self.questions} questions, loss {self.loss:.4f}",
        ]
        if self.no_answer.questions:
            lines += [
                f"{name}: exact match {percent(part.exact_match)}, F1 {percent(part.f1)} "
                f"({part.questions})"
                for name, part in (("answer", self.has_answer), ("no answer", self.no_answer))
            ]
        if self.best_f1 is not None:
            best = self.best_f1
            lines.append(f"best F1 {percent(best.value)}, with a threshold of {best.threshold:.4f}")
        return lines


def report(
    predictions: Sequence[str],
    answers: Sequence[Sequence[str]],
    doubts: ArrayLike | None = None,
    threshold: float = 0.0,
) -> QuestionReport:
    """Compute all metrics of N questions.

    Args:
        predictions: N texts; empty for no answer.
        answers: N sequences of equally good true answers; empty for unanswerable questions.
        doubts: float [N], finite; evidence for no answer, as a probability or as a difference of
            scores. None: predictions are final.
        threshold: a question with a higher doubt counts as predicted to have no answer; between 0
            and 1 for probabilities.

    Raises:
        ValueError: if the numbers of predictions, answers and doubts differ, or a doubt is not
            finite.
    """
    scores = _scores(predictions, answers)
    if doubts is None:
        return _report(scores, np.zeros(len(predictions), dtype=bool))
    doubt = np.asarray(doubts, dtype=np.float64).reshape(-1)
    if len(doubt) != len(predictions) or not np.isfinite(doubt).all():
        raise ValueError(
            f"{len(doubt)} doubts for {len(predictions)} questions, or one is not finite"
        )
    result = _report(scores, doubt > threshold)
    best = {
        "best_exact_match": _best(scores.exact_match, scores, doubt),
        "best_f1": _best(scores.f1, scores, doubt),
    }
    return result.model_copy(update=best)


def normalise(text: str) -> str:
    """Normalise to lower case, without ASCII punctuation, articles and surplus white space."""
    plain = text.lower().translate(WITHOUT_PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def exact_match(prediction: str, answer: str) -> float:
    """1 if both are the same after `normalise`, else 0."""
    return float(normalise(prediction) == normalise(answer))


def f1(prediction: str, answer: str) -> float:
    """The F1 of the bags of words after `normalise`; if one is empty, 1 if both are."""
    ours, theirs = normalise(prediction).split(), normalise(answer).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


class _Scores(NamedTuple):
    """Scores of each question, float64 [N] and bool [N]."""

    exact_match: NDArray[np.float64]
    f1: NDArray[np.float64]
    predicted: NDArray[np.bool_]  # the prediction is not empty
    answerable: NDArray[np.bool_]


def row_scores(
    predictions: Sequence[str],
    answers: Sequence[Sequence[str]],
    doubts: ArrayLike | None = None,
    threshold: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact match and F1 of each question as `report` averages them, float64 [N] each."""
    withheld = np.zeros(len(predictions), dtype=bool)
    if doubts is not None:
        withheld = np.asarray(doubts, dtype=np.float64) > threshold
    return _withhold(_scores(predictions, answers), withheld)


def _withhold(
    scores: _Scores, withheld: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact match and F1 if the questions `withheld`, bool [N], get no answer."""
    exacts = np.where(withheld, ~scores.answerable, scores.exact_match)
    f1s = np.where(withheld, ~scores.answerable, scores.f1)
    return exacts, f1s


def _scores(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> _Scores:
    exacts, f1s = [], []
    for prediction, true in zip(predictions, answers, strict=True):
        usable = [answer for answer in true if normalise(answer)] or [""]
        exacts.append(max(exact_match(prediction, answer) for answer in usable))
        f1s.append(max(f1(prediction, answer) for answer in usable))
    return _Scores(
        np.array(exacts, dtype=np.float64),
        np.array(f1s, dtype=np.float64),
        np.array([bool(prediction) for prediction in predictions], dtype=bool),
        np.array([bool(true) for true in answers], dtype=bool),
    )


def _report(scores: _Scores, withheld: NDArray[np.bool_]) -> QuestionReport:
    """The report if the questions `withheld`, bool [N], get no answer."""
    exacts, f1s = _withhold(scores, withheld)
    return QuestionReport(
        questions=len(exacts),
        exact_match=mean(exacts),
        f1=mean(f1s),
        has_answer=_group_figures(scores.answerable, exacts, f1s),
        no_answer=_group_figures(~scores.answerable, exacts, f1s),
    )


def _group_figures(
    chosen: NDArray[np.bool_], exacts: NDArray[np.float64], f1s: NDArray[np.float64]
) -> QuestionFigures:
    return QuestionFigures(
        questions=int(chosen.sum()), exact_match=mean(exacts[chosen]), f1=mean(f1s[chosen])
    )


def no_answer_curve(
    figure: NDArray[np.float64],
    answerable: NDArray[np.bool_],
    answered: NDArray[np.bool_],
    doubt: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distinct thresholds, rising, and the mean of `figure` at each, [P].

    As in the script of SQuAD 2.0, any prediction for an unanswerable question costs a point. Unlike
    there, equal doubts are answered together, as no threshold can separate them; and the threshold
    that answers nothing is lowered from 0 if a doubt is not above it.

    Args:
        figure: of each answer, float64 [N], N at least 1.
        answerable: the question has an answer, bool [N].
        answered: the prediction is not empty, bool [N].
        doubt: float64 [N], finite.
    """
    order = np.argsort(doubt, kind="stable")
    gains = np.where(answerable, figure, -answered.astype(np.float64))[order]
    # [N + 1], by number of answered questions
    sums = np.cumsum(np.append((~answerable).sum(), gains))
    ranked = doubt[order]
    ends = np.append(True, np.append(ranked[1:] != ranked[:-1], True))
    below = min(0.0, float(np.nextafter(ranked[0], -np.inf)))
    return np.append(below, ranked)[ends], sums[ends] / len(figure)


def _best(figure: NDArray[np.float64], scores: _Scores, doubt: NDArray[np.float64]) -> Best:
    """The lowest threshold with the highest mean of `figure`."""
    if not len(figure):
        return Best(value=0.0, threshold=0.0)
    thresholds, means = no_answer_curve(figure, scores.answerable, scores.predicted, doubt)
    index = int(np.argmax(means))
    return Best(value=float(means[index]), threshold=float(thresholds[index]))


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    exact = [row.get("exact", np.nan) for row in rows.details]
    return mean_measure("f1", rows.figure("score")), mean_measure("exact_match", exact)
