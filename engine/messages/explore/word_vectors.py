"""Vectors of a word: their similarity in several texts, and their nearest neighbours."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import AblationQuestion
from engine.messages.explore.text_set import SetAnswer, SetQuestion
from engine.messages.question import Answer

TOP = 20  # neighbours by default
SUFFIXES = (".parquet", ".npy", ".jsonl")  # of saved vectors, the default first
TEXTS = ".texts.csv"  # of the file next to a .npy, with the texts of its rows


class WordPlace(Message):
    """An occurrence of the word: the index of the text, and its characters."""

    text: int
    start: int
    end: int


class WordLayer(Message):
    """One layer; layer 0 is the embeddings. N occurrences of the word."""

    cosines: tuple[tuple[float, ...], ...] = Field(description="N times N.")
    static: tuple[float, ...] = Field(
        description="N, to the word's rows of the token embedding; empty where they are narrower."
    )
    random: float = Field(description="Mean of random pairs of tokens from different texts.")

    @property
    def mean(self) -> float | None:
        """Mean over the pairs of occurrences; None for fewer than two."""
        count = len(self.cosines)
        if count < 2:
            return None
        pairs = [self.cosines[a][b] for a in range(count) for b in range(a)]
        return sum(pairs) / len(pairs)


class WordCompared(Answer):
    """Every occurrence of the word in the texts, and L + 1 layers."""

    kind: Literal["word_compared"] = "word_compared"
    word: str
    texts: tuple[str, ...]
    places: tuple[WordPlace, ...]
    layers: tuple[WordLayer, ...]
    missing: tuple[int, ...] = Field((), description="Numbers of the texts without the word.")


class CompareWord(AblationQuestion):
    """Compare the vectors of a word, the means of its tokens, in several texts.

    Cosines are high between any two vectors of an upper layer; those of 1,000 random pairs of
    tokens show how high (Ethayarajh 2019, §3.4).
    """

    answered_by: ClassVar[type[Answer]] = WordCompared
    kind: Literal["compare_word"] = "compare_word"
    checkpoint: Path
    word: str
    texts: tuple[str, ...]


class NearToken(Message):
    """A token of the vocabulary, and the cosine of its row with the vector."""

    token: str
    cosine: float


class TokensFound(Answer):
    """The nearest rows of the token embedding, the nearest first."""

    kind: Literal["tokens_found"] = "tokens_found"
    tokens: tuple[NearToken, ...]
    rows: int = Field(description="Rows of the token embedding.")


class FindTokens(AblationQuestion):
    """Find the rows of the token embedding nearest to a word, the mean of its tokens, after a
    layer.

    The word is the characters from `start` to `end` of `text`; layer 0 is the embeddings.
    """

    answered_by: ClassVar[type[Answer]] = TokensFound
    kind: Literal["find_tokens"] = "find_tokens"
    checkpoint: Path
    text: str
    start: int
    end: int
    layer: int = Field(ge=0)
    top: int = Field(TOP, ge=1)


class NearWord(Message):
    """A word of one of the texts, as the characters from `start` to `end` of `text`."""

    row: int = Field(description="Number of its text among the texts, from 0.")
    text: str
    start: int
    end: int
    cosine: float


class WordsFound(SetAnswer):
    """The nearest words in the texts, the nearest first."""

    kind: Literal["words_found"] = "words_found"
    words: tuple[NearWord, ...]
    vectors: int = Field(description="Words that are compared.")


class FindWords(SetQuestion):
    """Find the words of many texts nearest to a word of a text, after a layer.

    The vectors of all words are cached in 16 bits, and the next words are answered from them. The
    word itself is left out if its text is among the texts.
    """

    answered_by = WordsFound
    free: ClassVar[frozenset[str]] = frozenset({"text", "start", "end", "top"})
    kind: Literal["find_words"] = "find_words"
    text: str
    start: int
    end: int
    layer: int = Field(ge=0)
    top: int = Field(TOP, ge=1)


class WordVectorsSaved(SetAnswer):
    """The vectors of `vectors` occurrences are in `file`; the model does not read `unread` more."""

    kind: Literal["word_vectors_saved"] = "word_vectors_saved"
    file: Path
    vectors: int = 0
    unread: int = 0

    @property
    def texts(self) -> Path | None:
        """The file with the texts, if `file` has only the vectors."""
        return self.file.with_suffix(TEXTS) if self.file.suffix.lower() == ".npy" else None


class SaveWordVectors(SetQuestion):
    """Write the vectors of a word after a layer, in all texts that have it, to a file.

    The suffix decides: .parquet or .jsonl with the texts, or .npy with a .texts.csv.
    """

    answered_by = WordVectorsSaved
    kind: Literal["save_word_vectors"] = "save_word_vectors"
    word: str
    layer: int | None = Field(None, ge=0, description="None: the last.")
    file: Path
