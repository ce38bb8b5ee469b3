"""The parts of a tokenizer that WordPiece, byte-level BPE and Unigram share.

The library's object is built from tokens and settings, so only known steps of an untrusted
`tokenizer.json` are run. `folder.py` reads vocabularies, `training.py` learns them.
"""

from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import processors

from engine.tokenizers.added import Added, drop_default_special
from engine.tokenizers.declared import SEGMENTS
from engine.tokenizers.template import Template, UnknownTemplate, parse_template
from engine.tokenizers.vocabulary_files import MAX_WORD, SPECIAL_KEYS, Special

if TYPE_CHECKING:  # lets the window import this without NumPy
    import numpy as np
    from numpy.typing import NDArray

AnyVocabulary = TypeVar("AnyVocabulary", bound="Vocabulary")


@dataclass(frozen=True)
class Vocabulary(ABC):
    """Tokens and settings of a tokenizer; each subclass is a kind.

    Args:
        tokens: in the order of their ids.
        special: padding, unknown, start ([CLS]), end of a text ([SEP]) and mask, as the vocabulary
            writes them.
        added: tokens that are never split, and special tokens without the default flags.
        lowercase: capitals are lost.
        marked: tokens show if they begin or continue a word.
        separators: number of [SEP] between two texts.
        second_segment: segment of a second text; 0 without segment ids.
        cuts_beginning: long texts are truncated at the start, not at the end.
        max_length: stated maximum of tokens of an input, which affects no id; None: not stated.
    """

    kind: ClassVar[str]  # for display
    keeps_spaces: ClassVar[bool] = False  # tokens include the space before a word

    tokens: tuple[str, ...]
    special: Special = field(kw_only=True)
    added: tuple[Added, ...] = field(default=(), kw_only=True)
    lowercase: bool = field(default=False, kw_only=True)
    marked: bool = field(default=True, kw_only=True)
    separators: int = field(default=1, kw_only=True)
    second_segment: int = field(default=1, kw_only=True)
    cuts_beginning: bool = field(default=False, kw_only=True)
    max_length: int | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def mark(self) -> str:
        """Mark of the tokens inside a word, or of those that begin a word."""

    @property
    def max_word(self) -> int:
        """Maximum characters of a word that is tokenized."""
        return MAX_WORD

    @property
    def template(self) -> Template:
        """The special tokens around texts."""
        return Template(self.special[2], self.special[3], self.separators, self.second_segment)

    @abstractmethod
    def to_library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """Build the library's tokenizer from the ids of the tokens."""

    @abstractmethod
    def continues(self, token: str) -> bool:
        """True if a token continues a word."""

    @abstractmethod
    def fingerprint_fields(self) -> list[Any]:
        """Everything that affects encoding, for JSON."""

    def common_fields(self) -> list[Any]:
        """The part of `fingerprint_fields` that all kinds share."""
        template = [self.separators, self.second_segment, self.cuts_beginning]
        return [self.tokens, self.special, [astuple(token) for token in self.added], *template]

    @abstractmethod
    def files(self) -> dict[str, str]:
        """Older files to write next to `tokenizer.json`."""

    def config(self) -> dict[str, Any]:
        """Entries of tokenizer_config.json."""
        inputs = ["input_ids", *[SEGMENTS] * self.second_segment, "attention_mask"]
        side = {"truncation_side": "left"} if self.cuts_beginning else {}
        return {**self.class_config(), "model_input_names": inputs, **side}

    @abstractmethod
    def class_config(self) -> dict[str, Any]:
        """The class in transformers and its arguments."""

    def for_words(self) -> "Vocabulary":
        """The vocabulary for pre-split words, which are encoded as if preceded by a space."""
        return self

    def continuation_mask(self, ids: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """True for tokens that continue a word, bool […, T] for int64 […, T]."""
        continues: NDArray[np.bool_] = self.continuation_flags[ids]
        return continues

    @cached_property
    def continuation_flags(self) -> "NDArray[np.bool_]":
        """True for tokens that continue a word, bool [V]."""
        import numpy as np

        return np.array([self.continues(token) for token in self.tokens], dtype=np.bool_)

    @cached_property
    def unsplit(self) -> frozenset[str]:
        """Tokens that are never split."""
        return frozenset((*self.special, *(token.content for token in self.added)))

    def display_form(self, token: str) -> str:
        """Display form of a token."""
        return token

    @property
    def special_by_key(self) -> dict[str, str]:
        """Special tokens by their names in published files."""
        pairs = zip(SPECIAL_KEYS, self.special, strict=True)
        return {key: name for key, name in pairs if name in self.tokens}


def with_template(vocabulary: AnyVocabulary, processor: object) -> AnyVocabulary | None:
    """Apply the template of a tokenizer.json, if any; None if it is not supported."""
    try:
        template = parse_template(processor) or vocabulary.template
    except UnknownTemplate:
        return None
    pad, unknown, _, _, mask = vocabulary.special
    special = (pad, unknown, template.cls, template.sep, mask)
    return replace(
        vocabulary,
        special=special,
        added=drop_default_special(vocabulary.added, special),
        separators=template.separators,
        second_segment=template.second_segment,
    )


def build_post_processor(template: Template, ids: dict[str, int]) -> processors.TemplateProcessing:
    """Convert a template for the library."""
    cls, sep, second = template.cls, template.sep, template.second_segment
    between = f"{sep}:0 " * template.separators
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {between}$B:{second} {sep}:{second}",
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
