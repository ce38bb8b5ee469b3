"""Sentences of words as token ids, with the first token of each word.

Words are tokenized one by one, as transformers does with `is_split_into_words`.
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
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.progress import ProgressCallback
from engine.tokenizers.tokenizer import Tokenizer

BATCH_SENTENCES = 500
FIRSTS, STARTS = "firsts.npy", "starts.npy"
NOWHERE, CUT = -1, -2  # positions of words without tokens, and beyond the maximum length


class TokenizedWords(NamedTuple):
    """One input per sentence, and the positions of its words."""

    tokenized: TokenizedDataset  # [CLS] words [SEP]
    firsts: NDArray[np.int32]  # [W], position of the word's first token in its input;
    # CUT if it is truncated, NOWHERE if it is empty (a lone variation selector)
    starts: NDArray[np.int64]  # [N + 1], first word of each sentence


def tokenize_words(
    sentences: Iterable[Sequence[str]],
    total: int,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
) -> TokenizedWords:
    """Tokenize `total` sentences into `folder`, or open it if it is complete."""
    tokenized = open_cached(folder)
    if tokenized is None:
        max_tokens = max(max_length - tokenizer.count_special(1), 0)
        remaining, word_count = iter(sentences), 0
        with (
            atomic_folder(folder) as partial,
            TokenizedWriter(partial, tokenizer.size) as writer,
            GrowingArray(partial / FIRSTS, np.int32) as firsts,
            GrowingArray(partial / STARTS, np.int64) as starts,
        ):
            starts.add(0)
            while batch := list(islice(remaining, BATCH_SENTENCES)):
                for words, (ids, owners) in zip(batch, tokenizer.encode_words(batch), strict=True):
                    writer.add([tokenizer.cls, *ids[:max_tokens], tokenizer.sep])
                    first_tokens = np.full(len(words), NOWHERE)
                    first_tokens[owners[max_tokens:]] = CUT
                    present, positions = np.unique(
                        np.array(owners[:max_tokens], np.int64), return_index=True
                    )
                    first_tokens[present] = positions + 1  # after [CLS]
                    firsts.extend(first_tokens.tolist())
                    word_count += len(words)
                    starts.add(word_count)
                if progress is not None:
                    progress(writer.rows, total)
        tokenized = TokenizedDataset.open(folder)
    word_firsts, sentence_starts = (
        np.load(check_regular(folder / name), allow_pickle=False) for name in (FIRSTS, STARTS)
    )
    return TokenizedWords(tokenized, word_firsts, sentence_starts)
