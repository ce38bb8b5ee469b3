"""Word documents: a row for each paragraph, turn of a transcript, or row of a table."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from engine.config.dataset import Reading
from engine.data.formats.archives import convert_errors, unpacked
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, numbered_columns, unique_names
from engine.data.formats.table import has_header
from engine.data.formats.transcript import read_turns
from engine.errors import BadFile
from engine.phrases import phrase

DOCUMENT = "word/document.xml"
MAX_BYTES = 500_000_000  # of the document, unpacked
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
CHARACTERS = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}


def open_docx(lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows; numbered by paragraphs, or by rows of the table. Raises BadFile."""
    body = _read_body(lines.path)
    tables = [table for table in body.iter(f"{WORD}tbl") if len(table.findall(f"{WORD}tr")) > 1]
    paragraphs = [(number, _text(item)) for number, item in enumerate(body.iter(f"{WORD}p"), 1)]
    filled = [(number, text) for number, text in paragraphs if text]
    if not filled:
        raise BadFile(
            lines.path, phrase("it has no text."), phrase("Choose a document with paragraphs.")
        )
    if len(filled) < len(paragraphs):
        remarks.add_note(
            phrase("Empty paragraphs skipped: {count}.", count=len(paragraphs) - len(filled))
        )
    inside = sum(len(_text(p)) for table in tables for p in table.iter(f"{WORD}p"))
    if len(tables) == 1 and 2 * inside > sum(len(text) for _, text in filled):
        return _table(tables[0], lines, reading, remarks)
    if tables:
        remarks.add_note(phrase("Each paragraph of a table is a row, as of the text around it."))
    return read_turns(filled, remarks) or Content(
        ("text",), (Row(number, (text,)) for number, text in filled)
    )


def _read_body(path: Path) -> ET.Element:
    with unpacked(path) as file, convert_errors(path), zipfile.ZipFile(file) as archive:
        if archive.getinfo(DOCUMENT).file_size > MAX_BYTES:
            raise BadFile(
                path, phrase("its text is too large."), phrase("Save it as plain text first.")
            )
        content = archive.read(DOCUMENT)
        try:
            if b"<!DOCTYPE" not in content:  # no entities that expand
                return ET.fromstring(content)  # noqa: S314
        except ET.ParseError:
            pass
    raise BadFile(
        path,
        phrase("it is damaged or incomplete, so it cannot be unpacked."),
        phrase("Download or copy it again."),
    )


def _text(paragraph: ET.Element) -> str:
    return "".join(_parts(paragraph)).strip()


def _parts(element: ET.Element) -> Iterator[str]:
    """Texts of the runs; deleted text, text boxes and what is inside them have other rows."""
    for child in element:
        if child.tag == f"{WORD}t":
            yield child.text or ""
        elif child.tag not in (FALLBACK, f"{WORD}p", f"{WORD}tbl"):
            yield CHARACTERS.get(child.tag, "")
            yield from _parts(child)


def _table(table: ET.Element, lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    rows = [
        ["\n".join(map(_text, cell.iter(f"{WORD}p"))).strip() for cell in row.iter(f"{WORD}tc")]
        for row in table.findall(f"{WORD}tr")
    ]
    width = max(map(len, rows))
    cells = [(*row, *[""] * (width - len(row))) for row in rows]
    first = 1 if reading.header else 0
    names = cells[0] if first else numbered_columns(width)
    remarks.add_note(phrase("The table of the document was read; the text around it was left out."))
    numbered = (Row(number, row) for number, row in enumerate(cells, start=1) if number > first)
    return Content(unique_names(names, lines, remarks), numbered)


def recognise_docx(path: Path, start: bytes) -> Reading | None:
    """Recognise a Word document, and whether its table has a header."""
    if not start.startswith(b"PK\x03\x04") or not _is_word(path):
        return None
    reading = Reading(format=DOCX.name, header=False)
    content = open_docx(Lines(path, "utf-8", head_only=True), reading, Remarks())
    rows = [list(row.cells) for row in content.rows or ()]
    return reading.model_copy(update={"header": content.columns[0] != "text" and has_header(rows)})


def _is_word(path: Path) -> bool:
    with unpacked(path) as file, convert_errors(path), zipfile.ZipFile(file) as archive:
        return DOCUMENT in archive.namelist()


DOCX = Format("docx", "Word", (".docx",), open_docx, recognise=recognise_docx, options=("header",))
