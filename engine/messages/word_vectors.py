"""Import of a file of static word vectors."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question
from engine.phrases import Phrase, phrase


class VectorFacts(Message):
    """A converted file of word vectors."""

    file: str = Field(description="Name of the file that was converted.")
    form: Literal["glove", "text", "binary"]  # the last two with the first line of word2vec
    words: int = Field(ge=0)
    size: int = Field(ge=1, description="Numbers of a vector.")
    duplicates: int = Field(0, description="Words left out because an equal one comes before.")
    not_utf8: int = Field(0, description="Words left out because they are not valid UTF-8.")
    first_not_utf8: int = Field(0, description="Line or entry of the first of them, from 1.")
    has_capitals: bool = True
    bytes: int = Field(0, description="Size on disk.")

    def remarks(self) -> tuple[Phrase, ...]:
        """Notes on words that were left out and on the lookup of words, a sentence each."""
        sentences = list[Phrase]()
        if self.duplicates:
            sentences.append(
                phrase(
                    "{n} word(s) left out, because the file has an equal one before.",
                    n=self.duplicates,
                )
            )
        if self.not_utf8:
            sentences.append(
                phrase(
                    "{n} word(s) left out, because they are not valid UTF-8; the first is "
                    "number {first}. If there are many, convert the file to UTF-8.",
                    n=self.not_utf8,
                    first=self.first_not_utf8,
                )
            )
        if self.has_capitals:
            rule = phrase("A word is looked up as it is written, then in lower case.")
        else:
            rule = phrase("All words are in lower case, and so is a word that is looked up.")
        return (*sentences, rule)


class VectorsImported(Answer):
    kind: Literal["vectors_imported"] = "vectors_imported"
    folder: Path
    facts: VectorFacts


class ImportVectors(Question):
    """Convert an untrusted file of word vectors into `into`, which appears whole or not at all."""

    answered_by: ClassVar[type[Answer]] = VectorsImported
    kind: Literal["import_vectors"] = "import_vectors"
    file: Path
    into: Path
