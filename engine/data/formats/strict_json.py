"""What Python reads as JSON and JSON does not allow, refused in words."""

import re
from typing import Any, NoReturn

from engine.phrases import phrase

SURROGATES = re.compile("[\ud800-\udfff]")


class NotStrict(ValueError):
    """Something that JSON does not allow, though Python does; `problem` says what."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def refuse_constant(name: str) -> NoReturn:
    """For `parse_constant`: NaN and the infinities are no JSON."""
    raise NotStrict(phrase("{name} is not valid JSON.", name=name))


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `object_pairs_hook`: of two values under one key, Python would keep the last."""
    item = dict(pairs)
    if len(item) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise NotStrict(phrase("the key “{key}” appears twice in one object.", key=twin[:100]))
    return item


def without_surrogates(text: str) -> str:
    """A text that any file can hold; lone surrogates become “�”, and its length stays."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
