"""Flatten nested JSON objects: each of their values becomes a column.

The first objects of a file decide which keys are flattened, and the names of their columns; other
values that appear later stay nested under their key.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from engine.data.formats.rows import Remarks
from engine.phrases import phrase

SAMPLE_OBJECTS = 200
MAX_NESTED = 20  # under one key; more are not columns

Names = Mapping[str, Mapping[str, str]]
"""By key, the column of each value of its object."""


def nested_names(items: Iterable[dict[str, Any]], remarks: Remarks) -> Names:
    """Find keys that hold an object or null in each of the first objects that have them.

    A key is excluded if a value in its objects is a list, as in the answers to a question.
    """
    keys: set[str] = set()
    nested: dict[str, dict[str, str]] = {}
    others: set[str] = set()
    for item in islice(items, SAMPLE_OBJECTS):
        keys |= item.keys()
        for key, value in item.items():
            if isinstance(value, dict) and not any(isinstance(v, list) for v in value.values()):
                nested.setdefault(key, {}).update({name: f"{key}.{name}" for name in value})
            elif value is not None:
                others.add(key)
    names = {
        key: columns
        for key, columns in nested.items()
        if key not in others and 0 < len(columns) <= MAX_NESTED and not keys & {*columns.values()}
    }
    for key in names:
        remarks.add_note(
            phrase("“{key}” has several values, each of which is a column.", key=key[:60])
        )
    return names


def flatten_items(
    items: Iterable[tuple[int, dict[str, Any]]], names: Names
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, item in items:
        yield number, flatten(item, names) if names else item


def flatten(item: dict[str, Any], names: Names) -> dict[str, Any]:
    """Replace nested objects by their columns. Values without a column stay under their key."""
    if not names.keys() & item.keys():
        return item
    flat: dict[str, Any] = {}
    for key, value in item.items():
        columns = names.get(key, {})
        if not columns or not (value is None or isinstance(value, dict)):
            flat[key] = value
            continue
        rest = {}
        for name, cell in (value or {}).items():
            if name in columns and columns[name] not in item:
                flat[columns[name]] = cell
            else:
                rest[name] = cell
        if rest:
            flat[key] = rest
    return flat
