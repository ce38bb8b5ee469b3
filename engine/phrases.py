"""Translatable sentences of the engine.

A `Phrase` is its English sentence, so it can be used as a `str`, and it carries the template and
the arguments. Messages and the record store both; the window looks the template up in the user's
language and fills it in. `tools/texts.py` finds the templates, so they must be literals in the call
of `phrase`.

Templates may come from an untrusted run folder: fields are plain names, never attributes or items,
and fields that cannot be filled in stay unchanged.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

Argument = str | int | float

FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(!r)?(?::([^{}]*))?\}")
SPEC = re.compile(r"[+0]?\d?,?(?:\.\d{1,2})?[deEfgs%]?")  # the formats allowed in a template
PLURAL = re.compile(r"\((e?s)\)")  # “{n} run(s)”, “%Ln class(es)”
AGREES = re.compile(r"\(e?s\)((?: (?:of|in|with) [^.,:;!?]*?)?) (are|were|have)\b")  # its verb
SINGULAR = {"are": "is", "were": "was", "have": "has"}
MAX_DEPTH = 20  # nested texts


class Phrase(str):
    """An English sentence with its template (`key`) and arguments (`args`)."""

    __slots__ = ("args", "key")

    key: str
    args: Mapping[str, Argument]

    def __new__(cls, key: str, args: Mapping[str, Argument]) -> Self:
        text = super().__new__(cls, fill_in(apply_plural(key, args.get("n")), args))
        object.__setattr__(text, "key", key)
        object.__setattr__(text, "args", args)
        return text

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a phrase never changes: {name}")

    def __reduce__(self) -> tuple[type["Phrase"], tuple[str, dict[str, Argument]]]:
        return Phrase, (self.key, dict(self.args))

    def __add__(self, other: str) -> "Phrase":
        return join("", (self, other))

    def __radd__(self, other: str) -> "Phrase":
        return join("", (other, self))


def phrase(template: str, /, **args: object) -> Phrase:
    """Fill in a template: phrase("“{name}” is empty.", name=file.name).

    An argument may itself be a `Phrase`, or an error that has one. The argument `n` is a count:
    “{n} row(s)” takes the ending for n, and a translation has a form for each number.
    """
    return Phrase(template, {name: _argument(value) for name, value in args.items()})


def fill_template(text: str, **args: object) -> str:
    """Fill in a template; a `Phrase` and an empty text stay as they are."""
    return text if isinstance(text, Phrase) or not text else phrase(text, **args)


def join(separator: str, parts: Iterable[str]) -> Phrase:
    """`separator.join(parts)` that can still be translated."""
    args = {f"p{index}": part for index, part in enumerate(parts)}
    between = separator.replace("{", "{{").replace("}", "}}")
    return Phrase(between.join(f"{{{name}}}" for name in args), args)


def render(text: str, translate: Callable[[str, int], str]) -> str:
    """Translate a text; `translate` gives a template for a key and a number (-1: none).

    A plain `str`, such as a name, is not translated.
    """
    if not isinstance(text, Phrase):
        return text
    args = {
        name: render(value, translate) if isinstance(value, str) else value
        for name, value in text.args.items()
    }
    n = text.args.get("n")
    return fill_in(translate(text.key, n if isinstance(n, int) else -1), args)


def apply_plural(template: str, count: object) -> str:
    """Resolve the plural endings of a template if `count` is a whole number."""
    if not isinstance(count, int) or "(" not in template:
        return template
    if count != 1:
        return PLURAL.sub(r"\1", template)
    return PLURAL.sub("", AGREES.sub(lambda m: f"{m[1]} {SINGULAR[m[2]]}", template))


def fill_in(template: str, args: Mapping[str, Argument]) -> str:
    """Fill in the fields of `template`; a field without an argument stays unchanged."""

    def fill(field: re.Match[str]) -> str:
        name, quoted, spec = field.groups()
        if name is None:
            return field[0][0]  # a doubled brace
        if name not in args:
            return field[0]
        return repr(str(args[name])) if quoted else _format(args[name], spec or "")

    return FIELD.sub(fill, template)


def _format(value: Argument, spec: str) -> str:
    """Format a value, with a space before a percent sign as in the window."""
    try:
        text = format(value, spec) if SPEC.fullmatch(spec) else str(value)
    except ValueError:  # a number format for a text
        return str(value)
    return f"{text[:-1]} %" if spec.endswith("%") else text


def _argument(value: object) -> Argument:
    """Convert an argument to what JSON can hold."""
    argument = getattr(value, "phrase", None) if isinstance(value, Exception) else value
    if isinstance(argument, bool) or not isinstance(argument, str | int | float):
        return str(value)
    is_special = isinstance(argument, float) and not math.isfinite(argument)
    return str(argument) if is_special else argument


def to_json(text: str) -> Any:
    """Convert to JSON: a plain `str` unchanged, a `Phrase` as its key and arguments."""
    if not isinstance(text, Phrase):
        return text
    args = {name: to_json(v) if isinstance(v, str) else v for name, v in text.args.items()}
    return {"key": text.key, "args": args}


def from_json(value: Any, depth: int = 0) -> str:
    """The inverse of `to_json`; raises ValueError for any other value."""
    if isinstance(value, str):
        return value
    match value:
        case {"key": str(key), "args": dict(args)} if depth < MAX_DEPTH:
            return Phrase(key, {str(name): _from_json(v, depth) for name, v in args.items()})
    raise ValueError("this is neither a text nor its key and arguments")


def _from_json(value: Any, depth: int) -> Argument:
    return value if isinstance(value, int | float) else from_json(value, depth + 1)


def number_text(value: float) -> str:
    """A number as people write it: 5e-5, 0.1, 512."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return str(int(value))
    if abs(value) < 1e-3:
        mantissa, exponent = f"{value:.6e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.10g}"
