"""JSON lines: an object in each line, whose keys are the columns."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.data.formats.lines import Lines
from engine.data.formats.rows import MAX_COLUMNS, Content, Format, Remarks, Row, unique_names
from engine.data.formats.strict_json import (
    NotStrict,
    refuse_constant,
    unique_keys,
    without_surrogates,
)
from engine.data.formats.table import TABLE_SUFFIXES
from engine.errors import BadFile
from engine.phrases import phrase
from engine.spec.dataset import Reading

ADVICE = phrase(
    "Each line must be one JSON object, such as {{“text”: “…”, “label”: “…”}}, in straight quotes."
)


class _Number(str):
    """The digits of a number as they stand: 1, 1.0 and 01 stay different."""

    __slots__ = ()


def open_jsonl(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """The columns in the order in which the keys first appear, and the rows."""
    keys: dict[str, None] = {}
    for _, item in _objects(lines.path, lines.ahead(), Remarks()):
        keys.update(dict.fromkeys(item))
        if len(keys) > MAX_COLUMNS:
            break
    columns = unique_names(keys, lines, remarks)
    return Content(columns, _rows(lines, tuple(keys), remarks))


def _rows(lines: Lines, keys: tuple[str, ...], remarks: Remarks) -> Iterator[Row]:
    for number, item in _objects(lines.path, lines, remarks):
        cells = []
        for key in keys:
            if key not in item:
                remarks.saw(phrase("Row without “{key}”, read as an empty cell", key=key), number)
                cells.append("")
            else:
                cells.append(_cell(item[key], key, number, remarks))
        yield Row(number, tuple(cells))


def _objects(
    path: Path, lines: Iterable[str], remarks: Remarks
) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = json.JSONDecoder(
        parse_int=_Number,
        parse_float=_Number,
        parse_constant=refuse_constant,
        object_pairs_hook=unique_keys,
    )
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            remarks.saw(phrase("Empty line skipped"), number)
            continue
        try:
            item = decoder.decode(text)
        except json.JSONDecodeError as error:
            column = error.colno + len(line) - len(line.lstrip())
            problem = phrase(
                "this is not valid JSON ({lower}{msg}).",
                lower=error.msg[:1].lower(),
                msg=error.msg[1:],
            )
            raise BadFile(path, problem, ADVICE, line=number, column=column) from error
        except NotStrict as error:
            raise BadFile(path, error.problem, ADVICE, line=number) from error
        except RecursionError as error:
            problem = phrase("its brackets are nested too deeply.")
            raise BadFile(path, problem, ADVICE, line=number) from error
        if not isinstance(item, dict):
            raise BadFile(
                path,
                phrase("this is {item}, not an object.", item=_kind(item)),
                ADVICE,
                line=number,
            )
        yield number, item


def _kind(item: object) -> str:
    if isinstance(item, list):
        return phrase("a list")
    if isinstance(item, _Number):
        return phrase("a number")
    return phrase("a text") if isinstance(item, str) else phrase("a single value")


def _cell(value: object, key: str, line: int, remarks: Remarks) -> str:
    if value is None:
        remarks.saw(phrase("“{key}” is null, read as an empty cell", key=key), line)
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        remarks.saw(phrase("“{key}” has several values, kept as JSON", key=key), line)
        value = _json(value)
    text = without_surrogates(value)
    if text != value:
        remarks.saw(phrase("“{key}” contains a lone surrogate, replaced by “�”", key=key), line)
    return str(text)


def _json(value: object) -> str:
    """Compact JSON in which numbers are written as they were."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(str(k))}: {_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return str(value) if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def guess_jsonl(lines: list[str], suffix: str, _whole: bool) -> Reading | None:
    """A file that calls itself so, or whose first line is an object."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if suffix in JSONL.suffixes:
        return Reading(format=JSONL.name)
    if suffix in TABLE_SUFFIXES or not first.startswith("{"):
        return None
    try:
        return Reading(format=JSONL.name) if isinstance(json.loads(first), dict) else None
    except (ValueError, RecursionError):
        return None


JSONL = Format(
    "jsonl", phrase("JSON Lines"), (".jsonl", ".ndjson", ".json"), open_jsonl, guess_jsonl
)
