"""Workbooks of Excel and LibreOffice are read, with their common quirks."""

import datetime as dt
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter
import xlwt

from engine.cli import main
from engine.config.dataset import Mapping, Reading
from engine.data.formats.reading import preview, read, recognise
from engine.data.formats.sources import list_parts
from engine.errors import BadFile

ROWS = [["a fine day", "pos", 1, 2.5], ["a bad day", "neg", 0, -1], ["so so", "neg", 3, 0.1]]
TEXTS = [tuple(str(cell) for cell in row) for row in ROWS]
NAMES = ("text", "label", "count", "mark")


def xlsx(path: Path, sheets: dict[str, Callable[[xlsxwriter.worksheet.Worksheet], None]]) -> Path:
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, fill in sheets.items():
            fill(book.add_worksheet(name))
    return path


def writer(*rows: list[object], top: int = 0, left: int = 0):
    def fill(sheet: xlsxwriter.worksheet.Worksheet) -> None:
        for number, row in enumerate(rows):
            sheet.write_row(top + number, left, row)

    return fill


def old_excel(path: Path) -> Path:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Data")
    for number, row in enumerate([NAMES, *ROWS]):
        for column, cell in enumerate(row):
            sheet.write(number, column, cell)
    book.save(str(path))
    return path


def open_document(path: Path, rows: str) -> Path:
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="Data">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return path


def ods_rows(rows: list[list[object]], repeated: int = 1) -> str:
    def cell(value: object) -> str:
        if isinstance(value, str):
            attributes = f'office:value-type="string"><text:p>{value}</text:p>'
        else:
            attributes = (
                f'office:value-type="float" office:value="{value}"><text:p>{value}</text:p>'
            )
        return f"<table:table-cell {attributes}</table:table-cell>"

    start = f'<table:table-row table:number-rows-repeated="{repeated}">'
    return "".join(f"{start}{''.join(map(cell, row))}</table:table-row>" for row in rows)


def cells(path: Path) -> list[tuple[str, ...]]:
    return [row.cells for row in read(path, recognise(path).reading)]


def test_xlsx_xls_and_ods_give_the_same_rows(tmp_path):
    empty = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell'
    empty += ' table:number-columns-repeated="16384"/></table:table-row>'  # as LibreOffice does
    files = [
        xlsx(tmp_path / "a.xlsx", {"Data": writer(list(NAMES), *ROWS)}),
        old_excel(tmp_path / "a.xls"),
        open_document(tmp_path / "a.ods", ods_rows([list(NAMES), *ROWS]) + empty),
    ]
    for file in files:
        guess = recognise(file)
        assert guess.reading == Reading(format="excel", header=True), file
        assert guess.columns == NAMES
        assert guess.mapping == Mapping(text="text", label="label")
        assert cells(file) == TEXTS, file
        assert [row.line for row in read(file, guess.reading)] == [2, 3, 4]


def test_a_sheet_is_selected_by_a_path_below_the_file(tmp_path):
    sheets = {"Read me": writer(), "One": writer(["text"], ["a b"]), "Two": writer(["text"], ["c"])}
    book = xlsx(tmp_path / "book.xlsx", sheets)
    assert list_parts(book) == [book / "One", book / "Two"]
    table = read(book, recognise(book).reading)
    assert [row.cells for row in table] == [("a b",)]
    assert table.notes == ("The sheet “One” was read; there is also “Two”.",)
    assert cells(book / "Two") == [("c",)]
    for name, message in (("Three", "no sheet “Three”"), ("Read me", "“Read me” is empty")):
        with pytest.raises(BadFile, match=message):
            recognise(book / name)
    packed = tmp_path / "all.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(book, "in/book.xlsx")
    assert cells(packed / "in" / "book.xlsx" / "Two") == [("c",)]


def test_a_sheet_of_remarks_before_the_table_is_skipped(tmp_path):
    table = writer(["text", "label"], ["a b", "x"], ["c d", "y"])
    about = xlsx(tmp_path / "about.xlsx", {"About": writer(["Made in March"]), "Data": table})
    assert list_parts(about) == [about / "Data", about / "About"]
    result = read(about, recognise(about).reading)
    assert result.columns == ("text", "label")
    assert result.notes == ("The sheet “Data” was read; there is also “About”.",)
    texts = writer(*([f"text {n}"] for n in range(9)))
    book = xlsx(tmp_path / "texts.xlsx", {"Texts": texts, "Sources": table})
    assert list_parts(book) == [book / "Texts", book / "Sources"]
    assert cells(book)[0] == ("text 0",), "a longer sheet is no remark"


def test_common_quirks_of_sheets_are_read_as_intended(tmp_path):
    def fill(sheet: xlsxwriter.worksheet.Worksheet) -> None:
        sheet.merge_range("C2:F2", "Reviews of 2026")
        sheet.write_row("C3", ["text", "label", "when", "seen"])
        sheet.write_row("C5", ["good film", "pos"])
        sheet.write_datetime("E5", dt.date(2026, 1, 31))
        sheet.write_boolean("F5", True)
        sheet.merge_range("D6:D7", "neg")
        sheet.write("C6", "bad film")
        sheet.write_datetime("E6", dt.datetime.fromisoformat("2026-02-01 12:30"))
        sheet.write("C7", "0012")
        sheet.write_formula("E7", "=1/0", None, "#DIV/0!")

    book = xlsx(tmp_path / "messy.xlsx", {"S": fill})
    table = read(book, recognise(book).reading)
    assert table.columns == ("text", "label", "when", "seen")
    rows = list(table)
    assert [row.line for row in rows] == [5, 6, 7]
    assert rows[0].cells == ("good film", "pos", "2026-01-31", "true")
    assert rows[1].cells[:2] == ("bad film", "neg") and rows[1].cells[2].startswith("2026-02-01")
    assert rows[2].cells[:2] == ("0012", "neg"), "text stays text, merged cells repeat it"
    assert "Row above the header skipped: once, in line 2." in table.notes
    assert any("Merged cells" in note for note in table.notes)


@pytest.mark.parametrize("value", [0, "", "good"])
def test_formulas_that_were_never_calculated_are_refused(tmp_path, value):
    """openpyxl writes formulas without values, XlsxWriter with the value 0."""

    def fill(sheet: xlsxwriter.worksheet.Worksheet) -> None:
        sheet.write_row("A1", ["text", "label"])
        sheet.write_row("A2", ["a fine day"])
        sheet.write_formula("B2", '=IF(LEN(A2)<12,"good","bad")', None, value)

    book = xlsx(tmp_path / "f.xlsx", {"S": fill, "T": writer(["text", "label"], ["a", "b"])})
    if value:
        assert cells(book) == [("a fine day", "good")]
        return
    with pytest.raises(BadFile, match=r"never calculated, as in B2.*spreadsheet program"):
        recognise(book)
    assert cells(book / "T") == [("a", "b")], "another sheet is read"


def test_cells_that_are_shown_otherwise_are_noted(tmp_path):
    path = tmp_path / "s.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("S")
        sheet.write_row("A1", ["text", "share", "time", "mark"])
        sheet.write_row("A2", ["a fine day"])
        sheet.write("B2", 0.5, book.add_format({"num_format": "0.0 %"}))
        sheet.write("C2", 26.5 / 24, book.add_format({"num_format": "[h]:mm:ss"}))
        sheet.write_formula("D2", "=NA()", None, "#N/A")
    table = read(path, Reading(format="excel"))
    assert next(iter(table)).cells == ("a fine day", "0.5", "26:30:00", "")
    notes = table.notes
    assert notes == (
        "Errors such as #N/A in cells, as in D2, are empty.",
        "Percentages were read as fractions: 0.5 for 50 %, in B.",
    )
    shown = (
        'office:value-type="string"><text:p>a fine day</text:p>',
        'office:value-type="percentage" office:value="0.5"><text:p>50 %</text:p>',
        'office:value-type="time" office:time-value="PT26H30M00S"><text:p>26:30:00</text:p>',
        'office:value-type="string" calcext:value-type="error"><text:p>#N/A</text:p>',
    )
    row = "".join(f"<table:table-cell {cell}</table:table-cell>" for cell in shown)
    header = ods_rows([["text", "share", "time", "mark"]])
    path = open_document(tmp_path / "s.ods", f"{header}<table:table-row>{row}</table:table-row>")
    table = read(path, Reading(format="excel"))
    assert next(iter(table)).cells[:3] == ("a fine day", "0.5", "26:30:00")
    assert table.notes == notes
    formula = '<table:table-cell table:formula="of:=1+1"/>'
    rows = f"{header}<table:table-row>{formula}</table:table-row>"
    with pytest.raises(BadFile, match="never calculated, as in A2"):
        read(open_document(tmp_path / "f.ods", rows), Reading(format="excel"))


def test_empty_repeated_and_merged_headers_get_names(tmp_path):
    def fill(sheet: xlsxwriter.worksheet.Worksheet) -> None:
        sheet.merge_range("A1:B1", "text")
        sheet.write_row("C1", ["label", "", "label"])
        sheet.write_row("A2", ["first one", "second one", "x", "", 1])
        sheet.write_row("A3", ["third one", "fourth one", "y", "", 2])

    book = xlsx(tmp_path / "h.xlsx", {"S": fill})
    table = read(book, Reading(format="excel"))
    assert table.columns == ("text", "text (2)", "label", "label (2)")
    assert next(iter(table)).cells == ("first one", "second one", "x", "1")


def test_a_sheet_without_a_header_keeps_its_first_row(tmp_path):
    book = xlsx(tmp_path / "n.xlsx", {"S": writer(*[["a text of words", n % 2] for n in range(9)])})
    guess = recognise(book)
    assert not guess.reading.header and guess.columns == ("column 1", "column 2")
    assert len(preview(book, guess.reading).rows) == 9


@pytest.mark.parametrize("kind", ["xlsx", "ods rows", "ods columns"])
def test_a_sheet_with_a_distant_cell_is_refused(tmp_path, kind):
    file = tmp_path / f"far.{kind[:4].strip()}"
    if kind == "xlsx":
        xlsx(file, {"Far": writer(["a"], *[[]] * 300_000, [""] * 300 + ["b"])})
    else:
        row = [["text"] * 50] if kind == "ods rows" else [["a"]]
        rows = ods_rows(row, 1_000_000 if kind == "ods rows" else 10_000)
        gap = '<table:table-cell table:number-columns-repeated="16000" office:value-type="string">'
        open_document(
            file, rows.replace("<table:table-cell", gap + "</table:table-cell><table:table-cell", 1)
        )
    with pytest.raises(BadFile, match="more than the 20,000,000 that can be read"):
        recognise(file)


def test_a_workbook_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.sheet_size.MAX_UNPACKED", 1 << 20)
    book = xlsx(tmp_path / "b.xlsx", {"S": writer(["text"], ["x " * 16_000])})
    with zipfile.ZipFile(book, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros", bytes(2 << 20))
    with pytest.raises(BadFile, match="unpacks to more than"):
        recognise(book)


def test_empty_and_foreign_workbooks_are_refused(tmp_path):
    with pytest.raises(BadFile, match="all of its sheets are empty"):
        recognise(xlsx(tmp_path / "e.xlsx", {"S": writer(), "T": writer()}))
    with zipfile.ZipFile(tmp_path / "w.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(BadFile, match="it has no text"):  # a document, by its content
        recognise(tmp_path / "w.xlsx")


def test_escaped_characters_of_excel_are_read(tmp_path):
    """Excel writes a carriage return as _x000D_."""
    plain, path = tmp_path / "plain.xlsx", tmp_path / "rows.xlsx"
    with xlsxwriter.Workbook(plain) as book:
        book.add_worksheet().write_column("A1", ["text", "one.two", "three"])
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"one.two", b"one_x000D_&#10;two"))
    assert [row.cells[0] for row in read(path, recognise(path).reading)] == ["one\r\ntwo", "three"]


def test_formulas_of_an_old_workbook_without_values_are_refused(tmp_path):
    book = xlwt.Workbook()
    for name, cell in (("S", xlwt.Formula('IF(LEN(A2)<12,"good","bad")')), ("T", "good")):
        sheet = book.add_sheet(name)
        for row, value in enumerate(("text", "a fine day", "a foul one")):
            sheet.write(row, 0, value)
            sheet.write(row, 1, cell if row else "label")
    path = tmp_path / "f.xls"
    book.save(str(path))
    with pytest.raises(BadFile, match=r"never calculated, as in B2.*spreadsheet program"):
        recognise(path)
    assert cells(path / "T") == [("a fine day", "good"), ("a foul one", "good")]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\x03\x00\x00\x00\x00\x00\xff\xff", bytes(8), 1))
    assert len(cells(path / "S")) == 2, "another formula has a value"
    path.write_bytes(content + "\x05SummaryInformation".encode("utf-16-le"))
    assert len(cells(path / "S")) == 2, "the formulas were calculated"


def hide(sheet: xlsxwriter.worksheet.Worksheet) -> None:
    """Fill a sheet and hide its third column and its rows 3 and 4, as a filter does."""
    writer(["", *NAMES], *(["", *row] for row in ROWS))(sheet)
    for row in (2, 3):
        sheet.set_row(row, None, None, {"hidden": True})
    sheet.set_column(3, 3, None, None, {"hidden": True})


def test_hidden_parts_of_a_workbook_are_said_and_can_be_left_out(tmp_path):
    def leave(sheet: xlsxwriter.worksheet.Worksheet) -> None:
        writer(["text", "label"], ["old", "pos"])(sheet)
        sheet.hide()

    def cell(text: object) -> str:
        text = f"<text:p>{text}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'

    column = '<table:table-column{}table:number-columns-repeated="2"/>'
    rows = [f"<table:table-row{{}}>{''.join(map(cell, row))}</table:table-row>" for row in ROWS]
    collapsed, filtered = (f' table:visibility="{kind}" ' for kind in ("collapse", "filter"))
    names = f"<table:table-row>{''.join(map(cell, NAMES))}</table:table-row>"
    document = (
        column.format(" "),
        column.format(collapsed).replace('"2"', '"1"'),
        names,
        rows[0].format(""),
        *(row.format(filtered) for row in rows[1:]),
    )
    old = xlwt.Workbook()
    sheet = old.add_sheet("Data")
    for number, row in enumerate([NAMES, *ROWS]):
        for place, value in enumerate(row):
            sheet.write(number, place, value)
        sheet.row(number).hidden = number > 1
    sheet.col(2).hidden = True
    old.save(str(tmp_path / "a.xls"))
    books = {
        tmp_path / "a.xls": "C",
        xlsx(tmp_path / "a.xlsx", {"Data": hide, "Old": leave}): "D",
        open_document(tmp_path / "a.ods", "".join(document)): "C",
    }
    for path, letter in books.items():
        for hidden, expected in ((True, 3), (False, 1)):
            table = read(path, Reading(format="excel", hidden=hidden))
            cells = [row.cells for row in table]
            assert len(cells) == expected and ("count" in table.columns) is hidden, path
            assert len(cells[0]) == len(table.columns) == (4 if hidden else 3)
            verb = "read" if hidden else "left out"
            notes = " ".join(table.notes)
            assert f"2 hidden rows are {verb}." in notes
            assert f"1 hidden column is {verb}: {letter}." in notes
            assert ("1 sheet of the workbook is hidden: “Old”." in notes) is (letter == "D")
    assert main(["check", str(tmp_path / "a.xlsx"), "--no-hidden"]) == 1, "one label is left"
