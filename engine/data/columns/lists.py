"""Lists in a cell, in JSON or as Python, pandas and NumPy print them.

| printed by | a list of two |
| --- | --- |
| JSON | ["a", "b"] |
| Python, pandas | ['a', 'b'], {'a', 'b'}, [np.int64(1), np.int64(2)] |
| NumPy | ['a' 'b'], [1 2] |
| NumPy in a dict | {'text': array(['a', 'b'], dtype=object)} |

`ast.literal_eval` is not enough: it reads NumPy's ['a' 'b'] as ['ab'], since Python joins adjacent
strings.
"""

import ast
import json
import re
from typing import Any

TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\[\\'"abfnrtvxuU0-7])*'|"(?:[^"\\]|\\[\\'"abfnrtvxuU0-7])*")
    |(?P<number>[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)(?![\w.]))
    |(?P<name>[A-Za-z_][\w.]*)
    |(?P<sign>[\[\](){},:=]))\s*""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
LIST_KEYS, ITEM_KEYS = ("choices", "text"), ("text", "name")
CONSTANTS = {"True": True, "False": False, "None": None}
CLOSING = {"[": "]", "(": ")", "{": "}"}
SHORTENED = re.compile(r"\[['\"\d].*\s\.\.\.\s.*\]", re.DOTALL)


def parse_list(cell: str) -> list[Any] | dict[str, Any] | None:
    """Parse a list, or a dict of lists; None for any other cell. Numbers stay texts."""
    text = cell.strip()
    if text[:1] not in ("[", "{") or text[-1] != CLOSING[text[0]]:
        return None
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        value = _parse_printed(text)
    except RecursionError:
        return None
    return value if isinstance(value, list | dict) else None


def parse_texts(cell: str) -> tuple[str, ...] | None:
    """Parse a list of texts, numbers, yes or no, or objects with a text or a name, else None.

    The list may be in an object: {"choices": […]} of Label Studio, {"text": […], "label": […]} of
    ARC.
    """
    items = parse_list(cell)
    if isinstance(items, dict) and all(isinstance(value, list) for value in items.values()):
        items = next((items[key] for key in LIST_KEYS if key in items), None)
    if isinstance(items, list) and len(items) > 1 and all(isinstance(x, bool) for x in items):
        items = [str(item).lower() for item in items]
    texts = [_item_text(item) for item in items] if isinstance(items, list) else [None]
    found = [text for text in texts if text is not None]
    return tuple(found) if len(found) == len(texts) else None


def _item_text(item: Any) -> str | None:
    if isinstance(item, dict):
        item = next((item[key] for key in ITEM_KEYS if key in item), None)
    return item if isinstance(item, str) else None


def is_shortened(cell: str) -> bool:
    """True for a list that NumPy shortened when it printed it: ['a' 'b' ... 'y' 'z']."""
    return SHORTENED.fullmatch(cell.strip()) is not None and parse_list(cell) is None


def _parse_printed(text: str) -> object:
    """Parse what Python or NumPy printed; None if it is anything else."""
    tokens, end = [], 0
    while end < len(text):
        match = TOKEN.match(text, end)
        if match is None:
            return None
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        end = match.end()
    tokens.reverse()
    try:
        value = _parse_value(tokens)
    except (IndexError, ValueError, SyntaxError, RecursionError):
        return None
    return None if tokens else value


def _parse_value(tokens: list[tuple[str, str]]) -> object:
    """Take a value from the end of `tokens`. Raises ValueError, or IndexError if it is cut off."""
    kind, part = tokens.pop()
    if kind == "text":
        return ast.literal_eval(part)
    if kind == "number":
        return part
    if kind == "name":
        return CONSTANTS[part] if part in CONSTANTS else _parse_call(tokens)
    items: list[Any] = []
    keys: list[str] = []
    while tokens[-1][1] != CLOSING.get(part):
        items.append(_parse_value(tokens))
        if part == "{" and tokens[-1] == ("sign", ":"):
            tokens.pop()
            keys.append(str(items.pop()))
            items.append(_parse_value(tokens))
        if tokens[-1] == ("sign", ","):
            tokens.pop()
    tokens.pop()
    return dict(zip(keys, items, strict=True)) if keys else items


def _parse_call(tokens: list[tuple[str, str]]) -> object:
    """Take the first argument of array(…) or np.int64(…) and skip the others."""
    if tokens.pop() != ("sign", "("):
        raise ValueError("not a call")
    value = _parse_value(tokens)
    while tokens.pop() != ("sign", ")"):
        pass
    return value
