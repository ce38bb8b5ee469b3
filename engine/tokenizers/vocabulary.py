"""What a tokenizer is made of: what WordPiece, byte-level BPE and Unigram have in common.

The tokens and the few settings are all of it; the library's object is built from them here, so
nothing of a foreign `tokenizer.json` but steps that are known by name is ever carried out.
`folder.py` reads them from folders and files, `training.py` makes new ones.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import processors

from engine.tokenizers.added import Added, unusual
from engine.tokenizers.frame import Frame, UnknownFrame, frame_of
from engine.tokenizers.stated import SEGMENTS
from engine.tokenizers.vocabulary_files import LONGEST_WORD, SPECIAL_KEYS, Special

if TYPE_CHECKING:  # the window, which only reads how tokenizers are made, opens without NumPy
    import numpy as np
    from numpy.typing import NDArray

Known = TypeVar("Known", bound="Vocabulary")


@dataclass(frozen=True)
class Vocabulary(ABC):
    """The tokens of a tokenizer and its settings; a subclass is one kind of it.

    Args:
        tokens: in the order of their ids.
        special: the tokens for padding, the unknown, the beginning ([CLS]), the end of a text
            ([SEP]) and the mask, in this order, as the vocabulary writes them.
        added: tokens that are never split; flags of special tokens, too, where they are not usual.
        lowercase: whether capitals are lost.
        marked: whether a token shows if it begins a word or goes on one.
        separators: how many [SEP] stand between the two texts of a pair.
        second_segment: the segment of a second text; 0 where the network is not told of it.
        cuts_beginning: whether a text that is too long loses its beginning, and not its end.
    """

    kind: ClassVar[str]  # in words
    keeps_spaces: ClassVar[bool] = False  # whether the space before a word is part of a token

    tokens: tuple[str, ...]
    special: Special = field(kw_only=True)
    added: tuple[Added, ...] = field(default=(), kw_only=True)
    lowercase: bool = field(default=False, kw_only=True)
    marked: bool = field(default=True, kw_only=True)
    separators: int = field(default=1, kw_only=True)
    second_segment: int = field(default=1, kw_only=True)
    cuts_beginning: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def mark(self) -> str:
        """What stands before the tokens inside a word, or before those that begin one."""

    @property
    def longest_word(self) -> int:
        """Characters of a word that is still split into tokens."""
        return LONGEST_WORD

    @property
    def frame(self) -> Frame:
        """What stands around the texts."""
        return Frame(self.special[2], self.special[3], self.separators, self.second_segment)

    @abstractmethod
    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer, made of published steps only; `ids` are those of the tokens."""

    @abstractmethod
    def continues(self, token: str) -> bool:
        """Whether a token goes on the word of the token before it."""

    @abstractmethod
    def essence(self) -> list[Any]:
        """All that decides how a text is encoded, as JSON can hold it."""

    def common(self) -> list[Any]:
        """The part of it that every kind has."""
        around = [self.separators, self.second_segment, self.cuts_beginning]
        return [self.tokens, self.special, [one.essence() for one in self.added], *around]

    @abstractmethod
    def files(self) -> dict[str, str]:
        """What lies beside `tokenizer.json` for the programs that read the older files."""

    def config(self) -> dict[str, Any]:
        """What tokenizer_config.json says of it."""
        inputs = ["input_ids", *[SEGMENTS] * self.second_segment, "attention_mask"]
        side = {"truncation_side": "left"} if self.cuts_beginning else {}
        return {**self.named(), "model_input_names": inputs, **side}

    @abstractmethod
    def named(self) -> dict[str, Any]:
        """Its class in transformers, and what that takes."""

    def for_words(self) -> "Vocabulary":
        """The one for texts that come as words: each is split as if a space stood before it."""
        return self

    def continued(self, ids: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """Which tokens go on the word of the token before them, of int64 […, T]."""
        continues: NDArray[np.bool_] = self.continuing[ids]
        return continues

    @cached_property
    def continuing(self) -> "NDArray[np.bool_]":
        """bool [V], True for tokens that go on a word."""
        import numpy as np

        return np.array([self.continues(token) for token in self.tokens], dtype=np.bool_)

    @cached_property
    def unsplit(self) -> frozenset[str]:
        """The tokens that are never split."""
        return frozenset((*self.special, *(one.content for one in self.added)))

    def shown(self, token: str) -> str:
        """A token as a person can read it."""
        return token

    @property
    def special_by_key(self) -> dict[str, str]:
        """The special tokens by their names in the published files."""
        return dict(zip(SPECIAL_KEYS, self.special, strict=True))


def framed(vocabulary: Known, processor: object) -> Known | None:
    """The vocabulary with the frame that a tokenizer.json describes; its own where none is there.

    None where the tokens stand otherwise around a text than in a frame.
    """
    try:
        frame = frame_of(processor) or vocabulary.frame
    except UnknownFrame:
        return None
    pad, unknown, _, _, mask = vocabulary.special
    special = (pad, unknown, frame.cls, frame.sep, mask)
    return replace(
        vocabulary,
        special=special,
        added=unusual(vocabulary.added, special),
        separators=frame.separators,
        second_segment=frame.second_segment,
    )


def template(frame: Frame, ids: dict[str, int]) -> processors.TemplateProcessing:
    """The library's form of a frame."""
    cls, sep, second = frame.cls, frame.sep, frame.second_segment
    between = f"{sep}:0 " * frame.separators
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {between}$B:{second} {sep}:{second}",
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
