"""Read the rows of a file for the headless commands."""

from collections.abc import Mapping as Counts
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from engine.checkpoints.info import checkpoint_info
from engine.cli.options import FieldOptions
from engine.config.dataset import Cleaning, Mapping, Reading, Source
from engine.config.fields import get_settings
from engine.config.joined_texts import source_columns
from engine.config.task import TARGETS
from engine.config.tasks import TASKS
from engine.config.validation import describe_validation
from engine.data.checks.signs import sign_note
from engine.data.columns.mapping import guess_note
from engine.data.columns.tag_column import TagColumn
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import (
    Recognition,
    get_format,
    read,
    recognise,
    recognise_reading,
)
from engine.data.formats.rows import Remarks
from engine.data.formats.sources import data_files, split_files
from engine.errors import BadFile, MissingColumn, StudioError
from engine.phrases import join, phrase
from engine.system.terminal import echo_error

MAX_LISTED = 10
READING = FieldOptions("File format", "", Reading, tuple(Reading.model_fields))
COLUMNS = FieldOptions("Columns", "", Mapping, tuple(get_settings(Mapping)))
ROW_COLUMNS = COLUMNS._replace(names=tuple(name for name in COLUMNS.names if name != "coders"))
CLEANING = FieldOptions("Columns", "cleaning", Cleaning, ("skip_empty", "no_label"))
INPUT_COLUMNS = COLUMNS._replace(names=("text", "pair", "negative", "beginning", "endings"))


def recognise_file(
    file: Path,
    options: dict[str, Any],
    chosen: dict[str, Any],
    task: str | None = None,
    model: Path | None = None,
) -> Recognition:
    """Recognise a file, with the format, the text column and the task that the user chose.

    Unless the text column was chosen, those that a `model` was trained on are preferred.

    Raises StudioError if there is no such format.
    """
    task_spec = TASKS[task](kind=task) if task else None
    reading, notes = recognise_reading(file, options.get("encoding"))
    others = {name: value for name, value in options.items() if name != "encoding"}
    if others.get("delimiter") == r"\t":
        others["delimiter"] = "\t"
    if "format" in others:
        known = get_format(reading.model_copy(update={"format": others["format"]}))
        others = {"delimiter": known.delimiter or reading.delimiter} | others
    try:
        reading = Reading.model_validate(reading.model_dump() | others)
    except ValidationError as error:
        raise describe_validation(error, "The format") from error
    texts = checkpoint_info(model).texts if model is not None and "text" not in chosen else None
    recognition = recognise(file, reading, None, task_spec, chosen.get("text"), texts)
    return recognition._replace(notes=(*notes, *recognition.notes))


class FilesToRead(NamedTuple):
    """Files by split, how they are read, and the columns."""

    sources: dict[Source, list[Path]]
    recognition: Recognition
    mapping: Mapping
    notes: tuple[str, ...]


def recognise_files(
    path: Path,
    extra: dict[str, Any],
    validation: Path | None = None,
    test: Path | None = None,
) -> FilesToRead:
    """Find the files of each split in a file or folder, and recognise the first for training.

    `extra` has the options for format, columns and task. Raises as `require_mapping` does.
    """
    chosen = COLUMNS.select(extra)
    files = split_files(path, validation, test)
    recognition = recognise_file(files.main_file, READING.select(extra), chosen, extra["task"])
    mapping = require_mapping(files.main_file, recognition, chosen)
    notes = (*text_notes(recognition, mapping), *list_notes(recognition, chosen))
    if unused := [name for name in recognition.columns if name not in mapping.sources]:
        names = join(", ", [name[:60] for name in unused[:MAX_LISTED]])
        more = ", …" if len(unused) > MAX_LISTED else ""
        notes = (*notes, phrase("Columns kept, not used: {names}{more}.", names=names, more=more))
    if recognition.split_column in unused and not extra.get("split_column"):
        note = phrase(
            "“{name}” has the split of each row: `import --split-column` keeps these splits.",
            name=str(recognition.split_column)[:60],
        )
        notes = (*notes, note)
    if recognition.coders and not mapping.coders:
        note = phrase(
            "{names} look like labels of several coders of the same rows: "
            "`import --coders {columns}` reads them as such.",
            names=join(", ", [f"“{name[:60]}”" for name in recognition.coders]),
            columns=",".join(recognition.coders),
        )
        notes = (*notes, note)
    if files.left_out:
        names = join(", ", [file.name for file in files.left_out[:MAX_LISTED]])
        notes = (*notes, phrase("Not read: {names}.", names=names))
    return FilesToRead(files.sources, recognition, mapping, notes)


def single_file(path: Path) -> Path:
    """The file itself, or the only data file of a folder. Raises BadFile if it has several."""
    files = data_files([path])
    if len(files) == 1 or not path.is_dir():
        return path if not files else files[0]
    names = [file.relative_to(path).as_posix() for file in files[:MAX_LISTED]]
    if not names:
        raise BadFile(path, phrase("there are no data files in it."), phrase("Choose a file."))
    raise BadFile(
        path,
        phrase("it has {count:,} files: {names}.", count=len(files), names=join(", ", names)),
        phrase("Choose one of them, such as {example}.", example=f"{path.name}/{names[0]}"),
    )


def choose_mapping(recognition: Recognition, chosen: dict[str, Any]) -> Mapping | None:
    """The recognised columns, overridden by those that the user chose.

    Raises StudioError if a chosen column does not exist, or has two roles.
    """
    used = {
        column
        for columns in chosen.values()
        for name in (columns if isinstance(columns, list) else [columns])
        for column in ((name,) if name in recognition.columns else source_columns(name))
    }
    for column in sorted(used):
        if column not in recognition.columns:
            raise MissingColumn(column, list(recognition.columns))
    guessed = recognition.mapping.model_dump() if recognition.mapping else {}
    names_labels = not chosen.keys().isdisjoint(TARGETS)
    free = {
        part: columns
        for part, columns in guessed.items()
        if not (part == "flags" and names_labels)
        and not used & set(columns if isinstance(columns, (list, tuple)) else [columns])
    }
    merged = free | chosen
    if "text" not in merged:
        return None
    try:
        return Mapping.model_validate(merged)
    except ValidationError as error:
        raise describe_validation(error, "The choice of columns") from error


def parse_cleaning(extra: dict[str, Any]) -> Cleaning:
    chosen = CLEANING.select(extra)
    return Cleaning(**{path.removeprefix("cleaning."): names for path, names in chosen.items()})


def refuse_file_options(extra: dict[str, Any]) -> None:
    """Raise StudioError for options that say how a file is read."""
    if COLUMNS.select(extra) | READING.select(extra) | CLEANING.select(extra):
        raise StudioError(
            "The columns and the format of a stored data set are fixed.",
            "Leave out the options that say how a file is read; --target chooses among its labels.",
        )


def refuse_target(target: str | None) -> None:
    """Raise StudioError if a column of labels is chosen as that of a stored data set."""
    if target is not None:
        raise StudioError("--target is for stored data sets.", "For a file, use --label.")


def require_mapping(file: Path, recognition: Recognition, chosen: dict[str, Any]) -> Mapping:
    """The columns as in `choose_mapping`.

    Raises StudioError also if the text column is unknown.
    """
    mapping = choose_mapping(recognition, chosen)
    if mapping is None:
        for note in recognition.notes:
            echo_error(f"note: {note}")
        advice = phrase(
            "Choose it with --text; the columns are {columns}. Lists of objects are no texts: "
            "write each text in a column of its own.",
            columns=", ".join(recognition.columns[:20]),
        )
        raise StudioError(
            "Could not tell which column of {file} contains the text.", advice, file=file.name
        )
    return mapping


def list_notes(
    recognition: Recognition, chosen: dict[str, Any], reads_labels: bool = True
) -> tuple[str, ...]:
    """Notes from the recognition of a file, and the guessed columns of those that are read."""
    names_labels = not reads_labels or not chosen.keys().isdisjoint(TARGETS)
    is_chosen = {"text": "text" in chosen, "label": names_labels, "flags": names_labels}
    guessed = guess_note([role for role in recognition.guessed if not is_chosen[role]])
    return (*recognition.notes, guessed) if guessed else recognition.notes


def text_notes(recognition: Recognition, mapping: Mapping) -> tuple[str, ...]:
    """The columns of the texts that are read, if there are others."""
    note = phrase("Text: “{template}”.", template=mapping.template)
    return (note,) if len(recognition.columns) > 1 else ()


def reading_notes(labels: Counts[str, int]) -> list[str]:
    """Notes on the reading of signs in labels, with the option for another; none without signs."""
    note = sign_note(labels)
    choice = phrase(
        "Of imported data, `check` lists other readings of such labels, and `fix` chooses one."
    )
    return [note, choice] if note else []


def raise_problems(problems: Sequence[StudioError]) -> None:
    """Print all problems but the last, and raise the last; do nothing if there are none."""
    for problem in problems[:-1]:
        echo_error(f"bert-studio: {problem}")
    for problem in problems[-1:]:
        raise problem


class FileRows(NamedTuple):
    """Rows of a file as the task reads them, all cells by column, and the column roles."""

    rows: Rows
    cells: dict[str, list[str]]
    mapping: Mapping


def read_table(
    file: Path,
    options: dict[str, Any],
    chosen: dict[str, Any],
    non_empty: tuple[str, ...] = (),
    reads_labels: bool = True,
    model: Path | None = None,
) -> FileRows:
    """Read all rows of a file by the chosen or recognised columns; tags are converted to BIO.

    `options` are those of `READING`, `chosen` those of `ROW_COLUMNS`; `model` as in
    `recognise_file`.

    Rows with an empty cell in one of the columns `non_empty` are left out. Their number, guesses
    and notes on the file and its tags are printed on stderr.

    Raises StudioError if there is no text column, a column is missing, or the tags are malformed.
    """
    file = single_file(file)
    recognition = recognise_file(file, options, chosen, model=model)
    mapping = require_mapping(file, recognition, chosen)
    table = read(file, recognition.reading).join(mapping)
    indices = {name: index for index, name in enumerate(table.columns)}
    for name in non_empty:
        if name not in indices:
            raise MissingColumn(name, list(table.columns))
    skipped = 0
    cells: dict[str, list[str]] = {name: [] for name in indices}
    lines: list[int] = []
    tags, remarks = None, Remarks()
    if mapping.tags is not None:
        tags = TagColumn(file, recognition.reading, indices[mapping.text], indices[mapping.tags])
    for row in table:
        if not all(row.cells[indices[name]].strip() for name in non_empty):
            skipped += 1
            continue
        lines.append(row.line)
        for column, cell in zip(cells.values(), row.cells, strict=True):
            column.append(cell)
        if tags is not None and mapping.tags is not None:
            cells[mapping.tags][-1] = tags.read(row.line, row.cells, remarks)
    if not lines:
        raise BadFile(file, phrase("There are no rows in it."), phrase("Choose a file with rows."))
    if skipped:
        echo_error(str(phrase("note: {n:,} row(s) with an empty cell skipped.", n=skipped)))
    notes = (*text_notes(recognition, mapping), *list_notes(recognition, chosen, reads_labels))
    notes = (*notes, *table.notes, *remarks.sentences())
    for note in filter(None, (*notes, tags.note if tags else "")):
        echo_error(f"note: {note}")
    return FileRows(Rows.from_columns(mapping, cells, lines), cells, mapping)
