"""Strict JSON: what Python accepts beyond the standard is rejected with an explanation."""

import json
import re
from collections import Counter
from typing import Any, NoReturn

from engine.data.formats.lines import Lines, file_size
from engine.errors import BadFile
from engine.phrases import phrase

MAX_DOCUMENT_BYTES = 2 * 1024**3  # a document is read whole
CHUNK = 1_000_000  # characters
MAX_LEVELS = 100  # nesting depth
SURROGATES = re.compile("[\ud800-\udfff]")


class Number(str):
    """A number as written: 1, 1.0 and 01 stay different."""

    __slots__ = ()


class InvalidJson(ValueError):
    """Python reads this, but it is not valid JSON; `problem` is the reason."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def reject_constant(name: str) -> NoReturn:
    """`parse_constant` hook: NaN and infinities are not JSON."""
    raise InvalidJson(phrase("{name} is not valid JSON; write null for no value.", name=name))


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` that rejects repeated keys, of which Python keeps the last."""
    item = dict(pairs)
    if len(item) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name, number in counts.items() if number > 1)
        raise InvalidJson(
            phrase("the key “{key}” appears twice in one object.", key=repeated[:100])
        )
    return item


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no file can hold, by “�”; the length is unchanged."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def read_document(lines: Lines, advice: str, keeps_digits: bool = False) -> object:
    """Parse a file as one JSON value; with `keeps_digits`, numbers are `Number`.

    Raises:
        BadFile: with line and column if it is not JSON, or if it is too large.
        Cancelled: as `Lines` does.
    """
    path = lines.path
    if file_size(path) > MAX_DOCUMENT_BYTES:
        problem = phrase(
            "the file is larger than the {largest_file} GiB that can be read.",
            largest_file=MAX_DOCUMENT_BYTES // 1024**3,
        )
        raise BadFile(path, problem, phrase("Split it, or use a part of it."))
    text = "".join(lines.limit_lines(CHUNK, split=True))
    kind = Number if keeps_digits else None
    try:
        return json.loads(
            text,
            parse_int=kind,
            parse_float=kind,
            parse_constant=reject_constant,
            object_pairs_hook=unique_keys,
        )
    except json.JSONDecodeError as error:
        raise BadFile(
            path, describe_error(error), advice, line=error.lineno, column=error.colno
        ) from error
    except InvalidJson as error:
        raise BadFile(path, error.problem, advice) from error
    except RecursionError as error:
        raise BadFile(path, depth_problem(), advice) from error
    except ValueError as error:  # too many digits
        raise BadFile(path, phrase("a number in it is too long."), advice) from error


def describe_error(error: json.JSONDecodeError) -> str:
    """Describe the error in a sentence."""
    return phrase(
        "this is not valid JSON ({lower}{msg}).", lower=error.msg[:1].lower(), msg=error.msg[1:]
    )


def depth_problem() -> str:
    return phrase("its brackets are nested more than {count} levels deep.", count=MAX_LEVELS)


def write_json(value: object, level: int = 1) -> str:
    """Compact JSON that preserves `Number`.

    Raises InvalidJson if nesting is too deep.
    """
    if level > MAX_LEVELS:
        raise InvalidJson(depth_problem())
    if isinstance(value, dict):
        pairs = (f"{write_json(str(k))}: {write_json(v, level + 1)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write_json(item, level + 1) for item in value) + "]"
    return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)
