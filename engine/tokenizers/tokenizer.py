"""Load and use a tokenizer, whichever kind of vocabulary it has.

`vocabulary.py` says what it is made of, `folder.py` reads that from folders and files, and
`training.py` makes a new one.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding as LibraryEncoding
from tokenizers import Tokenizer as LibraryTokenizer

from engine.errors import BadCheckpoint, StudioError
from engine.messages.explore.text import Token
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tokenizers.batches import batches
from engine.tokenizers.folder import read_folder, read_vocabulary, write_folder
from engine.tokenizers.training import learn_vocabulary
from engine.tokenizers.unmarked import Found, LongestMatch
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import ADVICE
from engine.tokenizers.word_cache import WordCache, parts_at_spaces
from engine.tokenizers.wordpiece import WordPiece

MOST_TOKENS = 1 << 24  # of one text
Placed = tuple[list[int], list[tuple[int, int]]]  # ids, and first and last character of each


@dataclass(frozen=True)
class Encoding:
    """One input of the network: [CLS] text [SEP] (second text [SEP]), or as the kind has it."""

    ids: list[int]
    segments: list[int]  # 0 in the first text with its [CLS] and [SEP], 1 in the second
    tokens: tuple[Token, ...]
    cut: bool  # the texts were longer than the network allows


class Tokenizer:
    """From text to token ids and back.

    Raises:
        BadCheckpoint: when the vocabulary lacks one of the five special tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.tokens: list[str] = list(vocabulary.tokens)
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        missing = [name for name in vocabulary.special if name not in self._ids]
        if missing:
            raise BadCheckpoint(
                phrase("The vocabulary has no {missing}.", missing=", ".join(missing)),
                phrase("Choose the vocabulary that belongs to this model."),
            )
        self.pad, self.unknown, self.cls, self.sep, self.mask = (
            self._ids[name] for name in vocabulary.special
        )
        self.lowercase = vocabulary.lowercase
        with _guarded_vocabulary():
            self._library = vocabulary.library(self._ids)
        self._words = WordCache(self._encoded) if parts_at_spaces(vocabulary) else None
        self._unmarked = (
            LongestMatch(self._ids, self.unknown, vocabulary.lowercase)
            if isinstance(vocabulary, WordPiece) and not vocabulary.marked
            else None
        )

    @classmethod
    def from_folder(cls, folder: Path) -> Self:
        """Read the tokenizer of a checkpoint folder; see `folder.read_folder`."""
        return cls(read_folder(folder))

    @classmethod
    def from_vocabulary(cls, path: Path, lowercase: bool | None = None) -> Self:
        """Read a `vocab.txt`; `lowercase` None means that its tokens tell."""
        return cls(read_vocabulary(path, lowercase))

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        size: int,
        lowercase: bool = True,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Make a new vocabulary of at most `size` tokens; see training.py."""
        return cls(learn_vocabulary(texts, size, lowercase, progress))

    @property
    def size(self) -> int:
        return len(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides how a text is encoded."""
        essence = json.dumps(self.vocabulary.essence())
        return hashlib.sha256(essence.encode("ascii")).hexdigest()

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """bool [size], True for tokens that continue the word of the token before them."""
        return self.vocabulary.continuing

    def token(self, number: int) -> str:
        """A token as a person can read it."""
        return self.vocabulary.shown(self.tokens[number])

    def id(self, token: str) -> int:
        """The id of a token; that of [UNK] for what is none."""
        return self._ids.get(token, self.unknown)

    def added_to(self, texts: int) -> int:
        """How many special tokens an input of so many texts has."""
        return 1 + texts + (self.vocabulary.separators - 1) * (texts - 1)

    def encode(self, text: str, pair: str | None = None, max_length: int = 512) -> Encoding:
        """Encode one input with what each token stands for.

        The name of the mask in the text, “[MASK]” in BERT, is the mask. Of two texts that are too
        long together, the longer one is cut first; at its end, or where the vocabulary says so at
        its beginning.
        """
        parts = [text] if pair is None else [text, pair]
        with _guarded():
            encoded = [self._beginning(_clean(part), max_length) for part in parts]
        kept = self._share([len(one) for one in encoded], max_length)
        tokens = [self._special(self.cls, 0)]
        for segment, (one, count) in enumerate(zip(encoded, kept, strict=True)):
            tokens += self._tokens(one, parts[segment], segment, self._kept(len(one), count))
            sep = self._special(self.sep, segment, at=tokens[-1].end if count else 0)
            is_between = segment + 1 < len(parts)
            tokens += [sep] * (self.vocabulary.separators if is_between else 1)
        return Encoding(
            ids=[token.id for token in tokens],
            segments=[token.segment for token in tokens],
            tokens=tuple(tokens),
            cut=any(count < len(one) for one, count in zip(encoded, kept, strict=True)),
        )

    def encode_many(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        max_length: int = 512,
    ) -> list[tuple[list[int], list[int]]]:
        """The ids and segments of many inputs, as `encode` gives them, on all cores."""
        enough = None if self.vocabulary.cuts_beginning else max_length
        first = self.contents(texts, enough)
        if pairs is None:
            room = max(max_length - self.added_to(1), 0)
            rows = []
            for ids in first:
                kept = ids if len(ids) <= room else ids[self._kept(len(ids), room)]
                row = [self.cls, *kept, self.sep]
                rows.append((row, [0] * len(row)))
            return rows
        return [
            self._joined(a, b, max_length)
            for a, b in zip(first, self.contents(pairs, enough), strict=True)
        ]

    def contents(self, texts: Sequence[str], enough: int | None = None) -> list[list[int]]:
        """The ids of texts without [CLS] and [SEP].

        With `enough`, a text of more tokens may give only its beginning, of more than `enough`.
        """
        if self._unmarked is not None:
            return [self._unmarked.encode(_clean(text), enough).ids for text in texts]
        found: list[list[int]] = []
        with _guarded():
            for batch in batches(texts):
                clean = [_clean(text) for text in batch]
                is_long = [enough is not None and len(text) > _window(enough) for text in clean]
                short = [text for text, long in zip(clean, is_long, strict=True) if not long]
                encode = self._encoded if self._words is None else self._words.encode
                encoded = iter(encode(short))
                for text, long in zip(clean, is_long, strict=True):
                    found.append(self._beginning(text, enough or 0).ids if long else next(encoded))
        return found

    def _encoded(self, texts: list[str]) -> list[list[int]]:
        """The ids of texts without [CLS] and [SEP], by the library on all cores."""
        return [one.ids for one in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def decode_many(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of token ids, special tokens among them by their names, on all cores."""
        with _guarded():
            return list(self._library.decode_batch(rows, skip_special_tokens=False))

    def placed(self, text: str) -> Placed:
        """The ids of a text without [CLS] and [SEP], and the characters that each stands for."""
        return self.placed_many([text])[0]

    def placed_many(self, texts: Sequence[str]) -> list[Placed]:
        """The same of many texts, on all cores."""
        if self._unmarked is not None:
            encoded = [self._unmarked.encode(_clean(text), MOST_TOKENS) for text in texts]
            return [(list(one.ids), list(one.offsets)) for one in encoded]
        found: list[Placed] = []
        with _guarded():
            for batch in batches(texts):
                clean = [_clean(text) for text in batch]
                for text, one in zip(
                    clean, self._library.encode_batch(clean, add_special_tokens=False), strict=True
                ):
                    found.append((one.ids, self._without_spaces(text, one.offsets)))
        return found

    def _without_spaces(self, text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if not self.vocabulary.keeps_spaces:
            return offsets
        return [(start + _spaces(text[start:end]), end) for start, end in offsets]

    def words(self, sentences: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """The ids of sentences that come as words, and for each id the number of its word.

        Every word is cut by itself, as if a space stood before it; one of which nothing is left,
        such as a lone soft hyphen, has no id. There are no [CLS] and [SEP].
        """
        if self._unmarked is not None:
            return [self._unmarked_words(words) for words in sentences]
        clean = [[_clean(word) for word in words] for words in sentences]
        with _guarded():
            encoded = self._library_of_words.encode_batch(
                clean, is_pretokenized=True, add_special_tokens=False
            )
        return [(one.ids, [w for w in one.word_ids if w is not None]) for one in encoded]

    def _unmarked_words(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        assert self._unmarked is not None
        found = [self._unmarked.encode(_clean(word)).ids for word in words]
        owners = [number for number, ids in enumerate(found) for _ in ids]
        return [one for ids in found for one in ids], owners

    @cached_property
    def _library_of_words(self) -> LibraryTokenizer:
        """The library's tokenizer, with a space before every word where that makes a difference."""
        for_words = self.vocabulary.for_words()
        return self._library if for_words == self.vocabulary else for_words.library(self._ids)

    def normalise(self, text: str) -> str:
        """The text as it is before it is split into words."""
        steps = self._library.normalizer
        with _guarded():
            return _clean(text) if steps is None else str(steps.normalize_str(_clean(text)))

    def save(self, folder: Path) -> None:
        """Write the files of the Hugging Face layout into an existing folder."""
        write_folder(self.vocabulary, self._library.to_str(pretty=False), folder)

    def _beginning(self, text: str, max_length: int) -> LibraryEncoding | Found:
        """Encode a text, or enough of it for more than `max_length` right tokens."""
        cuts_beginning = self.vocabulary.cuts_beginning
        if self._unmarked is not None:
            return self._unmarked.encode(text, None if cuts_beginning else max_length)
        window = _window(max_length)
        while window < len(text) and not cuts_beginning:
            encoded = self._library.encode(text[:window], add_special_tokens=False)
            if self._settled(encoded, window) > max_length:
                return encoded
            window *= 4
        return self._library.encode(text, add_special_tokens=False)

    def _settled(self, encoded: LibraryEncoding, end: int) -> int:
        """How many tokens of a text cut at `end` would be the same in the whole text.

        Not those of the last word, and not what may be the beginning of a special token.
        """
        words, last = encoded.word_ids, end - self.vocabulary.longest_word
        return sum(
            word != words[-1] and stop <= last
            for word, (_, stop) in zip(words, encoded.offsets, strict=True)
        )

    def _tokens(
        self, encoded: LibraryEncoding | Found, text: str, segment: int, kept: slice
    ) -> list[Token]:
        tokens = []
        word, last = -1, object()
        around = {self.pad, self.cls, self.sep}
        rows = zip(encoded.ids[: kept.stop], encoded.offsets, encoded.word_ids, strict=False)
        for number, (start, end), library_word in rows:
            special = number in around
            if library_word is None or library_word != last:
                word += not special
            last = library_word
            if self.vocabulary.keeps_spaces:
                start += _spaces(text[start:end])
            tokens.append(
                Token(
                    text=self.token(number),
                    id=number,
                    segment=segment,
                    start=start,
                    end=end,
                    word=None if special else word,
                    special=special,
                )
            )
        return tokens[kept.start :]

    def _special(self, number: int, segment: int, at: int = 0) -> Token:
        return Token(
            text=self.token(number),
            id=number,
            segment=segment,
            start=at,
            end=at,
            word=None,
            special=True,
        )

    def _joined(self, a: list[int], b: list[int], max_length: int) -> tuple[list[int], list[int]]:
        keep_a, keep_b = self._share([len(a), len(b)], max_length)
        between = [self.sep] * self.vocabulary.separators
        first, second = a[self._kept(len(a), keep_a)], b[self._kept(len(b), keep_b)]
        ids = [self.cls, *first, *between, *second, self.sep]
        return ids, [0] * (1 + keep_a + len(between)) + [1] * (keep_b + 1)

    def _kept(self, length: int, count: int) -> slice:
        """Which tokens of a text stay where it may keep so many."""
        return slice(length - count, length) if self.vocabulary.cuts_beginning else slice(0, count)

    def _share(self, lengths: list[int], max_length: int) -> list[int]:
        """How many tokens of each text stay, as the published tokenizers cut: the longer first."""
        room = max(max_length - self.added_to(len(lengths)), 0)
        if sum(lengths) <= room:
            return lengths
        if len(lengths) == 1:
            return [room]
        short, half = min(lengths), room // 2
        kept = (short, room - short) if short <= half else (half, room - half)
        return list(kept) if lengths[0] <= lengths[1] else [kept[1], kept[0]]


@contextmanager
def _guarded() -> Iterator[None]:
    """Turn what the library raises, its panics too, into a StudioError."""
    try:
        yield
    except (StudioError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic is no `Exception`
        raise StudioError(
            phrase("The tokenizer failed on this text."),
            phrase("Try a different text or vocabulary."),
        ) from error


@contextmanager
def _guarded_vocabulary() -> Iterator[None]:
    """Turn what the library says of a vocabulary, its panics too, into a BadCheckpoint."""
    try:
        yield
    except (MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic is no `Exception`
        raise BadCheckpoint(
            phrase("The tokenizer files are damaged or do not belong together."),
            ADVICE,
        ) from error


def _spaces(text: str) -> int:
    """With how many spaces a text begins."""
    return len(text) - len(text.lstrip(" "))


def _clean(text: str) -> str:
    """The text with lone surrogates, which no encoding can hold, replaced one for one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(
            "\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text
        )
    return text


def _window(max_length: int) -> int:
    """How many characters nearly always hold more than `max_length` tokens."""
    return 16 * max_length + 1_000
