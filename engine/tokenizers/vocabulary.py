"""What a tokenizer is made of: what WordPiece, byte-level BPE and Unigram have in common.

The tokens and the few settings are all of it; the library's object is built from them here, so
nothing of a foreign `tokenizer.json` but its known parts is ever carried out.
`folder.py` reads them from folders and files, `training.py` makes new ones.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import processors

from engine.tokenizers.vocabulary_files import SPECIAL_KEYS, Special


class Vocabulary(ABC):
    """The tokens of a tokenizer and its settings; a subclass is one kind of it.

    `tokens` stand in the order of their ids. `special` names the tokens for padding, the unknown,
    the beginning ([CLS]), the end of a text ([SEP]) and the mask, in this order, as the vocabulary
    writes them. `added` are tokens that are never split.
    """

    kind: ClassVar[str]  # in words
    separators: ClassVar[int] = 1  # how many [SEP] stand between the two texts of a pair
    keeps_spaces: ClassVar[bool] = False  # whether the space before a word is part of a token
    mark: ClassVar[str]  # before the tokens inside a word, or before those that begin one
    tokens: tuple[str, ...]
    special: Special
    added: tuple[str, ...]
    lowercase: bool
    marked: bool  # whether a token shows if it begins a word or goes on one

    @abstractmethod
    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer, made of published steps only; `ids` are those of the tokens."""

    @abstractmethod
    def continues(self, token: str) -> bool:
        """Whether a token goes on the word of the token before it."""

    @abstractmethod
    def essence(self) -> list[Any]:
        """All that decides how a text is encoded, as JSON can hold it."""

    @abstractmethod
    def files(self) -> dict[str, str]:
        """What lies beside `tokenizer.json` for the programs that read the older files."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """What tokenizer_config.json says of it."""

    def shown(self, token: str) -> str:
        """A token as a person can read it."""
        return token

    @property
    def special_by_key(self) -> dict[str, str]:
        """The special tokens by their names in the published files."""
        return dict(zip(SPECIAL_KEYS, self.special, strict=True))


def pair_template(cls: str, sep: str, ids: dict[str, int]) -> processors.TemplateProcessing:
    """[CLS] text [SEP], and [CLS] text [SEP] second text [SEP]."""
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
