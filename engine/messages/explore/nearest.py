"""Rows of a data set nearest to a text, by the vectors of a sentence encoder."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import SplitName
from engine.messages import Message
from engine.messages.question import Answer, Question


class RowsEncoded(Answer):
    """The vectors of `rows` rows are in the file of the question."""

    kind: Literal["rows_encoded"] = "rows_encoded"
    rows: int


class EncodeRows(Question):
    """Write one vector for each row of a split of a stored data set to `file`, a .npy."""

    answered_by: ClassVar[type[Answer]] = RowsEncoded
    kind: Literal["encode_rows"] = "encode_rows"
    checkpoint: Path
    data: Path
    part: SplitName
    file: Path


class NearRow(Message):
    """A row, and the cosine of its vector with that of the text."""

    number: int = Field(ge=1, description="In its split, from 1.")
    text: str
    cosine: float


class NearestRows(Answer):
    """The nearest of `rows` rows, the nearest first."""

    kind: Literal["nearest_rows"] = "nearest_rows"
    nearest: tuple[NearRow, ...]
    rows: int


class FindNearest(Question):
    """Find the rows nearest to a text. `file` is the output of EncodeRows for the same rows."""

    answered_by: ClassVar[type[Answer]] = NearestRows
    kind: Literal["find_nearest"] = "find_nearest"
    checkpoint: Path
    data: Path
    part: SplitName
    file: Path
    text: str
    top: int = Field(20, ge=1, le=1_000)
