"""A fine-tuned model applied to all rows of a file."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping, Reading
from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.question import Answer, Question


class Applied(Answer):
    """All rows are written to `out`.

    Args:
        prediction: name of the column with what is predicted.
        unsure: rows below the threshold; None where there was none.
        computed: in which precision; float32 is exact.
        notes: what was noticed in the rows.
    """

    kind: Literal["applied"] = "applied"
    out: Path
    rows: int
    prediction: str
    unsure: int | None = None
    computed: str = "float32"
    notes: tuple[PhraseField, ...] = ()


class FileInput(Message):
    """A file, how it is read, and which of its columns a model gets; labels are not looked at."""

    path: Path
    reading: Reading
    mapping: Mapping


class Apply(Question):
    """Predict for every row of a file, and write all its columns and the predictions to `out`.

    What is done is kept in a folder beside `out` until `out` is whole; with `resume` it is taken
    up again.
    """

    answered_by: ClassVar[type[Answer]] = Applied
    kind: Literal["apply"] = "apply"
    checkpoint: Path
    given: FileInput
    out: Path
    threshold: float | None = Field(
        None, ge=0, le=1, description="Predictions less probable than this are marked as unsure."
    )
    raw: bool = False
    max_length: int = 512
    batch_size: int = 32
    exact: bool = True
    resume: bool = False


class FirstPredicted(Answer):
    """The first rows with all columns of the file and of the predictions, as they are written.

    `kept`: rows that an earlier Apply of the same file and model to the same `out` had done.
    """

    kind: Literal["first_predicted"] = "first_predicted"
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    predicted: int = Field(description="How many of the columns, the last ones, are predicted.")
    kept: int = 0


class PredictFirst(Question):
    """What would Apply write in the first rows?"""

    answered_by: ClassVar[type[Answer]] = FirstPredicted
    kind: Literal["predict_first"] = "predict_first"
    asked: Apply
    rows: int = Field(10, ge=1)
