"""Sentences of words as token ids, with the first token of each word.

Words are tokenized one by one, as transformers does with `is_split_into_words`. In windows, each
word belongs to the one in which its first token has the most context.
Shapes: N sentences, W words of all of them, I inputs.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.tokenized.dataset import (
    GrowingArray,
    TokenizedDataset,
    TokenizedWriter,
    open_cached,
)
from engine.data.tokenized.windows import window_owners, window_spans
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.progress import ProgressCallback
from engine.tokenizers.tokenizer import Tokenizer

BATCH_SENTENCES = 500
FIRSTS, STARTS, INPUTS, INPUT_STARTS = "firsts.npy", "starts.npy", "inputs.npy", "inside.npy"
NOWHERE, CUT = -1, -2  # positions of words without tokens, and beyond the maximum length


class TokenizedWords(NamedTuple):
    """One input per sentence, or several windows, and the positions of its words."""

    tokenized: TokenizedDataset  # I inputs: [CLS] words [SEP]
    firsts: NDArray[np.int32]  # [W], position of the word's first token in its input;
    # CUT if it is truncated, NOWHERE if it is empty (a lone variation selector)
    starts: NDArray[np.int64]  # [N + 1], first word of each sentence
    inputs: NDArray[np.int64]  # [N + 1], first input of each sentence
    input_starts: NDArray[np.int64]  # [I + 1], first word of each input


def tokenize_words(
    sentences: Iterable[Sequence[str]],
    total: int,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
    stride: int | None = None,
) -> TokenizedWords:
    """Tokenize `total` sentences into `folder`, or open it if it is complete.

    With a `stride`, as of `window_spans`, long ones are cut into windows; else they are truncated.
    """
    tokenized = open_cached(folder)
    if tokenized is None:
        max_tokens = max(max_length - tokenizer.count_special(1), 0)
        remaining, word_count, done = iter(sentences), 0, 0
        with (
            atomic_folder(folder) as partial,
            TokenizedWriter(partial, tokenizer.size) as writer,
            GrowingArray(partial / FIRSTS, np.int32) as firsts,
            GrowingArray(partial / STARTS, np.int64) as starts,
            GrowingArray(partial / INPUTS, np.int64) as inputs,
            GrowingArray(partial / INPUT_STARTS, np.int64) as input_starts,
        ):
            for counted in (starts, inputs, input_starts):
                counted.add(0)
            while batch := list(islice(remaining, BATCH_SENTENCES)):
                for words, (ids, owners) in zip(batch, tokenizer.encode_words(batch), strict=True):
                    spans = [(0, min(len(ids), max_tokens))]
                    if stride is not None:
                        spans = window_spans(len(ids), max(max_tokens, 1), stride)
                    read = sum(spans[-1])  # tokens
                    first_tokens = np.full(len(words), NOWHERE)
                    first_tokens[owners[read:]] = CUT
                    present, positions = np.unique(
                        np.array(owners[:read], np.int64), return_index=True
                    )
                    windows = np.zeros(len(words), np.int64)  # of the words
                    windows[present] = window_owners(read, spans)[positions]
                    windows = np.maximum.accumulate(windows)  # words without tokens
                    beginnings = np.array([first for first, _ in spans])[windows[present]]
                    first_tokens[present] = positions - beginnings + 1  # after [CLS]
                    firsts.extend(first_tokens.tolist())
                    for window, (first, count) in enumerate(spans):
                        begin, end = (
                            int(np.searchsorted(windows, window, side))
                            for side in ("left", "right")
                        )
                        if begin < end or len(spans) == 1:  # windows without words are left out
                            part = ids[first : first + count]
                            writer.add([tokenizer.cls, *part, tokenizer.sep])
                            input_starts.add(word_count + end)
                    word_count += len(words)
                    starts.add(word_count)
                    inputs.add(writer.rows)
                    done += 1
                if progress is not None:
                    progress(done, total)
        tokenized = TokenizedDataset.open(folder)
    arrays = (
        np.load(check_regular(folder / name), allow_pickle=False)
        for name in (FIRSTS, STARTS, INPUTS, INPUT_STARTS)
    )
    return TokenizedWords(tokenized, *arrays)
