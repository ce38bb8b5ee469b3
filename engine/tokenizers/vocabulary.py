"""What a tokenizer is made of: the kinds of vocabulary have this in common, and WordPiece is one.

The pieces and the few settings are all of it; the library's object is built from them here, so
nothing of a foreign `tokenizer.json` but its known parts is ever carried out.
`vocabulary_folder.py` reads them from folders and files, `vocabulary_training.py` makes new ones.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as LibraryTokenizer

from engine.tokenizers.vocabulary_files import SPECIAL_KEYS, Special

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # of a piece inside a word
LONGEST_WORD = 100  # characters; longer words become one [UNK], as in the published code
LONGEST_WORD_WITHOUT_PREFIX = 1_000  # a whole reaction or sequence may stand without a space


class AnyVocabulary(ABC):
    """The pieces of a tokenizer and its settings; a subclass is one kind of it.

    `pieces` stand in the order of their ids. `special` names the pieces for padding, the unknown,
    the beginning ([CLS]), the end of a text ([SEP]) and the mask, in this order, as the vocabulary
    writes them. `added` are pieces that are never split.
    """

    kind: ClassVar[str]  # in words
    separators: ClassVar[int] = 1  # how many [SEP] stand between the two texts of a pair
    keeps_spaces: ClassVar[bool] = False  # whether the space before a word is part of a piece
    mark: ClassVar[str]  # before the pieces inside a word, or before those that begin one
    pieces: tuple[str, ...]
    special: Special
    added: tuple[str, ...]
    lowercase: bool
    marked: bool  # whether a piece shows if it begins a word or goes on one

    @abstractmethod
    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer, made of published steps only; `ids` are those of the pieces."""

    @abstractmethod
    def continues(self, piece: str) -> bool:
        """Whether a piece goes on the word of the piece before it."""

    @abstractmethod
    def essence(self) -> list[Any]:
        """All that decides how a text is encoded, as JSON can hold it."""

    @abstractmethod
    def files(self) -> dict[str, str]:
        """What lies beside `tokenizer.json` for the programs that read the older files."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """What tokenizer_config.json says of it."""

    def shown(self, piece: str) -> str:
        """A piece as a person can read it."""
        return piece

    @property
    def special_by_key(self) -> dict[str, str]:
        """The special pieces by their names in the published files."""
        return dict(zip(SPECIAL_KEYS, self.special, strict=True))


@dataclass(frozen=True)
class Vocabulary(AnyVocabulary):
    """WordPiece (Devlin et al. 2019, §3; Wu et al. 2016), cased or not, of any language."""

    kind: ClassVar[str] = "WordPiece"
    mark: ClassVar[str] = PREFIX
    pieces: tuple[str, ...]
    lowercase: bool = True
    strip_accents: bool | None = None  # None: as `lowercase`
    split_chinese: bool = True
    special: Special = SPECIAL
    added: tuple[str, ...] = ()
    marked: bool = True  # “##” begins the pieces inside a word; False: no piece is marked

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer.

        Of a vocabulary without marks it is what other programs are given; it differs from ours in
        words with an unknown character, which it takes for unknown as a whole.
        """
        unknown, cls, sep = self.special[1:4]
        library = LibraryTokenizer(
            models.WordPiece(
                ids,
                unk_token=unknown,
                max_input_chars_per_word=LONGEST_WORD
                if self.marked
                else LONGEST_WORD_WITHOUT_PREFIX,
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
        library.post_processor = pair_template(cls, sep, ids)
        library.decoder = decoders.WordPiece(prefix=PREFIX)
        library.add_special_tokens([AddedToken(p, normalized=False) for p in self.special])
        library.add_tokens([AddedToken(p, normalized=False) for p in self.added])
        return library

    def continues(self, piece: str) -> bool:
        return self.marked and piece.startswith(PREFIX)

    def essence(self) -> list[Any]:
        return [
            self.pieces,
            self.lowercase,
            self.strip_accents,
            self.split_chinese,
            self.special,
            self.added,
            self.marked,
        ]

    def files(self) -> dict[str, str]:
        """`vocab.txt`, where its lines can hold the pieces."""
        if any("\n" in piece or "\r" in piece for piece in self.pieces):
            return {}
        return {"vocab.txt": "".join(f"{piece}\n" for piece in self.pieces)}

    def config(self) -> dict[str, Any]:
        return {
            "tokenizer_class": "BertTokenizer" if self.marked else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
            **self.special_by_key,
        }


def pair_template(cls: str, sep: str, ids: dict[str, int]) -> processors.TemplateProcessing:
    """[CLS] text [SEP], and [CLS] text [SEP] second text [SEP]."""
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
    )
