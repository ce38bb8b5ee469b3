"""A question-answering baseline: words of the passage near those of the question.

Based on the sliding window of Richardson et al. (2013, §5.1), a baseline of Rajpurkar et al. (2016,
§5). Instead of a fixed window size, words are weighted by their distance and rarity, so nothing has
to be tuned.

P distinct passages of the training rows, n(w) of which contain the word w.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.tasks.question_answering import QuestionAnswering
from engine.data.datasets.rows import Rows
from engine.evaluation.answers import N_BEST, Choice, Span
from engine.tasks.question_answering import ChosenAnswers

WORD = re.compile(r"\w+")
JOINED = re.compile(r"[ \-–’'.,]?")  # characters between two words of an answer, as in 1,000
COMMON = 0.05  # fraction of the passages above which a word is in no answer
LEAST = 1e-9  # score of a span in a passage without words of the question
MOST_FITTED = 1_000  # training rows for the no-answer score


class _Words(NamedTuple):
    """The words of a text in lower case, and their characters, int64 [words, 2]."""

    words: list[str]
    places: NDArray[np.int64]


def nearest_words(task: QuestionAnswering, train: Rows, rows: Rows) -> ChosenAnswers:
    """For each question, find the spans nearest to its words.

    A span is a maximal run of words of the passage without words of the question or common words.
    Its score is log Σ idf(w) / (1 + d(w)) − log Σ idf(w) over the words w of the question, with
    idf(w) = log((P + 1) / (n(w) + 1)) and d(w) the distance in words from the span to the nearest w
    in the passage; missing words add nothing. If questions may have no answer, the no-answer score
    is the one with the highest F1 on training rows.
    """
    finder = _Finder(train)
    chosen = finder.choices(rows, null_score=0.0)
    usual = task.model_copy(update={"no_answer_threshold": 0.0})
    if not task.unanswerable:
        return ChosenAnswers(rows, usual, chosen)
    some = _evenly(train, MOST_FITTED)
    best = ChosenAnswers(some, usual, finder.choices(some, null_score=0.0)).report().best_f1
    assert best is not None
    return ChosenAnswers(rows, usual, [Choice(one.spans, -best.threshold) for one in chosen])


class _Finder:
    def __init__(self, train: Rows) -> None:
        assert train.pairs is not None
        passages = {*train.pairs}
        self._held_by = Counter(word for passage in passages for word in {*_words(passage).words})
        self._passages = len(passages)

    def choices(self, rows: Rows, null_score: float) -> list[Choice]:
        assert rows.pairs is not None
        known = lru_cache(maxsize=16)(_words)  # consecutive questions share passages
        return [
            Choice(self._spans(_words(question).words, passage, known(passage)), null_score)
            for question, passage in zip(rows.texts, rows.pairs, strict=True)
        ]

    def _idf(self, word: str) -> float:
        return math.log((self._passages + 1) / (self._held_by[word] + 1))

    def _spans(self, question: Sequence[str], passage: str, held: _Words) -> tuple[Span, ...]:
        """The best spans of a passage, best first; the first of equals."""
        asked = {*question}
        runs = self._runs(asked, passage, held)
        if not len(runs):
            return ()
        scores = np.full(len(runs), LEAST)
        words = np.array(held.words)
        for word in asked & {*held.words}:
            found = np.flatnonzero(words == word)
            before = runs[:, 0] - found[np.maximum(np.searchsorted(found, runs[:, 0]) - 1, 0)]
            after = found[np.minimum(np.searchsorted(found, runs[:, 1]), len(found) - 1)]
            apart = np.minimum(np.abs(before), np.abs(after - runs[:, 1] + 1))
            scores += self._idf(word) / (1 + apart)
        scores = np.log(scores) - math.log(max(sum(map(self._idf, asked)), LEAST))
        order = np.argsort(-scores, kind="stable")[:N_BEST]
        starts, ends = held.places[runs[order, 0], 0], held.places[runs[order, 1] - 1, 1]
        return tuple(map(Span, starts.tolist(), ends.tolist(), scores[order].tolist()))

    def _runs(self, asked: set[str], passage: str, held: _Words) -> NDArray[np.int64]:
        """First word and end of each run, int64 [runs, 2]."""
        runs: list[list[int]] = []
        for number, word in enumerate(held.words):
            if word in asked or self._held_by[word] > COMMON * self._passages + 1:
                continue
            joined = runs and runs[-1][1] == number
            between = held.places[number - 1, 1] if joined else 0
            if joined and JOINED.fullmatch(passage, between, held.places[number, 0]):
                runs[-1][1] = number + 1
            else:
                runs.append([number, number + 1])
        return np.array(runs, dtype=np.int64).reshape(-1, 2)


def _words(text: str) -> _Words:
    found = list(WORD.finditer(text))
    places = np.array([one.span() for one in found], dtype=np.int64).reshape(-1, 2)
    return _Words([one[0].lower() for one in found], places)


def _evenly(rows: Rows, most: int) -> Rows:
    """At most `most` rows, evenly spaced."""
    assert rows.pairs is not None and rows.answers is not None
    numbers = range(0, len(rows), max(1, -(-len(rows) // most)))
    texts, pairs, answers = (
        [column[n] for n in numbers] for column in (rows.texts, rows.pairs, rows.answers)
    )
    return Rows(texts, pairs, answers=answers)
