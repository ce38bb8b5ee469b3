"""Tables are written completely, in every format, and read back equal by other programs."""

import csv
import json
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.errors import StudioError
from engine.files import table_files
from engine.files.table_files import TABLE_WRITERS, write_table

ROWS = [
    {"text": "=1+1", "p": 0.25, "n": 3, "yes": True, "tags": ["B", "O"]},
    {"text": 'a "quoted",\nline', "p": float("nan"), "n": None, "yes": False, "tags": []},
    {"text": "", "p": 1.0, "n": -1, "yes": True, "tags": None},
]
TABLE = pa.Table.from_pylist(ROWS)
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def write_rows(folder: Path, suffix: str, raw: bool = False) -> Path:
    path = folder / f"rows{suffix}"
    write_table(path, TABLE.schema, (TABLE.slice(n, 1) for n in range(3)), raw)
    return path


def sheet_cells(path: Path) -> list[tuple[str, str, str]]:
    """Reference, type and content of each cell; a formula would be a separate element."""
    with zipfile.ZipFile(path) as archive:
        root = ET.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    assert not root.findall(f".//{SHEET}f")
    return [
        (cell.get("r", ""), cell.get("t", "n"), "".join(cell.itertext()))
        for cell in root.iter(f"{SHEET}c")
    ]


@pytest.mark.parametrize("suffix,delimiter", [(".csv", ","), (".tsv", "\t")])
@pytest.mark.parametrize("raw", [False, True])
def test_delimited_files_are_read_back_by_csv(tmp_path, suffix, delimiter, raw):
    with open(write_rows(tmp_path, suffix, raw), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=delimiter))
    assert [row["text"] for row in rows] == ["=1+1" if raw else "'=1+1", ROWS[1]["text"], ""]
    assert [row["p"] for row in rows] == ["0.25", "", "1.0"]
    assert [row["n"] for row in rows] == ["3", "", "-1"]
    assert [row["tags"] for row in rows] == ['["B", "O"]', "[]", ""]


def test_json_lines_keep_lists_and_have_no_nan(tmp_path):
    rows = [json.loads(line) for line in write_rows(tmp_path, ".jsonl").read_text().splitlines()]
    assert rows == [*ROWS[:1], {**ROWS[1], "p": None}, *ROWS[2:]]


def test_parquet_keeps_every_type(tmp_path):
    table = pq.read_table(write_rows(tmp_path, ".parquet"))
    assert table.schema == TABLE.schema and table.to_pylist()[0] == ROWS[0]


def test_a_formula_is_a_text_in_excel_and_numbers_are_numbers(tmp_path):
    cells = sheet_cells(write_rows(tmp_path, ".xlsx"))
    assert cells[:5] == [(f"{c}1", "inlineStr", n) for c, n in zip("ABCDE", ROWS[0], strict=True)]
    assert cells[5:10] == [
        ("A2", "inlineStr", "=1+1"),
        ("B2", "n", "0.25"),
        ("C2", "n", "3"),
        ("D2", "b", "1"),
        ("E2", "inlineStr", '["B", "O"]'),
    ]
    assert ("A3", "inlineStr", ROWS[1]["text"]) in cells
    assert not any(cell in ("B3", "C3", "A4") for cell, _, _ in cells)


def test_rows_too_large_for_excel_are_refused_and_leave_nothing(tmp_path, monkeypatch):
    path = tmp_path / "rows.xlsx"
    long = pa.table({"text": ["short", "x" * 32_768]})
    with pytest.raises(StudioError, match="row 2, column “text”, has 32,768 characters"):
        write_table(path, long.schema, [long])
    monkeypatch.setattr(table_files, "EXCEL_ROWS", 2)
    with pytest.raises(StudioError, match="more than 2 rows"):
        write_table(path, TABLE.schema, [TABLE])
    wide = pa.table({f"c{n}": ["x"] for n in range(16_385)})
    with pytest.raises(StudioError, match="16,385 columns"):
        write_table(path, wide.schema, [wide])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", TABLE_WRITERS)
def test_an_existing_file_stays_if_writing_fails(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text("before")

    def rows():
        yield TABLE
        raise StudioError("no more")

    with pytest.raises(StudioError, match="no more"):
        write_table(path, TABLE.schema, rows())
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 1


def test_an_unknown_suffix_is_refused_and_the_known_ones_are_named(tmp_path):
    with pytest.raises(StudioError, match=r"ends with none of \.csv, \.tsv, \.jsonl"):
        write_table(tmp_path / "rows.doc", TABLE.schema, [TABLE])
