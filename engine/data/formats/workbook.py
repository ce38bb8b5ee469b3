"""Excel and LibreOffice workbooks, one sheet at a time, by python-calamine.

Cells become text as displayed: integers without a point, dates as 2026-01-31. A merged cell gives
its value to each of its cells. Titles above the header are skipped with a remark.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError

from engine.config.dataset import Reading
from engine.data.formats.archives import file_on_disk, locate, unpacked
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, numbered_columns, unique_names
from engine.data.formats.sheet_size import (
    Facts,
    Sizes,
    column_letters,
    old_facts,
    sheet_sizes,
)
from engine.data.formats.survey_header import HEADER_SAMPLE, survey_header
from engine.data.formats.table import ABOVE_HEADER, has_header
from engine.errors import BadFile
from engine.files.regular_file import open_regular
from engine.phrases import join, phrase

OLE, ZIP = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
WORD = "WordDocument".encode("utf-16-le")
MAX_CELLS = 20_000_000  # of the bounding rectangle of a sheet
TICK_ROWS = 2_000
SAMPLE_ROWS = 200  # to find the header
MAX_LISTED_SHEETS = 20
DURATION = re.compile(r"PT(\d+)H(\d\d)M(\d\d)S")  # of an OpenDocument sheet, a day or longer
READ_ERRORS = (CalamineError, OSError, ValueError, LookupError, TypeError)


def open_workbook(lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows of the sheet that the path names, else of the largest.

    The “line” of a row is its number in the sheet. Empty rows and columns are skipped.

    Raises BadFile if there is no such sheet, or it is empty, encrypted, damaged or too large.
    """
    name, others = _choose_sheet(lines.path)
    if others:
        remarks.add_note(
            phrase(
                "The sheet “{name}” was read; there is also {others}.",
                name=name,
                others=_names(others),
            )
        )
    if hidden := _hidden_sheets(lines.path):
        n = len(hidden)
        remarks.add_note(
            phrase("{n} sheet(s) of the workbook are hidden: {names}.", n=n, names=_names(hidden))
        )
    rows = _rows(lines, name, remarks, reading.hidden)
    if not reading.header:
        first = next(rows, None)
        width = 0 if first is None else len(first.cells)
        columns = unique_names(numbered_columns(width), lines, remarks)
        return Content(columns, rows if first is None else chain([first], rows))
    header = _find_header(rows, remarks)
    if header is None:
        return Content((), iter(()))
    top = [header, *islice(rows, HEADER_SAMPLE - 1)]
    if (survey := survey_header([row.cells for row in top])) is not None:
        header = Row(header.line, survey.names)
        remarks.add_note(survey.note(header.line))
    rows = chain(top[1 if survey is None else survey.rows :], rows)
    indices, names = _named_columns(header, lines, name, reading.hidden)
    columns = unique_names(names, lines, remarks)
    return Content(columns, (Row(row.line, tuple(row.cells[n] for n in indices)) for row in rows))


def _names(sheets: list[str]) -> str:
    return join(", ", [f"“{name[:60]}”" for name in sheets[:MAX_LISTED_SHEETS]])


def _find_header(rows: Iterator[Row], remarks: Remarks) -> Row | None:
    """The first row, or the first below single-cell titles."""
    skipped: list[Row] = []
    for row in rows:
        if sum(map(bool, row.cells)) != 1 or len(row.cells) == 1 or len(skipped) == SAMPLE_ROWS:
            for title in skipped:
                remarks.count(ABOVE_HEADER, title.line)
            return row
        skipped.append(row)
    return skipped[0] if skipped else None


def _named_columns(
    header: Row, lines: Lines, sheet: str, hidden: bool
) -> tuple[list[int], list[str]]:
    """Indices and names of the columns that have a name or a cell."""
    if all(header.cells):
        return list(range(len(header.cells))), list(header.cells)
    used = [bool(cell) for cell in header.cells]
    body = (row for row in _rows(lines, sheet, Remarks(), hidden) if row.line > header.line)
    for row in body:
        used = [is_used or bool(cell) for is_used, cell in zip(used, row.cells, strict=True)]
        if all(used):
            break
    indices = [index for index, is_used in enumerate(used) if is_used]
    return indices, [header.cells[index] for index in indices]


def sheets_with_rows(path: Path) -> list[str]:
    """Names of the non-empty sheets: the largest visible one first, hidden ones last.

    Raises BadFile as `open_workbook` does.
    """
    with _workbook(path) as (book, (sizes, *_)):
        is_visible = {item.name: _is_visible(item) for item in book.sheets_metadata}
        names = [name for name in book.sheet_names if _has_rows(book, name, sizes)]
        names.sort(key=lambda name: not is_visible.get(name, True))
        visible = [name for name in names if is_visible.get(name, True)]
        return sorted(names, key=_largest_sheet(book, visible or names, sizes).__ne__)


def _hidden_sheets(path: Path) -> list[str]:
    with _workbook(path) as (book, _):
        return [sheet.name for sheet in book.sheets_metadata if not _is_visible(sheet)]


def _is_visible(sheet: Any) -> bool:
    return str(sheet.visible).endswith(".Visible")


def sheet_shapes(path: Path) -> dict[str, tuple[int, int]]:
    """Rows and columns of each sheet, except of those too large to be read."""
    with _workbook(path) as (book, (sizes, *_)):
        readable = [name for name in book.sheet_names if sizes.get(name, 0) <= MAX_CELLS]
        sheets = {name: book.get_sheet_by_name(name) for name in readable}
        return {name: (sheet.height, sheet.width) for name, sheet in sheets.items()}


def _largest_sheet(book: CalamineWorkbook, names: list[str], sizes: dict[str, int]) -> str:
    """The sheet with the most cells; others may have remarks or a codebook."""
    if not names or any(sizes.get(name, 0) > MAX_CELLS for name in names):
        return next(iter(names), "")
    sheets = map(book.get_sheet_by_name, names)
    return max(sheets, key=lambda sheet: sheet.height * sheet.width).name


def _has_rows(book: CalamineWorkbook, name: str, sizes: dict[str, int]) -> bool:
    if sizes.get(name, 0) > MAX_CELLS:
        return True  # reading it reports that it is too large
    try:
        return book.get_sheet_by_name(name).height > 0
    except READ_ERRORS:
        return False  # a chart, or an empty sheet


def _choose_sheet(path: Path) -> tuple[str, list[str]]:
    """The sheet to read, and the other non-empty ones if none was named."""
    sheet, names = locate(path).sheet, sheets_with_rows(path)
    if sheet in names:
        return sheet, []
    if sheet:
        with _workbook(path) as (book, _):
            all_names = book.sheet_names
        problem = phrase("there is no sheet “{name}” in it.", name=sheet[:100])
        advice = phrase("Its sheets are: {names}.", names=", ".join(all_names[:MAX_LISTED_SHEETS]))
        if sheet in all_names:
            problem = phrase("the sheet “{name}” is empty.", name=sheet[:100])
            advice = phrase("Choose another sheet.")
        raise BadFile(file_on_disk(path), problem, advice)
    if not names:
        raise BadFile(
            path, phrase("all of its sheets are empty."), phrase("Choose a workbook with rows.")
        )
    return names[0], names[1:]


@contextmanager
def _workbook(path: Path) -> Iterator[tuple[CalamineWorkbook, Sizes]]:
    """Open a workbook; yields it and the sizes of its sheets, if known."""
    with unpacked(path) as local_path, open_regular(local_path) as file:
        start = file.read(1 << 16)
        file.seek(0)
        found = _check_ole(path, file) if start.startswith(OLE) else []
        sizes = sheet_sizes(path, file) if start.startswith(ZIP) else Sizes({})
        if sizes.is_open_document:
            for name, cells in sizes.cells.items():
                if cells > MAX_CELLS:
                    raise _too_large_error(path, name, cells)
        file.seek(0)
        with _convert_errors(path), CalamineWorkbook.from_filelike(file) as book:
            facts = dict(zip(book.sheet_names, found, strict=False))
            yield book, sizes._replace(facts=sizes.facts | facts)


@contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    """Convert errors and panics of the library to BadFile."""
    try:
        yield
    except PasswordError as error:
        raise _encrypted_error(path) from error
    except READ_ERRORS as error:
        raise _damaged_error(path) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a Rust panic
            raise
        raise _damaged_error(path) from error


def _damaged_error(path: Path) -> BadFile:
    return BadFile(
        path,
        phrase("this is not a workbook that can be read, or it is damaged."),
        phrase("Open it in a spreadsheet program and save it again as .xlsx, or as CSV."),
    )


def _too_large_error(path: Path, name: str, cells: int) -> BadFile:
    return BadFile(
        path,
        phrase(
            "the sheet “{name}” spans {cells:,} cells, more than the {maximum:,} that can be read.",
            name=name[:60],
            cells=cells,
            maximum=MAX_CELLS,
        ),
        phrase("Delete the cells far from the table, or save it as CSV."),
    )


def _encrypted_error(path: Path) -> BadFile:
    return BadFile(
        path,
        phrase("it is encrypted with a password."),
        phrase("Save it without a password in a spreadsheet program."),
    )


def _check_ole(path: Path, file: Any) -> list[Facts]:
    """The facts of each sheet. Raises BadFile for other documents."""
    content = file.read(1 << 26)
    file.seek(0)
    if ENCRYPTED in content:
        raise _encrypted_error(path)
    if WORD in content:
        raise BadFile(
            path,
            phrase("this is a Word document, not a table."),
            phrase("Save it as plain text first."),
        )
    return old_facts(content)


def _rows(lines: Lines, name: str, remarks: Remarks, hidden: bool = True) -> Iterator[Row]:
    """Non-empty rows of a sheet, from its first column on; `hidden` includes hidden ones."""
    with _workbook(lines.path) as (book, sizes):
        if sizes.cells.get(name, 0) > MAX_CELLS:
            raise _too_large_error(lines.path, name, sizes.cells[name])
        facts = sizes.facts.get(name, Facts())
        _note_facts(lines.path, name, facts, remarks)
        _note_hidden(facts, remarks, hidden)
        lines.tick(0)
        sheet = book.get_sheet_by_name(name)
        if sheet.start is None:
            return
        height = max(sheet.total_height, 1)
        merged, first = _merged_cells(sheet), sheet.start[1]
        for number, values in enumerate(sheet.iter_rows(), start=1):
            if number % TICK_ROWS == 0:
                lines.tick(lines.size * min(number, height) // height)
            if not hidden and number in facts.hidden_rows:
                continue
            cells = [_cell(value) for value in values]
            for index, value in merged.get(number, {}).items():
                if index < len(cells) and not cells[index]:
                    remarks.count(phrase("Merged cells, each read with their value"), number)
                    cells[index] = _cell(value)
            if not hidden:
                skipped = facts.hidden_columns
                cells = [c for n, c in enumerate(cells, start=first + 1) if n not in skipped]
            if any(cells):
                yield Row(number, tuple(cells))
        lines.tick(lines.size)


def _note_facts(path: Path, name: str, facts: Facts, remarks: Remarks) -> None:
    """Note cells that are read otherwise than shown. Raises BadFile for formulas without values."""
    if facts.uncalculated:
        raise BadFile(
            path,
            phrase(
                "the sheet “{name}” has formulas that were never calculated, as in {cell}.",
                name=name[:60],
                cell=facts.uncalculated,
            ),
            phrase("Open it in a spreadsheet program, which calculates them, and save it there."),
        )
    if facts.error:
        remarks.add_note(
            phrase("Errors such as #N/A in cells, as in {cell}, are empty.", cell=facts.error)
        )
    if facts.percents:
        columns = ", ".join(facts.percents[:MAX_LISTED_SHEETS])
        remarks.add_note(
            phrase(
                "Percentages were read as fractions: 0.5 for 50 %, in {columns}.", columns=columns
            )
        )


def _note_hidden(facts: Facts, remarks: Remarks, hidden: bool) -> None:
    """Note the hidden rows and columns, and how to leave them out."""
    columns = ", ".join(map(column_letters, sorted(facts.hidden_columns)[:MAX_LISTED_SHEETS]))
    if n := len(facts.hidden_rows):
        remarks.add_note(
            phrase(
                "{n:,} hidden row(s) are read. Turn off “Hidden rows and columns” (--no-hidden) to"
                " leave them out.",
                n=n,
            )
            if hidden
            else phrase("{n:,} hidden row(s) are left out.", n=n)
        )
    if n := len(facts.hidden_columns):
        remarks.add_note(
            phrase(
                "{n:,} hidden column(s) are read: {columns}. Turn off “Hidden rows and columns” "
                "(--no-hidden) to leave them out.",
                n=n,
                columns=columns,
            )
            if hidden
            else phrase("{n:,} hidden column(s) are left out: {columns}.", n=n, columns=columns)
        )


def _merged_cells(sheet: CalamineSheet) -> dict[int, dict[int, Any]]:
    """Values of merged cells, by row number and column index.

    A cell as wide as the sheet is a title, and is not repeated.
    """
    ranges = [
        ((top, left), (bottom, right))
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
        if top != bottom or right - left + 1 < max(sheet.width, 2)
    ]
    if not ranges:
        return {}
    assert sheet.start is not None
    first = sheet.start[1]  # first column of the rows
    tops = {top for (top, _), _ in ranges}
    rows = {n: row for n, row in enumerate(sheet.iter_rows()) if n in tops}
    merged: dict[int, dict[int, Any]] = {}
    for (top, left), (bottom, right) in ranges:
        columns = range(max(left - first, 0), right - first + 1)
        value = rows[top][left - first] if top in rows and left >= first else ""
        for number in range(top, min(bottom, top + sheet.height) + 1):
            merged.setdefault(number + 1, {}).update(dict.fromkeys(columns, value))
    return merged


def _cell(value: Any) -> str:
    match value:
        case str():
            return value if (long := DURATION.fullmatch(value)) is None else ":".join(long.groups())
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case datetime():
            is_day = value.time() == time()
            return value.date().isoformat() if is_day else value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        case _:
            return "" if value is None else str(value)


def recognise_workbook(path: Path, start: bytes) -> Reading | None:
    if not start.startswith((OLE, ZIP)):
        return None
    name, _ = _choose_sheet(path)
    lines = Lines(path, "utf-8", head_only=True)
    rows = [list(row.cells) for row in islice(_rows(lines, name, Remarks()), SAMPLE_ROWS)]
    titles = 0
    while titles < len(rows) and sum(map(bool, rows[titles])) == 1 and len(rows[titles]) > 1:
        titles += 1
    is_survey = survey_header(rows) is not None
    header = is_survey or has_header(rows) or (0 < titles < len(rows) and has_header(rows[titles:]))
    return Reading(format=WORKBOOK.name, header=header)


WORKBOOK = Format(
    "excel",
    "Excel",
    (".xlsx", ".xlsm", ".xls", ".ods"),
    open_workbook,
    recognise=recognise_workbook,
    options=("header", "hidden"),
)
