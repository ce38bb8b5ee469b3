"""Sentences of words as token ids, with the place of each word's first piece.

Words are cut into pieces one by one, as transformers does with `is_split_into_words`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.data.packed import Packed, Progress, Writer, ready
from engine.data.tokenizer import Tokenizer
from engine.durable import whole_folder

AT_ONCE = 500  # sentences
FIRSTS = "firsts.npy"
NOWHERE = -1


def pack_words(
    sentences: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: Progress | None = None,
) -> tuple[Packed, NDArray[np.int32]]:
    """One input, [CLS] words [SEP], for each sentence, and where each word begins in its input.

    The places are int32 [words of all sentences]: that of the word's first piece, or NOWHERE where
    the word is beyond `max_length` or nothing is left of it, as of a lone variation selector.
    What already stands in `folder` is opened.
    """
    if (made := ready(folder)) is not None:
        return made, np.load(folder / FIRSTS, allow_pickle=False)
    firsts = np.full(sum(map(len, sentences)), NOWHERE, dtype=np.int32)
    room, begin = max(max_length - tokenizer.added_to(1), 0), 0
    with whole_folder(folder) as new:
        with Writer(new, tokenizer.size) as writer:
            for number in range(0, len(sentences), AT_ONCE):
                some = sentences[number : number + AT_ONCE]
                for words, (ids, owners) in zip(some, tokenizer.words(some), strict=True):
                    writer.add([tokenizer.cls, *ids[:room], tokenizer.sep])
                    kept, places = np.unique(np.array(owners[:room], np.int64), return_index=True)
                    firsts[begin + kept] = places + 1  # [CLS] stands before
                    begin += len(words)
                if progress is not None:
                    progress(number + len(some), len(sentences))
        np.save(new / FIRSTS, firsts)
    return Packed.open(folder), firsts
