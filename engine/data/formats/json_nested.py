"""Objects within the objects of a JSON file: each of their values is a column of its own.

The objects at the beginning of a file decide which keys hold such, and under which names; what has
other names further below stays together under its key.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from engine.data.formats.rows import Remarks
from engine.phrases import phrase

LOOKED_AT = 200  # objects that decide
MOST_NAMES = 20  # of values under one key; where there are more, they are no columns

Names = Mapping[str, Mapping[str, str]]
"""By key, the column of each value in the object that it holds."""


def nested_names(items: Iterable[dict[str, Any]], remarks: Remarks) -> Names:
    """The keys that hold an object, or null, in each of the first objects that has them.

    None where one of the values is a list: such an object is a cell, as the answers to a question.
    """
    keys: set[str] = set()
    found: dict[str, dict[str, str]] = {}
    others: set[str] = set()
    for item in islice(items, LOOKED_AT):
        keys |= item.keys()
        for key, value in item.items():
            if isinstance(value, dict) and not any(isinstance(v, list) for v in value.values()):
                found.setdefault(key, {}).update({name: f"{key}.{name}" for name in value})
            elif value is not None:
                others.add(key)
    names = {
        key: columns
        for key, columns in found.items()
        if key not in others and 0 < len(columns) <= MOST_NAMES and not keys & {*columns.values()}
    }
    for key in names:
        remarks.say(phrase("“{key}” has several values, each of which is a column.", key=key[:60]))
    return names


def flatten_items(
    items: Iterable[tuple[int, dict[str, Any]]], names: Names
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered objects with the values of nested ones under the names of their columns."""
    for number, item in items:
        yield number, flatten(item, names) if names else item


def flatten(item: dict[str, Any], names: Names) -> dict[str, Any]:
    """One of them. Null has no values; what has no column stays under its key."""
    if not names.keys() & item.keys():
        return item
    found: dict[str, Any] = {}
    for key, value in item.items():
        columns = names.get(key, {})
        if not columns or not (value is None or isinstance(value, dict)):
            found[key] = value
            continue
        rest = {}
        for name, one in (value or {}).items():
            if name in columns and columns[name] not in item:
                found[columns[name]] = one
            else:
                rest[name] = one
        if rest:
            found[key] = rest
    return found
