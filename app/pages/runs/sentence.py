"""A filter of runs as a sentence: `task is NER and f1 > 0.7 and learning rate = 3e-5`.

    sentence   = part { "or" part }        part = condition { "and" condition }
    condition  = "not" condition | "(" sentence ")" | field comparison
    comparison = operator value | "in" "(" value { "," value } ")" | "is empty" | "is not empty"

Fields have the titles of the columns, or their keys; longer names win. A value ends before the next
“and”, “or” or bracket, or is quoted. Case is ignored.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

from app.pages.runs.arranging import Test
from app.pages.runs.columns import Column, ColumnInfo, all_columns, column_info
from app.pages.runs.job_fields import Value
from app.pages.runs.rows import Measure, RunRow
from app.translation import in_language, tr
from app.widgets.text.run_texts import VALIDATION
from engine.config.tasks import get_metric

Expected = Literal["field", "operator", "value", "conjunction"]

TOKEN = re.compile(
    r'"(?P<q>[^"]*)"?|“(?P<c>[^”]*)”?|<=|>=|!=|<>|==|[=<>≤≥≠(),]|[^\s"“=<>≤≥≠(),!]+|!'
)
SYMBOLS = {"=": "=", "==": "=", "!=": "≠", "<>": "≠", "≠": "≠", "<": "<", ">": ">"}
SYMBOLS |= {"<=": "≤", "≤": "≤", ">=": "≥", "≥": "≥"}
WORDS: dict[tuple[str, ...], str] = {
    ("is", "not", "empty"): "filled",
    ("is", "empty"): "empty",
    ("is", "not"): "≠",
    ("is",): "=",
    ("does", "not", "contain"): "lacks",
    ("contains",): "contains",
    ("not", "in"): "not in",
    ("in",): "in",
    ("has",): "=",
}
ORDERS = ("<", ">", "≤", "≥")
UNITS = {"%": 0.01, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "k": 1e3, "m": 1e6}
NUMBER = re.compile(
    r"([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%|s|min|h|d|k|m)?", re.IGNORECASE
)
DATE = re.compile(r"\d{4}-\d{2}(-\d{2}( \d{2}:\d{2})?)?")
BOOLEANS = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}
RELATIVE_TOLERANCE = 1e-6  # for equality of numbers
MAX_NAME_WORDS = 8
MAX_COMPLETIONS = 200


class SentenceError(Exception):
    """An error in a sentence, at the characters from `start` to `end`."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text)
        self.message, self.start, self.end = text, start, end


@dataclass
class Parsed:
    """A test for runs, the metrics that it reads, and the part to complete at the end of the text.

    The `expected` part begins at `start`; a value belongs to the column `key`.
    """

    test: Test = lambda row: True
    measures: list[Measure] = field(default_factory=list)
    expected: Expected = "field"
    start: int = 0
    key: str = ""
    error: SentenceError | None = None


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    quote: bool = False

    @property
    def word(self) -> str:
        return "" if self.quote else self.text.casefold()


def is_sentence(text: str) -> bool:
    """True if a text compares something; otherwise it has search words."""
    tokens = _tokens(text)
    operators = {"is", "contains", "in", "has"} | set(SYMBOLS)
    return any(token.word in operators for token in tokens[1:])


def parse(text: str) -> Parsed:
    """Parse a sentence. On an error, `error` is set and the test passes all runs."""
    reader = _Reader(text)
    try:
        if reader.tokens:
            reader.parsed.test = reader.sentence()
            reader.expect_end()
    except SentenceError as error:
        reader.parsed.error = error
        reader.parsed.test = lambda row: True
    return reader.parsed


def quote(value: str) -> str:
    """Quote a value if necessary."""
    plain = value and all(token.word not in _ENDS for token in _tokens(value))
    is_plain = (
        plain and TOKEN.sub("", value).strip() == "" and not re.search(r'["“”<>=(),!]', value)
    )
    return value if is_plain else f'"{value.replace(chr(34), "")}"'


def comparison(key: str, row: RunRow, negated: bool = False) -> str:
    """A sentence for the runs with the same value as `row` in a column."""
    info = column_info(key)
    name = column_name(key)
    value = info.row_value(row) if info is not None else None
    if value is None or value == "":
        return f"{name} {'is not empty' if negated else 'is empty'}"
    text = _format(value)
    return f"{name} {'is not' if negated else 'is'} {text}"


def _format(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return quote(str(value))


# ── completion ───────────────────────────────────────────────────────────────────────────────


def completions(parsed: Parsed, text: str, rows: Iterable[RunRow]) -> list[str]:
    """Completions at the end of a sentence."""
    typed = text[parsed.start :].strip().strip('"“').casefold()
    match parsed.expected:
        case "field":
            names = [column_name(key) for key in all_columns()]
        case "operator":
            names = ["is", "is not", ">", "<", "≥", "≤", "contains", "is empty", "is not empty"]
        case "conjunction":
            names = ["and", "or"]
        case _:
            names = _values(parsed.key, rows)
    prefix_matches = [name for name in names if name.casefold().startswith(typed)]
    inner_matches = [name for name in names if typed in name.casefold()]
    return list(dict.fromkeys([*prefix_matches, *inner_matches]))[:MAX_COMPLETIONS]


def _values(key: str, rows: Iterable[RunRow]) -> list[str]:
    info = column_info(key)
    if info is None:
        return []
    result: dict[str, None] = {}
    for row in rows:
        value = info.row_value(row)
        text = row.tags if key == Column.TAGS else (_format(value),)
        if value is not None:
            result.update(dict.fromkeys(text))
        if len(result) >= MAX_COMPLETIONS:
            break
    return sorted(result)


# ── reading ──────────────────────────────────────────────────────────────────────────────────

_ENDS = ("and", "or", ")", "(", ",")


def _tokens(text: str) -> list[_Token]:
    result = []
    for match in TOKEN.finditer(text):
        inner = match["q"] if match["q"] is not None else match["c"]
        sentence = match[0] if inner is None else inner
        result.append(_Token(sentence, match.start(), match.end(), inner is not None))
    return result


class _Reader:
    """Recursive-descent parser that records what is expected at the end of the text."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.position = text, _tokens(text), 0
        self.parsed = Parsed()

    def sentence(self) -> Test:
        tests = [self._part()]
        while self._accept("or"):
            tests.append(self._part())
        return tests[0] if len(tests) == 1 else lambda row: any(test(row) for test in tests)

    def expect_end(self) -> None:
        if self.position < len(self.tokens):
            token = self.tokens[self.position]
            text = tr("“{0}” does not belong here: join two comparisons with “and” or “or”.")
            raise SentenceError(text.format(token.text), token.start, token.end)
        if self.text.endswith(" "):
            self._record("conjunction", len(self.text))

    def _part(self) -> Test:
        tests = [self._condition()]
        while self._accept("and"):
            tests.append(self._condition())
        return tests[0] if len(tests) == 1 else lambda row: all(test(row) for test in tests)

    def _condition(self) -> Test:
        self._record("field", self._offset())
        if self._accept("not"):
            inner = self._condition()
            return lambda row: not inner(row)
        if self._accept("("):
            test = self.sentence()
            if not self._accept(")"):
                text = tr("A bracket is not closed: add “)”.")
                raise SentenceError(text, len(self.text), len(self.text))
            return test
        key = self._field()
        info = column_info(key)
        assert info is not None  # `_field` returns known keys
        if info.measure is not None:
            self.parsed.measures.append(info.measure)
        operator, text = self._operator(key)
        if operator in ("empty", "filled"):
            is_empty = operator == "empty"
            return lambda row: (info.row_value(row) in (None, "")) == is_empty
        return self._comparison(key, info, operator, text)

    def _field(self) -> str:
        words = self._words_ahead()
        for length in range(min(len(words), MAX_NAME_WORDS), 0, -1):
            name = " ".join(word.text for word in words[:length]).casefold()
            if name in field_keys():
                self.position += length
                return field_keys()[name]
        if not words:
            text = tr("A comparison is missing here, as in: learning rate = 3e-5.")
            raise SentenceError(text, self._offset(), len(self.text))
        raise self._unknown_field_error(words)

    def _unknown_field_error(self, words: Sequence[_Token]) -> SentenceError:
        end = next((n for n, word in enumerate(words) if _begins_operator(words, n)), len(words))
        unknown_words = words[: max(1, end)]
        name = " ".join(word.text for word in unknown_words)
        similar = difflib.get_close_matches(name.casefold(), field_keys(), 1, 0.6)
        text = tr("There is no field “{0}”.").format(name)
        if similar:
            text = tr("There is no field “{0}”: did you mean “{1}”?").format(name, similar[0])
        return SentenceError(text, unknown_words[0].start, unknown_words[-1].end)

    def _operator(self, key: str) -> tuple[str, str]:
        self._record("operator", self._offset(), key)
        tokens = self.tokens[self.position : self.position + 3]
        if tokens and not tokens[0].quote and tokens[0].text in SYMBOLS:
            self.position += 1
            return SYMBOLS[tokens[0].text], tokens[0].text
        for words, operator in WORDS.items():
            if tuple(token.word for token in tokens[: len(words)]) == words:
                self.position += len(words)
                return operator, " ".join(words)
        name = column_name(key)
        text = tr("A comparison must follow “{0}”, as in: {0} is …").format(name)
        raise SentenceError(text, self._offset(), max(self._offset(), len(self.text)))

    def _comparison(self, key: str, info: ColumnInfo, operator: str, text: str) -> Test:
        self._record("value", self._offset(), key)
        if operator in ("in", "not in"):
            items = self._list()
            tests = [_make_test(info, "=", self._check(info, "=", item)) for item in items]
            is_in = operator == "in"
            return lambda row: any(test(row) for test in tests) == is_in
        token = self._value(f"{column_name(key)} {text}")
        return _make_test(info, operator, self._check(info, operator, token))

    def _list(self) -> list[_Token]:
        if not self._accept("("):
            return [self._value("in")]
        items = [self._value("in")]
        while self._accept(","):
            items.append(self._value(","))
        if not self._accept(")"):
            text = tr("A bracket is not closed: add “)”.")
            raise SentenceError(text, len(self.text), len(self.text))
        return items

    def _value(self, after: str) -> _Token:
        self._record("value", self._offset(), self.parsed.key)
        if self.position < len(self.tokens) and self.tokens[self.position].quote:
            self.position += 1
            return self.tokens[self.position - 1]
        words = self._words_ahead()
        ends = [n for n, word in enumerate(words) if word.word in ("and", "or")]
        words = words[: ends[0]] if ends else words
        if not words:
            text = tr("A value must follow “{0}”.").format(after)
            raise SentenceError(text, self._offset(), len(self.text))
        self.position += len(words)
        start, end = words[0].start, words[-1].end
        return _Token(self.text[start:end], start, end)

    def _check(self, info: ColumnInfo, operator: str, token: _Token) -> str:
        number = parse_quantity(token.text)
        if info.is_number and number is None and operator not in ("contains", "lacks"):
            text = tr("“{0}” is not a number, and “{1}” needs one.")
            raise SentenceError(text.format(token.text, info.title()), token.start, token.end)
        if operator in ORDERS and number is None and not DATE.fullmatch(token.text):
            text = tr("“{0}” is not a number: compare texts with “is” or “contains”.")
            raise SentenceError(text.format(token.text), token.start, token.end)
        return token.text

    # ── tokens ───────────────────────────────────────────────────────────────────────────────

    def _words_ahead(self) -> list[_Token]:
        result = []
        for token in self.tokens[self.position :]:
            if not token.quote and (token.text in SYMBOLS or token.text in ("(", ")", ",")):
                break
            result.append(token)
        return result

    def _accept(self, word: str) -> bool:
        if self.position < len(self.tokens) and self.tokens[self.position].word == word:
            self.position += 1
            return True
        return False

    def _offset(self) -> int:
        if self.position < len(self.tokens):
            return self.tokens[self.position].start
        return len(self.text)

    def _record(self, expected: Expected, start: int, key: str = "") -> None:
        self.parsed.expected, self.parsed.start, self.parsed.key = expected, start, key


def _begins_operator(words: Sequence[_Token], index: int) -> bool:
    return any(
        tuple(word.word for word in words[index : index + len(item)]) == item for item in WORDS
    )


def parse_quantity(text: str) -> float | None:
    """A number with its unit, such as 3e-5, 1,000, 70 %, 10 min; None for other texts."""
    match = NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    try:
        number = float(match[1].replace(",", ""))
    except ValueError:
        return None
    return number * UNITS[match[2].lower()] if match[2] else number


def _make_test(info: ColumnInfo, operator: str, other: str) -> Test:
    """Make a test that compares the value of a run in a column with `other`."""
    number, text = parse_quantity(other), other.casefold()
    truth = BOOLEANS.get(text)
    compare = _COMPARISONS.get(operator)

    known_matches: dict[Value, bool] = {}

    def matches(row: RunRow, value: Value) -> bool:
        """True if the value, its cell text or a synonym equals `other`."""
        if value not in known_matches:
            names = (str(value or ""), info.text(row), *info.synonyms(row))
            known_matches[value] = any(text == name.casefold() for name in names)
        return known_matches[value]

    def test(row: RunRow) -> bool:
        value = info.row_value(row)
        if operator in ("contains", "lacks"):
            sentence = " ".join((str(value or ""), info.text(row), *info.synonyms(row)))
            return (text in sentence.casefold()) == (operator == "contains")
        if isinstance(value, bool) and truth is not None:
            return (value == truth) == (operator == "=")
        if isinstance(value, int | float) and not isinstance(value, bool) and number is not None:
            return compare is not None and compare(float(value), number)
        if operator in ORDERS:
            is_dated = isinstance(value, str) and DATE.match(value) is not None
            return is_dated and compare is not None and _compare_dates(str(value), other, operator)
        return matches(row, value) == (operator == "=")

    return test


def _compare_dates(value: str, other: str, operator: str) -> bool:
    """Compare moments as texts; `other` may be a month or a day."""
    start = value[: len(other)]
    return {"<": start < other, ">": start > other, "≤": start <= other, "≥": start >= other}[
        operator
    ]


def _is_close(item: float, other: float) -> bool:
    return math.isclose(item, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": _is_close,
    "≠": lambda value, other: not _is_close(value, other),
    "<": lambda value, other: value < other,
    ">": lambda value, other: value > other,
    "≤": lambda value, other: value <= other,
    "≥": lambda value, other: value >= other,
}


@cache
def field_keys() -> dict[str, str]:
    """Column keys by the names that can be typed, casefolded; of equal names, the first wins.

    The names are the titles in the language of the window, and the keys.
    """
    result: dict[str, str] = {}
    for key in all_columns():
        for name in column_names(key):
            result.setdefault(name.casefold(), key)
    return result


def column_names(key: str) -> list[str]:
    """The names of a column in a sentence, the preferred one first."""
    info = column_info(key)
    title = info.title() if info is not None else key
    measure = info.measure if info is not None else None
    if measure is not None:
        return _measure_names(measure, title)
    short_title = title.partition(" (")[0]
    last = key.rpartition(".")[2]
    extra = ["score"] if key == Column.BEST else []
    return [short_title.lower() if short_title.isascii() else short_title, title, *extra, key, last]


def _measure_names(measure: Measure, title: str) -> list[str]:
    metric = get_metric(measure.name)
    if not measure.name.startswith(VALIDATION) or metric is None:
        return [title.lower(), title, measure.key]
    bare = measure.name.removeprefix(VALIDATION)
    if bare == "loss":
        bare = "validation loss"
    prefix = {"at best": "", "last": "last "}.get(measure.when, "best ")
    names = [in_language(metric.title), metric.short, bare, bare.replace("_", " ")]
    if bare == "validation loss":
        names = [bare]
    plain_first = sorted((name for name in names if name), key=lambda name: "(" in name)
    return [*dict.fromkeys(f"{prefix}{name}" for name in plain_first), title, measure.key]


def column_name(key: str) -> str:
    """The preferred name of a column that no earlier column has."""
    return next(name for name in column_names(key) if field_keys()[name.casefold()] == key)
