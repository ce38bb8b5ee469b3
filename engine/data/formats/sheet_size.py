"""Sizes of the sheets of a workbook, checked before a library allocates them, and its formulas.

The library allocates the bounding rectangle of all cells; one stray cell far away would need
hundreds of gigabytes. The library says nothing of formulas, errors and number formats.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from xml.parsers import expat

from engine.data.formats.archives import convert_errors
from engine.errors import BadFile
from engine.phrases import phrase

MAX_UNPACKED = 4 * 1024**3  # bytes of all its files
CHUNK = 1 << 20
STORED, DEFLATED = 0, 8
FAR_COLUMNS = re.compile(rb"""\br=["']([A-Z]{2,3})\d""")
ROWS = re.compile(rb"""\br=["'][A-Z]{0,3}(\d{1,7})["']""")
NEAR_COLUMNS = 26  # columns with one-letter names
OVERLAP = 1 << 13  # bytes kept between chunks, as a cell may span two
CELL = rb'<c r="([A-Z]{1,3}\d+)"([^>]*)>'
FORMULAS = re.compile(CELL + rb"<f\b[^>]*(?:/>|>[^<]*</f>)(?:<v>(0?)</v>|<v ?/>)?</c>")
ERRORS = re.compile(rb'<c r="([A-Z]{1,3}\d+)"[^>]* t="e"')
STYLED = re.compile(rb'<c r="([A-Z]{1,3})\d+" s="(\d+)"')
HIDDEN = (b'hidden="1"', b'hidden="true"')
HIDDEN_ROW = re.compile(rb'<row\b(?=[^>]*\bhidden="(?:1|true)")[^>]*\br="(\d{1,7})"[^>]*(?<!/)>')
HIDDEN_COLUMNS = re.compile(
    rb'<col\b(?=[^>]*\bhidden="(?:1|true)")(?=[^>]*\bmin="(\d{1,5})")[^>]*\bmax="(\d{1,5})"'
)
MAX_COLUMN = 16_384  # of a sheet
INVISIBLE = ("collapse", "filter")  # rows and columns of OpenDocument
PERCENT_FORMATS = {"9", "10"}
SHEETS = "xl/worksheets/"
RECORD = struct.Struct("<HH")  # kind and bytes
FORMULA, BEGIN, SHEET = 0x0006, 0x0809, b"\x10\x00"
ROW, COLUMNS, ROW_HIDDEN, COLUMN_HIDDEN = 0x0208, 0x007D, 0x20, 0x01
BIFF_BEGIN = b"\x09\x08\x10\x00\x00\x06\x05\x00"  # of a workbook
SUMMARY = "\x05SummaryInformation".encode("utf-16-le")
EMPTY_RESULT = b"\x03\x00\x00\x00\x00\x00\xff\xff"
RELATIONS, BOOK = "xl/_rels/workbook.xml.rels", "xl/workbook.xml"
STYLES = "xl/styles.xml"


class Facts(NamedTuple):
    """Contents of a sheet that are read otherwise than they are shown.

    Args:
        uncalculated: name of a cell with a formula without a value; empty for none.
        error: name of a cell with an error, such as #N/A.
        percents: letters of the columns with per cents.
        hidden_rows: numbers of rows with cells, from 1.
        hidden_columns: numbers of columns, from 1.
    """

    uncalculated: str = ""
    error: str = ""
    percents: tuple[str, ...] = ()
    hidden_rows: frozenset[int] = frozenset()
    hidden_columns: frozenset[int] = frozenset()


class Sizes(NamedTuple):
    """Cells of the bounding rectangle of each sheet, by name.

    If `is_open_document`, the library reads all sheets on opening.
    """

    cells: dict[str, int]
    facts: dict[str, Facts] = {}  # noqa: RUF012  # of a named tuple, never changed
    is_open_document: bool = False


def sheet_sizes(path: Path, file: IO[bytes]) -> Sizes:
    """Measure the sheets by unpacking every file once, ignoring the sizes in the archive.

    Raises BadFile if it unpacks to too much, or is not a workbook.
    """
    with convert_errors(path), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        sheets_by_file: dict[str, _Sheet] = {}
        remaining = MAX_UNPACKED
        for info in archive.infolist():
            sheet = _Sheet() if info.filename.startswith(SHEETS) else None
            sheets = _OpenDocumentSheets() if info.filename == "content.xml" else None
            for chunk in _unpack(file, info):
                remaining -= len(chunk)
                if remaining < 0:
                    raise BadFile(
                        path,
                        phrase("it unpacks to more than {size} GiB.", size=MAX_UNPACKED >> 30),
                        phrase("Save the table as CSV."),
                    )
                if reader := sheet or sheets:
                    reader.feed(chunk)
            if sheet is not None:
                sheets_by_file[info.filename] = sheet
            if sheets is not None:
                return Sizes(sheets.sizes, sheets.facts, is_open_document=True)
        return _key_by_name(archive, sheets_by_file) if BOOK in names else Sizes({})


def _unpack(file: IO[bytes], info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Bytes of a member, up to its actual end."""
    file.seek(info.header_offset)
    header = file.read(30)
    name, extra = struct.unpack("<HH", header[26:30])
    file.seek(info.header_offset + 30 + name + extra)
    remaining = info.compress_size
    if info.compress_type not in (STORED, DEFLATED):
        raise NotImplementedError
    inflate = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type == DEFLATED else None
    while remaining > 0 and (packed := file.read(min(CHUNK, remaining))):
        remaining -= len(packed)
        if inflate is None:
            yield packed
            continue
        while packed:
            yield inflate.decompress(packed, CHUNK)
            packed = inflate.unconsumed_tail
    if inflate is not None:
        yield inflate.flush()


class _Sheet:
    """Extent of an Excel sheet, from the names of its cells, and its formulas."""

    def __init__(self) -> None:
        self._rest, self._columns, self._rows = b"", NEAR_COLUMNS, 1
        self.empty_formula = self.zero_formula = self.error = b""  # names of first cells
        self.styles: set[tuple[bytes, bytes]] = set()  # letters of columns, numbers of styles
        self.hidden_rows: set[int] = set()
        self.hidden_columns: set[int] = set()

    def feed(self, chunk: bytes) -> None:
        text = self._rest + chunk
        for letters in set(FAR_COLUMNS.findall(text)):
            number = 0
            for letter in letters:
                number = number * 26 + letter - 64
            self._columns = max(self._columns, number)
        self._rows = max(self._rows, max(map(int, ROWS.findall(text)), default=1))
        for name, attributes, value in FORMULAS.findall(text):
            if b' t="' not in attributes:  # Excel marks the empty text as a text
                self.zero_formula = self.zero_formula or (value and name)
                self.empty_formula = self.empty_formula or (name if not value else b"")
        if not self.error and (error := ERRORS.search(text)) is not None:
            self.error = error[1]
        self.styles.update(STYLED.findall(text))
        if any(mark in text for mark in HIDDEN):
            self.hidden_rows.update(map(int, HIDDEN_ROW.findall(text)))
            for first, last in HIDDEN_COLUMNS.findall(text):
                self.hidden_columns.update(range(int(first), min(int(last), MAX_COLUMN) + 1))
        self._rest = text[-OVERLAP:]

    @property
    def cells(self) -> int:
        return self._columns * self._rows


def _key_by_name(archive: zipfile.ZipFile, sheets: dict[str, _Sheet]) -> Sizes:
    """Key the sheets by their name instead of file."""
    files = {
        element["Id"]: str(PurePosixPath("xl") / element["Target"].removeprefix("/xl/"))
        for element in _elements(archive, RELATIONS, "Relationship")
        if {"Id", "Target"} <= element.keys()
    }
    by_name: dict[str, _Sheet | None] = {}
    for sheet in _elements(archive, BOOK, "sheet"):
        key = next((value for name, value in sheet.items() if name.rpartition(":")[2] == "id"), "")
        by_name[sheet.get("name", "")] = sheets.get(files.get(key, ""))
    sizes = {name: 0 if sheet is None else sheet.cells for name, sheet in by_name.items()}
    all_sizes = [sheet.cells for sheet in sheets.values()]
    unknown = max(all_sizes, default=0) if set(sheets) - set(files.values()) else 0
    # programs that write no values ask for a calculation on opening; some write zeros
    settings = _elements(archive, BOOK, "calcPr")
    has_zeros = any(item.get("fullCalcOnLoad") in ("1", "true") for item in settings)
    percent_styles = _percent_styles(archive)
    facts = {
        name: Facts(
            (sheet.empty_formula or (sheet.zero_formula if has_zeros else b"")).decode(),
            sheet.error.decode(),
            tuple(sorted({column.decode() for column, s in sheet.styles if s in percent_styles})),
            frozenset(sheet.hidden_rows),
            frozenset(sheet.hidden_columns),
        )
        for name, sheet in by_name.items()
        if sheet is not None
    }
    return Sizes({name: size or unknown for name, size in sizes.items()}, facts)


def _percent_styles(archive: zipfile.ZipFile) -> set[bytes]:
    """Numbers of the cell styles that show per cents."""
    formats = PERCENT_FORMATS | {
        item.get("numFmtId", "")
        for item in _elements(archive, STYLES, "numFmt")
        if "%" in item.get("formatCode", "")
    }
    # the formats of cells follow those of named styles
    named = _elements(archive, STYLES, "cellStyleXfs")
    first = int(named[0].get("count", "0")) if named else 0
    cells = _elements(archive, STYLES, "xf")[first:]
    return {b"%d" % n for n, item in enumerate(cells) if item.get("numFmtId") in formats}


def _elements(archive: zipfile.ZipFile, name: str, tag: str) -> list[dict[str, str]]:
    """Attributes of all elements with a tag in a small file."""
    elements: list[dict[str, str]] = []
    if name not in archive.namelist():
        return elements

    def add_element(element: str, attributes: dict[str, str]) -> None:
        if element.rpartition(":")[2] == tag:
            elements.append(attributes)

    parser = expat.ParserCreate()
    parser.StartElementHandler = add_element
    try:
        parser.Parse(archive.read(name), True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error
    return elements


class _OpenDocumentSheets:
    """Extents of OpenDocument sheets, with repeated cells and rows."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.facts: dict[str, Facts] = {}
        self._name = ""
        self._row = self._column = self._last_row = self._last_column = 0
        self._repeats, self._is_used, self._is_hidden = 1, False, False
        self._described = 0  # columns described before the rows
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end

    def feed(self, chunk: bytes) -> None:
        try:
            self._parser.Parse(chunk, False)
        except expat.ExpatError as error:
            raise ValueError(str(error)) from error

    def _begin(self, element: str, attributes: dict[str, str]) -> None:
        match element:
            case "table:table":
                self._name = attributes.get("table:name", "")
                self._row = self._last_row = self._last_column = self._described = 0
            case "table:table-column":
                first = self._described
                self._described += int(attributes.get("table:number-columns-repeated", "1"))
                if attributes.get("table:visibility") in INVISIBLE:
                    self._hide("hidden_columns", first, min(self._described, MAX_COLUMN))
            case "table:table-row":
                self._is_hidden = attributes.get("table:visibility") in INVISIBLE
                self._repeats = int(attributes.get("table:number-rows-repeated", "1"))
                self._column, self._is_used = 0, False
            case "table:table-cell" | "table:covered-table-cell":
                self._add_facts(attributes)
                self._column += int(attributes.get("table:number-columns-repeated", "1"))
                if "office:value-type" in attributes or "calcext:value-type" in attributes:
                    self._is_used = True
                    self._last_column = max(self._last_column, self._column)

    def _add_facts(self, attributes: dict[str, str]) -> None:
        kind = attributes.get("calcext:value-type", attributes.get("office:value-type"))
        is_uncalculated = "table:formula" in attributes and kind is None
        if kind not in ("percentage", "error") and not is_uncalculated:
            return
        facts = self.facts.get(self._name, Facts())
        uncalculated, error, percents = facts[:3]
        column = column_letters(self._column + 1)
        cell = f"{column}{self._row + 1}"
        if kind == "percentage":
            percents = tuple(dict.fromkeys((*percents, column)))
        elif is_uncalculated:
            uncalculated = uncalculated or cell
        else:
            error = error or cell
        self.facts[self._name] = facts._replace(
            uncalculated=uncalculated, error=error, percents=percents
        )

    def _hide(self, field: str, first: int, last: int) -> None:
        """Add numbers from `first`, not included, to `last` to the hidden rows or columns."""
        facts = self.facts.get(self._name, Facts())
        numbers = getattr(facts, field) | {*range(first + 1, last + 1)}
        self.facts[self._name] = facts._replace(**{field: numbers})

    def _end(self, element: str) -> None:
        if element == "table:table-row":
            self._row += self._repeats
            if self._is_used:
                self._last_row = self._row
                if self._is_hidden:
                    self._hide("hidden_rows", self._row - self._repeats, self._row)
        elif element == "table:table":
            self.sizes[self._name] = self._last_row * self._last_column


def old_facts(content: bytes) -> list[Facts]:
    """The facts of each sheet of an .xls file: hidden rows and columns, and the first formula if
    none of the sheet has a value.

    Reads the records of BIFF8 (MS-XLS, 2.1.4) in one piece. Programs that calculate write a
    summary, too; in their files, a formula without a value is an empty text.
    """
    sheets: list[_OldSheet] = []
    is_calculated, position = SUMMARY in content, content.find(BIFF_BEGIN)
    while 0 <= position < len(content) - RECORD.size:
        kind, size = RECORD.unpack_from(content, position)
        position += RECORD.size
        if kind == BEGIN and content[position + 2 : position + 4] == SHEET:
            sheets.append(_OldSheet())
        elif not kind:
            break
        elif sheets and position + size <= len(content):
            sheets[-1].read(kind, content[position : position + size])
        position += size
    return [sheet.facts(is_calculated) for sheet in sheets]


class _OldSheet:
    """Facts in the records of a sheet."""

    def __init__(self) -> None:
        self._formula, self._are_empty = "", True
        self._rows, self._columns = set[int](), set[int]()

    def read(self, kind: int, record: bytes) -> None:
        if kind == FORMULA and len(record) >= 14:
            row, column = struct.unpack_from("<HH", record)
            self._formula = self._formula or f"{column_letters(column + 1)}{row + 1}"
            self._are_empty &= record[6:14] == EMPTY_RESULT
        elif kind == ROW and len(record) >= 14:
            row, first, last = struct.unpack_from("<HHH", record)
            if record[12] & ROW_HIDDEN and last > first:
                self._rows.add(row + 1)
        elif kind == COLUMNS and len(record) >= 10:
            first, last = struct.unpack_from("<HH", record)
            if record[8] & COLUMN_HIDDEN:
                self._columns.update(range(first + 1, min(last + 1, MAX_COLUMN) + 1))

    def facts(self, is_calculated: bool) -> Facts:
        formula = self._formula if self._are_empty and not is_calculated else ""
        rows, columns = frozenset(self._rows), frozenset(self._columns)
        return Facts(formula, hidden_rows=rows, hidden_columns=columns)


def column_letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
