"""JSON as a file has it: what Python reads and JSON does not allow is refused in words."""

import json
import re
from collections import Counter
from typing import Any, NoReturn

from engine.data.formats.lines import Lines, file_size
from engine.errors import BadFile
from engine.phrases import phrase

LARGEST_DOCUMENT = 2 * 1024**3  # bytes of a document that is read whole
CHUNK = 1_000_000  # characters
MAX_LEVELS = 100  # of brackets in one another
SURROGATES = re.compile("[\ud800-\udfff]")


class Number(str):
    """The digits of a number as they stand: 1, 1.0 and 01 stay different."""

    __slots__ = ()


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
        times = Counter(name for name, _ in pairs)
        twin = next(name for name, number in times.items() if number > 1)
        raise NotStrict(phrase("the key “{key}” appears twice in one object.", key=twin[:100]))
    return item


def without_surrogates(text: str) -> str:
    """A text that any file can hold; lone surrogates become “�”, and its length stays."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def read_document(lines: Lines, advice: str, keeps_digits: bool = False) -> object:
    """The one value that a file holds; with `keeps_digits`, numbers are a `Number`.

    Raises:
        BadFile: with line and column where it is no JSON, or where it is too large.
        Cancelled: as `Lines` does.
    """
    path = lines.path
    if file_size(path) > LARGEST_DOCUMENT:
        problem = phrase(
            "the file is larger than the {largest_file} GiB that can be read at once.",
            largest_file=LARGEST_DOCUMENT // 1024**3,
        )
        raise BadFile(path, problem, phrase("Split it, or use a part of it."))
    text = "".join(lines.upto(CHUNK, cut=True))
    kind = Number if keeps_digits else None
    try:
        return json.loads(
            text,
            parse_int=kind,
            parse_float=kind,
            parse_constant=refuse_constant,
            object_pairs_hook=unique_keys,
        )
    except json.JSONDecodeError as error:
        raise BadFile(
            path, not_valid(error), advice, line=error.lineno, column=error.colno
        ) from error
    except NotStrict as error:
        raise BadFile(path, error.problem, advice) from error
    except RecursionError as error:
        raise BadFile(path, too_deep(), advice) from error
    except ValueError as error:  # of more digits than Python reads
        raise BadFile(path, phrase("a number in it is too long."), advice) from error


def not_valid(error: json.JSONDecodeError) -> str:
    """What is wrong with a text, as the end of a sentence."""
    return phrase(
        "this is not valid JSON ({lower}{msg}).", lower=error.msg[:1].lower(), msg=error.msg[1:]
    )


def too_deep() -> str:
    return phrase("its brackets are nested more than {most} levels deep.", most=MAX_LEVELS)


def write_json(value: object, level: int = 1) -> str:
    """Compact JSON in which numbers are written as they were.

    Raises NotStrict where brackets are nested too deeply.
    """
    if level > MAX_LEVELS:
        raise NotStrict(too_deep())
    if isinstance(value, dict):
        pairs = (f"{write_json(str(k))}: {write_json(v, level + 1)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write_json(one, level + 1) for one in value) + "]"
    return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
