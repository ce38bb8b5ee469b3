"""Cache of the token ids of words.

If no token spans a space, as in WordPiece, a text can be tokenized word by word, and most words are
in the cache. Otherwise the library takes about 40 µs for a text of ten words.
"""

from collections.abc import Callable
from itertools import chain

from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.wordpiece import WordPiece

MOST_WORDS = 100_000  # cached words, about 35 MB with their ids
MAX_LENGTH = 40  # maximum characters of a cached word
RARE = 2  # use the cache if at most one word in this many is new
LEARNED = 16  # otherwise, cache one new word in this many


def parts_at_spaces(vocabulary: Vocabulary) -> bool:
    """True if a text can be tokenized between spaces."""
    if not isinstance(vocabulary, WordPiece) or not vocabulary.marked:
        return False
    behind = () if vocabulary.own is None else vocabulary.tokens[vocabulary.own :]
    reach_over = any(any(map(str.isspace, name)) for name in vocabulary.unsplit.union(behind))
    return not reach_over and not any(one.normalized for one in vocabulary.added)


class WordCache:
    """Tokenizes texts word by word.

    Args:
        encode: ids of many texts without [CLS] and [SEP]; see `parts_at_spaces`.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]) -> None:
        self._encode = encode
        self._known: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The same ids as `encode`; thread-safe."""
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
            self._known = {}  # other threads keep the old one
        if not is_rare:
            return self._encode(texts)
        if long:
            known = known | self._by_word(list(long))
        find = known.__getitem__
        return [list(chain.from_iterable(map(find, words))) for words in split]

    def _by_word(self, words: list[str]) -> dict[str, list[int]]:
        return dict(zip(words, self._encode(words), strict=True)) if words else {}
