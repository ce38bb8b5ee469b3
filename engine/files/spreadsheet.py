"""Tables as CSV and TSV that are safe to open in a spreadsheet.

A spreadsheet runs a cell that begins with =, +, - or @ as a formula, even from an untrusted file. A
leading apostrophe makes it text. All such tables are written here.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")


def format_table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    delimiter: str = ",",
    raw: bool = False,
) -> str:
    """Format a header and rows; numbers keep all their digits, None is an empty cell.

    Lines end in CR LF (RFC 4180). Texts that a spreadsheet would run are escaped, unless `raw`.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter)  # noqa: TID251
    for row in (header, *rows) if raw else (map(escape_cell, row) for row in (header, *rows)):
        writer.writerow(row)
    return buffer.getvalue()


def escape_cell(cell: object) -> object:
    """Prefix a cell with an apostrophe if a spreadsheet would run it, or if it looks escaped.

    Spreadsheets skip white space before a formula, and some accept full-width signs. A single sign
    and a number are not formulas.
    """
    if not isinstance(cell, str):
        return cell
    return f"'{cell}" if is_formula(cell) or unescape_cell(cell) != cell else cell


def unescape_cell(cell: str) -> str:
    """Remove the apostrophe of `escape_cell`; a text between two apostrophes keeps them."""
    is_quoted = cell.count("'") == 2 and cell[-1] == "'"
    is_escaped = cell[:1] == "'" and not is_quoted and is_formula(cell.lstrip("'"))
    return cell[1:] if is_escaped else cell


def is_formula(cell: str) -> bool:
    """True for a text that a spreadsheet would run."""
    text = unicodedata.normalize("NFKC", cell[:100]).strip()
    return len(text) > 1 and text[0] in "=+-@" and not NUMBER.fullmatch(text)
