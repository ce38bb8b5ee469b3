"""How well guessed spans of tokens fit the true ones, as conlleval and seqeval count them.

A guessed span is right where its type and both its ends are those of a true one (Tjong Kim Sang and
De Meulder 2003, §2.2).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.data.tags import Scheme, lawful_spans, spans


class SpanFigures(BaseModel):
    """The spans of one type. A figure with nothing to divide by is 0."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="Empty where the tags name no type.")
    precision: float
    recall: float
    f1: float
    support: int = Field(description="How many spans there are in truth.")


class TagReport(BaseModel):
    """All figures of one evaluation. A figure with nothing to divide by is 0."""

    model_config = ConfigDict(frozen=True)

    sentences: int
    tokens: int
    accuracy: float = Field(description="Share of the tokens whose tag is right, O included.")
    precision: float = Field(description="Share of the guessed spans that are right.")
    recall: float = Field(description="Share of the true spans that were found.")
    f1: float = Field(description="Of all spans, whatever their type (micro).")
    types: tuple[SpanFigures, ...] = Field(description="Sorted by type.")

    def to_json(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return self.model_dump(mode="json")


def report(
    true: Sequence[Sequence[str]], guessed: Sequence[Sequence[str]], strict: Scheme | None = None
) -> TagReport:
    """All figures of some sentences, each given as the tags of its tokens.

    Args:
        true: the tags as they should be.
        guessed: as many tags in every sentence.
        strict: count only spans that are written as this scheme wants. None: count whatever
            conlleval takes for a span.

    Raises:
        UnknownTag: for a tag of no scheme.
        ValueError: where the numbers of sentences or tokens differ.
    """
    tokens = same = 0
    right, support, found = Counter[str](), Counter[str](), Counter[str]()
    for wanted, given in zip(true, guessed, strict=True):
        same += sum(a == b for a, b in zip(wanted, given, strict=True))
        tokens += len(wanted)
        ours, theirs = (
            set(spans(tags) if strict is None else lawful_spans(tags, strict))
            for tags in (wanted, given)
        )
        support.update(span.type for span in ours)
        found.update(span.type for span in theirs)
        right.update(span.type for span in ours & theirs)
    precision, recall, f1 = _figures(right.total(), found.total(), support.total())
    return TagReport(
        sentences=len(true),
        tokens=tokens,
        accuracy=_ratio(same, tokens),
        precision=precision,
        recall=recall,
        f1=f1,
        types=tuple(
            _of_type(type_, right[type_], found[type_], support[type_])
            for type_ in sorted(support | found)
        ),
    )


def _of_type(type_: str, right: int, found: int, support: int) -> SpanFigures:
    precision, recall, f1 = _figures(right, found, support)
    return SpanFigures(type=type_, precision=precision, recall=recall, f1=f1, support=support)


def _figures(right: int, found: int, support: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of so many spans."""
    return _ratio(right, found), _ratio(right, support), _ratio(2 * right, found + support)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
