"""Tables: CSV, TSV, Excel, JSON Lines, Parquet."""

from pathlib import Path

from engine.data.writers.export import Export
from engine.data.writers.writer import Writer
from engine.files.table_files import TABLE_WRITERS
from engine.phrases import phrase

NESTED = (".jsonl", ".parquet")  # formats whose cells may be lists and numbers


def _table(name: str, title: str, suffix: str, help_text: str) -> Writer:
    def write(file: Path, export: Export) -> None:
        schema, tables = export.table(nested=suffix in NESTED)
        TABLE_WRITERS[suffix](file, schema, tables, False)

    return Writer(name, title, help_text, suffix, write)


CSV = _table(
    "csv",
    "CSV",
    ".csv",
    phrase("For spreadsheets and statistics programs; formulas in texts get an apostrophe."),
)
TSV = _table("tsv", "TSV", ".tsv", phrase("Like CSV, with tabs between the cells."))
EXCEL = _table("excel", "Excel", ".xlsx", phrase("A sheet; up to 1,048,575 rows."))
JSONL = _table(
    "jsonl",
    "JSON Lines",
    ".jsonl",
    phrase("An object for each row, with lists of words, tags and labels."),
)
PARQUET = _table(
    "parquet",
    "Parquet",
    ".parquet",
    phrase("Small and typed, with lists of words, tags and labels; for pandas, polars and R."),
)
