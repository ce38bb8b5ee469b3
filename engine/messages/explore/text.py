"""Base classes of questions about a text, and common parts of their answers."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question


class Token(Message):
    """One token, and its characters in the typed text."""

    text: str
    id: int
    segment: int = 0
    start: int = Field(
        0, description="First character in its text; equal to `end` for [CLS] and [SEP]."
    )
    end: int = 0
    word: int | None = Field(
        None, description="Index of its word in the text; None for special tokens."
    )
    special: bool = False


class LabelProbability(Message):
    """A label, or a token of the vocabulary, with its probability."""

    label: str
    probability: float


class Prediction(Message):
    """Predictions for the tokens from `first` to `last`, the most likely first."""

    first: int = 0
    last: int = 0
    ranked: tuple[LabelProbability, ...]


class AblationQuestion(Question):
    """A question about a model in which some attention heads may be disabled.

    The output of such a head is replaced before the output matrix of the attention: by zero, or by
    its mean over texts, as `AverageHeads` computes it.
    """

    heads_off: tuple[tuple[int, int], ...] = Field(
        (), description="Layers and heads, from 0, that are ablated."
    )
    head_means: Path | None = Field(
        None, description="File with float32 [L, D], the means in their place; None: zero."
    )


class TextQuestion(AblationQuestion):
    """A question about one text or two, with some tokens masked.

    [MASK] that is typed in the text counts, and so does `masked`: token indices as in `Tokens`.
    """

    checkpoint: Path
    text: str
    pair: str | None = None
    masked: tuple[int, ...] = ()


class PreciseQuestion(TextQuestion):
    """A question that may be answered in reduced precision if it agrees; see `PreciseAnswer`."""

    exact: bool = True


PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8"}


class PreciseAnswer(Answer):
    """An answer with its precision: float32 is exact.

    Reduced precision is used if it is faster and agrees on built-in texts. `why_exact` says why an
    allowed reduced precision was not used: it is still being tested, none is faster and agrees,
    there is none for the device, or the model is a snapshot.
    """

    computed: Literal["float32", "float16", "bfloat16", "int8"] = "float32"
    why_exact: Literal["", "preparing", "none", "device", "snapshot"] = ""
