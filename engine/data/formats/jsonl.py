"""JSON lines: an object in each line, whose keys are the columns."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.data.formats.lines import Lines
from engine.data.formats.rows import MAX_COLUMNS, Content, Format, Remarks, Row, unique_names
from engine.data.formats.strict_json import (
    NotStrict,
    Number,
    not_valid,
    refuse_constant,
    too_deep,
    unique_keys,
    without_surrogates,
    written,
)
from engine.data.formats.table import TABLE_SUFFIXES
from engine.errors import BadFile
from engine.phrases import phrase
from engine.spec.dataset import Reading

ADVICE = phrase(
    "Each line must be one JSON object, such as {{“text”: “…”, “label”: “…”}}, in straight quotes."
)


def open_jsonl(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """The columns in the order in which the keys first appear, and the rows."""
    keys: dict[str, None] = {}
    for _, item in _objects(lines.path, lines.ahead(), Remarks()):
        keys.update(dict.fromkeys(item))
        if len(keys) > MAX_COLUMNS:
            break
    columns = unique_names(keys, lines, remarks)
    items = _objects(lines.path, lines, remarks)
    return Content(columns, rows_of(lines.path, items, tuple(keys), remarks))


def rows_of(
    path: Path,
    items: Iterable[tuple[int, dict[str, Any]]],
    keys: tuple[str, ...],
    remarks: Remarks,
) -> Iterator[Row]:
    """A row for each object with its number: a cell for each key.

    Raises BadFile, with the number, where brackets are nested too deeply.
    """
    for number, item in items:
        cells = []
        for key in keys:
            if key not in item:
                remarks.saw(phrase("Row without “{key}”, read as an empty cell", key=key), number)
                cells.append("")
                continue
            try:
                cells.append(_cell(item[key], key, number, remarks))
            except NotStrict as error:
                raise BadFile(path, error.problem, ADVICE, line=number) from error
        yield Row(number, tuple(cells))


def _objects(
    path: Path, lines: Iterable[str], remarks: Remarks
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, item in decoded_lines(path, lines, remarks, keeps_digits=True):
        if not isinstance(item, dict):
            raise BadFile(
                path,
                phrase("this is {item}, not an object.", item=kind_of(item)),
                ADVICE,
                line=number,
            )
        yield number, item


def decoded_lines(
    path: Path, lines: Iterable[str], remarks: Remarks, keeps_digits: bool = False
) -> Iterator[tuple[int, Any]]:
    """The value in each line that is not empty, with its number.

    Raises BadFile where a line is no JSON.
    """
    kind = Number if keeps_digits else None
    decoder = json.JSONDecoder(
        parse_int=kind,
        parse_float=kind,
        parse_constant=refuse_constant,
        object_pairs_hook=unique_keys,
    )
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            remarks.saw(phrase("Empty line skipped"), number)
            continue
        try:
            yield number, decoder.decode(text)
        except json.JSONDecodeError as error:
            column = error.colno + len(line) - len(line.lstrip())
            raise BadFile(path, not_valid(error), ADVICE, line=number, column=column) from error
        except NotStrict as error:
            raise BadFile(path, error.problem, ADVICE, line=number) from error
        except RecursionError as error:
            raise BadFile(path, too_deep(), ADVICE, line=number) from error


def kind_of(item: object) -> str:
    if isinstance(item, list):
        return phrase("a list")
    if isinstance(item, Number):
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
        value = written(value)
    text = without_surrogates(value)
    if text != value:
        remarks.saw(phrase("“{key}” contains a lone surrogate, replaced by “�”", key=key), line)
    return str(text)


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
