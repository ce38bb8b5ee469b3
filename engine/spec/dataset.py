"""Files of text, and how to read them."""

import json
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.spec import Spec
from engine.spec.phrases import PhraseField

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")


class Reading(Spec):
    """How the bytes of a file become rows."""

    format: str = Field("csv", max_length=60, title="Format", description="A key of `FORMATS`.")
    encoding: str = Field(
        "utf-8", title="Encoding", description="A name that Python knows: utf-8, utf-16, cp1252, …"
    )
    delimiter: str = Field(
        ",",
        max_length=1,
        title="Delimiter",
        description="What stands between two cells of a table.",
    )
    quoted: bool = Field(
        True, title="Quotes", description="Whether a cell may stand in double quotes."
    )
    header: bool = Field(
        True, title="Header", description="Whether the first row names the columns."
    )


class Mapping(Spec):
    """Which columns hold what; most tasks need two or three of them."""

    text: str = Field(
        title="Text", description="The column with the text, or with the first of two."
    )
    pair: str | None = Field(
        None,
        title="Second text",
        description="The column with the second of two texts, if there is one.",
    )
    label: str | None = Field(
        None,
        title="Label",
        description="The column with the class, the number or the right ending, if there is one.",
    )
    flags: tuple[str, ...] = Field(
        (),
        title="Yes or no",
        description="Columns that are named after a label and say whether a row has it.",
    )
    tags: str | None = Field(
        None, title="Tags", description="The column with a tag for each word of the text."
    )
    answers: str | None = Field(
        None,
        title="Answers",
        description="The column with the answers to the question, as they stand in the passage.",
    )
    beginning: str | None = Field(
        None, title="Beginning", description="The column with what every ending begins with."
    )
    endings: tuple[str, ...] = Field(
        (),
        title="Endings",
        description="The columns with the endings to choose from, or one column with a list.",
    )

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("one column cannot have two meanings")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are used."""
        single = (self.text, self.pair, self.label, self.tags, self.answers, self.beginning)
        return (*(c for c in single if c is not None), *self.flags, *self.endings)

    def identity(self) -> str:
        """What a fingerprint holds of it: the same as before there were further fields."""
        further = self.model_dump(mode="json", exclude_defaults=True)
        whole = {"text": self.text, "pair": self.pair, "label": self.label} | further
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


class Split(Spec):
    """How rows are dealt out; what is left after dev and test is for training."""

    validation: float = Field(
        0.1,
        ge=0,
        lt=1,
        title="Dev share",
        description="Share of the rows to judge by while training.",
    )
    test: float = Field(
        0.0, ge=0, lt=1, title="Test share", description="Share of the rows kept for the very end."
    )
    seed: int = Field(42, ge=0, title="Seed", description="Decides which rows go where.")
    stratify: bool = Field(
        True, title="Keep the balance", description="Every part gets the same share of each label."
    )
    column: str | None = Field(
        None,
        title="Split column",
        description="A column that says train, dev or test for each row.",
    )

    @model_validator(mode="after")
    def _something_left(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError("dev and test leave no rows for training")
        return self


class DatasetSpec(Spec):
    """One immutable version of a data set, as `spec.json` beside its `data.parquet` says it."""

    name: str
    version: int = Field(ge=1)
    sources: dict[SplitName | Literal["all"], Path] = Field(
        description="The files it came from: one for all, or one for each part."
    )
    source_sha256: dict[str, str] = Field(
        default_factory=dict, description="SHA-256 of each source as it was read."
    )
    reading: Reading
    mapping: Mapping
    split: Split
    columns: tuple[str, ...] = Field(description="Columns of the source, in its order.")
    rows: dict[SplitName, int] = Field(description="Rows in each part.")
    labels: dict[str, int] = Field(
        default_factory=dict, description="How many rows have each label, sorted by label."
    )
    spans: dict[str, int] = Field(
        default_factory=dict,
        description=(
            "How many spans of each type there are, sorted by type; words of each tag where the "
            "tags name no spans."
        ),
    )
    notes: tuple[PhraseField, ...] = Field(
        (), description="What was noticed while reading, in whole sentences."
    )
    fingerprint: str = Field(description="SHA-256 over the rows, their parts and the mapping.")


class StoredData(Spec):
    """A version in the home folder (or a copy of one anywhere)."""

    kind: Literal["stored"] = "stored"
    folder: Path
    fingerprint: str = Field("", description="Empty: not checked.")


class FileData(Spec):
    """Files as they are; a run takes its own copy before it starts."""

    kind: Literal["file"] = "file"
    path: Path = Field(description="All rows, or those for training where `dev` is given.")
    validation: Path | None = None
    reading: Reading | None = Field(None, description="None: recognised.")
    mapping: Mapping | None = Field(None, description="None: recognised.")
    split: Split = Split()


DataSource = Annotated[StoredData | FileData, Field(discriminator="kind")]
