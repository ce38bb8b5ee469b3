"""Special tokens around texts, and the segment of the second text.

A tokenizer.json has them in its “post_processor”, in one of several forms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Part = tuple[str, int]  # (special token, or $A or $B for a text; segment)


@dataclass(frozen=True)
class Template:
    """[CLS] text [SEP], and [CLS] text, `separators` times [SEP], second text [SEP].

    `second_segment` applies to the second text and the [SEP] after it; everything else has 0.
    """

    cls: str
    sep: str
    separators: int = 1
    second_segment: int = 1


class UnknownTemplate(ValueError):
    """The special tokens are not placed as BERT expects."""


def parse_template(processor: object) -> Template | None:
    """Parse the post-processor of a tokenizer.json; None if there is no post-processor.

    Raises UnknownTemplate for templates other than BERT's and RoBERTa's.
    """
    if processor is None:
        return None
    found = [item for step in _iter_steps(processor) if (item := _parse_step(step)) is not None]
    if len(found) != 1:
        raise UnknownTemplate
    return found[0]


def _iter_steps(processor: object) -> Iterator[dict[str, Any]]:
    if not isinstance(processor, dict):
        raise UnknownTemplate
    if processor.get("type") != "Sequence":
        yield processor
        return
    steps = processor.get("processors")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise UnknownTemplate
    yield from steps


def _parse_step(step: dict[str, Any]) -> Template | None:
    match step.get("type"):
        case "ByteLevel":  # only affects offsets
            return None
        case "BertProcessing":
            return Template(_token_name(step, "cls"), _token_name(step, "sep"))
        case "RobertaProcessing":
            return Template(_token_name(step, "cls"), _token_name(step, "sep"), 2, 0)
        case "TemplateProcessing":
            return _match_template(_parts(step.get("single")), _parts(step.get("pair")))
    raise UnknownTemplate


def _token_name(step: dict[str, Any], key: str) -> str:
    match step.get(key):
        case [str() as name, int()]:
            return name
    raise UnknownTemplate


def _parts(template: object) -> list[Part]:
    parts = []
    for part in template if isinstance(template, list) else ():
        match part:
            case {"SpecialToken": {"id": str() as name, "type_id": int() as segment}}:
                parts.append((name, segment))
            case {"Sequence": {"id": "A" | "B" as name, "type_id": int() as segment}}:
                parts.append((f"${name}", segment))
            case _:
                raise UnknownTemplate
    return parts


def _match_template(single: list[Part], pair: list[Part]) -> Template:
    if len(single) != 3 or len(pair) < 5 or single[1] != ("$A", 0) or single[0][1]:
        raise UnknownTemplate
    cls, sep, second = single[0][0], single[2][0], pair[-1][1]
    between = len(pair) - 4
    expected = [(cls, 0), ("$A", 0), *[(sep, 0)] * between, ("$B", second), (sep, second)]
    if pair != expected or single[2][1] or second not in (0, 1):
        raise UnknownTemplate
    return Template(cls, sep, between, second)
