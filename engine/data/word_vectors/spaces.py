"""Words in one space of vectors: their cosines, and what is nearest to their sum with signs."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.word_vectors.store import WordVectors, best, combine
from engine.messages.explore.word_relations import WordSpace
from engine.messages.explore.word_vectors import NearToken

Vector = NDArray[np.float32]


class Searched(NamedTuple):
    """Vectors among which neighbours are found."""

    cosines_to: Callable[[Vector], Vector]  # from a vector of length 1, [D], to those of all, [V]
    name: Callable[[int], str]  # of a row


def make_space(
    words: Sequence[str],
    units: Sequence[Vector | None],
    signs: Sequence[int],
    searched: Searched | None = None,
    own: Sequence[int] = (),
    top: int = 0,
    **fields: Any,
) -> WordSpace:
    """Compare words, and find the neighbours of their sum unless a word is missing.

    Args:
        units: vectors of length 1, [D]; None for a word without one.
        searched: among what; None: find no neighbours.
        own: rows of the words themselves, which are left out.
        fields: other fields of the space.
    """
    space = WordSpace(
        missing=tuple(word for word, unit in zip(words, units, strict=True) if unit is None),
        cosines=tuple(
            None if first is None or second is None else float(first @ second)
            for first, second in combinations(units, 2)
        ),
        **fields,
    )
    known = [unit for unit in units if unit is not None]
    if searched is None or len(known) < len(units):
        return space
    cosines = searched.cosines_to(combine(known, signs))
    nearest = tuple(
        NearToken(token=searched.name(row), cosine=cosine)
        for row, cosine in best(cosines, top, own)
    )
    return space.model_copy(update={"nearest": nearest, "searched": len(cosines)})


def relate_in_file(
    file: WordVectors, words: Sequence[str], signs: Sequence[int], top: int
) -> WordSpace:
    """Cosines and neighbours of words in a file of static vectors."""
    found = [file.look_up(word) for word in words]
    return make_space(
        words,
        [None if looked is None else file.unit(looked.row) for looked in found],
        signs,
        Searched(file.cosines_to, file.word),
        [looked.row for looked in found if looked is not None],
        top,
        name="file",
        read_as=tuple(looked.word for looked in found if looked is not None),
    )
