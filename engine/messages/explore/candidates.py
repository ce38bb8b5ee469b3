"""Whole words at a masked position: score given words, find likely ones."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.explore.text import TextQuestion
from engine.messages.question import Answer


class Candidate(Message):
    """A candidate word and its joint log-probability, or why it has none.

    The word takes as many masks as it has tokens. Its log-probability is the sum of those of its
    tokens, from left to right: each is predicted with the earlier ones shown and the later ones
    masked. So it is a distribution over all sequences of as many tokens; words of other lengths are
    scored with another number of masks.
    """

    text: str
    tokens: tuple[str, ...] = ()
    log_probabilities: tuple[float, ...] = Field((), description="Natural, of each token.")
    problem: PhraseField = ""

    @property
    def log_probability(self) -> float:
        return math.fsum(self.log_probabilities)

    @property
    def probability(self) -> float:
        return math.exp(self.log_probability)


class CandidatesScored(Answer):
    """The candidates in the order of the question."""

    kind: Literal["candidates_scored"] = "candidates_scored"
    candidates: tuple[Candidate, ...]


class ScoreCandidates(TextQuestion):
    """Score each of these words in place of the tokens from `first` to `last`."""

    answered_by: ClassVar[type[Answer]] = CandidatesScored
    kind: Literal["score_candidates"] = "score_candidates"
    first: int
    last: int
    candidates: tuple[str, ...]


class CandidatesFound(Answer):
    """Sequences of tokens with the joint log-probability of `Candidate`, best first.

    A beam search: a sequence with an unlikely beginning may be missed.
    """

    kind: Literal["candidates_found"] = "candidates_found"
    candidates: tuple[Candidate, ...]
    actual: Candidate | None = Field(None, description="The typed tokens, if any.")


class FindCandidates(TextQuestion):
    """Find the likely sequences of tokens in place of the tokens from `first` to `last`."""

    answered_by: ClassVar[type[Answer]] = CandidatesFound
    kind: Literal["find_candidates"] = "find_candidates"
    first: int
    last: int
    beams: int = Field(20, ge=1, description="Beam width.")
    top: int = 10
