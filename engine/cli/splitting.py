"""`bert-studio split`: split a stored data set again, and the options of a split."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from engine.cli.options import AsJson, StoredPath, probability_option
from engine.cli.stored import make_version, print_version, require_dataset
from engine.config.dataset import MAX_FRACTION, DatasetSpec, Split, SplitBy
from engine.config.validation import describe_validation
from engine.data.datasets.deriving import derive
from engine.errors import StudioError

SPLIT = Split.model_fields

ValidationFraction = Annotated[
    float | None, probability_option(SPLIT["validation"].description or "", MAX_FRACTION)
]
TestFraction = Annotated[
    float | None, probability_option(SPLIT["test"].description or "", MAX_FRACTION)
]
SplitColumn = Annotated[str | None, typer.Option(help=SPLIT["column"].description)]
SplitMeaning = Annotated[SplitBy | None, typer.Option(help=SPLIT["by"].description)]
Seed = Annotated[int | None, typer.Option(help=SPLIT["seed"].description)]


def split(
    data: StoredPath,
    validation_fraction: ValidationFraction = None,
    test_fraction: TestFraction = None,
    split_column: SplitColumn = None,
    split_by: SplitMeaning = None,
    seed: Seed = None,
    stratify: Annotated[bool | None, typer.Option(help=SPLIT["stratify"].description)] = None,
    as_json: AsJson = False,
) -> None:
    """Split the rows of a stored data set again: at random, by time or by group.

    Fractions are those of the version unless given; the split is random without --split-column. The
    result is a new version; the original is unchanged, and no file is read.
    """
    old = require_dataset(data)
    kept = old.spec.split.model_dump(include={"validation", "test", "stratify"})
    chosen = make_split(
        validation=validation_fraction,
        test=test_fraction,
        column=split_column,
        by=split_by,
        seed=seed,
        stratify=stratify,
        base=Split(**kept),
    )
    if split_column is not None and split_column not in old.spec.columns:
        raise StudioError(
            "There is no column “{column}”.",
            "The columns are {columns}.",
            column=split_column[:60],
            columns=", ".join(old.spec.columns[:20]),
        )

    def write(folder: Path, version: int) -> DatasetSpec:
        return derive(old.folder, folder, version, split=chosen)

    print_version(make_version(old, write), as_json)


def make_split(base: Split | None = None, **values: float | str | bool | None) -> Split:
    """The split of these options, or of `base` without one. Raises StudioError if it is invalid."""
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return Split.model_validate((base or Split()).model_dump() | given)
    except ValidationError as error:
        raise describe_validation(error, "The split") from error
