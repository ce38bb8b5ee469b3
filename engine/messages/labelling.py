"""Which labels of a data set are probably wrong, and what unlabelled rows should be labelled."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question


class Suggestion(Message):
    """A label for a row of a version, and how probable it is."""

    row: int = Field(ge=0, description="Number of the row in the version.")
    label: str
    probability: float = Field(ge=0, le=1)


class Suggested(Answer):
    """Suggestions in the order in which rows should be looked at, of so many `rows`."""

    suggestions: tuple[Suggestion, ...]
    rows: int


class LabelErrorsFound(Suggested):
    """`likely` is how many labels are probably wrong, as the confident joint counts them."""

    kind: Literal["label errors found"] = "label errors found"
    likely: int


class LabelsSuggested(Suggested):
    kind: Literal["labels suggested"] = "labels suggested"


class FindLabelErrors(Question):
    """Which rows for training and validation are probably labelled wrong?

    With a checkpoint, the vectors of its frozen encoder are asked as well as the words. With
    `fine_tune_in`, the checkpoint itself is fine-tuned once for each fold, which takes far longer;
    in this folder, what is finished is kept until all is, so the same question resumes it.
    """

    answered_by: ClassVar[type[Answer]] = LabelErrorsFound
    kind: Literal["find label errors"] = "find label errors"
    data: Path
    checkpoint: Path | None = None
    fine_tune_in: Path | None = None


class SuggestLabels(Question):
    """What would this model say of the rows without a label?

    One that is not fine-tuned reads the rows for quick models of those that have a label.
    The most uncertain rows come first, or those that are most different from all others.
    """

    answered_by: ClassVar[type[Answer]] = LabelsSuggested
    kind: Literal["suggest labels"] = "suggest labels"
    data: Path
    checkpoint: Path
    order: Literal["uncertain", "diverse"] = "uncertain"
