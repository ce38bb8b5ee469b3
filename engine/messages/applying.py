"""Apply a fine-tuned model to all rows of a file, or to rows of a stored data set."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping, Reading, Source, StoredData
from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.question import Answer, Question


class Applied(Answer):
    """All rows are written to `out`.

    Args:
        prediction: name of the column with the predictions.
        counts: rows by predicted label, of tags spans by type; bins in their order if
            `is_binned`; empty for vectors.
        unsure: number of rows below the threshold; None without a threshold.
        columns, least: the least certain rows as they were written, the least certain first: those
            below the threshold if there is one.
        positions: of these rows among all.
        computed: precision; float32 is exact.
        notes: remarks about the rows.
    """

    kind: Literal["applied"] = "applied"
    out: Path
    rows: int
    prediction: str
    counts: dict[str, int] = Field(default_factory=dict)
    is_binned: bool = False
    unsure: int | None = None
    columns: tuple[str, ...] = ()
    least: tuple[tuple[str, ...], ...] = ()
    positions: tuple[int, ...] = ()
    computed: str = "float32"
    notes: tuple[PhraseField, ...] = ()


class FileInput(Message):
    """A file, how to read it, and which columns the model gets; labels are ignored."""

    path: Path
    reading: Reading
    mapping: Mapping


class StoredInput(Message):
    """Rows of a stored version. The result has a column with the index of each row, too."""

    data: StoredData
    rows: Source | Literal["unlabelled"] | tuple[int, ...] = Field(
        "all",
        description="A split, the rows without a label for the model's task, or row indices.",
    )


class Apply(Question):
    """Predict every given row and write all its columns and the predictions to `out`.

    Unfinished work is cached in a folder next to `out`; with `resume` it continues from there.
    """

    answered_by: ClassVar[type[Answer]] = Applied
    kind: Literal["apply"] = "apply"
    checkpoint: Path
    given: FileInput | StoredInput
    out: Path
    threshold: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Predictions with a probability below this are marked as unsure.",
    )
    raw: bool = False
    max_length: int | None = Field(None, description="None: the model's, at most 512.")
    batch_size: int = 32
    exact: bool = True
    resume: bool = False


class FirstPredicted(Answer):
    """The first rows with all columns of the file and of the predictions, as they will be written.

    `cached`: rows that an earlier Apply of the same file and model to the same `out` had finished.
    """

    kind: Literal["first_predicted"] = "first_predicted"
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    predicted: int = Field(description="Number of columns with predictions, the last ones.")
    cached: int = 0


class PredictFirst(Question):
    """Preview the first rows that Apply would write."""

    answered_by: ClassVar[type[Answer]] = FirstPredicted
    kind: Literal["predict_first"] = "predict_first"
    apply: Apply
    rows: int = Field(10, ge=1)
