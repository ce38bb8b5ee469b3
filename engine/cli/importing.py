"""`bert-studio import`: import files as a stored data set, as on the Data page."""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.checkpoints.elsewhere import datasets_elsewhere, hub_cache
from engine.cli.hub import print_plan
from engine.cli.options import AsJson, choice_option, with_options
from engine.cli.packets import import_packet
from engine.cli.progress import ProgressLine
from engine.cli.rows import (
    CLEANING,
    COLUMNS,
    READING,
    parse_cleaning,
    reading_notes,
    recognise_files,
)
from engine.cli.splitting import (
    Seed,
    SplitColumn,
    SplitMeaning,
    TestFraction,
    ValidationFraction,
    make_split,
)
from engine.cli.stored import find_version, version_facts
from engine.config.tasks import TASKS
from engine.data.columns.fit import label_hint, likely_task, unlabelled_notes
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.packets import is_packet
from engine.data.datasets.store import open_dataset
from engine.data.formats.sources import format_titles
from engine.errors import StudioError
from engine.files.home import Home, folder_name, free_folder, next_version
from engine.hub.fetched import PREFIX, Fetched
from engine.phrases import join, phrase
from engine.system.terminal import echo, echo_error, echo_json


def import_data(
    data: Annotated[
        Path,
        typer.Argument(
            help=phrase(
                "A file ({formats}), a folder of texts, or hub:owner/name of the Hugging Face Hub; "
                "“hub:” lists what is in its cache.",
                formats=format_titles(),
            )
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the data set; an existing one gets a new version.")
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="A second file with the validation rows.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Another file with the test rows.")] = None,
    validation_fraction: ValidationFraction = None,
    test_fraction: TestFraction = None,
    split_column: SplitColumn = None,
    split_by: SplitMeaning = None,
    seed: Seed = None,
    coder: Annotated[
        str | None, typer.Option(help="Of a packet that was handed out: who codes its rows.")
    ] = None,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Import files as a stored data set, which the window and other commands find by its name.

    The files are copied and never changed. On the hub, hub:owner/name/subset names one of several
    subsets and hub:owner/name@revision a branch, a tag or a commit.
    """
    if data.as_posix() == PREFIX:
        for dataset, folder in datasets_elsewhere(hub_cache()).items():
            echo(f"{dataset}: {folder}")
        return
    if is_packet(data):
        import_packet(data, coder, as_json)
        return
    fetched = _fetch(data)
    if fetched is not None:
        data = fetched.main_file
    chosen = extra | {"split_column": split_column}
    files = recognise_files(data, chosen, validation, test)
    split = make_split(
        validation=validation_fraction,
        test=test_fraction,
        column=split_column,
        by=split_by,
        seed=seed,
    )
    default = data.stem if fetched is None else fetched.name
    dataset_name = (name or default).strip() or default
    target, version = _new_version(dataset_name)

    with ProgressLine(sys.stderr) as line:

        def emit(done: int, total: int) -> None:
            if sys.stderr.isatty():
                line.draw(f"Importing: {100 * done / max(total, 1):.0f} %")

        spec = import_dataset(
            dataset_name,
            files.sources if fetched is None else fetched.sources,
            files.recognition.reading,
            files.mapping,
            split,
            target,
            version,
            emit,
            cleaning=parse_cleaning(extra),
            hub=None if fetched is None else fetched.origin,
        )
    if fetched is not None:
        shutil.rmtree(fetched.folder, ignore_errors=True)
    kind = extra["task"]
    task = TASKS[kind](kind=kind) if kind else likely_task(spec.mapping, spec.labels, spec.overlaps)
    notes = (*files.notes, *spec.notes, *reading_notes(spec.labels), *unlabelled_notes(spec, task))
    if kind is None and spec.mapping.label and (hint := label_hint(spec.labels)):
        notes = (*notes, hint[1])
    for note in dict.fromkeys(notes):
        echo_error(f"note: {note}")
    if spec.targets:
        names = join(", ", [name[:60] for name in spec.targets])
        echo_error(f"note: {phrase('Other label columns, for --target: {names}.', names=names)}")
    if as_json:
        echo_json(version_facts(open_dataset(target)) | {"name": dataset_name})
        return
    rows = ", ".join(f"{count:,} {split}" for split, count in spec.rows.items())
    echo(f"version {version} of “{dataset_name}”: {rows}")
    echo(f"folder: {target}")


import_command = with_options(
    import_data,
    [
        choice_option(
            "task", TASKS, None, phrase("The task of the columns. Default: inferred. One of:")
        ),
        *READING.parameters(),
        *COLUMNS.parameters(),
        *CLEANING.parameters(),
    ],
)


def _fetch(data: Path) -> "Fetched | None":
    """Download `data` from the hub with its splits; None if it names a file.

    Raises StudioError if it has several subsets and none is named.
    """
    address = data.as_posix()
    if not address.startswith(PREFIX):
        return None
    from engine.hub import client, datasets, download

    echo_error(f"Asking {client.host()} …")
    downloads = Home().downloads
    planned = datasets.plan(datasets.parse_address(address), downloads)
    if not planned.files:
        raise StudioError(
            "{name} has several subsets.",
            "Choose one of: {names}.",
            name=planned.name,
            names=", ".join(planned.subsets),
        )
    print_plan(planned)
    with ProgressLine(sys.stderr) as line:
        folder, _ = download.download(planned, downloads, line.draw_bytes(planned.bytes))
    return Fetched.from_plan(planned, folder)


def _new_version(name: str) -> tuple[Path, int]:
    """The folder of the new version, next to older versions of the data set, and its number."""
    home = Home()
    home.make()
    older = find_version(home.datasets / folder_name(name))
    if older is not None and open_dataset(older).spec.name == name:
        version = next_version(older.parent)
        return free_folder(older.parent, str(version)), version
    return free_folder(home.datasets, name) / "1", 1
