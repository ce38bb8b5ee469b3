"""Tables parsed by columns give the rows that the standard library reads one by one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Reading
from engine.data.formats import csv_parser, lines, text_blocks
from engine.data.formats.reading import read, recognise
from engine.data.formats.table import count_titles
from engine.errors import BadFile
from tests.engine.data.formats.outcomes import outcome, set_block_size
from tests.often import tries

PIECES = [
    *('"', '""', ",", "\n", "\r\n", "\r", "\0", "\ufeff", " ", "\t"),
    *("a", "bc", "ü", "\u2028", "", "sep=,"),
]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    set_block_size(monkeypatch, 24)


def refusal(file: Path, reading: Reading) -> str:
    """Error before the first row is read; empty if there is none."""
    try:
        read(file, reading)
    except BadFile as error:
        return str(error)
    return ""


def assert_same(file: Path, content: bytes, **options: object) -> None:
    file.write_bytes(content)
    reading = Reading.model_validate({"format": "csv", "encoding": "utf-8", **options})
    if not refusal(file, reading):
        assert outcome(read(file, reading)) == outcome(read(file, reading, head_only=True))


@tries(2_000)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=40),
    quoted=st.booleans(),
    header=st.booleans(),
)
def test_any_characters_give_the_same_rows_errors_and_notes(
    tmp_path_factory, pieces, quoted, header
):
    file = tmp_path_factory.getbasetemp() / "any.csv"
    content = "".join(pieces).encode()
    if content:
        assert_same(file, content, quoted=quoted, header=header)


CELLS = st.one_of(
    st.sampled_from(["a", "", "ü", "two words", '"q"', '"q,"', '"x\ny"', '"x\r\ny"', '"a""b"']),
    st.sampled_from(['"\n1,2,3\n"', '5" disk', '"a" b', "\0", "\xa0", '""', '"\ufeff"', "\ufeff"]),
)


@tries(400)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=20),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\r", ""]), min_size=1, max_size=20),
    quoted=st.booleans(),
    header=st.booleans(),
    delimiter=st.sampled_from([",", "\t"]),
)
def test_irregular_rows_give_the_same_outcome(
    tmp_path_factory, rows, ends, quoted, header, delimiter
):
    file = tmp_path_factory.getbasetemp() / "rows.csv"
    end = ends[0] or "\n"
    text = end.join(delimiter.join(row) for row in rows[:-1])
    content = f"{text}\n{delimiter.join(rows[-1])}{''.join(ends[1:3])}"
    assert_same(file, content.encode(), quoted=quoted, header=header, delimiter=delimiter)


@pytest.mark.parametrize(
    "content, encoding",
    [
        (b"a,b\n1,\xff\n", "utf-8"),
        (b"a,b\n" + b"1,2\n" * 30 + b"3,\xc3", "utf-8"),
        ("a,b\nä,ö\n".encode("utf-16"), "utf-16"),
        ("a,b\nä,ö\n".encode("cp1252"), "cp1252"),
        (b"\xef\xbb\xbfa,b\n1,2\n", "utf-8"),
    ],
)
def test_encodings_give_the_same_outcome(tmp_path, content, encoding):
    assert_same(tmp_path / "file.csv", content, encoding=encoding)


def test_an_overlong_line_gives_the_same_error(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "MAX_LINE_CHARACTERS", 200)
    monkeypatch.setattr(lines, "MAX_LINE_CHARACTERS", 200)
    for tail in ("x" * 300, "x" * 200, "x" * 199 + "\n", "x" * 200 + "\n"):
        assert_same(tmp_path / "file.csv", f"a\n{tail}".encode())


def test_most_rows_are_parsed_by_columns(tmp_path, monkeypatch):
    """Only rows around an irregular one are parsed one by one."""
    set_block_size(monkeypatch, 400)
    slow_lines: list[int] = []
    original = csv_parser.fit_rows

    def recording(rows, *arguments):
        for row in original(rows, *arguments):
            slow_lines.append(row.line)
            yield row

    monkeypatch.setattr(csv_parser, "fit_rows", recording)
    regular = ['"some, text",label'] * 400
    file = tmp_path / "file.csv"
    file.write_text(
        "\n".join(["text,label", *regular[:200], '5" disk,label', *regular]), encoding="utf-8"
    )
    table = read(file, Reading(format="csv"))
    assert sum(len(batch) for batch in table.batches()) == 601
    assert 202 in slow_lines and len(slow_lines) < 60


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator_line", ["sep=;", "SEP=;", '"sep=;"'])
@pytest.mark.parametrize("header", [True, False])
def test_the_separator_line_of_excel_is_not_a_row(tmp_path, separator_line, end, header):
    file = tmp_path / "sep.csv"
    names = ["text;label"] if header else []
    rows = [f"a film, number {n};{n % 2}" for n in range(30)]
    content = end.join([separator_line, *names, *rows]).encode()
    assert_same(file, content, delimiter=";", header=header)
    guess = recognise(file)
    assert (guess.reading.delimiter, guess.reading.header) == (";", header)
    assert guess.columns == (("text", "label") if header else ("column 1", "column 2"))
    table = read(file, guess.reading)
    read_rows = list(table)
    assert [row.cells for row in read_rows] == [tuple(row.split(";")) for row in rows]
    assert read_rows[0].line == 2 + header and table.notes == ()


def test_a_row_that_begins_like_a_separator_line_is_kept(tmp_path):
    for row in (b"sep=,b,c\n", b"sep=;x,c\n", b"a,sep=;\n"):
        assert_same(tmp_path / "row.csv", row + b"d,e\n" * 20, header=False)
    file = tmp_path / "row.csv"
    file.write_text("sep=;x,c\n" + "d,e\n" * 20)
    assert next(iter(read(file, Reading(format="csv", header=False)))).cells == ("sep=;x", "c")


ROWS = [f"a film number {n};{'good' if n % 2 else 'bad'}" for n in range(40)]


@pytest.mark.parametrize(
    "titles",
    [
        ["Export of 1 March 2024;", ";"],
        ["# made by a tool", "# version 2"],
        ["sep=;", "My reviews"],
    ],
)
def test_titles_above_the_header_are_skipped_and_noted(tmp_path, titles):
    file = tmp_path / "titles.csv"
    content = "\n".join([*titles, "review;verdict", *ROWS]).encode()
    assert_same(file, content, delimiter=";")
    guess = recognise(file)
    assert (guess.columns, guess.reading.header) == (("review", "verdict"), True)
    table = read(file, guess.reading)
    rows = list(table)
    assert [row.cells for row in rows] == [tuple(row.split(";")) for row in ROWS]
    assert rows[0].line == 4
    (note,) = table.notes
    assert note.startswith("Row above the header skipped: ")


@pytest.mark.parametrize(
    "rows, columns",
    [
        ([";text", *(f"{n};a film number {n}" for n in range(40))], ("column 1", "text")),
        (["text;", *(f"a film number {n};{n % 2}" for n in range(40))], ("text", "column 2")),
        (["notes", *(f"a film number {n}" for n in range(40))], ("column 1",)),
        (["My reviews;", *ROWS], ("column 1", "column 2")),
    ],
)
def test_possible_headers_are_not_skipped_as_titles(tmp_path, rows, columns):
    file = tmp_path / "rows.csv"
    assert_same(file, "\n".join(rows).encode(), delimiter=";")
    guess = recognise(file)
    assert guess.columns == columns
    assert not any("above the header" in note for note in read(file, guess.reading).notes)


def test_titles_are_counted_only_above_a_header_and_a_table():
    rows = [row.split(";") for row in ROWS]
    header = ["review", "verdict"]
    assert count_titles([["My reviews"], header, *rows]) == 1
    assert count_titles([["Text", ""], header, *rows]) == 0, "a usual name of a column"
    assert count_titles([["My reviews"], ["review", ""], *rows]) == 0, "no header"
    prose = [["It was fine"], ["so be it"]]
    assert count_titles([*prose, header, *([row[0]] for row in rows)]) == 0, "no table"


@pytest.mark.parametrize("sign", [";", "|", "@", "^", "\t", ","])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("header", [[], [("text", "label")]])
def test_a_sign_between_a_text_and_its_label_is_found(tmp_path, sign, is_first, header):
    rows = [*header, *((f"it is number {n}.", "joy" if n % 3 else "fear") for n in range(20))]
    file = tmp_path / "emotions.txt"
    file.write_text("".join(f"{sign.join(row[::-1] if is_first else row)}\n" for row in rows))
    recognised = recognise(file)
    assert (recognised.reading.delimiter, recognised.reading.header) == (sign, bool(header))
    assert recognised.mapping is not None and recognised.mapping.label is not None
    found = read(file, recognised.reading)
    texts = [row.cells[found.columns.index(recognised.mapping.text)] for row in found]
    assert texts == [text for text, _ in rows[len(header) :]]


def test_lines_of_text_with_signs_are_no_table(tmp_path):
    file = tmp_path / "texts.txt"
    words = ("yes", "no", "well")
    file.write_text("".join(f"{words[n % 3]}, it is @user{n} and more\n" for n in range(20)))
    assert recognise(file).reading.format == "text"


def test_every_label_of_fasttext_is_read(tmp_path):
    file = tmp_path / "labels.txt"
    line = "__label__joy __label__a:b it is __label__ number"
    file.write_text(f"{line} 1\n__label__joy it is 2\n" * 5)
    rows = [row.cells for row in read(file, recognise(file).reading)]
    assert rows[0] == ("__label__joy|__label__a:b", "it is __label__ number 1")
    assert rows[1] == ("__label__joy", "it is 2")


def test_apostrophes_before_formulas_are_left_out_unless_other_formulas_have_none(tmp_path):
    escaped, plain = tmp_path / "escaped.csv", tmp_path / "plain.csv"
    escaped.write_text("'=sum,text\n1,\"'-- I don't, he said\"\n2,'=1+1\n3,'- no'\n")
    table = read(escaped, recognise(escaped).reading)
    assert table.columns == ("=sum", "text")
    assert [row.cells[1] for row in table] == ["-- I don't, he said", "=1+1", "'- no'"]
    assert table.notes == (
        "Apostrophe before a text that looks like a formula left out: 2 times, first in line 2.",
    )
    plain.write_text("id,text\n1,'-- I don't\n2,- no\n")
    table = read(plain, recognise(plain).reading)
    assert [row.cells[1] for row in table] == ["'-- I don't", "- no"] and not table.notes
