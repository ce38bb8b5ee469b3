"""A phrase is its English sentence, and can be translated."""

import ast
import copy
import json
import math
import pickle
import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from engine.config.phrases import PhraseField
from engine.errors import BadFile, StudioError
from engine.phrases import PLURAL, Phrase, apply_plural, from_json, join, phrase, render, to_json
from tools.texts import FILLED_ARGUMENTS

GERMAN = {
    "“{name}” is empty.": "„{name}“ ist leer.",
    "{n} row(s)": "{n} Zeile(n)",
    "{what} in {where}.": "In {where}: {what}.",
}


def german(key: str, number: int) -> str:
    return GERMAN.get(key, key)


class Message(BaseModel):
    text: PhraseField
    notes: tuple[PhraseField, ...] = ()


def test_a_text_is_its_english_sentence():
    text = phrase("“{name}” has {rows:,} rows, {share:.1%} of all.", name="a", rows=1234, share=0.5)
    assert text == "“a” has 1,234 rows, 50.0 % of all."
    assert f"{text}!" == "“a” has 1,234 rows, 50.0 % of all.!"
    assert text.key.startswith("“{name}” has") and text.args["rows"] == 1234


def test_noun_and_verb_follow_the_number():
    for template, singular, plural in (
        ("{n} row(s)", "1 row", "2 rows"),
        ("{n} row(s) are in both", "1 row is in both", "2 rows are in both"),
        ("{n} row(s) of it have this.", "1 row of it has this.", "2 rows of it have this."),
        ("{n} row(s) of 20 were tried", "1 row of 20 was tried", "2 rows of 20 were tried"),
        ("Only {n} row(s), two are due.", "Only 1 row, two are due.", "Only 2 rows, two are due."),
    ):
        assert [phrase(template, n=n) for n in (1, 2)] == [singular, plural]
        assert apply_plural(template.replace("{n}", "%Ln"), 1) == singular.replace("1", "%Ln")
    assert phrase("{n:,} row(s) of {n} class(es)", n=2000) == "2,000 rows of 2000 classes"
    assert phrase("cut to {most} row(s)", most=1) == "cut to 1 row(s)"


def test_a_phrase_is_translated_with_its_arguments():
    text = phrase("{what} in {where}.", what=phrase("{n} row(s)", n=3), where="speeches.csv")
    assert text == "3 rows in speeches.csv."
    assert render(text, german) == "In speeches.csv: 3 Zeile(n)."
    assert render("plain text", german) == "plain text"


def test_joined_phrases_stay_translatable():
    empty = phrase("“{name}” is empty.", name="a")
    message = join("; ", [empty, "b {c}", empty])
    assert message == "“a” is empty.; b {c}; “a” is empty."
    assert render(message, german) == "„a“ ist leer.; b {c}; „a“ ist leer."
    assert render("x: " + empty + " y", german) == "x: „a“ ist leer. y"
    assert join(", ", []) == ""


def test_an_error_fills_in_its_templates():
    error = StudioError("“{name}” is empty.", "Add {n} row(s).", name="a", n=2)
    assert str(error) == "“a” is empty. Add 2 rows."
    assert render(error.problem, german) == "„a“ ist leer."


def test_an_error_preserves_its_phrases_and_can_be_an_argument():
    inner = BadFile(
        Path("a.csv"), phrase("“{name}” is empty.", name="b"), "Choose another.", line=3
    )
    assert inner.problem == "a.csv, line 3: “b” is empty."
    assert "„b“ ist leer." in render(inner.problem, german)
    outer = StudioError(phrase("{what} in {where}.", what=inner, where="c"))
    assert str(outer) == "a.csv, line 3: “b” is empty. Choose another. in c."
    assert "„b“ ist leer." in render(outer.problem, german)


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_copies_are_equal_phrases(make):
    text = phrase("{what} in {where}.", what=phrase("{n} row(s)", n=3), where="c")
    copy = make(text)
    assert copy == text and to_json(copy) == to_json(text)


def test_phrases_survive_json():
    message = Message(
        text=phrase("{n} row(s)", n=1), notes=("plain", phrase("“{name}” is empty.", name="a"))
    )
    line = message.model_dump_json()
    assert json.loads(line)["text"] == {"key": "{n} row(s)", "args": {"n": 1}}
    restored = Message.model_validate_json(line)
    assert restored == message and isinstance(restored.text, Phrase)
    assert isinstance(restored.notes[1], Phrase) and not isinstance(restored.notes[0], Phrase)
    assert Message.model_validate(message.model_dump()) == message


def test_arguments_are_json_values():
    text = phrase("{loss:.3f} at {place}", loss=math.nan, place=Path("a"))
    assert text == "nan at a" and json.dumps(to_json(text))


@pytest.mark.parametrize(
    "key", ["{a.__class__}", "{a[0]}", "{a:>999999999}", "{b}", "{", "{a!x}", "{a:{a}}", "}"]
)
def test_a_hostile_template_does_no_harm(key):
    assert len(from_json({"key": key, "args": {"a": "x"}})) < 30


@pytest.mark.parametrize(
    "value", [3, None, {}, {"key": 1, "args": {}}, {"key": "", "args": {"a": []}}]
)
def test_other_values_are_refused(value):
    with pytest.raises(ValidationError):
        Message.model_validate({"text": value})


def test_deeply_nested_texts_are_refused():
    value: object = "x"
    for _ in range(100):
        value = {"key": "{a}", "args": {"a": value}}
    with pytest.raises(ValueError, match="neither"):
        from_json(value)


def test_a_phrase_is_immutable():
    with pytest.raises(AttributeError):
        phrase("a").key = "b"


CALLS = {  # functions that show texts, with the names of their arguments
    *(*FILLED_ARGUMENTS, "BadFile", "DiskFull"),
    *("Noted", "Progressed", "Waiting", "Ended", "Working", "Refused"),
}
SHOWN_ARGUMENTS = ("problem", "advice", "text", "stage")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["engine", "app"])
def test_every_error_and_every_event_can_be_translated(package):
    mentions = re.compile(rf"\b({'|'.join(CALLS)})\(")  # other files need no parsing
    bare = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for file in sorted((ROOT / package).rglob("*.py"))
        if mentions.search(code := file.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call) and (name := _name(call.func)) in CALLS
        for node in (
            *call.args[: FILLED_ARGUMENTS.get(name)],
            *(keyword.value for keyword in call.keywords if keyword.arg in SHOWN_ARGUMENTS),
        )
        if any(_is_sentence(part) for part in _pieces(node))
        and not (name in FILLED_ARGUMENTS and isinstance(node, ast.Constant))
    ]
    assert not bare, "wrap these in phrase(…):\n" + "\n".join(bare)


def test_a_template_with_an_ending_has_its_number():
    """“{n} row(s)” is “1 row” only if the number is named n."""
    bare = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for package in ("engine", "app")
        for file in sorted((ROOT / package).rglob("*.py"))
        if PLURAL.search(code := file.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call) and _name(call.func) in FILLED_ARGUMENTS
        if any(
            isinstance(part, ast.Constant) and PLURAL.search(str(part.value)) for part in call.args
        )
        and not any(keyword.arg in ("n", None) for keyword in call.keywords)
    ]
    assert not bare, "name the number n"


def _name(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _pieces(node: ast.expr) -> list[ast.expr]:
    """The parts that a text is chosen or composed from, without the arguments of calls."""
    match node:
        case ast.IfExp():
            return [*_pieces(node.body), *_pieces(node.orelse)]
        case ast.BinOp():
            return [*_pieces(node.left), *_pieces(node.right)]
        case ast.BoolOp():
            return [piece for value in node.values for piece in _pieces(value)]
        case ast.Subscript():
            return _pieces(node.value)
    return [node]


def _is_sentence(piece: ast.expr) -> bool:
    if isinstance(piece, ast.JoinedStr):
        return True
    return isinstance(piece, ast.Constant) and isinstance(piece.value, str) and " " in piece.value
