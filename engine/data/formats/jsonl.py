"""JSON Lines: one object per line, with the columns as keys."""

import json

from engine.config.dataset import Reading
from engine.data.formats.json_nested import Names, flatten_items, nested_names
from engine.data.formats.json_parser import item_rows, parse_objects, read_batches, read_keys
from engine.data.formats.lines import Lines
from engine.data.formats.rows import MAX_COLUMNS, Content, Format, Remarks, unique_names
from engine.data.formats.table import TABLE_SUFFIXES
from engine.errors import BadFile
from engine.phrases import phrase


def open_jsonl(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """Columns in order of first appearance, and rows."""
    first = parse_objects(lines.path, lines.look_ahead(), Remarks())
    names = nested_names((item for _, item in first), remarks)
    keys = (first_keys if lines.head_only else read_keys)(lines, names)
    columns = unique_names(keys, lines, remarks)
    if not columns:
        raise BadFile(lines.path, phrase("its objects are empty."), phrase("Choose another file."))
    if not lines.head_only:
        return Content(columns, None, read_batches(lines, keys, names, remarks))
    items = flatten_items(parse_objects(lines.path, lines, remarks), names)
    return Content(columns, item_rows(lines.path, items, keys, remarks))


def first_keys(lines: Lines, names: Names) -> tuple[str, ...]:
    """Keys of the first objects in order of first appearance."""
    keys: dict[str, None] = {}
    for _, item in flatten_items(parse_objects(lines.path, lines.look_ahead(), Remarks()), names):
        keys.update(dict.fromkeys(item))
        if len(keys) > MAX_COLUMNS:
            break
    return tuple(keys)


def guess_jsonl(lines: list[str], suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise the suffix, or an object in the first line."""
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
