"""Texts as numbers of their words, for work on a million of them.

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

CHUNK = 20_000  # texts
NO_WORD = re.compile(r"^\W+|\W+$")
WITHOUT_BLANKS = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}])"
"""Scripts that put no blanks between words: each of their characters is taken for one."""


@dataclass(frozen=True, eq=False)
class Words:
    """The words of N texts, one after the other."""

    ids: NDArray[np.int32]  # [W], numbers in a vocabulary
    starts: NDArray[np.int64]  # [N + 1], where the words of each text begin

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Words of each text, int64 [N]."""
        return np.diff(self.starts)

    def take(self, texts: NDArray[np.int64]) -> "Words":
        """Those of some texts, each once and in rising order."""
        if len(texts) == len(self.counts):  # all of them, for they come in their order
            return self
        counts = self.counts[texts]
        starts = np.concatenate([[0], np.cumsum(counts)])
        ids = np.empty(starts[-1], dtype=np.int32)
        for first in range(0, len(texts), CHUNK):  # numpy repeats without letting others work
            some = slice(first, first + CHUNK)
            begin, end = starts[first], starts[min(first + CHUNK, len(texts))]
            places = np.repeat(self.starts[texts[some]] - starts[:-1][some], counts[some])
            ids[begin:end] = self.ids[places + np.arange(begin, end)]
        return Words(ids, starts)

    @staticmethod
    def joined(parts: Sequence["Words"]) -> "Words":
        counts = [np.zeros(0, dtype=np.int64), *(part.counts for part in parts)]
        ids = [np.zeros(0, dtype=np.int32), *(part.ids for part in parts)]
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Words(np.concatenate(ids), starts)


def words_in(texts: Sequence[str], known: dict[str, int]) -> Words:
    """The words of plain texts without punctuation around them; `known` gets those that are new."""
    column = pa.array(texts, type=pa.large_string())
    if not all(map(str.isascii, texts)):
        column = pc.replace_substring_regex(column, WITHOUT_BLANKS, r" \1 ")
    split = pc.utf8_split_whitespace(column)
    encoded = split.values.dictionary_encode()
    names = [NO_WORD.sub("", word or "") for word in encoded.dictionary.to_pylist()]
    ids = [known.setdefault(name, len(known)) if name else -1 for name in names]
    found = np.array(ids, dtype=np.int32)[encoded.indices.to_numpy()]
    kept = found >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Words(found[kept], before[split.offsets.to_numpy()].astype(np.int64))
