"""Texts as arrays of word ids.

Shapes: N texts, W words of all of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

CHUNK_TEXTS = 20_000
NON_WORD = re.compile(r"^\W+|\W+$")
UNSPACED = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}])"
"""Scripts without spaces between words: each character counts as a word."""


@dataclass(frozen=True, eq=False)
class Words:
    """The words of N texts, concatenated."""

    ids: NDArray[np.int32]  # [W], ids in a vocabulary
    starts: NDArray[np.int64]  # [N + 1], start of the words of each text

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Words of each text, int64 [N]."""
        return np.diff(self.starts)

    def take(self, texts: NDArray[np.int64]) -> "Words":
        """The words of some texts, whose unique indices must ascend."""
        if len(texts) == len(self.counts):  # all of them, as they ascend
            return self
        counts = self.counts[texts]
        starts = np.concatenate([[0], np.cumsum(counts)])
        ids = np.empty(starts[-1], dtype=np.int32)
        for first in range(0, len(texts), CHUNK_TEXTS):  # numpy's `repeat` holds the GIL
            chunk = slice(first, first + CHUNK_TEXTS)
            begin, end = starts[first], starts[min(first + CHUNK_TEXTS, len(texts))]
            sources = np.repeat(self.starts[texts[chunk]] - starts[:-1][chunk], counts[chunk])
            ids[begin:end] = self.ids[sources + np.arange(begin, end)]
        return Words(ids, starts)

    @staticmethod
    def concatenate(parts: Sequence["Words"]) -> "Words":
        counts = [np.zeros(0, dtype=np.int64), *(part.counts for part in parts)]
        ids = [np.zeros(0, dtype=np.int32), *(part.ids for part in parts)]
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Words(np.concatenate(ids), starts)


def encode_words(texts: Sequence[str], vocabulary: dict[str, int]) -> Words:
    """Words of normalised texts without surrounding punctuation; adds new ones to `vocabulary`."""
    column = pa.array(texts, type=pa.large_string())
    if not all(map(str.isascii, texts)):
        column = pc.replace_substring_regex(column, UNSPACED, r" \1 ")
    split = pc.utf8_split_whitespace(column)
    encoded = split.values.dictionary_encode()
    names = [NON_WORD.sub("", word or "") for word in encoded.dictionary.to_pylist()]
    ids = [vocabulary.setdefault(name, len(vocabulary)) if name else -1 for name in names]
    encoded_ids = np.array(ids, dtype=np.int32)[encoded.indices.to_numpy()]
    has_word = encoded_ids >= 0
    offsets = np.concatenate([[0], np.cumsum(has_word)])
    return Words(encoded_ids[has_word], offsets[split.offsets.to_numpy()].astype(np.int64))
