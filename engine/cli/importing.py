"""`bert-studio import`: files as a stored data set, as the Data page makes it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from engine.cli.options import Encoding, choice_option, with_options
from engine.cli.progress import ProgressLine
from engine.cli.rows import CLEANING, COLUMNS, given_cleaning, needed_mapping
from engine.cli.stored import stored_version, version_facts
from engine.data.datasets.collecting import Sources
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from engine.data.formats.sources import format_titles
from engine.home import Home, folder_name, free_folder, next_version
from engine.phrases import phrase
from engine.spec.dataset import Split
from engine.spec.tasks import TASKS
from engine.terminal import remark, say, say_json
from engine.validation import describe_validation

SPLIT = Split.model_fields


def import_data(
    data: Annotated[
        Path,
        typer.Argument(
            help=phrase("A file ({formats}), or a folder of texts.", formats=format_titles())
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the data set; one of this name gets a new version."),
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="A second file with the validation rows.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Another file with the test rows.")] = None,
    validation_fraction: Annotated[
        float | None, typer.Option(help=SPLIT["validation"].description)
    ] = None,
    test_fraction: Annotated[float | None, typer.Option(help=SPLIT["test"].description)] = None,
    split_column: Annotated[str | None, typer.Option(help=SPLIT["column"].description)] = None,
    seed: Annotated[int | None, typer.Option(help=SPLIT["seed"].description)] = None,
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    **given: Any,
) -> None:
    """Import files as a stored data set, which the window and the other commands know by its name.

    The files are copied and never changed.
    """
    asked = given["task"]
    found = recognise(data, None, encoding, TASKS[asked](kind=asked) if asked else None)
    mapping = needed_mapping(data, found, COLUMNS.given(given))
    split = _split(
        validation=validation_fraction, test=test_fraction, column=split_column, seed=seed
    )
    called = (name or data.stem).strip() or data.stem
    into, version = _target(called)
    line = ProgressLine(sys.stderr)

    def tell(done: int, total: int) -> None:
        if sys.stderr.isatty():
            line.draw(f"Importing: {done / max(total, 1):.0%}")

    try:
        spec = import_dataset(
            called,
            _sources(data, validation, test),
            found.reading,
            mapping,
            split,
            into,
            version,
            tell,
            cleaning=given_cleaning(given),
        )
    finally:
        line.end()
    for note in dict.fromkeys((*found.notes, *spec.notes)):
        remark(f"note: {note}")
    if as_json:
        say_json(version_facts(open_dataset(into)) | {"name": called})
        return
    rows = ", ".join(f"{count:,} {split}" for split, count in spec.rows.items())
    say(f"version {version} of “{called}”: {rows}")
    say(f"folder: {into}")


import_command = with_options(
    import_data,
    [
        choice_option(
            "task", TASKS, None, phrase("The task that the columns are for; without it, likely:")
        ),
        *COLUMNS.parameters(),
        *CLEANING.parameters(),
    ],
)


def _sources(data: Path, validation: Path | None, test: Path | None) -> Sources:
    """Each file with the rows that it has; a single one has all."""
    if validation is None and test is None:
        return {"all": data}
    parts: dict[Any, Path | None] = {"train": data, "validation": validation, "test": test}
    return {part: path for part, path in parts.items() if path is not None}


def _split(**values: float | str | None) -> Split:
    """Raises StudioError where the fractions leave nothing for training."""
    try:
        return Split.model_validate({k: v for k, v in values.items() if v is not None})
    except ValidationError as error:
        raise describe_validation(error, "The split") from error


def _target(name: str) -> tuple[Path, int]:
    """The folder of the new version, beside the older ones of its name, and its number."""
    home = Home()
    home.make()
    older = stored_version(home.datasets / folder_name(name))
    if older is not None and open_dataset(older).spec.name == name:
        version = next_version(older.parent)
        return free_folder(older.parent, str(version)), version
    return free_folder(home.datasets, name) / "1", 1
