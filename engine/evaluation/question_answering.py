"""How well predicted answers fit the true ones, as the evaluation of SQuAD defines it.

Exact match and F1 are those of Rajpurkar et al. (2016, §6.1); unanswerable questions, and the
threshold above which none is answered, those of Rajpurkar et al. (2018, §4) and the script of
SQuAD 2.0. Where all questions have answers, the figures are those of SQuAD 1.1; only an answer of
nothing but articles and punctuation, for which 1.1 never gives a point of F1, may have one here.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field

from engine.evaluation.measures import Measure, ScoredRows, mean, mean_measure
from engine.evaluation.report import Report

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class QuestionFigures(BaseModel):
    """The figures of some questions; 0 where there are none."""

    model_config = ConfigDict(frozen=True)

    questions: int
    exact_match: float = Field(description="Share of the predictions that are a true answer.")
    f1: float = Field(description="Mean overlap with the true answer that fits best.")


class Best(BaseModel):
    """The best that one figure can be, and the threshold that gives it."""

    model_config = ConfigDict(frozen=True)

    value: float
    threshold: float


class QuestionReport(Report):
    """All figures of one evaluation, as shares from 0 to 1."""

    questions: int
    exact_match: float = Field(description="Share of the predictions that are a true answer.")
    f1: float = Field(description="Mean overlap with the true answer that fits best.")
    loss: float = Field(0.0, description="Mean cross entropy of both ends, over windows, in nats.")
    has_answer: QuestionFigures
    no_answer: QuestionFigures
    best_exact_match: Best | None = Field(None, description="None: no threshold was looked for.")
    best_f1: Best | None = None

    def metrics(self) -> dict[str, float]:
        found = {
            "exact_match": self.exact_match,
            "f1": self.f1,
            "loss": self.loss,
            "examples": self.questions,
        }
        if self.best_f1 is not None:
            found["best_f1"] = self.best_f1.value
        return found

    def lines(self) -> list[str]:
        told = [
            f"exact match {self.exact_match:.4f}, F1 {self.f1:.4f} ({self.questions} questions)",
            f"loss {self.loss:.4f}",
        ]
        if self.no_answer.questions:
            told += [
                f"{name}: exact match {one.exact_match:.4f}, F1 {one.f1:.4f} ({one.questions})"
                for name, one in (("answer", self.has_answer), ("no answer", self.no_answer))
            ]
        if self.best_f1 is not None:
            best = self.best_f1
            told.append(f"best F1 {best.value:.4f}, with a threshold of {best.threshold:.4f}")
        return told


def report(
    predictions: Sequence[str],
    answers: Sequence[Sequence[str]],
    doubts: ArrayLike | None = None,
    threshold: float = 0.0,
) -> QuestionReport:
    """All figures of N questions.

    Args:
        predictions: N texts; empty says that there is no answer.
        answers: N times the true answers, of which each is as good; none for a question that cannot
            be answered.
        doubts: float [N], finite; how much speaks for no answer, as a probability or as a
            difference of scores. None: the predictions stand as they are.
        threshold: a question with a higher doubt counts as predicted to have no answer; between 0
            and 1 for probabilities.

    Raises:
        ValueError: where the numbers of predictions, answers and doubts differ, or a doubt is not
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
    found = _report(scores, doubt > threshold)
    best = {
        "best_exact_match": _best(scores.exact_match, scores, doubt),
        "best_f1": _best(scores.f1, scores, doubt),
    }
    return found.model_copy(update=best)


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation, articles and surplus white space."""
    plain = text.lower().translate(WITHOUT_PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def exact_match(prediction: str, answer: str) -> float:
    """1 where both are the same after `normalise`, else 0."""
    return float(normalise(prediction) == normalise(answer))


def f1(prediction: str, answer: str) -> float:
    """The F1 of the bags of words after `normalise`; where one is empty, whether both are."""
    ours, theirs = normalise(prediction).split(), normalise(answer).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))


class _Scores(NamedTuple):
    """Of each question, float64 [N] and bool [N]."""

    exact_match: NDArray[np.float64]
    f1: NDArray[np.float64]
    predicted: NDArray[np.bool_]  # whether the prediction is a text
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
    return _held_back(_scores(predictions, answers), withheld)


def _held_back(
    scores: _Scores, withheld: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact match and F1 where the questions `withheld`, bool [N], are said to have no answer."""
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
    """The figures where the questions `withheld`, bool [N], are predicted to have no answer."""
    exacts, f1s = _held_back(scores, withheld)
    return QuestionReport(
        questions=len(exacts),
        exact_match=mean(exacts),
        f1=mean(f1s),
        has_answer=_among(scores.answerable, exacts, f1s),
        no_answer=_among(~scores.answerable, exacts, f1s),
    )


def _among(
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
    """Each threshold that makes a difference, rising, and the mean of `figure` with it, [P].

    As in the script of SQuAD 2.0, any prediction for a question without answer costs a point, be it
    “the” or a comma. Unlike there, equal doubts are answered together, as no threshold can part
    them; and the threshold 0 that says to answer nothing is lowered where a doubt is not above it.

    Args:
        figure: of each answer, float64 [N], N at least 1.
        answerable: whether the question has an answer, bool [N].
        answered: whether the prediction is a text, bool [N].
        doubt: float64 [N], finite.
    """
    order = np.argsort(doubt, kind="stable")
    gains = np.where(answerable, figure, -answered.astype(np.float64))[order]
    sums = np.cumsum(np.append((~answerable).sum(), gains))  # [N + 1], where so many are answered
    ranked = doubt[order]
    ends = np.append(True, np.append(ranked[1:] != ranked[:-1], True))
    below = min(0.0, float(np.nextafter(ranked[0], -np.inf)))
    return np.append(below, ranked)[ends], sums[ends] / len(figure)


def _best(figure: NDArray[np.float64], scores: _Scores, doubt: NDArray[np.float64]) -> Best:
    """The lowest threshold that gives the highest mean of `figure`, of all that differ."""
    if not len(figure):
        return Best(value=0.0, threshold=0.0)
    thresholds, means = no_answer_curve(figure, scores.answerable, scores.predicted, doubt)
    place = int(np.argmax(means))
    return Best(value=float(means[place]), threshold=float(thresholds[place]))


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """F1 and exact match."""
    exact = [row.get("exact", np.nan) for row in rows.details]
    return mean_measure("f1", rows.figure("score")), mean_measure("exact_match", exact)
