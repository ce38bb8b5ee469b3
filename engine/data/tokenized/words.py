"""Sentences of words as token ids, with the place of each word's first piece.

Words are cut into pieces one by one, as transformers does with `is_split_into_words`.
Shapes: N sentences, W words of all of them.
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
from engine.files.atomic_write import whole_folder
from engine.files.regular_file import regular
from engine.progress import ProgressCallback
from engine.tokenizers.tokenizer import Tokenizer

AT_ONCE = 500  # sentences
FIRSTS, STARTS = "firsts.npy", "starts.npy"
NOWHERE = -1


class TokenizedWords(NamedTuple):
    """One input for each sentence, and where its words are."""

    tokenized: TokenizedDataset  # [CLS] words [SEP]
    firsts: NDArray[np.int32]  # [W], the place of a word's first piece in its input, or NOWHERE
    # where the word is beyond the longest input or nothing is left of it, as of a lone variation
    # selector
    starts: NDArray[np.int64]  # [N + 1], which word is the first of each sentence


def tokenize_words(
    sentences: Iterable[Sequence[str]],
    total: int,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
) -> TokenizedWords:
    """Make the inputs of `total` sentences in `folder`; what already stands there is opened, and no
    sentence is asked for.
    """
    tokenized = open_cached(folder)
    if tokenized is None:
        with whole_folder(folder) as new:
            _write(sentences, total, tokenizer, max_length, new, progress)
        tokenized = TokenizedDataset.open(folder)
    firsts, starts = (
        np.load(regular(folder / name), allow_pickle=False) for name in (FIRSTS, STARTS)
    )
    return TokenizedWords(tokenized, firsts, starts)


def _write(
    sentences: Iterable[Sequence[str]],
    total: int,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None,
) -> None:
    room = max(max_length - tokenizer.added_to(1), 0)
    rest, words_before = iter(sentences), 0
    with (
        TokenizedWriter(folder, tokenizer.size) as writer,
        GrowingArray(folder / FIRSTS, np.int32) as firsts,
        GrowingArray(folder / STARTS, np.int64) as starts,
    ):
        starts.add(0)
        while some := list(islice(rest, AT_ONCE)):
            for words, (ids, owners) in zip(some, tokenizer.words(some), strict=True):
                writer.add([tokenizer.cls, *ids[:room], tokenizer.sep])
                place_of = np.full(len(words), NOWHERE)
                kept, places = np.unique(np.array(owners[:room], np.int64), return_index=True)
                place_of[kept] = places + 1  # [CLS] stands before
                for place in place_of.tolist():
                    firsts.add(place)
                words_before += len(words)
                starts.add(words_before)
            if progress is not None:
                progress(writer.rows, total)
