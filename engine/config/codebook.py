"""Codebooks: what the labels of a coded column mean."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.config import Spec
from engine.config.problems import broken_rule
from engine.phrases import phrase

CodingKind = Literal["label", "labels", "number", "spans"]
"""Code of a row: one label, several labels, a number on a scale, or labels of parts of its text."""

Drawn = Literal["file", "random", "search", "uncertain", "diverse", "likely"]
"""The order in which a row came up; likely: most probable rows of one label first."""

MAX_COLOUR = 8
MAX_LABEL = 200  # characters
Colour = Annotated[int, Field(ge=1, le=MAX_COLOUR)]


class Code(Spec):
    """One label of a codebook."""

    label: Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
    key: str = Field(
        "",
        max_length=20,
        description="One letter or digit sets the label; a longer code is found by typing it. "
        "Empty: the next free key.",
    )
    colour: Colour | None = Field(
        None, description="Number of a colour of the charts; None: by its position."
    )
    definition: str = ""
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    deprecated: bool = Field(False, description="Rows keep the label; it has no key any more.")


class Codebook(Spec):
    """The labels of a column, in the order in which they are shown."""

    kind: CodingKind = "label"
    codes: tuple[Code, ...] = ()
    lowest: int = Field(1, ge=-1_000, le=1_000, description="Of a scale.")
    highest: int = Field(5, ge=-1_000, le=1_000, description="Of a scale.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for names in ([code.label for code in self.codes], [c.key for c in self.codes if c.key]):
            repeated = next((name for name in names if names.count(name) > 1), None)
            if repeated is not None:
                raise broken_rule(
                    phrase("“{name}” is in the codebook twice", name=repeated[:60]), "codes"
                )
        if self.lowest >= self.highest:
            raise broken_rule(
                phrase("the lowest number of the scale must be below the highest one"),
                "lowest",
                "highest",
            )
        return self

    @property
    def active(self) -> tuple[Code, ...]:
        """The labels that rows can still get; those of a scale are its numbers."""
        if self.kind != "number":
            return tuple(code for code in self.codes if not code.deprecated)
        named = {code.label: code for code in self.codes}
        numbers = map(str, range(self.lowest, self.highest + 1))
        return tuple(named.get(number) or Code(label=number) for number in numbers)
