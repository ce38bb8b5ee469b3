"""JSON Lines parser: pyarrow parses whole blocks, the standard library all other lines.

A block is parsed by pyarrow only if it has a single interpretation: each line is an object, each
value a string, number, true, false or null under a known key, and no key of the file holds objects.
Anything else is parsed line by line, so that rows, lines and errors are always those of
`parse_objects` and `item_rows`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from engine.data.formats.batches import Batch, rows_to_batches
from engine.data.formats.json_nested import Names, flatten_items
from engine.data.formats.lines import MAX_LINE_CHARACTERS, Lines
from engine.data.formats.rows import EMPTY_LINE, MAX_COLUMNS, Remarks, Row
from engine.data.formats.strict_json import (
    SURROGATES,
    InvalidJson,
    Number,
    depth_problem,
    describe_error,
    reject_constant,
    unique_keys,
    without_surrogates,
    write_json,
)
from engine.data.formats.text_blocks import TextBlocks
from engine.errors import BadFile
from engine.phrases import phrase

ADVICE = phrase(
    "Each line must be one JSON object, such as {{“text”: “…”, “label”: “…”}}, in straight quotes."
)


def item_rows(
    path: Path, items: Iterable[tuple[int, dict[str, Any]]], keys: tuple[str, ...], remarks: Remarks
) -> Iterator[Row]:
    """Yield a row for each numbered object, with a cell for each key.

    Raises BadFile with the number if nesting is too deep.
    """
    for number, item in items:
        cells = []
        for key in keys:
            if key not in item:
                remarks.count(missing_remark(key), number)
                cells.append("")
                continue
            try:
                cells.append(_cell(item[key], key, number, remarks))
            except InvalidJson as error:
                raise BadFile(path, error.problem, ADVICE, line=number) from error
        yield Row(number, tuple(cells))


def parse_objects(
    path: Path, lines: Iterable[str], remarks: Remarks, before: int = 0
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each non-empty line, after `before` lines.

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
    path: Path, lines: Iterable[str], remarks: Remarks, keeps_digits: bool = False, before: int = 0
) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each non-empty line. Raises BadFile."""
    kind = Number if keeps_digits else None
    decoder = json.JSONDecoder(
        parse_int=kind,
        parse_float=kind,
        parse_constant=reject_constant,
        object_pairs_hook=unique_keys,
    )
    for number, line in enumerate(lines, start=before + 1):
        text = line.strip()
        if not text:
            remarks.count(EMPTY_LINE, number)
            continue
        try:
            yield number, decoder.decode(text)
        except json.JSONDecodeError as error:
            column = error.colno + len(line) - len(line.lstrip())
            problem = describe_error(error)
            raise BadFile(path, problem, ADVICE, line=number, column=column) from error
        except InvalidJson as error:
            raise BadFile(path, error.problem, ADVICE, line=number) from error
        except RecursionError as error:
            raise BadFile(path, depth_problem(), ADVICE, line=number) from error


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
        remarks.count(null_remark(key), line)
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        remarks.count(phrase("“{key}” has several values, kept as JSON", key=key), line)
        value = write_json(value)
    text = without_surrogates(value)
    if text != value:
        remarks.count(phrase("“{key}” contains a lone surrogate, replaced by “�”", key=key), line)
    return str(text)


_json: Any = pyarrow.json  # untyped: the stubs do not allow buffers
QUOTE, NEWLINE, RETURN, OPENS, CLOSES, BACKSLASH, COLON, SPACE = map(ord, '"\n\r{}\\: ')
MAX_BLOCK_CELLS = 4_000_000  # more means many sparse keys
KINDS: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64()}
LITERAL = re.compile(  # a value that is not a string: null, or a literal kept unchanged
    rb":[ \t]*(?:(null)|(true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))"
    rb"(?=[ \t]*[,}])"
)


def read_keys(lines: Lines, names: Names) -> tuple[str, ...]:
    """Read the keys, flattened by `names`, in order of first appearance; about `MAX_COLUMNS`.

    Raises BadFile as `parse_objects` does.
    """
    text = TextBlocks(lines.without_progress())
    keys: dict[str, None] = {}
    parse = _Parser(())

    def parse_fast(content: bytes) -> dict[str, Any] | None:
        nonlocal parse
        if len(keys) > len(parse.keys):
            parse = _Parser(tuple(keys))
        parsed = None if names else parse(content, text.is_at_end)
        if parsed is None:
            return None
        text.consume(parsed.end, parsed.newlines)
        return {}  # no new keys

    def parse_slow(size: int) -> Iterator[dict[str, Any]]:
        items = flatten_items(parse_objects(lines.path, text, Remarks(), text.lines_read), names)
        return (item for _, item in text.limit(items, size))

    for item in text.parse(parse_fast, parse_slow):
        keys.update(dict.fromkeys(item))
        if len(keys) > MAX_COLUMNS:
            break
    return tuple(keys)


def read_batches(
    lines: Lines, keys: tuple[str, ...], names: Names, remarks: Remarks
) -> Iterator[Batch]:
    """Read the rows in batches, equal to those of `item_rows`, with a cell for each key."""
    text = TextBlocks(lines)
    parse = _Parser(keys)

    def parse_fast(content: bytes) -> Batch | None:
        parsed = None if names else parse(content, text.is_at_end)
        if parsed is None:
            return None
        batch = _to_batch(lines, content, parsed, keys, text.lines_read, remarks)
        text.consume(parsed.end, parsed.newlines)
        return batch

    def parse_slow(size: int) -> Iterator[Batch]:
        items = flatten_items(parse_objects(lines.path, text, remarks, text.lines_read), names)
        return rows_to_batches(item_rows(lines.path, text.limit(items, size), keys, remarks))

    yield from filter(len, text.parse(parse_fast, parse_slow))


class _Block(NamedTuple):
    """Complete lines at the start of some bytes, and their values."""

    end: int  # bytes
    newlines: int  # including that of the last line
    starts: NDArray[np.int64]  # [lines], start
    ends: NDArray[np.int64]  # [lines], end without line end
    values: pa.Table  # one row per non-empty line; null for null or a missing key
    nulls: int  # values that are null and not missing


class _Parser:
    """Parses a block into one string column per key.

    Integers, true and false are first parsed as typed columns, by the kinds in the first object; if
    that fails, every literal is quoted first.
    """

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self._can_parse = bool(keys) and not any(map(SURROGATES.search, keys))
        self._strings = pa.schema([pa.field(key, pa.string()) for key in keys if self._can_parse])
        self._kinds: pa.Schema | None = None  # column types to try
        self._is_first = True

    def __call__(self, content: bytes, is_at_end: bool) -> _Block | None:
        """Parse all complete lines; None if a line needs the standard library."""
        end = len(content) if is_at_end else content.rfind(b"\n") + 1
        if not self._can_parse or not end or b"\0" in content:
            return None
        returns = content.count(b"\r", 0, end)
        if returns and returns != content.count(b"\r\n", 0, end):
            return None
        codes = np.frombuffer(content, dtype=np.uint8)[:end]
        newlines = np.flatnonzero(codes == NEWLINE)
        starts = np.concatenate([[0], newlines + 1])
        ends = np.append(newlines, end)
        if starts[-1] == end:
            starts, ends = starts[:-1], ends[:-1]
        if (ends - starts).max() + 2 >= MAX_LINE_CHARACTERS:
            return None
        ends = ends - ((ends > starts) & (codes[ends - 1] == RETURN))
        filled = ends > starts
        are_objects = (codes[starts[filled]] == OPENS) & (codes[ends[filled] - 1] == CLOSES)
        if not are_objects.all() or filled.sum() * len(self.keys) > MAX_BLOCK_CELLS:
            return None
        if self._is_first and filled.any():
            first = int(np.argmax(filled))
            with suppress(ValueError, RecursionError):
                item = json.loads(content[starts[first] : ends[first]])
                kinds = ((key, KINDS.get(type(item.get(key)), pa.string())) for key in self.keys)
                self._kinds = pa.schema(list(kinds))
            self._is_first = False
        values, nulls = self._values(content[:end], codes)
        if values is None or values.num_rows != filled.sum():  # a line has two objects
            return None
        return _Block(end, len(newlines), starts, ends, values, nulls)

    def _values(self, content: bytes, codes: NDArray[np.uint8]) -> tuple[pa.Table | None, int]:
        """Values of all objects as strings or null, and the number of explicit nulls."""
        if self._kinds is not None and b"-0" not in content:  # not an integer to pyarrow
            values = _parse(content, self._kinds)
            if values is not None and not any(column.null_count for column in values.columns):
                return values.cast(self._strings), 0
            self._kinds = None
        strings, nulls = _quote_literals(content, codes)
        return _parse(strings, self._strings), nulls


def _parse(content: bytes, schema: pa.Schema) -> pa.Table | None:
    """Parse one row per object; None if a value or a key does not fit."""
    try:
        table: pa.Table = _json.read_json(
            pa.BufferReader(content),
            read_options=_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=_json.ParseOptions(
                explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="error"
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table


def _quote_literals(content: bytes, codes: NDArray[np.uint8]) -> tuple[bytes, int]:
    """Quote numbers, true and false, and count nulls.

    A value is outside strings if an even number of quotes precedes it.
    """
    colons = np.flatnonzero(codes[:-1] == COLON)
    next_is_text = codes[colons + 1] == QUOTE
    next_is_text |= (codes[colons + 1] == SPACE) & (codes[(colons + 2) % len(codes)] == QUOTE)
    colons = colons[~next_is_text]
    if not len(colons):
        return content, 0
    colons = colons[np.searchsorted(_quotes(codes), colons) % 2 == 0]
    parts: list[bytes] = []
    nulls = last = 0
    for match in filter(None, map(LITERAL.match, repeat(content), colons.tolist())):
        begin, end = match.span(2)
        if begin < 0:
            nulls += 1
        else:
            parts += (content[last:begin], match[2])
            last = end
    if not parts:
        return content, nulls
    return b'"'.join((*parts, content[last:])), nulls


def _quotes(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Positions of quotes that open or close a string, without those that are escaped."""
    quotes = np.flatnonzero(codes == QUOTE)
    slashes = np.flatnonzero(codes == BACKSLASH)
    if not len(slashes) or not len(quotes):
        return quotes
    follows = np.diff(slashes, prepend=-2) == 1
    first = np.maximum.accumulate(np.where(follows, 0, np.arange(len(slashes))))
    last_slash = np.searchsorted(slashes, quotes) - 1  # index, before each quote
    follows_slash = (last_slash >= 0) & (slashes[last_slash] == quotes - 1)
    escaped = follows_slash & ((quotes - slashes[first[last_slash]]) % 2 == 1)
    unescaped: NDArray[np.int64] = quotes[~escaped]
    return unescaped


def _to_batch(
    lines: Lines,
    content: bytes,
    parsed: _Block,
    keys: tuple[str, ...],
    before: int,
    remarks: Remarks,
) -> Batch:
    """Number the rows of a block, and remark empty lines, nulls and missing keys."""
    filled = parsed.ends > parsed.starts
    numbers = np.arange(before + 1, before + 1 + len(filled), dtype=np.int64)
    for line in numbers[~filled].tolist():
        remarks.count(EMPTY_LINE, line)
    columns = [column.combine_chunks() for column in parsed.values.columns]
    batch = Batch(numbers[filled], [column.fill_null("") for column in columns])
    empty = sum(column.null_count for column in columns)
    if parsed.nulls in (0, empty):
        describe = null_remark if parsed.nulls else missing_remark
        for key, column in zip(keys, columns, strict=True):
            if column.null_count:
                first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                remarks.count(describe(key), int(batch.lines[first]), column.null_count)
        return batch
    is_empty = [column.is_null().to_numpy(zero_copy_only=False) for column in columns]
    starts, ends = parsed.starts[filled], parsed.ends[filled]
    for number in np.flatnonzero(np.any(is_empty, axis=0)).tolist():
        text = content[starts[number] : ends[number]].decode("utf-8")
        item = parse_objects(lines.path, [text], remarks, int(batch.lines[number]) - 1)
        for _ in item_rows(lines.path, item, keys, remarks):
            pass  # for the remarks only
    return batch
