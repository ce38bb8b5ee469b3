"""Overlapping windows over a long text, with the question in each (Devlin et al. 2019, §4.2).

A window is [CLS] question [SEP] part of the context [SEP], with two [SEP] in between for RoBERTa;
without a question, [CLS] part of the text [SEP]. The starts of the windows, and the best window of
a token, are those of `run_squad.py`.

Shapes: T tokens in a window, C in the context, W windows, N rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.data.tokenized.dataset import (
    GrowingArray,
    TokenizedDataset,
    TokenizedWriter,
    open_cached,
)
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.progress import ProgressCallback
from engine.tokenizers.tokenizer import Tokenizer

OWNERS = "owners.npy"
CHUNK = 64  # rows tokenized at a time
STRIDE = 128  # tokens, as in run_squad.py
MAX_QUESTION_LENGTH = 64  # tokens
NOWHERE = -1


@dataclass(frozen=True)
class Window:
    """One input of the network."""

    ids: list[int]  # [T]
    segments: list[int]  # [T], 1 from the context on
    first: int  # index of its first context token in the context
    begin: int  # position of this token in the window
    count: int  # number of tokens of the context in this window
    offsets: NDArray[np.int64]  # [T, 2], characters in the context; NOWHERE outside it
    is_max_context: NDArray[np.bool_]  # [T], the token has the most context in this window


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
    """Cut a question and its context into windows; each token is in at least one.

    Args:
        question: ids without special tokens, truncated to `max_question_length`.
        context: C ids without special tokens.
        offsets: int [C, 2], first character and end of each token.
        cls: id of [CLS].
        sep: id of [SEP].
        max_length: maximum tokens of a window.
        stride: tokens between the starts of two windows, at most the size of a window.
        max_question_length: maximum tokens of the question.
        separators: number of [SEP] between question and context.

    Raises:
        StudioError: if the question leaves no space for the context.
        ValueError: if ids and offsets differ in number, or the stride is not positive.
    """
    bounds = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    if len(bounds) != len(context) or stride < 1:
        raise ValueError(f"{len(context)} ids, {len(bounds)} offsets, a stride of {stride}")
    question_ids = list(question[:max_question_length])
    size = max_length - len(question_ids) - 2 - separators
    if size < 1:
        raise StudioError(
            "A question of {count} tokens leaves no space for its passage within "
            "{max_length} tokens.",
            "Increase the max. length, or shorten the questions.",
            count=len(question_ids),
            max_length=max_length,
        )
    spans = window_spans(len(context), size, stride)
    owners = window_owners(len(context), spans)
    begin, result = len(question_ids) + 1 + separators, []
    for index, (first, count) in enumerate(spans):
        span = slice(first, first + count)
        result.append(
            Window(
                ids=[cls, *question_ids, *[sep] * separators, *context[span], sep],
                segments=[0] * begin + [1] * (count + 1),
                first=first,
                begin=begin,
                count=count,
                offsets=np.pad(bounds[span], ((begin, 1), (0, 0)), constant_values=NOWHERE),
                is_max_context=np.pad(owners[span] == index, (begin, 1)),
            )
        )
    return result


def window_spans(tokens: int, size: int, stride: int = 0) -> list[tuple[int, int]]:
    """First token and number of tokens of each window over a text of `tokens` tokens.

    Args:
        size: maximum tokens of the text in a window.
        stride: tokens between the starts of two windows, at most `size`; 0: three quarters of it.
    """
    firsts = [0]
    while firsts[-1] + size < tokens:
        firsts.append(firsts[-1] + min(stride or max(3 * size // 4, 1), size))
    return [(first, min(size, tokens - first)) for first in firsts]


def pair_room(short: int, long: int, room: int) -> int:
    """Tokens of the longer text of a pair in a window, with `room` for both texts; the shorter one
    has the rest, at most half if they do not fit."""
    return max(room - (short if short + long <= room else min(short, room // 2)), 1)


def window_owners(tokens: int, spans: list[tuple[int, int]]) -> NDArray[np.int64]:
    """The window in which each token has the most context, int64 [C]; the first of equals.

    The score is the smaller of the contexts before and after it plus a hundredth of the window's
    length.
    """
    owners = np.zeros(tokens, dtype=np.int64)
    best_scores = np.full(tokens, -1, dtype=np.int64)
    for index, (first, count) in enumerate(spans):
        before = np.arange(count)
        scores = 100 * np.minimum(before, before[::-1]) + count
        span = slice(first, first + count)
        owners[span] = np.where(scores > best_scores[span], index, owners[span])
        best_scores[span] = np.maximum(scores, best_scores[span])
    return owners


def tokens_between(offsets: ArrayLike, start: int, end: int) -> tuple[int, int] | None:
    """First and last token with characters from `start` to `end`; None without such tokens.

    Args:
        offsets: int [C, 2], both columns ascending.
        start: first character.
        end: the one after the last.
    """
    bounds = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
    first = int(np.searchsorted(bounds[:, 1], start, side="right"))
    last = int(np.searchsorted(bounds[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


def answer_positions(
    inputs: Sequence[Window], offsets: ArrayLike, start: int, end: int
) -> NDArray[np.int64]:
    """First and last token of an answer in each window, int64 [W, 2].

    Both are 0, the position of [CLS], if the answer is not entirely in the window.

    Args:
        inputs: windows of the context.
        offsets: int [C, 2], as passed to `windows`.
        start: first character of the answer in the context.
        end: the one after its last.
    """
    positions = np.zeros((len(inputs), 2), dtype=np.int64)
    tokens = tokens_between(offsets, start, end)
    if tokens is not None:
        for index, window in enumerate(inputs):
            if window.first <= tokens[0] and tokens[1] < window.first + window.count:
                positions[index] = np.array(tokens) - window.first + window.begin
    return positions


class WindowedTexts(NamedTuple):
    """The windows of N rows, those of a row consecutive, at least one for each."""

    tokenized: TokenizedDataset  # W inputs
    owners: NDArray[np.int64]  # [W], row of each, ascending


def tokenize_windows(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    tokenizer: Tokenizer,
    max_length: int,
    stride: int,
    folder: Path,
    progress: ProgressCallback | None = None,
) -> WindowedTexts:
    """Cut each text or pair of texts into windows; opens `folder` if it is complete.

    A row that fits into `max_length` tokens is one window, as without windows. The longer text of a
    pair is cut; the other is in each window, and is truncated to half of it.
    """
    tokenized = open_cached(folder)
    if tokenized is None:
        with (
            atomic_folder(folder) as partial,
            TokenizedWriter(partial, tokenizer.size) as writer,
            GrowingArray(partial / OWNERS, np.int64) as owners,
        ):
            for row, inputs in enumerate(_cut_rows(texts, pairs, tokenizer, max_length, stride)):
                for ids, split in inputs:
                    writer.add(ids, split)
                    owners.add(row)
                if progress is not None and (row + 1) % CHUNK == 0:
                    progress(row + 1, len(texts))
        tokenized = TokenizedDataset.open(folder)
    return WindowedTexts(tokenized, np.load(check_regular(folder / OWNERS), allow_pickle=False))


def _cut_rows(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    tokenizer: Tokenizer,
    max_length: int,
    stride: int,
) -> Iterator[list[tuple[list[int], int]]]:
    """Yield the windows of each row: their ids, and the start of the second text."""
    cls, sep = tokenizer.cls, tokenizer.sep
    between = [sep] * tokenizer.vocabulary.separators
    room = max(max_length - tokenizer.count_special(1 if pairs is None else 2), 1)
    for first in range(0, len(texts), CHUNK):
        chunk = slice(first, first + CHUNK)
        rows = tokenizer.contents(texts[chunk])
        if pairs is None:
            for ids in rows:
                cut = [ids[a : a + n] for a, n in window_spans(len(ids), room, stride)]
                yield [([cls, *part, sep], len(part) + 2) for part in cut]
            continue
        for a, b in zip(rows, tokenizer.contents(pairs[chunk]), strict=True):
            cuts_first = len(a) > len(b)
            short, long = (b, a) if cuts_first else (a, b)
            size = pair_room(len(short), len(long), room)
            short = short[tokenizer.kept(len(short), min(len(short), room - size))]
            inputs = []
            for start, count in window_spans(len(long), size, stride):
                part = long[start : start + count]
                left, right = (part, short) if cuts_first else (short, part)
                ids = [cls, *left, *between, *right, sep]
                inputs.append((ids, 1 + len(left) + len(between)))
            yield inputs
