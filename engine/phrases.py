"""Sentences of the engine that the window can say in another language.

A `Phrase` is its English sentence, so it goes wherever a `str` goes, and it carries the template
and the arguments from which the sentence was made. Messages and the record keep both; the window
looks the template up in the user's language and fills it in again. `tools/texts.py` finds the
templates, so they stand as literals in the call of `phrase`.

Templates may come from a run folder of somebody else: fields are plain names, never attributes or
items, and what cannot be filled in stays as it stands.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

Argument = str | int | float

FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(!r)?(?::([^{}]*))?\}")
SPEC = re.compile(r"[+0]?\d?,?(?:\.\d{1,2})?[deEfgs%]?")  # the formats that a template may ask for
PLURAL = re.compile(r"\((e?s)\)")  # “{n} run(s)”, “%Ln class(es)”
AGREES = re.compile(r"\(e?s\)((?: (?:of|in|with) [^.,:;!?]*?)?) (are|were|have)\b")  # its verb
SINGULAR = {"are": "is", "were": "was", "have": "has"}
DEEPEST = 20  # texts in texts


class Phrase(str):
    """An English sentence with the template (`key`) and the arguments (`args`) it was made from."""

    __slots__ = ("args", "key")

    key: str
    args: Mapping[str, Argument]

    def __new__(cls, key: str, args: Mapping[str, Argument]) -> Self:
        made = super().__new__(cls, filled(in_english(key, args.get("n")), args))
        object.__setattr__(made, "key", key)
        object.__setattr__(made, "args", args)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a phrase never changes: {name}")

    def __reduce__(self) -> tuple[type["Phrase"], tuple[str, dict[str, Argument]]]:
        return Phrase, (self.key, dict(self.args))

    def __add__(self, other: str) -> "Phrase":
        return joined("", (self, other))

    def __radd__(self, other: str) -> "Phrase":
        return joined("", (other, self))


def phrase(template: str, /, **args: object) -> Phrase:
    """The sentence that `template` makes of `args`: phrase("“{name}” is empty.", name=file.name).

    An argument may itself be a `Phrase`, or an error that has one. Where `n` is given, it counts:
    “{n} row(s)” takes the ending that n asks for, and a translation has a form for each number.
    """
    return Phrase(template, {name: _argument(value) for name, value in args.items()})


def joined(separator: str, parts: Iterable[str]) -> Phrase:
    """Texts one after the other, as `separator.join(parts)` that can still be translated."""
    args = {f"p{place}": part for place, part in enumerate(parts)}
    between = separator.replace("{", "{{").replace("}", "}}")
    return Phrase(between.join(f"{{{name}}}" for name in args), args)


def rendered(said: str, translate: Callable[[str, int], str]) -> str:
    """`said` in another language: `translate` gives a template for a key and a number (-1: none).

    A plain `str` is what nobody can translate, such as a name, and stays as it is.
    """
    if not isinstance(said, Phrase):
        return said
    args = {
        name: rendered(value, translate) if isinstance(value, str) else value
        for name, value in said.args.items()
    }
    number = said.args.get("n")
    return filled(translate(said.key, number if isinstance(number, int) else -1), args)


def in_english(template: str, number: object) -> str:
    """An English template with the endings that `number` asks for, where it is a whole number."""
    if not isinstance(number, int) or "(" not in template:
        return template
    if number != 1:
        return PLURAL.sub(r"\1", template)
    return PLURAL.sub("", AGREES.sub(lambda m: f"{m[1]} {SINGULAR[m[2]]}", template))


def filled(template: str, args: Mapping[str, Argument]) -> str:
    """`template` with its fields filled in; a field that has no argument stays as it is."""

    def fill(field: re.Match[str]) -> str:
        name, quoted, spec = field.groups()
        if name is None:
            return field[0][0]  # a doubled brace
        if name not in args:
            return field[0]
        return repr(str(args[name])) if quoted else _formatted(args[name], spec or "")

    return FIELD.sub(fill, template)


def _formatted(value: Argument, spec: str) -> str:
    """As `format`, with a space before the sign of a percentage, as in all of the window."""
    try:
        said = format(value, spec) if SPEC.fullmatch(spec) else str(value)
    except ValueError:  # a format for numbers, and no number
        return str(value)
    return f"{said[:-1]} %" if spec.endswith("%") else said


def _argument(value: object) -> Argument:
    """What JSON can hold of an argument."""
    said = getattr(value, "phrase", None) if isinstance(value, Exception) else value
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        return str(value)
    return str(said) if isinstance(said, float) and not math.isfinite(said) else said


def plain(said: str) -> Any:
    """`said` as JSON holds it: a plain `str` as it is, a `Phrase` as its key and arguments."""
    if not isinstance(said, Phrase):
        return said
    args = {name: plain(v) if isinstance(v, str) else v for name, v in said.args.items()}
    return {"key": said.key, "args": args}


def from_plain(value: Any, depth: int = 0) -> str:
    """The reverse of `plain`; raises ValueError for anything that it never makes."""
    if isinstance(value, str):
        return value
    match value:
        case {"key": str(key), "args": dict(args)} if depth < DEEPEST:
            return Phrase(key, {str(name): _from_plain(v, depth) for name, v in args.items()})
    raise ValueError("this is neither a text nor its key and arguments")


def _from_plain(value: Any, depth: int) -> Argument:
    return value if isinstance(value, int | float) else from_plain(value, depth + 1)
