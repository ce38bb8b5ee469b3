"""Load and use a tokenizer of any kind.

`vocabulary.py` defines vocabularies, `folder.py` reads them, `training.py` learns them.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import ADVICE
from engine.tokenizers.wordpiece import (
    LongestMatch,
    MatchedTokens,
    WordCache,
    WordPiece,
    splits_at_spaces,
)

MAX_TEXT_TOKENS = 1 << 24
IdsAndOffsets = tuple[list[int], list[tuple[int, int]]]  # ids, (start, end) characters of each


@dataclass(frozen=True)
class Encoding:
    """One input of the network, such as [CLS] text [SEP] or [CLS] text [SEP] second text [SEP]."""

    ids: list[int]
    segments: list[int]  # 0 in the first text with its [CLS] and [SEP], 1 in the second
    tokens: tuple[Token, ...]
    truncated: bool  # the texts were truncated


class Tokenizer:
    """Converts texts to token ids and back.

    Raises BadCheckpoint if the vocabulary lacks a special token other than the mask.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.tokens: list[str] = list(vocabulary.tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        *required, mask = vocabulary.special
        missing = [name for name in required if name not in self._ids]
        if missing:
            raise BadCheckpoint(
                "The vocabulary has no {missing}.",
                "Choose the vocabulary that belongs to this model.",
                missing=", ".join(missing),
            )
        self.pad, self.unknown, self.cls, self.sep = (self._ids[name] for name in required)
        self.mask_id = self._ids.get(mask)  # None: the model never predicted masked tokens
        self.lowercase = vocabulary.lowercase
        with _guarded(_damaged_error):
            self._library = vocabulary.to_library(self._ids)
        self._word_cache = WordCache(self._encode_batch) if splits_at_spaces(vocabulary) else None
        self._longest_match = (
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
        """Read a `vocab.txt`; by default its tokens decide if it is lowercase."""
        return cls(read_vocabulary(path, lowercase))

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        size: int,
        lowercase: bool = True,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Learn a vocabulary of at most `size` tokens; see training.py."""
        return cls(learn_vocabulary(texts, size, lowercase, progress))

    @property
    def mask(self) -> int:
        """Id of the mask token. Raises StudioError if the vocabulary has none."""
        if self.mask_id is None:
            raise StudioError(
                "The vocabulary has no {mask}, so tokens cannot be masked.",
                "Use the model for another task, or choose a model whose vocabulary has it.",
                mask=self.vocabulary.special[4],
            )
        return self.mask_id

    @property
    def size(self) -> int:
        return len(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that affects encoding."""
        fields = json.dumps(self.vocabulary.fingerprint_fields())
        return hashlib.sha256(fields.encode("ascii")).hexdigest()

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """True for tokens that continue a word, bool [size]."""
        return self.vocabulary.continuation_flags

    def token(self, token_id: int) -> str:
        """Display form of a token."""
        return self.vocabulary.display_form(self.tokens[token_id])

    def id(self, token: str) -> int:
        """Id of a token; that of [UNK] if the token is unknown."""
        return self._ids.get(token, self.unknown)

    def count_special(self, texts: int) -> int:
        """Number of special tokens in an input of `texts` texts."""
        return 1 + texts + (self.vocabulary.separators - 1) * (texts - 1)

    def encode(self, text: str, pair: str | None = None, max_length: int = 512) -> Encoding:
        """Encode one input, with the text of each token.

        The name of the mask in a text, “[MASK]” in BERT, becomes the mask token. If two texts are
        too long together, the longer one is truncated first, at its end or, if the vocabulary says
        so, at its start.
        """
        parts = [text] if pair is None else [text, pair]
        with _guarded():
            encoded = [self._encode_start(_clean(part), max_length) for part in parts]
        counts = self._divide_length([len(item) for item in encoded], max_length, parts)
        tokens = [self._special_token(self.cls, 0)]
        for segment, (item, count) in enumerate(zip(encoded, counts, strict=True)):
            tokens += self._tokens(item, parts[segment], segment, self.kept(len(item), count))
            sep = self._special_token(self.sep, segment, at=tokens[-1].end if count else 0)
            is_between = segment + 1 < len(parts)
            tokens += [sep] * (self.vocabulary.separators if is_between else 1)
        return Encoding(
            ids=[token.id for token in tokens],
            segments=[token.segment for token in tokens],
            tokens=tuple(tokens),
            truncated=any(count < len(item) for item, count in zip(encoded, counts, strict=True)),
        )

    def encode_many(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, max_length: int = 512
    ) -> list[tuple[list[int], list[int]]]:
        """Encode many inputs like `encode`, on all cores; returns their ids and segments."""
        limit = None if self.vocabulary.cuts_beginning else max_length
        first = self.contents(texts, limit)
        if pairs is None:
            available = max(max_length - self.count_special(1), 0)
            rows = []
            for ids in first:
                kept = ids if len(ids) <= available else ids[self.kept(len(ids), available)]
                row = [self.cls, *kept, self.sep]
                rows.append((row, [0] * len(row)))
            return rows
        return [
            self._join(a, b, max_length, parts)
            for a, b, *parts in zip(first, self.contents(pairs, limit), texts, pairs, strict=True)
        ]

    def join_whole_second(
        self, first: list[int], second: list[int], max_length: int
    ) -> tuple[list[int], list[int]]:
        """Ids and segments of the `contents` of two texts, of which only the first is truncated."""
        room = max(max_length - self.count_special(2) - len(second), 0)
        return self._pair(first[self.kept(len(first), min(room, len(first)))], second)

    def contents(self, texts: Sequence[str], limit: int | None = None) -> list[list[int]]:
        """Ids of texts without [CLS] and [SEP].

        With `limit`, a longer text may be cut, but keeps more than `limit` tokens.
        """
        if self._longest_match is not None:
            return [self._longest_match.encode(_clean(text), limit).ids for text in texts]
        rows: list[list[int]] = []
        with _guarded():
            for batch in batches(texts):
                clean = [_clean(text) for text in batch]
                is_long = [limit is not None and len(text) > _window(limit) for text in clean]
                short = [text for text, long in zip(clean, is_long, strict=True) if not long]
                encode = self._encode_batch if self._word_cache is None else self._word_cache.encode
                encoded = iter(encode(short))
                for text, long in zip(clean, is_long, strict=True):
                    rows.append(self._encode_start(text, limit or 0).ids if long else next(encoded))
        return rows

    def _encode_batch(self, texts: list[str]) -> list[list[int]]:
        return [row.ids for row in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def decode_many(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Decode token ids on all cores, special tokens by name."""
        with _guarded():
            return list(self._library.decode_batch(rows, skip_special_tokens=False))

    def encode_offsets(self, text: str) -> IdsAndOffsets:
        """Ids of a text without [CLS] and [SEP], and the span of characters of each."""
        return self.encode_offsets_many([text])[0]

    def encode_offsets_many(self, texts: Sequence[str]) -> list[IdsAndOffsets]:
        """`encode_offsets` of many texts on all cores."""
        if self._longest_match is not None:
            matched = [self._longest_match.encode(_clean(text), MAX_TEXT_TOKENS) for text in texts]
            return [(list(match.ids), list(match.offsets)) for match in matched]
        rows: list[IdsAndOffsets] = []
        with _guarded():
            for batch in batches(texts):
                clean = [_clean(text) for text in batch]
                encoded = self._library.encode_batch(clean, add_special_tokens=False)
                for text, encoding in zip(clean, encoded, strict=True):
                    offsets = encoding.offsets
                    if self.vocabulary.keeps_spaces:
                        offsets = [
                            (start + _indent(text[start:end]), end) for start, end in offsets
                        ]
                    rows.append((encoding.ids, offsets))
        return rows

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """Ids of pre-split sentences, and the word index of each id.

        Words are tokenized separately, as if preceded by a space; a word that normalises to
        nothing, such as a soft hyphen, has no id. [CLS] and [SEP] are not added.
        """
        clean = [[_clean(word) for word in words] for words in sentences]
        if self._longest_match is not None:
            rows = []
            for words in clean:
                word_ids = [self._longest_match.encode(word).ids for word in words]
                owners = [index for index, ids in enumerate(word_ids) for _ in ids]
                rows.append(([token for ids in word_ids for token in ids], owners))
            return rows
        with _guarded():
            encoded = self._word_library.encode_batch(
                clean, is_pretokenized=True, add_special_tokens=False
            )
        return [(row.ids, [w for w in row.word_ids if w is not None]) for row in encoded]

    @cached_property
    def _word_library(self) -> LibraryTokenizer:
        """The library's tokenizer with a space before every word, if that matters."""
        for_words = self.vocabulary.for_words()
        return self._library if for_words == self.vocabulary else for_words.to_library(self._ids)

    def normalise(self, text: str) -> str:
        """The text before it is split into words."""
        steps = self._library.normalizer
        with _guarded():
            return _clean(text) if steps is None else str(steps.normalize_str(_clean(text)))

    def allow(self, max_length: int) -> None:
        """Forget a stated maximum below this one: the network learns longer inputs."""
        stated = self.vocabulary.max_length
        if stated is not None and stated < max_length:
            self.vocabulary = replace(self.vocabulary, max_length=None)

    def save(self, folder: Path, max_length: int | None = None) -> None:
        """Write the Hugging Face files into an existing folder.

        Args:
            max_length: stated maximum of tokens; transformers truncates nothing without it.
        """
        write_folder(self.vocabulary, self._library.to_str(pretty=False), folder, max_length)

    def _encode_start(self, text: str, max_length: int) -> LibraryEncoding | MatchedTokens:
        """Encode a text, or enough of it for more than `max_length` final tokens."""
        cuts_beginning = self.vocabulary.cuts_beginning
        if self._longest_match is not None:
            return self._longest_match.encode(text, None if cuts_beginning else max_length)
        window = _window(max_length)
        while window < len(text) and not cuts_beginning:
            encoded = self._library.encode(text[:window], add_special_tokens=False)
            if self._count_settled(encoded, window) > max_length:
                return encoded
            window *= 4
        return self._library.encode(text, add_special_tokens=False)

    def _count_settled(self, encoded: LibraryEncoding, end: int) -> int:
        """Count the leading tokens of a truncated text that the rest cannot change.

        Excludes the last word, and a possible start of a special token.
        """
        words, last = encoded.word_ids, end - self.vocabulary.max_word
        return sum(
            word != words[-1] and stop <= last
            for word, (_, stop) in zip(words, encoded.offsets, strict=True)
        )

    def _tokens(
        self, encoded: LibraryEncoding | MatchedTokens, text: str, segment: int, kept: slice
    ) -> list[Token]:
        tokens = []
        word, last = -1, object()
        special_ids = {self.pad, self.cls, self.sep}
        rows = zip(encoded.ids[: kept.stop], encoded.offsets, encoded.word_ids, strict=False)
        for token_id, (start, end), library_word in rows:
            special = token_id in special_ids
            if library_word is None or library_word != last:
                word += not special
            last = library_word
            if self.vocabulary.keeps_spaces:
                start += _indent(text[start:end])
            tokens.append(
                Token(
                    text=self.token(token_id),
                    id=token_id,
                    segment=segment,
                    start=start,
                    end=end,
                    word=None if special else word,
                    special=special,
                )
            )
        return tokens[kept.start :]

    def _special_token(self, token_id: int, segment: int, at: int = 0) -> Token:
        return Token(
            text=self.token(token_id),
            id=token_id,
            segment=segment,
            start=at,
            end=at,
            word=None,
            special=True,
        )

    def _join(
        self, a: list[int], b: list[int], max_length: int, texts: Sequence[str]
    ) -> tuple[list[int], list[int]]:
        keep_a, keep_b = self._divide_length([len(a), len(b)], max_length, texts)
        return self._pair(a[self.kept(len(a), keep_a)], b[self.kept(len(b), keep_b)])

    def _pair(self, first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
        between = [self.sep] * self.vocabulary.separators
        ids = [self.cls, *first, *between, *second, self.sep]
        return ids, [0] * (1 + len(first) + len(between)) + [1] * (len(second) + 1)

    def kept(self, length: int, count: int) -> slice:
        """The `count` tokens that truncation keeps of `length`."""
        return slice(length - count, length) if self.vocabulary.cuts_beginning else slice(0, count)

    def _divide_length(
        self, lengths: list[int], max_length: int, texts: Sequence[str]
    ) -> list[int]:
        """Number of tokens to keep of each text; the longer one is truncated first.

        Args:
            lengths: tokens of the texts, or more than `max_length` of a longer one.
        """
        available = max(max_length - self.count_special(len(lengths)), 0)
        if sum(lengths) <= available:
            return lengths
        if len(lengths) == 1:
            return [available]
        short, half = min(lengths), available // 2
        counts = (short, available - short) if short <= half else (half, available - half)
        if short > max_length and available % 2:  # the longer text keeps the odd token
            lengths = [len(ids) for ids in self.contents(texts)]
        return list(counts) if lengths[0] <= lengths[1] else [counts[1], counts[0]]


def _text_error() -> StudioError:
    problem = phrase("The tokenizer failed on this text.")
    return StudioError(problem, "Try a different text or vocabulary.")


def _damaged_error() -> StudioError:
    problem = phrase("The tokenizer files are damaged or do not belong together.")
    return BadCheckpoint(problem, ADVICE)


@contextmanager
def _guarded(make_error: Callable[[], StudioError] = _text_error) -> Iterator[None]:
    """Convert errors and panics of the library to StudioError."""
    try:
        yield
    except (StudioError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic is no `Exception`
        raise make_error() from error


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _clean(text: str) -> str:
    """Replace lone surrogates, keeping the length."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join(
            "\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text
        )
    return text


def _window(max_length: int) -> int:
    """Number of characters that nearly always give more than `max_length` tokens."""
    return 16 * max_length + 1_000
