"""Special tokens around texts, and the segment of the second text.

They are in the “post_processor” of a tokenizer.json, in several forms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Part = tuple[str, int]  # special token, or A or B for a text; and the segment


@dataclass(frozen=True)
class Frame:
    """[CLS] text [SEP], and [CLS] text [SEP] × `separators` second text [SEP].

    `second_segment` applies to the second text and the [SEP] after it; all else has 0.
    """

    cls: str
    sep: str
    separators: int = 1
    second_segment: int = 1


class UnknownFrame(ValueError):
    """The special tokens are not placed as BERT expects."""


def parse_frame(processor: object) -> Frame | None:
    """The frame of a post-processor in a tokenizer.json, or None. Raises UnknownFrame."""
    if processor is None:
        return None
    frames = [frame for step in _iter_steps(processor) if (frame := _frame(step)) is not None]
    if len(frames) != 1:
        raise UnknownFrame
    return frames[0]


def _iter_steps(processor: object) -> Iterator[dict[str, Any]]:
    if not isinstance(processor, dict):
        raise UnknownFrame
    if processor.get("type") != "Sequence":
        yield processor
        return
    inside = processor.get("processors")
    if not isinstance(inside, list) or not all(isinstance(step, dict) for step in inside):
        raise UnknownFrame
    yield from inside


def _frame(step: dict[str, Any]) -> Frame | None:
    match step.get("type"):
        case "ByteLevel":  # only affects offsets
            return None
        case "BertProcessing":
            return Frame(_token_name(step, "cls"), _token_name(step, "sep"))
        case "RobertaProcessing":
            return Frame(_token_name(step, "cls"), _token_name(step, "sep"), 2, 0)
        case "TemplateProcessing":
            return _parse_template(_parts(step.get("single")), _parts(step.get("pair")))
    raise UnknownFrame


def _token_name(step: dict[str, Any], key: str) -> str:
    match step.get(key):
        case [str() as name, int()]:
            return name
    raise UnknownFrame


def _parts(template: object) -> list[Part]:
    parts = []
    for part in template if isinstance(template, list) else ():
        match part:
            case {"SpecialToken": {"id": str() as name, "type_id": int() as segment}}:
                parts.append((name, segment))
            case {"Sequence": {"id": "A" | "B" as name, "type_id": int() as segment}}:
                parts.append((f"${name}", segment))
            case _:
                raise UnknownFrame
    return parts


def _parse_template(single: list[Part], pair: list[Part]) -> Frame:
    if len(single) != 3 or len(pair) < 5 or single[1] != ("$A", 0) or single[0][1]:
        raise UnknownFrame
    cls, sep, second = single[0][0], single[2][0], pair[-1][1]
    between = len(pair) - 4
    expected = [(cls, 0), ("$A", 0), *[(sep, 0)] * between, ("$B", second), (sep, second)]
    if pair != expected or single[2][1] or second not in (0, 1):
        raise UnknownFrame
    return Frame(cls, sep, between, second)
