"""The coding of rows: who coded a row, how it came up, and remarks on it.

A version stores it in `coding.parquet` next to its rows; the labels themselves are in a column of
the rows. A row has one entry for each coded column.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from engine.config import Spec
from engine.config.codebook import Drawn
from engine.errors import StudioError
from engine.files.regular_file import check_regular

CODING = "coding.parquet"


class RowCoding(Spec):
    """The coding of one row in one column."""

    coder: str = Field("", description="Name of the person who coded the row.")
    at: datetime | None = Field(None, description="Time of the last decision, in UTC.")
    drawn: Drawn = "file"
    chance: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Probability with which the row was drawn from those not shown before; 1 if "
        "the order is not random.",
    )
    control: bool = Field(
        False,
        description="Part of the random sample of all rows, on which a score is unbiased.",
    )
    skipped: bool = False
    unsure: bool = False
    flagged: bool = False
    note: str = ""
    suggestion: str = Field("", description="The label of a packet that the coder saw.")

    @property
    def is_marked(self) -> bool:
        """True if the row has more than a label."""
        return self.skipped or self.unsure or self.flagged or self.control or bool(self.note)


Coding = Mapping[int, Mapping[str, RowCoding]]
"""By row index and column."""

FIELDS: dict[str, pa.DataType] = {
    "coder": pa.string(),
    "at": pa.timestamp("us", "UTC"),
    "drawn": pa.string(),
    "chance": pa.float64(),
    "control": pa.bool_(),
    "skipped": pa.bool_(),
    "unsure": pa.bool_(),
    "flagged": pa.bool_(),
    "note": pa.string(),
    "suggestion": pa.string(),
}


_KEYS: dict[str, pa.DataType] = {"row": pa.int64(), "column": pa.string()}
_SCHEMA = pa.schema(_KEYS | FIELDS)


def coding_table(coding: Coding) -> pa.Table:
    """One line for each coded row and column, sorted by row."""
    lines = [
        {"row": row, "column": column, **dict(entry)}
        for row, columns in sorted(coding.items())
        for column, entry in columns.items()
    ]
    return pa.Table.from_pylist(lines, _SCHEMA)


def write_coding(version: Path, coding: Coding) -> None:
    """Write the coding of a version that is being made; without any, no file."""
    if coding:
        pq.write_table(coding_table(coding), version / CODING)


def read_coding(version: Path) -> dict[int, dict[str, RowCoding]]:
    """Read the coding of a version; empty if no row was coded.

    Raises StudioError if the file is damaged.
    """
    file, coding = version / CODING, dict[int, dict[str, RowCoding]]()
    if not file.exists():
        return coding
    try:
        for line in pq.read_table(check_regular(file)).to_pylist():
            row, column = int(line.pop("row")), str(line.pop("column"))
            coding.setdefault(row, {})[column] = RowCoding.model_validate(line)
    except (OSError, ValueError, KeyError, pa.ArrowException, ValidationError) as error:
        raise StudioError(
            "The coding of the rows in {name} cannot be read.",
            "Restore the file {path}, or delete it to open the rows without notes and flags.",
            name=f"{version.parent.name} {version.name}",
            path=file,
        ) from error
    return coding


def renumber(coding: Coding, kept: Iterable[int]) -> dict[int, dict[str, RowCoding]]:
    """The coding of the `kept` rows, given in their new order."""
    return {new: dict(coding[old]) for new, old in enumerate(kept) if old in coding}
