"""WordPiece of BERT (Wu et al. 2016; Devlin et al. 2019, §3)."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers

from engine.tokenizers.added import Added, register_added, unusual
from engine.tokenizers.stated import NOTHING, Stated
from engine.tokenizers.vocabulary import Vocabulary, template, with_frame
from engine.tokenizers.vocabulary_files import (
    MAX_WORD,
    Special,
    parse_vocab,
    read_lines,
    special_names,
)

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # of a token inside a word
MAX_WORD_WITHOUT_PREFIX = 1_000  # a reaction or a sequence has no spaces
VOCABULARY = "vocab.txt"
SETTINGS = {  # in tokenizer_config.json, and our names
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "split_chinese",
}
NORMALIZER = {  # in the normaliser of a tokenizer.json
    "lowercase": "lowercase",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "split_chinese",
}
MAX_CACHED_WORDS = 100_000  # cached words, about 35 MB with their ids
MAX_CACHED_LENGTH = 40  # maximum characters of a cached word
RARE = 2  # use the cache if at most one word in this many is new
LEARNED = 16  # otherwise, cache one new word in this many


@dataclass(frozen=True)
class WordPiece(Vocabulary):
    """A WordPiece vocabulary of any language.

    If `marked`, “##” begins tokens inside a word. The first `own` tokens are the model's, the
    others were added; None if all are the model's.
    """

    kind: ClassVar[str] = "WordPiece"
    mark: ClassVar[str] = PREFIX
    special: Special = field(default=SPECIAL, kw_only=True)
    lowercase: bool = field(default=True, kw_only=True)
    strip_accents: bool | None = field(default=None, kw_only=True)  # None: as `lowercase`
    split_chinese: bool = field(default=True, kw_only=True)
    own: int | None = field(default=None, kw_only=True)

    @property
    def max_word(self) -> int:
        return MAX_WORD if self.marked else MAX_WORD_WITHOUT_PREFIX

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer.

        Without marks it is exported only: unlike ours, it makes a word with an unknown character
        [UNK].
        """
        own = self.tokens[: self.own]
        library = LibraryTokenizer(
            models.WordPiece(
                {token: index for index, token in enumerate(own)},
                unk_token=self.special[1],
                max_input_chars_per_word=self.max_word,
                continuing_subword_prefix=PREFIX if self.marked else "",
            )
        )
        library.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=self.split_chinese,
            strip_accents=self.strip_accents,
            lowercase=self.lowercase,
        )
        library.pre_tokenizer = (
            pre_tokenizers.BertPreTokenizer() if self.marked else pre_tokenizers.WhitespaceSplit()
        )
        library.post_processor = template(self.frame, ids)
        library.decoder = decoders.WordPiece(prefix=PREFIX)
        register_added(library, self.tokens[len(own) :], self.special, self.added)
        return library

    def continues(self, token: str) -> bool:
        return self.marked and token.startswith(PREFIX)

    def essence(self) -> list[Any]:
        settings = [self.lowercase, self.strip_accents, self.split_chinese, self.marked, self.own]
        return [self.kind, *settings, *self.common()]

    def files(self) -> dict[str, str]:
        """`vocab.txt`, if lines can hold the tokens."""
        if any("\n" in token or "\r" in token for token in self.tokens):
            return {}
        return {VOCABULARY: "".join(f"{token}\n" for token in self.tokens)}

    def named(self) -> dict[str, Any]:
        usual = self.marked and self.separators == 1
        return {
            "tokenizer_class": "BertTokenizer" if usual else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
            **self.special_by_key,
        }


def _build(
    tokens: tuple[str, ...],
    added: tuple[Added, ...],
    own: int,
    settings: dict[str, Any],
    stated: Stated,
) -> WordPiece:
    """A vocabulary with known settings; its tokens decide the others."""
    if "lowercase" not in settings:
        settings["lowercase"] = not any(map(_has_capitals, tokens[:own]))
    if "marked" not in settings:
        settings["marked"] = any(token.startswith(PREFIX) for token in tokens[:own])
    if not settings["marked"]:
        settings["split_chinese"] = False
    special = special_names(stated.config, SPECIAL)
    count = own if own < len(tokens) else None
    return WordPiece(tokens, special=special, added=added, own=count, **settings)


def _has_capitals(token: str) -> bool:
    return re.search("[A-Z]", token) is not None and not re.fullmatch(r"\[.*\]|<.*>", token)


def flags_in(config: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Flags of a file, by our names."""
    return {ours: config[key] for key, ours in names.items() if isinstance(config.get(key), bool)}


def from_lines(path: Path, lowercase: bool | None, stated: Stated = NOTHING) -> WordPiece:
    """Read a file with a token per line; `lowercase` if known."""
    lines = read_lines(path)
    ids = {token: index for index, token in enumerate(lines)}
    settings = {} if lowercase is None else {"lowercase": lowercase}
    settings |= flags_in(stated.config, SETTINGS)
    tokens, added, own = stated.merge(ids, path)
    tokens = (*lines, *tokens[len(lines) :])  # a repeated token keeps both ids
    vocabulary = _build(tokens, added, own, settings, stated)
    return replace(vocabulary, added=unusual(added, vocabulary.special))


def from_published(content: dict[str, Any], stated: Stated, path: Path) -> WordPiece | None:
    """Read a tokenizer.json; None if its steps are not BERT's."""
    model, steps = content.get("model"), content.get("normalizer")
    if not isinstance(model, dict) or not isinstance(steps, dict):
        return None
    prefix = model.get("continuing_subword_prefix", PREFIX)
    marked = prefix == PREFIX
    words = "BertPreTokenizer" if marked else "WhitespaceSplit"
    max_word = MAX_WORD if marked else MAX_WORD_WITHOUT_PREFIX
    is_bert = (
        model.get("type", "WordPiece") == "WordPiece"
        and prefix in (PREFIX, "")
        and model.get("max_input_chars_per_word", max_word) == max_word
        and content.get("pre_tokenizer") == {"type": words}
        and steps.get("type") == "BertNormalizer"
        and steps.get("clean_text") is not False
        and steps.keys() <= {"type", "clean_text", *NORMALIZER}
    )
    if not is_bert:
        return None
    settings: dict[str, Any] = {"marked": marked, **flags_in(steps, NORMALIZER)}
    if not stated.is_generic:
        settings |= flags_in(stated.config, SETTINGS)
    own = parse_vocab(model, path)
    tokens, added, count = stated.merge(own, path, content.get("added_tokens"))
    read = _build(tokens, added, count, settings, stated)
    if model.get("unk_token", read.special[1]) != read.special[1]:
        return None
    return with_frame(read, content.get("post_processor"))


def parts_at_spaces(vocabulary: Vocabulary) -> bool:
    """True if a text can be tokenized between spaces."""
    if not isinstance(vocabulary, WordPiece) or not vocabulary.marked:
        return False
    added = () if vocabulary.own is None else vocabulary.tokens[vocabulary.own :]
    reach_over = any(any(map(str.isspace, name)) for name in vocabulary.unsplit.union(added))
    return not reach_over and not any(token.normalized for token in vocabulary.added)


class WordCache:
    """Tokenizes texts word by word; most words are in the cache.

    Otherwise the library takes about 40 µs for a text of ten words.

    Args:
        encode: ids of many texts without [CLS] and [SEP]; see `parts_at_spaces`.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]) -> None:
        self._encode = encode
        self._cache: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The same ids as `encode`; thread-safe."""
        known = self._cache
        split = [text.split(" ") for text in texts]
        new = set().union(*split).difference(known)
        long = {word for word in new if len(word) > MAX_CACHED_LENGTH}
        short = list(new - long)
        if is_rare := RARE * len(new) <= sum(map(len, split)):
            known.update(self._by_word(short))
        else:
            known.update(self._by_word(short[::LEARNED]))
        if len(known) > MAX_CACHED_WORDS:
            self._cache = {}  # other threads keep the old one
        if not is_rare:
            return self._encode(texts)
        if long:
            known = known | self._by_word(list(long))
        find = known.__getitem__
        return [list(chain.from_iterable(map(find, words))) for words in split]

    def _by_word(self, words: list[str]) -> dict[str, list[int]]:
        return dict(zip(words, self._encode(words), strict=True)) if words else {}


@dataclass
class MatchedTokens:
    """Tokens of a text, with the field names of the library."""

    ids: list[int] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)  # characters of the text
    word_ids: list[int | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


class LongestMatch:
    """Greedy longest match for vocabularies without marks, as for chemistry and proteins.

    Every token is a word of its own, with or without white space in between. A character that
    starts no token is unknown.
    """

    def __init__(self, ids: dict[str, int], unknown: int, lowercase: bool) -> None:
        self._ids, self._unknown, self._lowercase = ids, unknown, lowercase
        lengths: dict[str, set[int]] = {}
        for token in ids:
            lengths.setdefault(token[:1], set()).add(len(token))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def encode(self, text: str, limit: int | None = None) -> MatchedTokens:
        """Tokenize a text, or its start if it has more than `limit` tokens."""
        searched = self._lowered(text) if self._lowercase else text
        matched, position = MatchedTokens(), 0
        while position < len(text) and (limit is None or len(matched) <= limit):
            token_id, end = self._match_at(text, searched, position)
            if token_id is not None:
                matched.ids.append(token_id)
                matched.offsets.append((position, end))
                matched.word_ids.append(len(matched.word_ids))
            position = end
        return matched

    def _match_at(self, text: str, lowered: str, position: int) -> tuple[int | None, int]:
        """The token at a position, None for skipped characters, and its end."""
        for searched in (text, lowered) if self._lowercase else (text,):
            for length in self._lengths.get(searched[position], ()):
                token_id = self._ids.get(searched[position : position + length])
                if token_id is not None:
                    return token_id, min(position + length, len(text))
        character = text[position]
        silent = character.isspace() or unicodedata.category(character).startswith("C")
        return None if silent else self._unknown, position + 1

    def _lowered(self, text: str) -> str:
        """Lowercase the text character by character, keeping positions."""
        return "".join(low if len(low := c.lower()) == 1 else c for c in text)
