"""When two texts are equal for a split and for the checks, and which texts of a row count."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from engine.spec.dataset import Mapping

BETWEEN = "\0"  # what stands in no text, or is found out
WHITE = "\t\n\v\f\r\x1c\x1d\x1e\x1f"  # white space of ASCII but for the blank


def plain_text(text: str) -> str:
    """What equal texts have in common: NFKC, without case, any white space as one blank."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def plain_all(texts: Sequence[str]) -> list[str]:
    """`plain_text` of each, in a third of the time where most are ASCII with single blanks."""
    simple = [text for text in texts if text.isascii()]
    joined = BETWEEN.join(simple).lower()
    blank = np.frombuffer(joined.encode("ascii"), dtype=np.uint8) == ord(" ")
    is_odd = joined.count(BETWEEN) != max(len(simple) - 1, 0)
    if is_odd or (blank[1:] & blank[:-1]).any() or any(sign in joined for sign in WHITE):
        return [plain_text(text) for text in texts]
    parts = iter([part.strip(" ") for part in joined.split(BETWEEN)])
    return [next(parts) if text.isascii() else plain_text(text) for text in texts]


def texts_of(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose texts make a row; where all are equal, the row is the same."""
    others = (name for name in (mapping.beginning, mapping.negative) if name is not None)
    return (*mapping.texts, *others, *mapping.endings)


def texts_that_group(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose equal texts keep rows in one split: the passage of a question, else all."""
    if mapping.pair is not None and mapping.answers is not None:
        return (mapping.pair,)
    return texts_of(mapping)
