"""Sentence pairs for next-sentence prediction (Devlin et al. 2019, §3.1 task 2 and appendix A.2).

A document is a list of sentences. The first segment is a run of sentences; the second is what
follows it, or, with a given probability, a run of sentences of another document.

Shapes: N pairs.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.data.tokenized.dataset import TokenizedDataset, TokenizedWriter, open_cached
from engine.data.tokenized.sentences import sentences
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.progress import ProgressCallback
from engine.tokenizers.batches import batches
from engine.tokenizers.tokenizer import Tokenizer

IS_NEXT, NOT_NEXT = 0, 1  # classes, as in the published checkpoints
SHORT_FRACTION = 0.1  # of the pairs are shortened, so that short inputs are trained
MIN_LENGTH = 5  # tokens: three special ones and one for each segment
MAX_TRIES = 10  # to draw another document
REPORT_EVERY = 1_000  # documents


def tokenize_pairs(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    next_probability: float,
    seed: int,
    progress: ProgressCallback | None = None,
    total: int = 0,
    passes: int = 1,
) -> tuple[TokenizedDataset, NDArray[np.int64]]:
    """Tokenize pairs as [CLS] first [SEP] second [SEP], at most `max_length` tokens.

    Args:
        texts: documents; `total` is their number, for `progress`.
        folder: opened if it is complete. The tokenized sentences are cached next to it in
            `sentences`, for pairs of other lengths.
        next_probability: probability that the second segment follows the first.
        seed: for lengths, cuts and other documents.
        passes: number of passes over the documents, `dupe_factor` in the published code.

    Returns:
        The inputs, and int64 [N]: `IS_NEXT` or `NOT_NEXT`.

    Raises:
        StudioError: if no document has two sentences, or `max_length` is too short for two
            segments.
    """
    if max_length < MIN_LENGTH:
        raise StudioError(
            "Inputs of {max_length} tokens are too short for two segments.",
            "Set the max. length to at least {min_length} tokens, or turn off next-sentence"
            " prediction (NSP).",
            max_length=max_length,
            min_length=MIN_LENGTH,
        )
    if (pairs := open_cached(folder)) is None:
        cache = folder.with_name("sentences")
        if (tokenized := open_cached(cache)) is None:
            tokenized = _tokenize_sentences(texts, tokenizer, cache, progress, total)
        starts = np.load(check_regular(cache / "documents.npy"), mmap_mode="r", allow_pickle=False)
        sampler = _PairSampler(
            tokenized, starts, max_length - 3, next_probability, np.random.default_rng(seed)
        )
        classes = array("b")
        with atomic_folder(folder) as partial:
            with TokenizedWriter(partial, tokenizer.size) as writer:
                for first, second, kind in sampler.pairs(passes, progress):
                    ids = [tokenizer.cls, *first, tokenizer.sep, *second, tokenizer.sep]
                    writer.add(ids, len(first) + 2)
                    classes.append(kind)
            np.save(partial / "classes.npy", np.array(classes, dtype=np.int64))
            if not classes:
                raise StudioError(
                    "No text has two sentences, so there are no pairs for next-sentence "
                    "prediction (NSP).",
                    "Put every sentence on its own line with an empty line between "
                    "documents, or turn off NSP.",
                )
        pairs = TokenizedDataset.open(folder)
    return pairs, np.load(check_regular(folder / "classes.npy"), allow_pickle=False)


def _tokenize_sentences(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    folder: Path,
    progress: ProgressCallback | None,
    total: int,
) -> TokenizedDataset:
    """Tokenize sentences without special tokens; `documents.npy` has the start of each document."""
    starts, done, count = array("q", [0]), 0, 0
    with atomic_folder(folder) as partial:
        with TokenizedWriter(partial, tokenizer.size) as writer:
            for batch in batches(texts):
                split = [sentences(text) for text in batch]
                tokenized = iter(tokenizer.contents([part for text in split for part in text]))
                for text in split:
                    for ids in islice(tokenized, len(text)):
                        if ids:
                            writer.add(ids)
                            count += 1
                    starts.append(count)
                done += len(batch)
                if progress is not None:
                    progress(done, total)
        np.save(partial / "documents.npy", np.unique(np.array(starts, dtype=np.int64)))
    return TokenizedDataset.open(folder)


class _PairSampler:
    """Cuts documents into pairs of segments.

    Args:
        tokenized: the sentences; int64 [documents + 1] `starts` delimits the documents.
        max_tokens: of both segments together.
    """

    def __init__(
        self,
        tokenized: TokenizedDataset,
        starts: NDArray[np.int64],
        max_tokens: int,
        next_probability: float,
        random: np.random.Generator,
    ) -> None:
        self._tokenized, self._starts, self._max_tokens = tokenized, starts, max_tokens
        self._next_probability, self._random = next_probability, random

    def pairs(
        self, passes: int, progress: ProgressCallback | None
    ) -> Iterator[tuple[list[int], list[int], int]]:
        documents = len(self._starts) - 1
        for number in range(passes * documents):
            yield from self._document_pairs(number % documents)
            if progress is not None and (number + 1) % REPORT_EVERY == 0:
                progress(number + 1, passes * documents)

    def _document_pairs(self, document: int) -> Iterator[tuple[list[int], list[int], int]]:
        """Yield the pairs of one document; a single last sentence starts no pair."""
        random, count_tokens = self._random, self._tokenized.length
        start, end = int(self._starts[document]), int(self._starts[document + 1])
        while end - start >= 2:
            max_tokens = self._max_tokens
            if random.random() < SHORT_FRACTION:
                max_tokens = int(random.integers(2, max_tokens + 1))
            # at least two sentences
            last, length = start + 2, count_tokens(start) + count_tokens(start + 1)
            while last < end and length < max_tokens:
                length += count_tokens(last)
                last += 1
            boundary = int(random.integers(start + 1, last))
            first = self._tokens(start, boundary)
            if random.random() < self._next_probability:
                second, kind, start = self._tokens(boundary, last), IS_NEXT, last
            else:  # the sentences that would follow start the next pair
                second = self._other_document(document, max_tokens - len(first))
                kind, start = NOT_NEXT, boundary
            yield *self._truncate(first, second, max_tokens), kind

    def _other_document(self, document: int, max_tokens: int) -> list[int]:
        """Draw at least one sentence in a row from another document, up to about `max_tokens`."""
        documents = len(self._starts) - 1
        other = document
        for _ in range(MAX_TRIES):
            other = int(self._random.integers(documents))
            if other != document:
                break
        begin, end = int(self._starts[other]), int(self._starts[other + 1])
        start = int(self._random.integers(begin, end))
        tokens: list[int] = []
        while start < end and (not tokens or len(tokens) < max_tokens):
            tokens += self._tokens(start, start + 1)
            start += 1
        return tokens

    def _tokens(self, first: int, last: int) -> list[int]:
        return [int(i) for n in range(first, last) for i in self._tokenized.ids(n)]

    def _truncate(
        self, first: list[int], second: list[int], max_tokens: int
    ) -> tuple[list[int], list[int]]:
        """Remove tokens from the longer segment, randomly from its start or its end."""
        spans = [first, second]
        starts, ends = [0, 0], [len(first), len(second)]
        while sum(ends) - sum(starts) > max_tokens:
            longer = 0 if ends[0] - starts[0] > ends[1] - starts[1] else 1
            if self._random.random() < 0.5:
                starts[longer] += 1
            else:
                ends[longer] -= 1
        return spans[0][starts[0] : ends[0]], spans[1][starts[1] : ends[1]]
