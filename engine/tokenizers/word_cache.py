"""Token ids of words that were met before, so that each of them is cut into tokens only once.

A text of ten words costs the library some 40 µs, most of which are the same words again and again.
It may be taken apart at its spaces where no token reaches over one, as in WordPiece: what stands
between two of them is encoded alike wherever it stands.
"""

from collections.abc import Callable
from itertools import chain

from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.wordpiece import WordPiece

MOST_WORDS = 100_000  # that are kept: with their ids some 35 MB
MAX_LENGTH = 40  # characters of a word that is kept; what is longer is mostly no word, and rare
RARE = 2  # of so many words at most one may be new: alone it takes twice as long as within a text
LEARNED = 16  # one of so many new words is kept from texts that have more of them


def parts_at_spaces(vocabulary: Vocabulary) -> bool:
    """Whether the token ids of a text are those of its parts between spaces, one after another."""
    if not isinstance(vocabulary, WordPiece) or not vocabulary.marked:
        return False
    behind = () if vocabulary.own is None else vocabulary.tokens[vocabulary.own :]
    reach_over = any(any(map(str.isspace, name)) for name in vocabulary.unsplit.union(behind))
    return not reach_over and not any(one.normalized for one in vocabulary.added)


class WordCache:
    """Encodes texts word by word.

    Args:
        encode: the ids of many texts without [CLS] and [SEP]; see `parts_at_spaces`.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]) -> None:
        self._encode = encode
        self._known: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The same ids as `encode` gives; safe in several threads."""
        known = self._known
        split = [text.split(" ") for text in texts]
        new = set().union(*split).difference(known)
        long = {word for word in new if len(word) > MAX_LENGTH}
        short = list(new - long)
        if is_rare := RARE * len(new) <= sum(map(len, split)):
            known.update(self._by_word(short))
        else:
            known.update(self._by_word(short[::LEARNED]))
        if len(known) > MOST_WORDS:
            self._known = {}  # other threads go on with theirs
        if not is_rare:
            return self._encode(texts)
        if long:
            known = known | self._by_word(list(long))
        find = known.__getitem__
        return [list(chain.from_iterable(map(find, words))) for words in split]

    def _by_word(self, words: list[str]) -> dict[str, list[int]]:
        return dict(zip(words, self._encode(words), strict=True)) if words else {}
