"""Two spans of text for next sentence (Devlin et al. 2019, §3.1 task 2 and appendix A.2).

A document is a list of sentences. The first span is some sentences in a row; the second is what
follows them, or, as often as asked, some sentences in a row out of another document.

Shapes: N pairs of spans.
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
from engine.files.atomic_write import whole_folder
from engine.files.regular_file import regular
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tokenizers.batches import batches
from engine.tokenizers.tokenizer import Tokenizer

FOLLOWS, ANOTHER = 0, 1  # classes of a pair, as in the published checkpoints
SHORT = 0.1  # share of the pairs that are made shorter, so that short inputs are known too
SHORTEST = 5  # tokens of an input: three special ones and one for each span
TRIES = 10  # at drawing another document
TOLD = 1_000  # documents between two reports


def tokenize_pairs(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    following: float,
    seed: int,
    progress: ProgressCallback | None = None,
    total: int = 0,
    draws: int = 1,
) -> tuple[TokenizedDataset, NDArray[np.int64]]:
    """Inputs [CLS] span [SEP] span [SEP] of at most `max_length` tokens.

    Args:
        texts: documents; `total` is how many, for `progress`.
        folder: what already stands there is opened. The sentences are kept in `sentences` beside
            it, for pairs of other lengths.
        following: share of the pairs whose second span is what follows the first.
        seed: decides the lengths, the cuts and the other documents.
        draws: how often each document is cut into pairs, each time in another way, as by the
            `dupe_factor` of the published code.

    Returns:
        The inputs, and int64 [N]: `FOLLOWS` or `ANOTHER`.

    Raises:
        StudioError: when no document has two sentences, or inputs are too short for two spans.
    """
    if max_length < SHORTEST:
        raise StudioError(
            phrase(
                "Inputs of {max_length} tokens are too short for two segments.",
                max_length=max_length,
            ),
            phrase(
                "Set the max. length to at least {shortest} tokens, or turn off next-sentence"
                " prediction (NSP).",
                shortest=SHORTEST,
            ),
        )
    if (tokenized := open_cached(folder)) is None:
        kept = folder.with_name("sentences")
        if (known := open_cached(kept)) is None:
            known = _tokenise(texts, tokenizer, kept, progress, total)
        starts = np.load(regular(kept / "documents.npy"), mmap_mode="r", allow_pickle=False)
        drawn = _Drawer(known, starts, max_length - 3, following, np.random.default_rng(seed))
        classes = array("b")
        with whole_folder(folder) as new:
            with TokenizedWriter(new, tokenizer.size) as writer:
                for first, second, kind in drawn.pairs(draws, progress):
                    ids = [tokenizer.cls, *first, tokenizer.sep, *second, tokenizer.sep]
                    writer.add(ids, len(first) + 2)
                    classes.append(kind)
            np.save(new / "classes.npy", np.array(classes, dtype=np.int64))
            if not classes:
                raise StudioError(
                    phrase(
                        "No text has two sentences, so there are no pairs for next-sentence "
                        "prediction (NSP)."
                    ),
                    phrase(
                        "Put every sentence on its own line with an empty line between "
                        "documents, or turn off NSP."
                    ),
                )
        tokenized = TokenizedDataset.open(folder)
    return tokenized, np.load(regular(folder / "classes.npy"), allow_pickle=False)


def _tokenise(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    folder: Path,
    progress: ProgressCallback | None,
    total: int,
) -> TokenizedDataset:
    """Every sentence as an input without special tokens; `documents.npy` says where texts begin."""
    starts, done, written = array("q", [0]), 0, 0
    with whole_folder(folder) as new:
        with TokenizedWriter(new, tokenizer.size) as writer:
            for batch in batches(texts):
                cut = [sentences(text) for text in batch]
                found = iter(tokenizer.contents([one for text in cut for one in text]))
                for text in cut:
                    for ids in islice(found, len(text)):
                        if ids:
                            writer.add(ids)
                            written += 1
                    starts.append(written)
                done += len(batch)
                if progress is not None:
                    progress(done, total)
        np.save(new / "documents.npy", np.unique(np.array(starts, dtype=np.int64)))
    return TokenizedDataset.open(folder)


class _Drawer:
    """Cuts documents into pairs of spans.

    Args:
        known: the sentences; `starts` int64 [documents + 1] says where documents begin and end.
        room: tokens of both spans.
    """

    def __init__(
        self,
        known: TokenizedDataset,
        starts: NDArray[np.int64],
        room: int,
        following: float,
        random: np.random.Generator,
    ) -> None:
        self._known, self._starts, self._room = known, starts, room
        self._following, self._random = following, random

    def pairs(
        self, draws: int, progress: ProgressCallback | None
    ) -> Iterator[tuple[list[int], list[int], int]]:
        documents = len(self._starts) - 1
        for number in range(draws * documents):
            yield from self._of(number % documents)
            if progress is not None and (number + 1) % TOLD == 0:
                progress(number + 1, draws * documents)

    def _of(self, document: int) -> Iterator[tuple[list[int], list[int], int]]:
        """The pairs of one document; a last sentence that stands alone begins none."""
        random, length_of = self._random, self._known.length
        at, end = int(self._starts[document]), int(self._starts[document + 1])
        while end - at >= 2:
            room = self._room
            if random.random() < SHORT:
                room = int(random.integers(2, room + 1))
            last, length = at + 2, length_of(at) + length_of(at + 1)  # two sentences at least
            while last < end and length < room:
                length += length_of(last)
                last += 1
            cut = int(random.integers(at + 1, last))
            first = self._tokens(at, cut)
            if random.random() < self._following:
                second, kind, at = self._tokens(cut, last), FOLLOWS, last
            else:  # what was to follow is left for the next pair
                second, kind, at = self._elsewhere(document, room - len(first)), ANOTHER, cut
            yield *self._fitted(first, second, room), kind

    def _elsewhere(self, document: int, room: int) -> list[int]:
        """Sentences in a row out of another document, one at least, until `room` is full."""
        documents = len(self._starts) - 1
        other = document
        for _ in range(TRIES):
            other = int(self._random.integers(documents))
            if other != document:
                break
        begin, end = int(self._starts[other]), int(self._starts[other + 1])
        at = int(self._random.integers(begin, end))
        found: list[int] = []
        while at < end and (not found or len(found) < room):
            found += self._tokens(at, at + 1)
            at += 1
        return found

    def _tokens(self, first: int, last: int) -> list[int]:
        return [int(i) for n in range(first, last) for i in self._known.ids(n)]

    def _fitted(
        self, first: list[int], second: list[int], room: int
    ) -> tuple[list[int], list[int]]:
        """Take tokens off the longer span, by chance from its front or its end."""
        spans = [first, second]
        fronts, ends = [0, 0], [len(first), len(second)]
        while sum(ends) - sum(fronts) > room:
            longer = 0 if ends[0] - fronts[0] > ends[1] - fronts[1] else 1
            if self._random.random() < 0.5:
                fronts[longer] += 1
            else:
                ends[longer] -= 1
        return spans[0][fronts[0] : ends[0]], spans[1][fronts[1] : ends[1]]
