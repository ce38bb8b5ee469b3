"""Predictions of a model for rows, in one Parquet file.

The file is written atomically and contains the rows themselves, so that it can be shown, filtered
and exported without the data set. Its metadata hold the `PredictionInfo`.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from engine.config import Spec
from engine.config.dataset import Mapping as ColumnMapping
from engine.config.dataset import SplitName
from engine.config.prediction import PredictionSets
from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import check_regular

METADATA_KEY = b"bert-studio"  # key in the Parquet metadata
CELL = "cell:"  # prefix of the columns of the rows themselves
ROW_GROUP_SIZE = 20_000

COLUMNS: dict[str, pa.DataType] = {
    "row": pa.int64(),  # index in its part
    "line": pa.int64(),  # of the imported file; 0: unknown
    "gold": pa.string(),  # readable text; null if unlabelled
    "predicted": pa.string(),  # readable text
    "probability": pa.float32(),  # of the prediction; null if the task has none
    "loss": pa.float32(),  # null without gold
    "score": pa.float32(),  # 1 right, 0 wrong, or between (F1 of the row); null: no gold
    "scores": pa.list_(pa.float32()),  # probability of each label, in the order of the labels
    "details": pa.string(),  # task-specific data as JSON; "" for none
}
RECORD = pa.schema(list(COLUMNS.items()))


class PredictionInfo(Spec):
    """Origin and metrics of predictions.

    Args:
        task: the name of the task.
        labels: in the order of `scores`: classes, labels or tags; empty for other tasks.
        part: of the stored data set; "file" for rows of a file.
        source: name of the data set, or of the file.
        fingerprint: of the data set; "" for a file.
        mapping: roles of the columns.
        model: name of the run or of the model.
        step: of the checkpoint; None if unknown.
        made: time in UTC.
        metrics: over all rows, by name; empty if no row has a label.
        precision: fp32, bf16, fp16 or int8, of the computation; "" for a baseline.
        best_metric: the one that chose the best checkpoint; empty: the default of the task.
        settings: thresholds, temperature, answer lengths, by name.
        sets: the prediction sets of the model.
    """

    task: str
    labels: tuple[str, ...] = ()
    part: SplitName | Literal["file"]
    source: str
    fingerprint: str = ""
    mapping: ColumnMapping
    model: str
    step: int | None = None
    made: datetime
    metrics: dict[str, float] = Field(default_factory=dict)
    precision: str = ""
    best_metric: str = ""
    settings: dict[str, float] = Field(default_factory=dict)
    sets: PredictionSets | None = None


@dataclass(frozen=True)
class Predictions:
    """Predictions for rows: their info, and a table with the columns of RECORD and the cells."""

    info: PredictionInfo
    table: pa.Table

    @classmethod
    def from_columns(
        cls, info: PredictionInfo, record: Mapping[str, Any], cells: Mapping[str, Sequence[str]]
    ) -> Self:
        """Build from columns of RECORD and columns of the rows, by name; all of one length.

        Missing columns of RECORD are null, or "" for `details`.
        """
        count = len(record["row"])
        empty = {"details": pa.array([""] * count, pa.string())}
        columns = {
            field.name: pa.array(record[field.name], field.type, from_pandas=True)
            if field.name in record
            else empty.get(field.name, pa.nulls(count, field.type))
            for field in RECORD
        }
        columns |= {CELL + name: pa.array(column, pa.string()) for name, column in cells.items()}
        return cls(info, pa.table(columns))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the rows themselves."""
        return tuple(
            name.removeprefix(CELL) for name in self.table.column_names if name.startswith(CELL)
        )

    def cells(self, column: str) -> "pa.ChunkedArray[pa.StringScalar]":
        """A column of the rows themselves, string [rows]."""
        return self.table[CELL + column]

    def numbers(self, column: str) -> NDArray[np.float32]:
        """A numeric column of RECORD, float32 [rows]; NaN for null."""
        values: NDArray[np.float32] = (
            self.table[column].cast(pa.float32()).to_numpy(zero_copy_only=False)
        )
        return values

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """Probability of each label, float32 [rows, labels], in the order of the labels.

        Requires as many scores in every row as there are labels.
        """
        flat = pc.list_flatten(self.table["scores"]).to_numpy(zero_copy_only=False)
        columns = len(flat) // len(self) if len(self) else len(self.info.labels)
        return flat.reshape(len(self), columns)

    @cached_property
    def is_labelled(self) -> bool:
        """Some row has gold."""
        return int(self.table["gold"].null_count) < len(self)

    def write(self, path: Path) -> None:
        """Write the file atomically. Raises StudioError on a disk error."""
        info = self.info.model_dump_json().encode("utf-8")
        table = self.table.replace_schema_metadata({METADATA_KEY: info})
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd", row_group_size=ROW_GROUP_SIZE)
        with disk_errors_for(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, content.getvalue())


def read_predictions(path: Path) -> Predictions:
    """Read predictions that `Predictions.write` wrote.

    Raises StudioError if the file cannot be read or is no such file.
    """
    try:
        table = pq.read_table(check_regular(path))
        info = PredictionInfo.model_validate_json((table.schema.metadata or {})[METADATA_KEY])
    except FileNotFoundError as error:
        raise StudioError(
            "There are no predictions: {name} is missing.",
            "Evaluate the model again.",
            name=path.name,
        ) from error
    except (OSError, KeyError, ValidationError, pa.ArrowException) as error:
        raise _damaged_error(path) from error
    if any(
        field.name not in table.column_names or table.schema.field(field.name).type != field.type
        for field in RECORD
    ):
        raise _damaged_error(path)
    return Predictions(info, table)


def _damaged_error(path: Path) -> StudioError:
    """The file may be the user's own data, so the advice is not to delete it."""
    return StudioError(
        "The predictions in {name} cannot be read.",
        "Evaluate the model again, or choose another file of predictions.",
        name=path.name,
    )
