"""`bert-studio export-runs` and `import-runs`: runs as one file."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.naming import MAX_LISTED
from engine.errors import StudioError
from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.record.run_manager import RunManager
from engine.record.runs import all_runs, apply_annotations, export_annotations
from engine.runs.bundle import Checkpoints, pack, unpack
from engine.runs.copying import copy_run
from engine.runs.folder import RunFolder
from engine.system.terminal import echo


def export_runs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or names of runs.")],
    to: Annotated[Path, typer.Option(help="The .zip file to create.")],
    checkpoints: Annotated[
        Checkpoints, typer.Option(help="The checkpoints of each run to include.")
    ] = "best",
) -> None:
    """Export runs as one file: jobs, curves, logs, results, environments, checksums.

    Open it on another computer with `import-runs`, or drop it on the window.
    """
    home = Home()
    if to.exists():
        raise StudioError("{path} already exists.", "Choose a new file.", path=to)
    record = open_record(home.record, home.backups) if home.record.is_file() else None
    try:
        folders = [_find_folder(path, home, record) for path in runs]
        annotations = _annotations(record) if record is not None else {}
    finally:
        if record is not None:
            record.close()
    names = [folder.name for folder in folders]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise StudioError(
            "Two of the runs have the folder name {name}.",
            "Export them to separate files.",
            name=duplicate,
        )
    pack([RunFolder(folder) for folder in folders], to.absolute(), checkpoints, annotations)
    echo(f"{to.stat().st_size / 1e6:.1f} MB written to {to.absolute()}")


def import_runs(
    file: Annotated[Path, typer.Argument(help="A file that export-runs or the window wrote.")],
) -> None:
    """Add the runs of a file to the home, with their names, notes, stars and tags."""
    home = Home()
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        unpacked = unpack(file, Path(scratch))
        home.make()
        record = open_record(home.record, home.backups)
        try:
            manager = RunManager(record, home)
            for folder, annotations in unpacked.items():
                created = copy_run(folder, home.runs)
                manager.adopt(created)
                with record.session() as session:
                    apply_annotations(session, created.path.name, annotations)
                echo(created.path)
                shutil.rmtree(folder)
        finally:
            record.close()


def _find_folder(path: Path, home: Home, record: Record | None) -> Path:
    for candidate in (path.absolute(), home.runs / path):
        if (candidate / "spec.json").is_file():
            return candidate
    if record is not None:
        with record.read() as session:
            matches = [run.folder for run in all_runs(session) if run.name == str(path)]
        if len(matches) > 1:
            raise StudioError(
                "Several runs are called {name}.",
                "Use the folder of one of them: {folders}.",
                name=path.name[-200:],
                folders=", ".join(map(str, matches[:MAX_LISTED])),
            )
        if matches:
            return matches[0]
    raise StudioError(
        "There is no run {given}.",
        "Use the folder of a run, or its name in the window.",
        given=str(path)[-200:],
    )


def _annotations(record: Record) -> dict[str, Mapping[str, Any]]:
    with record.read() as session:
        return {run.folder.name: export_annotations(run) for run in all_runs(session)}
