"""JSON Lines parsed by columns give the rows that the standard library reads one by one."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Reading
from engine.data.formats import json_parser, jsonl, lines, text_blocks
from engine.data.formats.lines import Lines
from engine.data.formats.reading import read
from engine.errors import BadFile
from tests.engine.data.formats.outcomes import outcome, set_block_size
from tests.often import tries

READING = Reading(format="jsonl", encoding="utf-8")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["a: 1,", 'x": null, "y', "\\", '\\"', '\\\\"', "ü\u2028\0\x7f", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=3,
)
PIECES = [
    *('{"a": "x"}', '{"a":1}', '{"a": -0.0e+5,"b" :  null }', '{"b":true}', "{}", '{"c":[1]}'),
    *("\n", "\r\n", "\r", "\n\n", " ", "\t", "\0", "\ufeff", "\xa0", "{", "}", '"', ",", ":"),
    *('"a"', "1", "01", "-", "NaN", "null", "true", "\\", '\\"', "\\u0041", "\\ud83d\\ude00"),
    *('{"a":"\\ud83d"}', '{"a":"\\ude00"}', '{"a":"1","\\u0061":2}', '{"a": "b: 2, {c: null}"}'),
    *('{"a":"\\\\"}', '{"a":"\\\\\\": 5,"}', '{"a":1.}', '{"a":\x0b1}', '{"a":"\\u0000"}', "ü"),
]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    set_block_size(monkeypatch, 24)


def keys_or_error(reader, file: Path) -> tuple[object, str]:
    """The keys of a file, or the error."""
    try:
        return reader(Lines(file, "utf-8"), {}), ""
    except BadFile as error:
        return (), str(error)


def assert_same(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    keys = keys_or_error(jsonl.first_keys, file)
    assert keys_or_error(json_parser.read_keys, file) == keys
    if keys[0]:
        assert outcome(read(file, READING)) == outcome(read(file, READING, head_only=True))


@tries(1_500)
@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=30))
def test_any_pieces_give_the_same_rows_errors_and_notes(tmp_path_factory, pieces):
    assert_same(tmp_path_factory.getbasetemp() / "any.jsonl", "".join(pieces).encode())


@tries(200)
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "c", "", "ü", "a\0", "\ud800"]), JSON),
        min_size=1,
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]),
    last=st.sampled_from(["", "\n", "}", ' {"a":1}', "\n{"]),
    is_ascii=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :\t"), (",", ":\n")]),
)
def test_any_objects_give_the_same_outcome(tmp_path_factory, rows, end, last, is_ascii, separators):
    encoded = [json.dumps(row, ensure_ascii=is_ascii, separators=separators) for row in rows]
    content = f"{end.join(encoded)}{last}".encode("utf-8", errors="replace")
    assert_same(tmp_path_factory.getbasetemp() / "rows.jsonl", content)


@tries(400)
@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from(["text", "label", "number"]),
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(alphabet='ab\\",:{}1 \n', max_size=8),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_plain_objects_give_the_same_outcome(tmp_path_factory, rows):
    content = "\n".join(json.dumps(row) for row in rows).encode()
    assert_same(tmp_path_factory.getbasetemp() / "plain.jsonl", content)


@pytest.mark.parametrize("content", [b'{"a":"\xff"}\n', b'{"a":1}\n' * 30 + b'{"a":"\xc3'])
def test_invalid_bytes_give_the_same_error(tmp_path, content):
    assert_same(tmp_path / "file.jsonl", content)


def test_an_overlong_line_gives_the_same_error(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "MAX_LINE_CHARACTERS", 200)
    monkeypatch.setattr(json_parser, "MAX_LINE_CHARACTERS", 200)
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", 200)
    monkeypatch.setattr(Lines.look_ahead, "__defaults__", (200, False))
    for size in (150, 191, 192, 193, 250):
        line = json.dumps({"a": "x" * size})
        assert_same(tmp_path / "file.jsonl", f'{{"a":1}}\n{line}\n'.encode())


def test_objects_with_many_rare_keys_are_read_row_by_row(tmp_path, monkeypatch):
    monkeypatch.setattr(json_parser, "MAX_BLOCK_CELLS", 6)
    rows = [{f"key{number % 5}": "x"} for number in range(20)]
    assert_same(tmp_path / "file.jsonl", "\n".join(map(json.dumps, rows)).encode())


def test_most_rows_of_a_compressed_file_are_parsed_by_columns(tmp_path, monkeypatch):
    """Only the first row and those around an irregular one are parsed one by one."""
    set_block_size(monkeypatch, 400)
    slow_lines: list[int] = []
    original = json_parser.item_rows

    def recording(*arguments):
        for row in original(*arguments):
            slow_lines.append(row.line)
            yield row

    monkeypatch.setattr(json_parser, "item_rows", recording)
    regular = ['{"text": "some: 5, \\"text\\"", "label": 1, "sure": null}'] * 400
    file = tmp_path / "file.jsonl.gz"
    rows = [*regular[:200], '{"text": ["a", "b"], "label": 2.50, "sure": true}', *regular]
    file.write_bytes(gzip.compress("\n".join(rows).encode()))
    table = read(file, READING)
    rows_read = [row for batch in table.batches() for row in batch.rows()]
    assert len(rows_read) == 601
    assert rows_read[200] == (201, ('["a", "b"]', "2.50", "true"))
    assert 201 in slow_lines and len(slow_lines) < 60
    assert "“sure” is null, read as an empty cell: 600 times, first in line 1." in table.notes
