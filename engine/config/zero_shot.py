"""Labels that are described in words instead of trained (zero-shot), and the models for them."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from engine.config import Spec
from engine.config.codebook import MAX_LABEL, Code
from engine.config.problems import broken_rule
from engine.config.tasks import FIRST_TASK, MULTI_LABEL, get_head
from engine.errors import StudioError
from engine.phrases import phrase

TEMPLATE = "This text is about {}."
SLOT = "{}"
MAX_CODES, MAX_TEMPLATE = 100, 500  # labels, and characters
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？")

Way = Literal["vectors", "entailment"]
"""Vectors: the label whose description is nearest to the text, by a sentence encoder. Entailment:
the label whose hypothesis follows from the text, by a model for natural language inference (NLI;
Yin et al. 2019)."""

SPELLINGS = {
    "entailment": {"entailment", "entail", "entails", "entailed", "e"},
    "neutral": {"neutral", "n"},
    "contradiction": {"contradiction", "contradictory", "contradict", "contradicts", "c"},
    "not_entailment": {"not_entailment", "non_entailment", "notentailment", "nonentailment"},
}
LABEL_SETS = (
    {"entailment", "neutral", "contradiction"},
    {"entailment", "not_entailment"},
    {"entailment", "contradiction"},
)
UNNAMED = re.compile(r"(LABEL_)?[0-2]")


class NliOutputs(NamedTuple):
    """Indices of the outputs of an NLI model.

    `contradiction` is that of “not entailment” in models that know only these two.
    """

    entailment: int
    contradiction: int


class Described(Spec):
    """Labels by their descriptions, for texts without any training."""

    codes: Annotated[tuple[Code, ...], Field(min_length=1, max_length=MAX_CODES)]
    template: str = Field(
        TEMPLATE,
        max_length=MAX_TEMPLATE,
        description="Hypothesis for an NLI model; {} is the description, or the label without one.",
    )
    several: bool = Field(False, description="A text has any number of the labels: NLI only.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.template.count(SLOT) != 1:
            raise broken_rule(phrase("the hypothesis must have {slot} once", slot=SLOT), "template")
        labels = {code.label for code in self.codes}
        if len(labels) < len(self.codes):
            raise broken_rule(phrase("each label must be described once"), "codes")
        if len(labels) < 2 and not self.several:
            raise broken_rule(phrase("describe at least two labels"), "codes")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(code.label for code in self.codes)

    @property
    def lines(self) -> tuple[str, ...]:
        """“label: description” of each label, as `describe` reads them."""
        return tuple(": ".join(filter(None, (c.label, c.definition))) for c in self.codes)

    @property
    def task(self) -> str:
        """The task whose predictions have this form."""
        return MULTI_LABEL if self.several else FIRST_TASK

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """A hypothesis for each label."""
        return hypotheses(self.codes, self.template)


def hypotheses(codes: Iterable[Code], template: str = TEMPLATE) -> tuple[str, ...]:
    """The hypothesis of each label: a definition that is a sentence is one as it is."""
    texts = [code.definition.strip() or code.label for code in codes]
    return tuple(
        text if text.endswith(SENTENCE_ENDS) else template.replace(SLOT, text) for text in texts
    )


def describe(lines: Iterable[str], template: str = TEMPLATE, several: bool = False) -> Described:
    """Labels from lines such as “sport: matches and players”; the first one of a label counts.

    Raises StudioError if there are too few or too many, or the hypothesis has no slot.
    """
    codes = [described_line(line) for line in lines if line.strip()]
    distinct = tuple({code.label: code for code in reversed(codes)}.values())[::-1]
    if len(distinct) < (1 if several else 2):
        raise StudioError(
            "There is nothing to choose from yet.",
            "Describe at least two labels, each on its own line.",
        )
    if len(distinct) > MAX_CODES:
        raise StudioError(
            "{n} labels are described, but a text is compared with at most {most}.",
            "Leave some of them out.",
            n=len(distinct),
            most=MAX_CODES,
        )
    if template.count(SLOT) != 1 or len(template) > MAX_TEMPLATE:
        raise StudioError(
            "The hypothesis “{hypothesis}” needs {slot} once: the place of the description.",
            "Write it such as “This text is about {slot}.”",
            hypothesis=template[:60],
            slot=SLOT,
        )
    return Described(codes=distinct, template=template, several=several)


def described_line(line: str) -> Code:
    """“label: description” as a code; a line without a colon is a label."""
    label, colon, description = line.partition(": ")
    cut = label.strip()[:MAX_LABEL]
    return Code(label=cut or "–", definition=description.strip() if colon else "")


def nli_outputs(labels: Sequence[str]) -> NliOutputs | None:
    """The outputs of an NLI model, in any order and spelling; None for other labels."""
    keys = [re.sub(r"[\s\-_]+", "_", label.strip().casefold()) for label in labels]
    names = [next((n for n, known in SPELLINGS.items() if key in known), "") for key in keys]
    if {*names} not in LABEL_SETS or len(names) != len({*names}):
        return None
    other = "contradiction" if "contradiction" in names else "not_entailment"
    return NliOutputs(names.index("entailment"), names.index(other))


def zero_shot_way(task: str | None, labels: Sequence[str]) -> Way | None:
    """The way in which a model finds labels by their descriptions; None if it cannot."""
    if task is None:
        return None
    head = get_head(task)
    if head.pools:
        return "vectors"
    return "entailment" if head.is_nominal and nli_outputs(labels) is not None else None


def require_way(task: str | None, labels: Sequence[str]) -> Way:
    """`zero_shot_way`. Raises StudioError if the model has none, with the reason."""
    if (way := zero_shot_way(task, labels)) is not None:
        return way
    if len(labels) in (2, 3) and all(UNNAMED.fullmatch(label) for label in labels):
        raise StudioError(
            "The labels of this model have no names ({names}), so it is not known which of them "
            "means entailment.",
            "If it was trained for natural language inference, write the names into “id2label” of "
            "its config.json in the order that its authors state, and import it again.",
            names=", ".join(labels),
        )
    raise StudioError(
        "This model cannot compare texts with descriptions of labels.",
        "Choose the included MiniLM, another sentence encoder, or a model for natural language "
        "inference, with the labels entailment, neutral and contradiction.",
    )
