"""What is learned."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.spec import Spec

HeadKind = Literal["classes", "labels", "number", "tags", "answer", "choices"]
"""What the layer answers that fine-tuning adds: one class of a text or pair, any number of labels,
a number, a tag for each word, a span of a text, or one of several endings."""


class Pretraining(Spec):
    """Masked words and next sentence (Devlin et al. 2019, §3.1): the loss is their sum.

    Or the paper's comparison, a left-to-right language model without next sentence (§5.1).
    """

    kind: Literal["pretraining"] = "pretraining"
    objective: Literal["masked", "next_token"] = Field(
        "masked",
        title="Objective",
        description=(
            "Masked words are guessed from both sides, as BERT learns. Next word is the paper's "
            "comparison: each token is guessed from those to its left alone, nothing is masked, "
            "and the network stays left-to-right when it is fine-tuned."
        ),
    )
    mlm_probability: float = Field(
        0.15,
        gt=0,
        lt=1,
        title="Masked share",
        description="Share of the tokens that are chosen to be guessed; 0.15 in the paper.",
    )
    mask_token_share: float = Field(
        0.8,
        ge=0,
        le=1,
        title="Shown as [MASK]",
        description="Of the chosen tokens, the share that is replaced by [MASK]; 0.8 in the paper.",
    )
    random_token_share: float = Field(
        0.1,
        ge=0,
        le=1,
        title="Shown as another word",
        description=(
            "Of the chosen tokens, the share that is replaced by a random piece; 0.1 in the "
            "paper. The rest stays as it is."
        ),
    )
    whole_word_masking: bool = Field(
        False,
        title="Whole words",
        description="Hide all pieces of a word together, instead of pieces by themselves.",
    )
    masking: Literal["dynamic", "static"] = Field(
        "dynamic",
        title="Masking",
        description=(
            "Dynamic draws new masks whenever an input is seen; static keeps those of each input."
        ),
    )
    nsp: bool = Field(
        False,
        title="Next sentence",
        description=(
            "Learn besides whether the second of two spans follows the first, as in the paper. "
            "Needs documents of several sentences."
        ),
    )
    is_next_ratio: float = Field(
        0.5,
        gt=0,
        lt=1,
        title="True pairs",
        description="Share of the pairs whose second span follows the first; 0.5 in the paper.",
    )
    dupe_factor: int = Field(
        1,
        ge=1,
        le=1_000,
        title="Draws of pairs",
        description=(
            "How often each document is cut into pairs, every time in another way; they stay the "
            "same in all epochs. The paper's code writes them 10 times."
        ),
    )
    long_length: int = Field(
        0,
        ge=0,
        le=65_536,
        title="Long inputs",
        description=(
            "Length of the inputs in the last steps, so that far positions are learned too; 512 in "
            "the paper, after 128. 0 means that all inputs have one length."
        ),
    )
    long_share: float = Field(
        0.1,
        gt=0,
        lt=1,
        title="Steps with long inputs",
        description="Share of the steps, at the end, that see the long inputs; 0.1 in the paper.",
    )


Finite = Annotated[float, Field(allow_inf_nan=False)]
Weight = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


SMOOTHING = Field(
    0.0,
    ge=0,
    lt=1,
    title="Label smoothing",
    description=(
        "Share of what is wanted that is given to all classes alike, so that the model is less "
        "sure of itself; 0 in the paper, 0.1 is usual."
    ),
)


class TextClassification(Spec):
    """One label for a sentence or a pair, from the vector of [CLS] (Devlin et al. 2019, §4.1)."""

    kind: Literal["text_classification"] = "text_classification"
    labels: tuple[str, ...] = Field(
        (),
        title="Labels",
        description=(
            "The classes in the order of their ids. Empty: all labels of the training rows, sorted."
        ),
    )
    balanced: bool = Field(
        False,
        title="Balance the classes",
        description=(
            "Rare classes weigh more: the weight of a class is the number of rows, divided by the "
            "number of classes and by the rows of that class."
        ),
    )
    class_weights: dict[str, Weight] = Field(
        {},
        title="Weights of classes",
        description=(
            "How much the rows of a class count while learning, by its label; 1 for each that is "
            "not named, or what balancing gives it."
        ),
    )
    label_smoothing: float = SMOOTHING


class QuestionAnswering(Spec):
    """Where in a passage stands the answer to a question (Devlin et al. 2019, §4.2 and §4.3).

    A long passage is read in windows that overlap.
    """

    kind: Literal["question_answering"] = "question_answering"
    unanswerable: bool | None = Field(
        None,
        title="May have no answer",
        description=(
            "Whether a question may have no answer in its passage, as in SQuAD 2.0; empty: as the "
            "training rows have it."
        ),
    )
    no_answer_threshold: float = Field(
        0.0,
        ge=-1e6,
        le=1e6,
        title="No-answer threshold",
        description=(
            "By how much “no answer” must score higher than the best answer to be preferred. "
            "Evaluation says which threshold would have been the best."
        ),
    )
    doc_stride: int = Field(
        128,
        ge=1,
        le=65_536,
        title="Stride",
        description="Word pieces between the beginnings of two windows over a passage.",
        json_schema_extra={"ticks": [64, 128, 192]},
    )
    max_question_length: int = Field(
        64,
        ge=1,
        le=65_536,
        title="Longest question",
        description="Longer questions are cut to this many word pieces.",
    )
    max_answer_length: int = Field(
        30,
        ge=1,
        le=65_536,
        title="Longest answer",
        description="No answer of more word pieces is given.",
    )


class TokenClassification(Spec):
    """A tag for each word, from the vector of its first piece (Devlin et al. 2019, §5.3)."""

    kind: Literal["token_classification"] = "token_classification"
    labels: tuple[str, ...] = Field(
        (),
        title="Tags",
        description=(
            "The tags in the order of their ids. Empty: all tags of the training rows, sorted, "
            "with O first."
        ),
    )
    class_weights: dict[str, Weight] = Field(
        {},
        title="Weights of tags",
        description=(
            "How much the words of a tag count while learning, by the tag or by the type of its "
            "spans (“person” for B-person and I-person); 1 for each that is not named."
        ),
    )
    label_smoothing: float = SMOOTHING


class MultiLabel(Spec):
    """Any number of labels for a sentence or a pair, each with a probability of its own."""

    kind: Literal["multi_label"] = "multi_label"
    labels: tuple[str, ...] = Field(
        (),
        title="Labels",
        description=(
            "The labels in the order of their ids. Empty: all labels of the training rows, sorted."
        ),
    )
    balanced: bool = Field(
        False,
        title="Balance the labels",
        description=(
            "Rare labels weigh more: the weight of a label is the number of rows without it, "
            "divided by the number of rows with it."
        ),
    )
    class_weights: dict[str, Weight] = Field(
        {},
        title="Weights of labels",
        description=(
            "How much it counts while learning that a row has a label, by its name; 1 for each "
            "that is not named, or what balancing gives it."
        ),
    )


class Regression(Spec):
    """A number for a sentence or a pair, such as how similar two sentences are."""

    kind: Literal["regression"] = "regression"
    range: tuple[Finite, Finite] | None = Field(
        None,
        title="Range",
        description=(
            "Between which numbers the answers are shown; empty: the lowest and the highest of the "
            "training rows."
        ),
    )

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.range is not None and self.range[0] >= self.range[1]:
            raise ValueError("the range must begin below its end")
        return self


class MultipleChoice(Spec):
    """Which of several endings fits a text (Devlin et al. 2019, §4.4)."""

    kind: Literal["multiple_choice"] = "multiple_choice"


TaskSpec = Annotated[
    Pretraining
    | TextClassification
    | MultiLabel
    | Regression
    | TokenClassification
    | MultipleChoice
    | QuestionAnswering,
    Field(discriminator="kind"),
]
