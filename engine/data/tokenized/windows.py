"""A long context in windows, each with the question before it (Devlin et al. 2019, §4.2).

A window is [CLS] question [SEP] some of the context [SEP], with two [SEP] between them in RoBERTa.
Windows overlap, so that what stands at the end of one has its surroundings in another. Their
beginnings, and which is the best for a token, are those of `run_squad.py` of the paper's code.

Shapes: T tokens in a window, C in the context, W windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import StudioError
from engine.phrases import phrase

STRIDE = 128  # tokens; this and the next as in run_squad.py
MAX_QUESTION_LENGTH = 64  # tokens
NOWHERE = -1


@dataclass(frozen=True)
class Window:
    """One input of the network."""

    ids: list[int]  # [T]
    segments: list[int]  # [T], 0 up to the context, 1 from there on
    first: int  # which token of the context is the first in this window
    begin: int  # where in the window it stands
    count: int  # how many tokens of the context are in this window
    offsets: NDArray[np.int64]  # [T, 2], their characters in the context; NOWHERE for all others
    best: NDArray[np.bool_]  # [T], tokens of the context with no more around them elsewhere


def windows(
    question: Sequence[int],
    context: Sequence[int],
    offsets: ArrayLike,
    cls: int,
    sep: int,
    max_length: int = 384,
    stride: int = STRIDE,
    max_question_length: int = MAX_QUESTION_LENGTH,
    separators: int = 1,
) -> list[Window]:
    """All windows of a question and its context, at least one; each token is in one at least.

    Args:
        question: ids without [CLS] and [SEP]; what is above `max_question_length` is cut off.
        context: C ids, in the same way.
        offsets: int [C, 2], first character and the one after the last of each token.
        cls: id of [CLS].
        sep: id of [SEP].
        max_length: most tokens of a window.
        stride: tokens of the context between the beginnings of two windows; no token is skipped
            where it is larger than a window.
        max_question_length: most tokens of the question.
        separators: how many [SEP] stand between question and context.

    Raises:
        StudioError: where the question leaves no room for the context.
        ValueError: where there are not as many offsets as ids, or the stride is not positive.
    """
    places = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    if len(places) != len(context) or stride < 1:
        raise ValueError(f"{len(context)} ids, {len(places)} offsets, a stride of {stride}")
    asked = list(question[:max_question_length])
    room = max_length - len(asked) - 2 - separators
    if room < 1:
        raise StudioError(
            phrase(
                "A question of {count} tokens leaves no room for its passage within "
                "{max_length} tokens.",
                count=len(asked),
                max_length=max_length,
            ),
            phrase("Increase the max. length, or shorten the questions."),
        )
    stretches = _stretches(len(context), room, stride)
    owners = _owners(len(context), stretches)
    begin, found = len(asked) + 1 + separators, []
    for number, (first, count) in enumerate(stretches):
        inside = slice(first, first + count)
        found.append(
            Window(
                ids=[cls, *asked, *[sep] * separators, *context[inside], sep],
                segments=[0] * begin + [1] * (count + 1),
                first=first,
                begin=begin,
                count=count,
                offsets=np.pad(places[inside], ((begin, 1), (0, 0)), constant_values=NOWHERE),
                best=np.pad(owners[inside] == number, (begin, 1)),
            )
        )
    return found


def _stretches(tokens: int, room: int, stride: int) -> list[tuple[int, int]]:
    """The first token of each window and how many there are in it."""
    firsts = [0]
    while firsts[-1] + room < tokens:
        firsts.append(firsts[-1] + min(stride, room))
    return [(first, min(room, tokens - first)) for first in firsts]


def _owners(tokens: int, stretches: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The window in which each token has most around it, int64 [C]; the first of equals.

    That is the smaller of what stands before and behind it, and then the longer window: its length
    counts a hundredth.
    """
    owners = np.zeros(tokens, dtype=np.int64)
    highest = np.full(tokens, -1, dtype=np.int64)
    for number, (first, count) in enumerate(stretches):
        before = np.arange(count)
        around = 100 * np.minimum(before, before[::-1]) + count
        inside = slice(first, first + count)
        owners[inside] = np.where(around > highest[inside], number, owners[inside])
        highest[inside] = np.maximum(around, highest[inside])
    return owners


def tokens_of(offsets: ArrayLike, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token of the context that hold characters from `start` to `end`.

    None where no token does, as between two words.

    Args:
        offsets: int [C, 2], neither column ever falling.
        start: the first character.
        end: the one after the last.
    """
    places = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    first = int(np.searchsorted(places[:, 1], start, side="right"))
    last = int(np.searchsorted(places[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


def answer_places(
    found: Sequence[Window], offsets: ArrayLike, start: int, end: int
) -> NDArray[np.int64]:
    """The first and last token of an answer in each window, int64 [W, 2].

    Both are 0, the place of [CLS], where the answer is not in the window as a whole.

    Args:
        found: the windows of the context.
        offsets: int [C, 2], as they were given to `windows`.
        start: the first character of the answer in the context.
        end: the one after its last.
    """
    places = np.zeros((len(found), 2), dtype=np.int64)
    tokens = tokens_of(offsets, start, end)
    if tokens is not None:
        for number, window in enumerate(found):
            if window.first <= tokens[0] and tokens[1] < window.first + window.count:
                places[number] = np.array(tokens) - window.first + window.begin
    return places
