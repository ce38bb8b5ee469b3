"""Apply a fine-tuned model to all rows of a file, or to rows of a stored data set."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import Mapping, Reading, Source, StoredData
from engine.config.phrases import PhraseField
from engine.config.task import percent
from engine.config.tasks import metric_text
from engine.config.zero_shot import Described
from engine.messages import Message
from engine.messages.explore.text import PRECISIONS
from engine.messages.question import Answer, Question
from engine.phrases import Phrase, join, phrase


class Agreement(Message):
    """Agreement of the fastest precision with fp32 on validation rows.

    Args:
        computed: precision; float32 if nothing faster agrees.
        exact_layers: indices of the layers that stay in fp32.
        rows: number of validation rows.
        equal: fraction of equal predictions.
        metric, score, exact_score: a score of these rows, and the score in fp32.
        times: speed relative to fp32 on this machine.
    """

    computed: Literal["float32", "bfloat16", "int8"] = "float32"
    exact_layers: tuple[int, ...] = ()
    rows: int
    equal: float = 1.0
    metric: str
    score: float
    exact_score: float
    times: float = 1.0

    @property
    def phrase(self) -> Phrase:
        if self.computed == "float32":
            return phrase(
                "fp32: nothing faster agrees with it on {n:,} validation row(s).", n=self.rows
            )
        sentence = phrase(
            "{precision}: {equal} of predictions equal to fp32 on {n:,} validation row(s); "
            "{metric} {score} against {exact}; {times:.1f} times as fast.",
            precision=PRECISIONS[self.computed],
            equal=percent(self.equal),
            n=self.rows,
            metric=self.metric,
            score=metric_text(self.metric, self.score),
            exact=metric_text(self.metric, self.exact_score),
            times=self.times,
        )
        if not self.exact_layers:
            return sentence
        kept = phrase("{n} layer(s) in fp32.", n=len(self.exact_layers))
        return join(" ", (sentence, kept))


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
        notes: remarks about the rows, and on the agreement of reduced precision.
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
    described: Described | None = Field(
        None,
        description="Labels to find by their descriptions; None: those of the model.",
    )


class AgreementMeasured(Answer):
    """The fastest precision that agrees; None if the validation rows of the model are unknown."""

    kind: Literal["agreement_measured"] = "agreement_measured"
    agreement: Agreement | None


class MeasureAgreement(Question):
    """Find the fastest precision whose predictions for validation rows agree with fp32."""

    answered_by: ClassVar[type[Answer]] = AgreementMeasured
    kind: Literal["measure_agreement"] = "measure_agreement"
    checkpoint: Path
    max_length: int | None = None
    batch_size: int = 32


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
