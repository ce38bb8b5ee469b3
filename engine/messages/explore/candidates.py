"""Whole words of one token or several in a masked place: given ones scored, likely ones found."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.explore.text import TextQuestion
from engine.messages.question import Answer


class Candidate(Message):
    """A word that was asked for, and its joint log-probability, or why it has none.

    The word stands as so many masks as it has tokens. Its log-probability is the sum of those of
    its tokens, from left to right: each is predicted with those before it shown, and those after
    it masked. So over all sequences of as many tokens it is a distribution; words of other lengths
    are asked for with another number of masks.
    """

    text: str
    tokens: tuple[str, ...] = ()
    log_probabilities: tuple[float, ...] = Field((), description="Of each token; natural.")
    problem: PhraseField = ""

    @property
    def log_probability(self) -> float:
        return math.fsum(self.log_probabilities)

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


class CandidatesScored(Answer):
    """The candidates in the order in which they were asked for."""

    kind: Literal["candidates_scored"] = "candidates_scored"
    candidates: tuple[Candidate, ...]
    milliseconds: float = 0


class ScoreCandidates(TextQuestion):
    """How likely is each of these words in the place of the tokens from `first` to `last`?"""

    answered_by: ClassVar[type[Answer]] = CandidatesScored
    kind: Literal["score_candidates"] = "score_candidates"
    first: int
    last: int
    candidates: tuple[str, ...]


class CandidatesFound(Answer):
    """Sequences of tokens with the joint log-probability that `Candidate` explains, best first.

    A beam search: a sequence whose beginning is unlikely may be missed.
    """

    kind: Literal["candidates_found"] = "candidates_found"
    first: int
    last: int
    found: tuple[Candidate, ...]
    actual: Candidate | None = Field(None, description="What was typed there, if anything was.")
    milliseconds: float = 0


class FindCandidates(TextQuestion):
    """Which sequences of tokens fit best in the place of the tokens from `first` to `last`?"""

    answered_by: ClassVar[type[Answer]] = CandidatesFound
    kind: Literal["find_candidates"] = "find_candidates"
    first: int
    last: int
    beams: int = Field(20, ge=1, description="Beginnings that are followed at a time.")
    top: int = 10
