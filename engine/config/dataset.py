"""Data sets: files of text, and how to read them."""

from collections.abc import Collection, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from engine.config import Spec
from engine.config.codebook import Codebook, CodingKind
from engine.config.fields import setting
from engine.config.joined_texts import SEPARATOR, split_texts, template_columns
from engine.config.packet import Packet
from engine.config.phrases import PhraseField
from engine.config.problems import broken_rule
from engine.phrases import phrase

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")
Source = SplitName | Literal["all"]
"""The rows of a file: one split, or all."""


SplitBy = Literal["name", "time", "group"]


class Reading(Spec):
    """The format of a file."""

    format: Annotated[str, Field(max_length=60)] = Field(
        "csv", title="File format", description="The format of the rows in the file."
    )
    encoding: str = Field(
        "utf-8",
        title="Encoding",
        description="Character encoding by its Python name: utf-8, utf-16, cp1252, …",
    )
    delimiter: str = Field(
        ",", max_length=1, title="Delimiter", description="Character between two cells of a row."
    )
    quoted: bool = Field(
        True, title="Quoted cells", description="Cells may be enclosed in double quotes."
    )
    header: bool = Field(
        True,
        title="First row is the header",
        description="The first row contains the column names.",
    )
    hidden: bool = Field(
        True,
        title="Hidden rows and columns",
        description="Read hidden rows and columns of a sheet, too, also rows hidden by a filter.",
    )


def free_column(name: str, taken: Collection[str]) -> str:
    """The first of `name`, “name 2”, “name 3”, … that is not taken."""
    names = chain([name], (f"{name} {n}" for n in count(2)))
    return next(new for new in names if new not in taken)


class Mapping(Spec):
    """Roles of the columns; most tasks need two or three."""

    text: str = Field(
        title="Text",
        description=(
            "Column with the text, or with the first of two texts. Several columns are joined by a "
            "template such as “{subject}. {body}”; “{title} [SEP] {body}” is a pair of texts."
        ),
    )
    pair: str | None = Field(
        None, title="Second text", description="Column with the second text, for pairs of texts."
    )
    label: str | None = Field(
        None,
        title="Label",
        description=(
            "Column with the class, the number or the correct choice. Columns with a level of a "
            "hierarchy each are joined by a template such as “{level 1} > {level 2}”."
        ),
    )
    flags: tuple[str, ...] = Field(
        (),
        title="Label columns (yes/no)",
        description="Columns named after a label that say whether a row has it.",
    )
    tags: str | None = Field(
        None,
        title="Tags",
        description=(
            "Column with one tag for each word of the text, or with the spans of its characters."
        ),
    )
    answers: str | None = Field(
        None,
        title="Answers",
        description=(
            "Column with the answers to the question, exactly as they appear in the passage."
        ),
    )
    beginning: str | None = Field(
        None,
        title="Start of each choice",
        description="Column with the text that every choice begins with.",
    )
    negative: str | None = Field(
        None,
        title="Negative text",
        description="Column with a text that does not belong to the first one, for triplets.",
    )
    endings: tuple[str, ...] = Field(
        (),
        title="Choices",
        description="Columns with the choices, or one column with a list of them.",
    )
    coders: tuple[str, ...] = Field(
        (),
        title="Coders",
        description=(
            "Columns with the labels of several coders of the same rows. The label is what they "
            "agree on; a row on which they disagree has none until someone decides."
        ),
    )

    @classmethod
    def coded(cls, texts: Sequence[str], column: str, kind: CodingKind) -> Self:
        """Texts, or pairs, and the column of their codes; spans are of the first text."""
        if kind == "spans":
            return cls(text=texts[0], tags=column)
        return cls(text=texts[0], pair=next(iter(texts[1:]), None), label=column)

    @model_validator(mode="before")
    @classmethod
    def _split_texts(cls, values: Any) -> Any:
        """Read [SEP] between two texts as a pair, as BERT separates them."""
        if not isinstance(values, dict) or not isinstance(text := values.get("text"), str):
            return values
        pair = values.get("pair")
        texts = [*split_texts(text), *(split_texts(pair) if isinstance(pair, str) else ())]
        if len(texts) > 2 or not all(texts):
            raise broken_rule(
                phrase("[SEP] separates two texts, so a template has it once, between columns"),
                "text",
            )
        return {**values, **dict(zip(("text", "pair"), texts, strict=False))}

    @model_validator(mode="before")
    @classmethod
    def _name_agreed_label(cls, values: Any) -> Any:
        """Name the column of the label that coders agree on, unless another one has the labels."""
        if not isinstance(values, dict) or not (coders := values.get("coders")):
            return values
        roles = ("tags", "label", "flags", "answers", "endings")
        role = next(filter(values.get, roles), "label")
        if role not in roles[:2] or (values.get(role) or coders[0]) not in coders:
            return values
        return {**values, role: free_column(role, coders)}

    @model_validator(mode="after")
    def _check_columns_differ(self) -> Self:
        used = [name for column in self.columns for name in template_columns(column) or (column,)]
        if repeated := {name for name in used if used.count(name) > 1}:
            raise broken_rule(
                phrase(
                    "the same column is used twice: choose a different column for text, second "
                    "text and label"
                ),
                *(
                    name
                    for name, columns in self.by_field()
                    if any(repeated & {column, *template_columns(column)} for column in columns)
                ),
            )
        return self

    @model_validator(mode="after")
    def _check_tagged_text(self) -> Self:
        if self.templates and self.tags is not None:
            raise broken_rule(
                phrase("tags belong to the words of one column: choose one for the text"), "text"
            )
        return self

    @property
    def templates(self) -> tuple[str, ...]:
        """The texts, and the label, that are joined from several columns by these templates."""
        joined = (self.text, self.pair, self.beginning, self.negative, self.label)
        return tuple(name for name in joined if name is not None and template_columns(name))

    @property
    def sources(self) -> tuple[str, ...]:
        """All columns that are used, and those that the templates join."""
        return (*self.columns, *(n for name in self.templates for n in template_columns(name)))

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns of the text and the second text."""
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def template(self) -> str:
        """The columns of the texts, or their templates, separated by [SEP]."""
        return f" {SEPARATOR} ".join(self.texts)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The column of the labels or of the tags, or the yes/no columns."""
        column = self.label or self.tags
        return self.flags if column is None else (column,)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are used."""
        return tuple(column for _, columns in self.by_field() for column in columns)

    def by_field(self) -> list[tuple[str, tuple[str, ...]]]:
        """The used fields and their columns; fields with several columns come last."""
        single = {
            "text": self.text,
            "pair": self.pair,
            "label": self.label,
            "tags": self.tags,
            "answers": self.answers,
            "beginning": self.beginning,
            "negative": self.negative,
        }
        several = {"flags": self.flags, "endings": self.endings, "coders": self.coders}
        used = [(name, (column,)) for name, column in single.items() if column is not None]
        return [*used, *((name, columns) for name, columns in several.items() if columns)]

    def agreed_column(self, columns: Collection[str]) -> str | None:
        """The column that an import adds to these: the label that the coders agree on."""
        added = {*self.label_columns} - {*columns} if self.coders else set()
        return next(iter(added), None)

    def identity(self) -> str:
        """A string for fingerprints that ignores unused fields."""
        return self.model_dump_json(exclude_defaults=True)


MAX_FRACTION = 0.95  # of the validation or test rows; less than 1, so that a typed 1 is 1 %


class Split(Spec):
    """Fractions of the validation and test rows; the rest is for training."""

    validation: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.1,
        title="Validation fraction",
        description=(
            "Fraction of the rows used to measure progress during training (also known as dev)."
        ),
    )
    test: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        title="Test fraction",
        description="Fraction of the rows reserved for the final evaluation.",
    )
    seed: int = Field(42, ge=0, title="Random seed", description="Random seed of the split.")
    stratify: bool = Field(
        True,
        title="Keep label proportions (stratified)",
        description="Every split gets the same proportion of each label.",
    )
    column: str | None = Field(
        None,
        title="Use a column for the split",
        description=(
            "Column with the split of each row (train, validation or dev, test), its time, or its "
            "group."
        ),
    )
    by: SplitBy = Field(
        "name",
        title="The column has",
        description=(
            "Contents of the split column. name: the split of each row. time: the "
            "oldest rows are for training, the newest for the test. group: all rows of "
            "a group, such as an author, are in one split."
        ),
    )

    @model_validator(mode="after")
    def _check_training_rows(self) -> Self:
        if self.validation + self.test >= 1:
            raise broken_rule(
                phrase("the validation and test fractions leave no rows for training"),
                "validation",
                "test",
            )
        if self.by != "name" and self.column is None:
            raise broken_rule(phrase("a split by time or group needs a column"), "by", "column")
        return self


class Cleaning(Spec):
    """Rows to skip, and labels to remove or respell, during an import."""

    skip_empty: tuple[str, ...] = Field(
        (),
        title="Skip rows without",
        description="Columns that must be filled: rows in which one of them is empty are skipped.",
    )
    no_label: tuple[str, ...] = Field(
        (),
        title="Labels that mean none",
        description=(
            "Labels that mean that a row has none. Empty: “-”, “?”, “N/A” and the like, if all "
            "other labels have letters or digits."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    spellings: dict[str, str] = Field(
        {},
        title="Spellings",
        description="Labels that are read as another one, such as “Positive” as “positive”.",
        json_schema_extra=setting("elsewhere"),
    )


class HubOrigin(Spec):
    """The origin of a data set on the hub."""

    name: str
    subset: str = Field("", description="Empty: the data set has only one.")
    revision: str = Field(description="The commit that was fetched.")
    host: str = Field("", description="Empty: the files were already in the hub's cache.")
    licence: str = ""


class Target(Spec):
    """A column of labels: their counts."""

    labels: dict[str, int] = Field(description="Number of rows with each label, sorted by label.")
    unlabelled: dict[SplitName, int] = Field(
        default_factory=dict, description="Number of rows without a label in each split."
    )
    placeholders: tuple[str, ...] = Field((), description="Cells that mean no label.")
    unseen: tuple[str, ...] = Field(
        (), description="Labels of validation rows that no training row has; some of them."
    )


class DatasetSpec(Target):
    """One immutable version of a data set, stored as `spec.json` next to its `data.parquet`."""

    name: str
    version: int = Field(ge=1)
    made_from: int | None = Field(
        None, ge=1, description="The version that it was derived from; None: imported from files."
    )
    changes: tuple[PhraseField, ...] = Field(
        (),
        description="Changes since `made_from`, or since the version imported before.",
    )
    sources: dict[Source, tuple[Path, ...]] = Field(
        description="The files it was imported from: those with all rows, or those of each split."
    )
    source_sha256: dict[str, str] = Field(
        default_factory=dict, description="SHA-256 of each source file as it was read, by its path."
    )
    hub: HubOrigin | None = Field(
        None, description="The origin of fetched files; None: they were local."
    )
    reading: Reading
    mapping: Mapping
    split: Split
    cleaning: Cleaning = Cleaning()
    columns: tuple[str, ...] = Field(description="Columns of the source, in its order.")
    rows: dict[SplitName, int] = Field(description="Number of rows in each split.")
    labels: dict[str, int] = Field(
        default_factory=dict, description="Number of rows with each label, sorted by label."
    )
    targets: dict[str, Target] = Field(
        default_factory=dict, description="Other columns that a task can learn, by name."
    )
    empty: dict[str, int] = Field(
        default_factory=dict,
        description="Number of training and validation rows in which a used column is empty.",
    )
    missing_answers: int = Field(
        0,
        ge=0,
        description="Training and validation rows whose answer the passage does not contain.",
    )
    uneven_choices: int = Field(
        0, ge=0, description="Rows with another number of choices than the first one."
    )
    spans: dict[str, int] = Field(
        default_factory=dict,
        description=(
            "Number of spans of each type, sorted by type; words with each tag where the tags name"
            " no spans."
        ),
    )
    target_coders: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Columns with the codes of several coders, by target that they coded.",
    )
    overlaps: int = Field(
        0, ge=0, description="Number of spans of characters that overlap a longer one."
    )
    codebooks: dict[str, Codebook] = Field(
        default_factory=dict, description="Codebooks of coded columns, by column."
    )
    packet: Packet | None = Field(
        None, description="The packet with its rows, and the coder; None: not of a packet."
    )
    notes: tuple[PhraseField, ...] = Field(
        (), description="Notes on the reading, in whole sentences."
    )
    fingerprint: str = Field(description="SHA-256 over the rows, their splits and the mapping.")

    @property
    def sets_are_coded(self) -> bool:
        """True if the label column has sets by its codebook: a row coded with none has “[]”."""
        codebook = self.codebooks.get(self.mapping.label or "")
        return codebook is not None and codebook.kind == "labels"

    @property
    def has_text_spans(self) -> bool:
        """True if the tags are spans of characters, not tags of words."""
        codebook = self.codebooks.get(self.mapping.tags or "")
        return codebook is not None and codebook.kind == "spans"

    @property
    def coded_column(self) -> str | None:
        """The label column, or that of spans of characters."""
        return self.mapping.tags if self.has_text_spans else self.mapping.label

    def with_target(self, column: str) -> Self:
        """The same version with another of its `targets` as the label column."""
        own = self.coded_column
        if column == own:
            return self
        others = {name: target for name, target in self.targets.items() if name != column}
        coders = {name: names for name, names in self.target_coders.items() if name != column}
        if own is not None:
            labels = self.spans if self.has_text_spans else self.labels
            fields = {name: getattr(self, name) for name in Target.model_fields}
            others[own] = Target(**{**fields, "labels": labels})
            coders |= {own: self.mapping.coders} if self.mapping.coders else {}
        chosen, spans = dict(self.targets[column]), dict[str, int]()
        has_spans = column in self.codebooks and self.codebooks[column].kind == "spans"
        if has_spans:
            chosen["labels"], spans = {}, chosen["labels"]
        update = {
            "label": None if has_spans else column,
            "tags": column if has_spans else None,
            "flags": (),
            "coders": self._coders_of(column),
        }
        mapping = self.mapping.model_copy(update=update)
        new = {"mapping": mapping, "targets": others, "target_coders": coders, "spans": spans}
        return self.model_copy(update={**chosen, **new})

    def _coders_of(self, column: str) -> tuple[str, ...]:
        """The coders of a target; those of the label if the target was not coded here."""
        if column in self.target_coders or column in self.codebooks:
            return self.target_coders.get(column, ())
        return () if column in self.mapping.coders else self.mapping.coders


class StoredData(Spec):
    """A version in the home folder, or a copy of one."""

    kind: Literal["stored"] = "stored"
    folder: Path
    fingerprint: str = Field("", description="Empty: not checked.")
    target: str | None = Field(
        None,
        title="Label column",
        description="The column to learn; None: the one chosen at the import.",
    )

    @property
    def name(self) -> str:
        """The name of the data set, without its version."""
        return self.folder.parent.name


class FileData(Spec):
    """External files; a run copies them before it starts."""

    kind: Literal["file"] = "file"
    path: Path = Field(
        description="A file or folder with all rows, or with the training rows if `validation` is "
        "given; files named train, validation (or dev) or test have these rows."
    )
    validation: Path | None = None
    reading: Reading | None = Field(None, description="None: detected.")
    mapping: Mapping | None = Field(None, description="None: detected.")
    split: Split = Split()
    cleaning: Cleaning = Cleaning()

    @property
    def name(self) -> str:
        """The name of the first file."""
        return self.path.name


def moved(data: "StoredData | FileData", folder: Path) -> StoredData:
    """The same data in another folder, with the same column to learn."""
    return StoredData(folder=folder, target=data.target if isinstance(data, StoredData) else None)


DataSource = Annotated[StoredData | FileData, Field(discriminator="kind")]
