"""When two texts are equal for a split and for the checks, and which texts of a row count."""

import unicodedata

from engine.spec.dataset import Mapping


def plain_text(text: str) -> str:
    """What equal texts have in common: NFKC, without case, any white space as one blank."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def texts_of(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose texts make a row; where all are equal, the row is the same."""
    others = (name for name in (mapping.beginning, mapping.negative) if name is not None)
    return (*mapping.texts, *others, *mapping.endings)


def texts_that_group(mapping: Mapping) -> tuple[str, ...]:
    """The columns whose equal texts keep rows in one split: the passage of a question, else all."""
    if mapping.pair is not None and mapping.answers is not None:
        return (mapping.pair,)
    return texts_of(mapping)
