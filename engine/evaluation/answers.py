"""Select answer spans from start and end logits (Devlin et al. 2019, §4.2 and §4.3).

The no-answer score and the threshold are those of `run_squad.py` of the paper's code. The best
spans are searched among all pairs of tokens, not only among the best starts and ends.

Shapes: T tokens in a window, W windows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.data.tokenized.windows import Window

MAX_ANSWER_TOKENS = 30  # as in run_squad.py
N_BEST = 20  # spans; as in run_squad.py
MAX_SCORE = 1e30  # bound of all scores, so that sums and differences stay finite


class Span(NamedTuple):
    """Characters of the context from `start`, with `end` excluded."""

    start: int
    end: int
    score: float


class Choice(NamedTuple):
    """Candidate answers from the windows of one context."""

    spans: tuple[Span, ...]  # best first
    null_score: float

    @property
    def doubt(self) -> float:
        """The no-answer score minus the score of the best span; finite."""
        return self.null_score - (self.spans[0].score if self.spans else -2 * MAX_SCORE)

    def answer(self, context: str, threshold: float = 0.0) -> str:
        """The text of the best span; empty if the doubt is above `threshold`.

        Use an infinite `threshold` if every question has an answer (SQuAD 1.1).
        """
        if not self.spans or self.doubt > threshold:
            return ""
        return context[self.spans[0].start : self.spans[0].end]


def choose(
    windows: Sequence[Window],
    starts: Sequence[ArrayLike],
    ends: Sequence[ArrayLike],
    max_tokens: int = MAX_ANSWER_TOKENS,
    max_spans: int = N_BEST,
) -> Choice:
    """Find the best spans in all windows of a context, and the no-answer score.

    The score of a span is the start logit of its first token plus the end logit of its last one. It
    starts in the window that is best for its token, so that no span is counted twice; spans that
    extend past that window are not found, but these are longer than half of the overlap. The
    no-answer score is the lowest [CLS] score of all windows. NaN logits count as lowest.

    Args:
        windows: W windows.
        starts: for each window float [T] or more; the surplus is ignored.
        ends: the same.
        max_tokens: maximum tokens of an answer.
        kept: maximum number of spans.

    Raises:
        ValueError: if there are fewer logits than windows or tokens.
    """
    spans: list[Span] = []
    null_score = MAX_SCORE
    for window, first, last in zip(windows, starts, ends, strict=True):
        begin, end = (_logits(some, len(window.ids)) for some in (first, last))
        null_score = min(null_score, float(begin[0] + end[0]))
        spans += _spans(window, begin, end, max_tokens, max_spans)
    spans.sort(key=lambda span: (-span.score, span.start, span.end))
    return Choice(tuple(spans[:max_spans]), null_score)


def _logits(some: ArrayLike, tokens: int) -> NDArray[np.float64]:
    """Finite logits, float64 [T]."""
    values = np.asarray(some, dtype=np.float64)[:tokens]
    if len(values) < tokens:
        raise ValueError(f"{len(values)} logits for {tokens} tokens")
    values = np.nan_to_num(values, nan=-MAX_SCORE)
    return np.clip(values, -MAX_SCORE / 2, MAX_SCORE / 2)


def _spans(
    window: Window,
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    max_tokens: int,
    count: int,
) -> list[Span]:
    inside = slice(window.begin, window.begin + window.count)
    characters = window.offsets[inside]  # [count, 2]
    firsts = np.flatnonzero(window.is_max_context[inside])
    lasts = firsts[:, None] + np.arange(min(max_tokens, window.count))  # [firsts, max_tokens]
    is_valid = lasts < window.count
    lasts = np.minimum(lasts, window.count - 1)
    # some tokens have no characters
    is_valid &= characters[lasts, 1] > characters[firsts, 0][:, None]
    scores = np.where(is_valid, begin[inside][firsts][:, None] + end[inside][lasts], -np.inf)
    flat = scores.ravel()
    chosen = (
        np.argpartition(-flat, count - 1)[:count] if len(flat) > count else np.arange(len(flat))
    )
    chosen = chosen[np.isfinite(flat[chosen])]
    rows, columns = np.unravel_index(chosen, scores.shape)
    return [
        Span(int(characters[a, 0]), int(characters[b, 1]), float(score))
        for a, b, score in zip(firsts[rows], lasts[rows, columns], flat[chosen], strict=True)
    ]
