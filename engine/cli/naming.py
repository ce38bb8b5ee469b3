"""Find runs and models of the home by name, wherever a command takes their folder."""

from collections.abc import Iterator
from pathlib import Path

from pydantic_core import from_json

from engine.errors import StudioError
from engine.files.home import Home, subfolders
from engine.files.regular_file import read_regular
from engine.files.shipped import included_models

SPEC = "spec.json"  # of a run; its other files need more imports
MAX_LISTED = 8  # paths in an error


def find_run(given: Path | None) -> Path | None:
    """The folder of a run, given by folder or name; any other path as it is.

    A name is that of the folder in the home, or of the job, ignoring case. Raises StudioError if
    several runs have it.
    """
    return given if given is None or not _is_name(given) else _only(given, _runs_named(given.name))


def find_runs(given: list[Path]) -> list[Path]:
    """The folders of several runs, as `find_run`."""
    return [find_run(path) or path for path in given]


def find_checkpoint(given: Path | None) -> Path | None:
    """A model by folder or name, a run by its best checkpoint; any other path as it is.

    Raises StudioError if several runs and models have the name, or a run has no checkpoint.
    """
    folder = find_folder(given)
    if folder is None or not (folder / SPEC).is_file():
        return folder
    from engine.results.store import best_checkpoint
    from engine.runs.folder import RunFolder

    return best_checkpoint(RunFolder(folder.absolute()))


def find_checkpoints(given: list[Path] | None) -> list[Path]:
    """Several models or runs, as `find_checkpoint`."""
    return [find_checkpoint(path) or path for path in given or ()]


def find_folder(given: Path | None) -> Path | None:
    """The folder of a run or a model, by folder or name; any other path as it is.

    Raises StudioError if several runs and models have the name.
    """
    if given is None or not _is_name(given):
        return given
    return _only(given, [*_runs_named(given.name), *_models_named(given.name)])


def _is_name(given: Path) -> bool:
    return len(given.parts) == 1 and not given.is_absolute() and not given.exists()


def _only(given: Path, found: list[Path]) -> Path:
    if len(found) > 1:
        raise StudioError(
            "Several runs or models are called {name}.",
            "Use the folder of one of them: {folders}.",
            name=given.name[-200:],
            folders=", ".join(map(str, found[:MAX_LISTED])),
        )
    return found[0] if found else given


def _runs_named(name: str) -> list[Path]:
    return [
        folder
        for folder in subfolders(Home().runs)
        if name.casefold() in (folder.name.casefold(), *_job_names(folder))
    ]


def _job_names(run: Path) -> Iterator[str]:
    try:
        yield str(from_json(read_regular(run / SPEC))["name"]).casefold()
    except (OSError, ValueError, LookupError, TypeError):
        return  # not a run


def _models_named(name: str) -> list[Path]:
    imported = {folder.name: folder for folder in subfolders(Home().models)}
    models = [*included_models().items(), *imported.items()]
    return [folder for title, folder in models if title.casefold() == name.casefold()]
