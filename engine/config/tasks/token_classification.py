"""A tag for each word, from the vector of its first token (Devlin et al. 2019, §5.3)."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.task import (
    ACCURACY,
    F1,
    F1_MACRO,
    LABEL_SMOOTHING,
    LOSS,
    PRECISION,
    RECALL,
    TOKENS,
    ClassWeight,
    Head,
    LabelColumn,
    LabelledTask,
    TaskInfo,
    WindowedTask,
)
from engine.errors import StudioError

MAX_TAGS = 1_000


class TokenClassification(LabelledTask, WindowedTask):
    """A tag for each word: names of people and places, parts of speech."""

    info: ClassVar[TaskInfo] = TaskInfo(
        title="Token classification (NER)",
        head=Head(TOKENS, tensors=(Output(name="logits", of="token", meaning="one"),)),
        metrics=(
            F1,
            F1_MACRO,
            PRECISION,
            RECALL,
            ACCURACY,
            LOSS,
        ),
        best_metric="f1",
        reads=("text", "tags"),
        required_cells=("text",),
        labelled_by=("tags",),
        hub_pipeline="token-classification",
        row_figures=("score",),
    )
    kind: Literal["token_classification"] = "token_classification"
    labels: tuple[str, ...] = Field(
        (),
        title="Tags",
        description=(
            "The tags in the order of their ids. Empty: all tags of the training set, sorted, "
            "with O first."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    class_weights: dict[str, ClassWeight] = Field(
        {},
        title="Tag weights",
        description=(
            "Weight of each tag in the loss, by the tag or by its entity type (“person” for "
            "B-person and I-person); a tag that is not listed has weight 1."
        ),
        json_schema_extra=setting(branch=True),
    )
    label_smoothing: float = LABEL_SMOOTHING

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        if columns.tags is None:
            yield StudioError(
                "Token classification needs a tag for each word.",
                "Choose the column of tags, one for each word, or of spans.",
            )
        elif labels is not None and len(labels.cells) >= MAX_TAGS:
            yield StudioError(
                "There are at least {count:,} different tags, too many to learn.",
                "Choose another column of tags.",
                count=MAX_TAGS,
            )

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        """The entity types of the data set, and O."""
        return tuple(dict.fromkeys((*dataset.spans, "O"))) if dataset else ()

    def unknown_weights(self, names: tuple[str, ...]) -> list[str]:
        """Names that are neither a type nor a tag of one, such as “B-person”."""
        unknown = super().unknown_weights(names)
        return [name for name in unknown if name.partition("-")[2] not in names]
