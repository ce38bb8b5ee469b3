"""Row-by-row JSON Lines parser on the standard library, the reference for validity and errors."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.data.formats.rows import Remarks, Row
from engine.data.formats.strict_json import (
    NotStrict,
    Number,
    not_valid,
    refuse_constant,
    too_deep,
    unique_keys,
    without_surrogates,
    write_json,
)
from engine.data.formats.table_rows import EMPTY_LINE
from engine.errors import BadFile
from engine.phrases import phrase

ADVICE = phrase(
    "Each line must be one JSON object, such as {{“text”: “…”, “label”: “…”}}, in straight quotes."
)


def item_rows(
    path: Path,
    items: Iterable[tuple[int, dict[str, Any]]],
    keys: tuple[str, ...],
    remarks: Remarks,
) -> Iterator[Row]:
    """A row for each numbered object, with a cell for each key.

    Raises BadFile with the number if nesting is too deep.
    """
    for number, item in items:
        cells = []
        for key in keys:
            if key not in item:
                remarks.saw(missing_remark(key), number)
                cells.append("")
                continue
            try:
                cells.append(_cell(item[key], key, number, remarks))
            except NotStrict as error:
                raise BadFile(path, error.problem, ADVICE, line=number) from error
        yield Row(number, tuple(cells))


def parse_objects(
    path: Path, lines: Iterable[str], remarks: Remarks, before: int = 0
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object in each non-empty line, with its number, after `before` lines.

    Raises BadFile if a line has another value.
    """
    for number, item in parse_lines(path, lines, remarks, True, before):
        if not isinstance(item, dict):
            raise BadFile(
                path,
                phrase("this is {item}, not an object.", item=describe_kind(item)),
                ADVICE,
                line=number,
            )
        yield number, item


def parse_lines(
    path: Path,
    lines: Iterable[str],
    remarks: Remarks,
    keeps_digits: bool = False,
    before: int = 0,
) -> Iterator[tuple[int, Any]]:
    """The value in each non-empty line, with its number. Raises BadFile."""
    kind = Number if keeps_digits else None
    decoder = json.JSONDecoder(
        parse_int=kind,
        parse_float=kind,
        parse_constant=refuse_constant,
        object_pairs_hook=unique_keys,
    )
    for number, line in enumerate(lines, start=before + 1):
        text = line.strip()
        if not text:
            remarks.saw(EMPTY_LINE, number)
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


def describe_kind(item: object) -> str:
    if isinstance(item, list):
        return phrase("a list")
    if isinstance(item, Number):
        return phrase("a number")
    return phrase("a text") if isinstance(item, str) else phrase("a single value")


def missing_remark(key: str) -> str:
    return phrase("Row without “{key}”, read as an empty cell", key=key)


def null_remark(key: str) -> str:
    return phrase("“{key}” is null, read as an empty cell", key=key)


def _cell(value: object, key: str, line: int, remarks: Remarks) -> str:
    if value is None:
        remarks.saw(null_remark(key), line)
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        remarks.saw(phrase("“{key}” has several values, kept as JSON", key=key), line)
        value = write_json(value)
    text = without_surrogates(value)
    if text != value:
        remarks.saw(phrase("“{key}” contains a lone surrogate, replaced by “�”", key=key), line)
    return str(text)
