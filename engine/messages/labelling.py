"""Find label errors of a data set, and suggest labels for unlabelled rows."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.codebook import Codebook, Drawn
from engine.messages import Message
from engine.messages.question import Answer, Question

MIN_CURVE_ROWS = 50  # labelled, for a learning curve


class Suggestion(Message):
    """A label for a row of a version."""

    row: int = Field(ge=0, description="Number of the row in the version.")
    label: str
    probability: float | None = Field(None, ge=0, le=1, description="None: not by a model.")


class Suggested(Answer):
    """Suggestions in the order in which to check the rows; `rows` is the number of all rows."""

    suggestions: tuple[Suggestion, ...]
    rows: int


class LabelErrorsFound(Suggested):
    """`likely` is the number of probable label errors by the confident joint."""

    kind: Literal["label errors found"] = "label errors found"
    likely: int


class LabelsSuggested(Suggested):
    """Suggested labels: a label, a set as a list in JSON, or the tags of all words."""

    kind: Literal["labels suggested"] = "labels suggested"
    from_codebook: bool = Field(
        False, description="No labelled row was needed: from names and definitions."
    )
    learns: bool = Field(False, description="More labels change the suggestions and the order.")


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
    """Suggest labels, sets of labels or tags for the unlabelled rows.

    A model that is not fine-tuned for them encodes the rows for a light model of the labelled rows.
    Before there are rows with two labels, it compares them with the names and definitions of the
    codebook. The most uncertain rows come first, those that differ most from all others, or the
    most probable ones of a label; in other orders, the rows are as given.
    """

    answered_by: ClassVar[type[Answer]] = LabelsSuggested
    kind: Literal["suggest labels"] = "suggest labels"
    data: Path
    target: str | None = Field(None, description="The column of labels; None: as imported.")
    checkpoint: Path
    order: Drawn = "uncertain"
    label: str = Field("", description="The label whose likely rows come first.")
    rows: tuple[int, ...] = Field((), description="Only these rows; empty: all unlabelled ones.")
    labels: dict[int, str] = Field(
        default_factory=dict,
        description="Labels given since the version, as in a cell; sets as lists; “” removes one.",
    )
    codebook: Codebook | None = Field(None, description="None: that of the version.")


class GainEstimated(Answer):
    """Accuracy of a light model, and the accuracy that `more` labelled rows add."""

    kind: Literal["gain estimated"] = "gain estimated"
    rows: int = Field(description="Labelled rows outside the test set.")
    more: int
    accuracy: float
    gain: float
    low: float = Field(description="Lower end of the 95 % interval of the gain.")
    high: float
    hardly_pays: bool
    label: str = Field("", description="The label that has most of the gain; “” for none.")


class EstimateGain(Question):
    """Estimate from the learning curve how much more labelled rows would add."""

    answered_by: ClassVar[type[Answer]] = GainEstimated
    kind: Literal["estimate gain"] = "estimate gain"
    data: Path
    target: str | None = Field(None, description="The column of labels; None: as imported.")
    checkpoint: Path
    more: int = Field(200, ge=1)
    labels: dict[int, str] = Field(default_factory=dict, description="As in `SuggestLabels`.")
    codebook: Codebook | None = Field(None, description="None: that of the version.")
