"""Find label errors of a data set, and suggest labels for unlabelled rows."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question


class Suggestion(Message):
    """A label for a row of a version, and its probability."""

    row: int = Field(ge=0, description="Number of the row in the version.")
    label: str
    probability: float = Field(ge=0, le=1)


class Suggested(Answer):
    """Suggestions in the order in which to check the rows; `rows` is the number of all rows."""

    suggestions: tuple[Suggestion, ...]
    rows: int


class LabelErrorsFound(Suggested):
    """`likely` is the number of probable label errors by the confident joint."""

    kind: Literal["label errors found"] = "label errors found"
    likely: int


class LabelsSuggested(Suggested):
    kind: Literal["labels suggested"] = "labels suggested"


class FindLabelErrors(Question):
    """Find the rows for training and validation that are probably mislabelled.

    With a checkpoint, the vectors of its frozen encoder are used as well as the words. With
    `fine_tune_in`, the checkpoint itself is fine-tuned once for each fold, which is far slower;
    finished folds are cached in this folder until all are done, so the same question resumes.
    """

    answered_by: ClassVar[type[Answer]] = LabelErrorsFound
    kind: Literal["find label errors"] = "find label errors"
    data: Path
    target: str | None = Field(None, description="The column of labels; None: as imported.")
    checkpoint: Path | None = None
    fine_tune_in: Path | None = None


class SuggestLabels(Question):
    """Suggest labels for the unlabelled rows.

    A model that is not fine-tuned encodes the rows for quick models of the labelled rows. The most
    uncertain rows come first, or those that differ most from all others.
    """

    answered_by: ClassVar[type[Answer]] = LabelsSuggested
    kind: Literal["suggest labels"] = "suggest labels"
    data: Path
    target: str | None = Field(None, description="The column of labels; None: as imported.")
    checkpoint: Path
    order: Literal["uncertain", "diverse"] = "uncertain"
