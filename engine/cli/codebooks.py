"""`bert-studio codebook`: print, write or read the codebook of a stored data set."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.options import AsJson, StoredPath, Target
from engine.cli.stored import make_version, print_version, require_dataset
from engine.config.codebook import Codebook, CodingKind
from engine.config.dataset import DatasetSpec, free_column
from engine.data.datasets.codebooks import (
    add_labels,
    codebook_of,
    read_codebook,
    recode,
    renamed_by_key,
    write_codebook,
)
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.files.table_files import TABLE_WRITERS, check_suffix
from engine.system.terminal import echo, echo_json

NEW_COLUMN = "label"


def codebook(
    data: StoredPath,
    to: Annotated[
        Path | None, typer.Option(help="Write the codebook: .csv, .tsv, .jsonl, .parquet or .xlsx.")
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Read labels, definitions and examples from a table. A data set without labels "
            "gets an empty column for them.",
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option(
            metavar="<COLUMN>",
            help="With --from: add an empty column of this name, which becomes the label column.",
        ),
    ] = None,
    kind: Annotated[
        CodingKind | None,
        typer.Option(
            help="With --from, for a new column of labels: what a row gets. Default: label."
        ),
    ] = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Print the codebook of a stored data set, write it to a table, or read it from one.

    Reading makes a new version. Rows that have codes of the table as labels get its labels.
    """
    if to is not None:
        check_suffix(to, TABLE_WRITERS)
    dataset = require_dataset(data).with_target(target)
    if new is not None and (from_file is None or target is not None):
        raise StudioError("--new needs a codebook with --from, and no --target.", "Name one.")
    has_book = codebook_of(dataset.spec) is not None and new is None
    if kind is not None and (from_file is None or has_book):
        raise StudioError(
            "--kind is for the first codebook of a column.", "Leave out --kind, or add --new."
        )
    if new is not None and (not new.strip() or new in dataset.spec.columns):
        raise StudioError(
            "“{name}” cannot be the name of a new column.",
            "Choose a name that no other column has.",
            name=new[:60],
        )
    if from_file is not None:
        version = _read(dataset, from_file, new, kind)
        dataset = version.with_target(target)
        print_version(version, as_json)
    book = codebook_of(dataset.spec)
    if book is None:
        raise StudioError(
            "The data set has no label column.", "Read a codebook with --from to label its rows."
        )
    if to is not None:
        write_codebook(book, to)
    elif from_file is None:
        _print(book, dataset.spec, as_json)


def _read(old: Dataset, file: Path, new: str | None, kind: CodingKind | None) -> Dataset:
    """Make the next version, with the codebook of a file, also of a `new` column."""
    column, present = old.spec.coded_column if new is None else None, codebook_of(old.spec)
    if column is None or present is None:
        name = column or new or free_column(NEW_COLUMN, old.spec.columns)
        book = read_codebook(file, Codebook(kind=kind or "label"))
        edits = Edits(codebooks={name: book}, coded_column=None if column else name)
    else:
        book, labels = read_codebook(file, present), [code.label for code in present.codes]
        renamed = renamed_by_key(book, labels)
        cells: dict[int, dict[str, str]] = {}
        for name in (column, *old.spec.mapping.coders):
            for row, cell in recode(old, name, renamed, kind=present.kind).items():
                cells.setdefault(row, {})[name] = cell
        book = add_labels(book, [label for label in labels if label not in renamed])
        if not cells and book == old.spec.codebooks.get(column):
            raise StudioError("The data set already has this codebook.", "Choose another table.")
        edits = Edits(codebooks={column: book}, cells=cells)
    return make_version(old, partial(derive, old.folder, edits=edits))


def _print(book: Codebook, spec: DatasetSpec, as_json: bool) -> None:
    if as_json:
        echo_json(book.model_dump())
        return
    lines = list[str]()
    for code in book.codes:
        rows = spec.labels.get(code.label)
        count = "" if rows is None else f"  ({rows:,} rows)"
        if book.kind == "spans":
            count = f"  ({spec.spans.get(code.label, 0):,} spans)"
        key = f"{code.key}  " if code.key else ""
        lines += [
            f"{key}{code.label}{count}{'  deprecated' if code.deprecated else ''}",
            *(f"    {line}" for line in code.definition.splitlines()),
            *(f"    example: {text}" for text in code.examples),
            *(f"    not: {text}" for text in code.counterexamples),
        ]
    echo(*lines)
