"""Tables as CSV and TSV that are safe to open in a spreadsheet.

A spreadsheet runs a cell that begins with =, +, - or @ as a formula, whoever wrote it. An
apostrophe before it makes it text. This is the one place where such tables are written.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")


def table_text(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    delimiter: str = ",",
    raw: bool = False,
) -> str:
    """A header and rows as text; numbers keep all their digits, None is an empty cell.

    Lines end in CR LF (RFC 4180). Texts that a spreadsheet would run are escaped; with `raw` all
    cells stay as they are.
    """
    kept = io.StringIO(newline="")
    writer = csv.writer(kept, delimiter=delimiter)  # noqa: TID251
    for row in (header, *rows) if raw else (map(escaped, row) for row in (header, *rows)):
        writer.writerow(row)
    return kept.getvalue()


def escaped(cell: object) -> object:
    """A cell with an apostrophe before it where it is a text that a spreadsheet would run.

    Spreadsheets skip white space before a formula, and some take full-width signs for the usual
    ones. A sign that stands alone, and a number, are no formulas.
    """
    if not isinstance(cell, str):
        return cell
    text = unicodedata.normalize("NFKC", cell[:100]).strip()
    is_formula = len(text) > 1 and text[0] in "=+-@" and not NUMBER.fullmatch(text)
    return f"'{cell}" if is_formula else cell
