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

from engine.tokenizers.added import Added, drop_default_special, register_added
from engine.tokenizers.declared import NO_SETTINGS, Settings
from engine.tokenizers.vocabulary import Vocabulary, build_post_processor, with_template
from engine.tokenizers.vocabulary_files import (
    MAX_WORD,
    Special,
    parse_vocab,
    read_lines,
    special_names,
)

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # marks continuation tokens
MAX_WORD_WITHOUT_PREFIX = 1_000  # chemical reactions and protein sequences have no spaces
VOCABULARY = "vocab.txt"
SETTINGS = {  # keys of tokenizer_config.json → fields of WordPiece
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "split_chinese",
}
NORMALIZER = {  # keys of the normaliser in a tokenizer.json → fields of WordPiece
    "lowercase": "lowercase",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "split_chinese",
}
MAX_CACHED_WORDS = 100_000  # about 35 MB with their ids
MAX_CACHED_LENGTH = 40  # characters of a cached word
MAX_NEW_FRACTION = 0.5  # with more new words, the cache is not used
CACHE_EVERY = 16  # then, one new word in 16 is cached


@dataclass(frozen=True)
class WordPiece(Vocabulary):
    """A WordPiece vocabulary and its normalisation settings.

    If `marked`, continuation tokens start with “##”. The first `base_size` tokens belong to the
    model, the others were added; None if all belong to it.
    """

    kind: ClassVar[str] = "WordPiece"
    mark: ClassVar[str] = PREFIX
    special: Special = field(default=SPECIAL, kw_only=True)
    lowercase: bool = field(default=True, kw_only=True)
    strip_accents: bool | None = field(default=None, kw_only=True)  # None: as `lowercase`
    split_chinese: bool = field(default=True, kw_only=True)
    base_size: int | None = field(default=None, kw_only=True)

    @property
    def max_word(self) -> int:
        return MAX_WORD if self.marked else MAX_WORD_WITHOUT_PREFIX

    def to_library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """Build the library's tokenizer.

        Without marks it serves for export only: unlike `LongestMatch`, it maps words with an
        unknown character to [UNK].
        """
        base = self.tokens[: self.base_size]
        library = LibraryTokenizer(
            models.WordPiece(
                {token: index for index, token in enumerate(base)},
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
        library.post_processor = build_post_processor(self.template, ids)
        library.decoder = decoders.WordPiece(prefix=PREFIX)
        register_added(library, self.tokens[len(base) :], self.special, self.added)
        return library

    def continues(self, token: str) -> bool:
        return self.marked and token.startswith(PREFIX)

    def fingerprint_fields(self) -> list[Any]:
        settings = [self.lowercase, self.strip_accents, self.split_chinese, self.marked]
        return [self.kind, *settings, self.base_size, *self.common_fields()]

    def files(self) -> dict[str, str]:
        """`vocab.txt`; empty if a token contains a line break."""
        if any("\n" in token or "\r" in token for token in self.tokens):
            return {}
        return {VOCABULARY: "".join(f"{token}\n" for token in self.tokens)}

    def class_config(self) -> dict[str, Any]:
        is_bert = self.marked and self.separators == 1
        return {
            "tokenizer_class": "BertTokenizer" if is_bert else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
            **self.special_by_key,
        }


def _build(
    tokens: tuple[str, ...],
    added: tuple[Added, ...],
    base_size: int,
    settings: dict[str, Any],
    declared: Settings,
) -> WordPiece:
    """Build a vocabulary; the tokens decide the settings that are not given."""
    if "lowercase" not in settings:
        settings["lowercase"] = not any(map(_has_capitals, tokens[:base_size]))
    if "marked" not in settings:
        settings["marked"] = any(token.startswith(PREFIX) for token in tokens[:base_size])
    if not settings["marked"]:
        settings["split_chinese"] = False
    special = special_names(declared.config, SPECIAL)
    size = base_size if base_size < len(tokens) else None
    return WordPiece(tokens, special=special, added=added, base_size=size, **settings)


def _has_capitals(token: str) -> bool:
    return re.search("[A-Z]", token) is not None and not re.fullmatch(r"\[.*\]|<.*>", token)


def flags_in(config: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The boolean settings of a file, renamed by `names`."""
    return {ours: config[key] for key, ours in names.items() if isinstance(config.get(key), bool)}


def from_lines(path: Path, lowercase: bool | None, declared: Settings = NO_SETTINGS) -> WordPiece:
    """Read a vocab.txt; if `lowercase` is None, the config or the tokens decide."""
    lines = read_lines(path)
    ids = {token: index for index, token in enumerate(lines)}
    settings = {} if lowercase is None else {"lowercase": lowercase}
    settings |= flags_in(declared.config, SETTINGS)
    tokens, added, base_size = declared.merge(ids, path)
    tokens = (*lines, *tokens[len(lines) :])  # a repeated token keeps both ids
    vocabulary = _build(tokens, added, base_size, settings, declared)
    return replace(vocabulary, added=drop_default_special(added, vocabulary.special))


def from_json(content: dict[str, Any], declared: Settings, path: Path) -> WordPiece | None:
    """Read a tokenizer.json; None if its steps are not BERT's."""
    model, steps = content.get("model"), content.get("normalizer")
    if not isinstance(model, dict) or not isinstance(steps, dict):
        return None
    prefix = model.get("continuing_subword_prefix", PREFIX)
    marked = prefix == PREFIX
    pre_tokenizer = "BertPreTokenizer" if marked else "WhitespaceSplit"
    max_word = MAX_WORD if marked else MAX_WORD_WITHOUT_PREFIX
    is_bert = (
        model.get("type", "WordPiece") == "WordPiece"
        and prefix in (PREFIX, "")
        and model.get("max_input_chars_per_word", max_word) == max_word
        and content.get("pre_tokenizer") == {"type": pre_tokenizer}
        and steps.get("type") == "BertNormalizer"
        and steps.get("clean_text") is not False
        and steps.keys() <= {"type", "clean_text", *NORMALIZER}
    )
    if not is_bert:
        return None
    settings: dict[str, Any] = {"marked": marked, **flags_in(steps, NORMALIZER)}
    if not declared.is_generic:
        settings |= flags_in(declared.config, SETTINGS)
    ids = parse_vocab(model, path)
    tokens, added, base_size = declared.merge(ids, path, content.get("added_tokens"))
    vocabulary = _build(tokens, added, base_size, settings, declared)
    unknown = vocabulary.special[1]
    if model.get("unk_token", unknown) != unknown:
        return None
    return with_template(vocabulary, content.get("post_processor"))


def splits_at_spaces(vocabulary: Vocabulary) -> bool:
    """True if texts can be tokenized word by word."""
    if not isinstance(vocabulary, WordPiece) or not vocabulary.marked:
        return False
    added = () if vocabulary.base_size is None else vocabulary.tokens[vocabulary.base_size :]
    contain_spaces = any(any(map(str.isspace, name)) for name in vocabulary.unsplit.union(added))
    return not contain_spaces and not any(token.normalized for token in vocabulary.added)


class WordCache:
    """Tokenizes texts word by word; most words are in the cache.

    The library alone takes about 40 µs for a text of ten words.

    Args:
        encode: ids of many texts without [CLS] and [SEP]; see `splits_at_spaces`.
    """

    def __init__(self, encode: Callable[[list[str]], list[list[int]]]) -> None:
        self._encode = encode
        self._cache: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The same ids as `encode`; thread-safe."""
        known = self._cache
        split = [text.split(" ") for text in texts]
        new = set().union(*split).difference(known)
        long_words = {word for word in new if len(word) > MAX_CACHED_LENGTH}
        short_words = list(new - long_words)
        uses_cache = len(new) <= MAX_NEW_FRACTION * sum(map(len, split))
        known.update(self._by_word(short_words if uses_cache else short_words[::CACHE_EVERY]))
        if len(known) > MAX_CACHED_WORDS:
            self._cache = {}  # other threads keep the old one
        if not uses_cache:
            return self._encode(texts)
        if long_words:
            known = known | self._by_word(list(long_words))
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
    """Greedy longest match for vocabularies without marks, such as for chemistry and proteins.

    Every token counts as a word, even without white space between tokens. A character that starts
    no token is unknown.
    """

    def __init__(self, ids: dict[str, int], unknown: int, lowercase: bool) -> None:
        self._ids, self._unknown, self._lowercase = ids, unknown, lowercase
        lengths: dict[str, set[int]] = {}
        for token in ids:
            lengths.setdefault(token[:1], set()).add(len(token))
        self._lengths = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}

    def encode(self, text: str, limit: int | None = None) -> MatchedTokens:
        """Tokenize a text, or its start if it has more than `limit` tokens."""
        searched = self._lowercase_text(text) if self._lowercase else text
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
        """Return the token at a position (None for a skipped character) and its end."""
        for searched in (text, lowered) if self._lowercase else (text,):
            for length in self._lengths.get(searched[position], ()):
                token_id = self._ids.get(searched[position : position + length])
                if token_id is not None:
                    return token_id, min(position + length, len(text))
        character = text[position]
        is_skipped = character.isspace() or unicodedata.category(character).startswith("C")
        return None if is_skipped else self._unknown, position + 1

    def _lowercase_text(self, text: str) -> str:
        """Lowercase the text character by character, keeping positions."""
        return "".join(low if len(low := c.lower()) == 1 else c for c in text)
