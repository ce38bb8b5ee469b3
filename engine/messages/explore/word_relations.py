"""Words in a file of static vectors, in the model's embedding rows and in its layers."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import AblationQuestion
from engine.messages.explore.word_vectors import NearToken, WordPlace
from engine.messages.question import Answer

TOP = 10


class WordSpace(Message):
    """The words in one space: a file, the rows of the token embedding, or a layer.

    The vector of a word is in rows the mean of its tokens, in a layer the mean over the occurrences
    in the texts, or that of one occurrence. Words are left out of their own neighbours.
    """

    name: Literal["file", "rows", "layer"]
    layer: int = Field(0, description="Index of a layer; 0 is the embeddings.")
    place: WordPlace | None = Field(None, description="The occurrence, if of one.")
    missing: tuple[str, ...] = Field((), description="Words that have no vector here.")
    read_as: tuple[str, ...] = Field((), description="Found words, spelled as the space has them.")
    cosines: tuple[float | None, ...] = Field((), description="Of the pairs (0, 1), (0, 2), …")
    nearest: tuple[NearToken, ...] = Field(
        (), description="To the sum with its signs, the nearest first; none if a word is missing."
    )
    searched: int = Field(0, description="Number of vectors among which; 0: not searched.")


class WordsRelated(Answer):
    """The file, the rows, and every layer or, of a single word, every occurrence."""

    kind: Literal["words_related"] = "words_related"
    words: tuple[str, ...]
    signs: tuple[int, ...]
    texts: tuple[str, ...]
    spaces: tuple[WordSpace, ...]


class RelateWords(AblationQuestion):
    """Compare words, and find what is nearest to their sum with signs, in all spaces."""

    answered_by: ClassVar[type[Answer]] = WordsRelated
    kind: Literal["relate_words"] = "relate_words"
    checkpoint: Path
    words: tuple[str, ...] = Field(min_length=1)
    signs: tuple[int, ...] = Field(description="1 or -1 for each word.")
    vectors: Path | None = Field(None, description="Folder of imported word vectors.")
    texts: tuple[str, ...] = ()
    layer: int = Field(0, ge=0)
    top: int = Field(TOP, ge=1)
