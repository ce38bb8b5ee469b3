"""One word in several texts: the similarity of its vectors after every layer."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import AblationQuestion
from engine.messages.question import Answer


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
