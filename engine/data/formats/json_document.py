"""JSON documents: all rows in one value."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.config.dataset import Reading
from engine.data.columns.mapping import LABELS, TEXTS
from engine.data.columns.names import plain_name, split_from_name
from engine.data.formats.archives import file_on_disk, locate, logical_name
from engine.data.formats.encodings import first_bytes, recognise_encoding
from engine.data.formats.json_nested import flatten, nested_names
from engine.data.formats.json_parser import item_rows
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, numbered_columns, unique_names
from engine.data.formats.strict_json import read_document
from engine.data.formats.table import TABLE_SUFFIXES
from engine.errors import BadFile
from engine.phrases import phrase

ADVICE = phrase(
    "Use a list of objects, an object with a list for each column, or one JSON object in each line."
)
MAX_LISTED = 10
LIST_KEY = re.compile(r'"([^"\\]{1,40})"\s*:\s*\[')
Object = dict[str, Any]


def open_document(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """Columns in order of first appearance, and rows, numbered from 1.

    The rows are a list of objects, which may be under one or two keys, or objects by id; or
    columns as lists, or objects with an index; or a list of texts or of lists of equal length. If a
    document has a list for each split, the path names one below the file: `data.json/train`.

    Raises:
        BadFile: if it is not JSON, none of these, or no split is named.
        Cancelled: as `Lines` does.
    """
    document = read_document(lines, ADVICE, keeps_digits=True)
    if name := locate(lines.path).sheet:
        document = _find_list(document, name, file_on_disk(lines.path))
    elif splits := _split_keys(document):
        raise BadFile(
            lines.path,
            phrase("its lists {names} are splits of a data set.", names=", ".join(splits)),
            phrase(
                "Choose one of them, such as {example}.", example=f"{lines.path.name}/{splits[0]}"
            ),
        )
    items = table_items(document)
    if items is None:
        raise BadFile(lines.path, phrase("this JSON document is not a table."), ADVICE)
    names = nested_names(items, remarks)
    items = [flatten(item, names) for item in items]
    keys = dict.fromkeys(key for item in items for key in item)
    columns = unique_names(keys, lines, remarks)
    return Content(columns, item_rows(lines.path, enumerate(items, 1), tuple(keys), remarks))


def split_keys(path: Path) -> list[str]:
    """Keys of a document with a list for each split; none for any other or unreadable file."""
    if Path(logical_name(path)).suffix.lower() not in DOCUMENT.suffixes:
        return []
    try:
        encoding, _ = recognise_encoding(path)
        start = first_bytes(path).decode(encoding, "replace")
        if not may_have_lists(start) or not any(map(split_from_name, LIST_KEY.findall(start))):
            return []
        return _split_keys(read_document(Lines(path, encoding), ADVICE))
    except BadFile:
        return []


def may_have_lists(start: str) -> bool:
    """True if a text, by its start, may be an object with a list for each split."""
    return start.lstrip("\ufeff \t\r\n").startswith("{")


def _find_list(document: object, name: str, file: Path) -> object:
    lists = document if isinstance(document, dict) else {}
    if isinstance(rows := lists.get(name), list):
        return rows
    names = [key[:100] for key, value in lists.items() if isinstance(value, list)][:MAX_LISTED]
    raise BadFile(
        file,
        phrase("there is no list “{name}” in it.", name=name[:100]),
        phrase("The archive has: {names}.", names=", ".join(names))
        if names
        else phrase("Choose the file itself."),
    )


def _split_keys(value: object) -> list[str]:
    """Keys of the lists of an object, if it has several and all are named like splits."""
    if not isinstance(value, dict):
        return []
    lists = [key for key, rows in value.items() if isinstance(rows, list) and rows]
    return lists if len(lists) > 1 and all(map(split_from_name, lists)) else []


def table_items(value: object) -> list[Object] | None:
    """The rows as objects; None if the document is not a table."""
    if (rows := _objects(value) or _unnamed_rows(value)) is not None:
        return rows
    if not isinstance(value, dict) or not value:
        return None
    lists = [items for items in map(_objects, value.values()) if items is not None]
    if len(lists) == 1:
        return lists[0]
    if {"columns", "data"} <= value.keys():  # pandas' “split” orientation
        names, data = value["columns"], value["data"]
        is_table = (
            isinstance(names, list)
            and isinstance(data, list)
            and all(isinstance(row, list) and len(row) == len(names) for row in data)
        )
        return [dict(zip(map(str, names), row, strict=True)) for row in data] if is_table else None
    columns = list(value.values())
    if all(isinstance(column, list) for column in columns):
        return _columnar_items(value, range(len(columns[0])))
    if all(isinstance(column, dict) for column in columns) and _are_rows(value):
        return [
            row if key.isdecimal() or "id" in row else {"id": key, **row}
            for key, row in value.items()
        ]
    if all(isinstance(column, dict) for column in columns):
        return _columnar_items(value, dict.fromkeys(key for column in columns for key in column))
    nested = [inner for inner in columns if isinstance(inner, dict)]  # of an answer of a server
    lists = [rows for inner in nested for rows in map(_objects, inner.values()) if rows is not None]
    return lists[0] if len(lists) == 1 else None


def _objects(value: object) -> list[Object] | None:
    if not isinstance(value, list) or not value:
        return None
    return value if all(isinstance(item, dict) for item in value) else None


def _unnamed_rows(value: object) -> list[Object] | None:
    """Texts, or rows as lists of equal length, without column names."""
    if not isinstance(value, list) or not value:
        return None
    if all(type(text) is str for text in value):  # excludes Number
        return [{"text": text} for text in value]
    if not all(isinstance(row, list) for row in value) or len({len(row) for row in value}) != 1:
        return None
    if any(isinstance(cell, (list, dict)) for row in value for cell in row):
        return None
    names = numbered_columns(len(value[0]))
    return [dict(zip(names, row, strict=True)) for row in value] if names else None


def _are_rows(value: Object) -> bool:
    """True for an object of rows, as pandas' “index” orientation; false for one of columns."""
    inner = dict.fromkeys(name for row in value.values() for name in row)
    known = {*TEXTS, *LABELS}
    names, keys = ({plain_name(name) for name in part} & known for part in (inner, value))
    is_numbered = all(map(str.isdecimal, value)) and not all(map(str.isdecimal, inner))
    return is_numbered or bool(names and not keys)


def _columnar_items(columns: Object, indices: Iterable[Any]) -> list[Object] | None:
    """Rows of columns of equal length; `indices` are positions or keys."""
    keys = list(indices)
    if not keys or any(len(column) != len(keys) for column in columns.values()):
        return None
    try:
        return [{name: cells[index] for name, cells in columns.items()} for index in keys]
    except KeyError:
        return None  # the columns have different indices


def guess_document(lines: list[str], suffix: str, is_complete: bool) -> Reading | None:
    """Recognise a list, or an object that spans several lines or holds a table."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if suffix in TABLE_SUFFIXES or not first.startswith(("{", "[")):
        return None
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        is_named = suffix in DOCUMENT.suffixes
        # like a bad line of JSON Lines
        is_broken = not first.startswith("[") and first.endswith("}")
        return Reading(format=DOCUMENT.name) if is_named and not is_broken else None
    is_all = is_complete and sum(not line.isspace() for line in lines) == 1
    is_table = isinstance(value, list) or bool(_split_keys(value)) or table_items(value) is not None
    is_document = is_all and is_table
    return Reading(format=DOCUMENT.name) if is_document else None


DOCUMENT = Format("json", "JSON", (".json",), open_document, guess_document)
