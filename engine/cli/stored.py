"""Find stored data sets by folder or name, and create their new versions."""

from collections.abc import Callable
from pathlib import Path

from engine.config.dataset import DatasetSpec
from engine.data.datasets.importing import SPEC
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.files.home import Home, folder_name, free_folder, newest_version, next_version
from engine.system.terminal import echo, echo_json


def stored_version(path: Path) -> Path | None:
    """The folder of a version: itself, the newest one in it, or that of a data set of this name.

    A name may end with a version number, such as reviews/2. None if there is none.
    """
    version = _find_version(path)
    if version is None and not path.is_absolute() and not path.exists():
        name, *rest = path.parts
        version = _find_version(Home().datasets.joinpath(folder_name(name), *rest))
    return version


def require_dataset(path: Path) -> Dataset:
    """The selected version. Raises StudioError if it does not exist, or is damaged."""
    folder = stored_version(path)
    if folder is None:
        raise StudioError(
            "There is no stored data set {given}.",
            "Give its name as the Data page shows it, or its folder.",
            given=str(path)[-200:],
        )
    return open_dataset(folder)


def _find_version(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    if (folder / SPEC).is_file():
        return folder
    newest = folder / str(newest_version(folder))
    return newest if (newest / SPEC).is_file() else None


def make_version(old: Dataset, write: Callable[[Path, int], DatasetSpec]) -> Dataset:
    """Create the next version after `old`; `write` fills a folder with a number.

    Raises StudioError if `old` is not in the folder of a data set.
    """
    folder = old.folder.absolute()
    if not folder.name.isdecimal():
        raise StudioError(
            "{folder} is not a version of a data set.",
            "Name a data set of the Data page: a copy in a run is never changed.",
            folder=folder.name,
        )
    number = next_version(folder.parent)
    into = free_folder(folder.parent, str(number))
    write(into, number)
    return open_dataset(into)


def version_facts(version: Dataset) -> dict[str, object]:
    spec = version.spec
    return {
        "folder": str(version.folder),
        "version": spec.version,
        "made_from": spec.made_from,
        "changes": list(spec.changes),
        "rows": spec.rows,
    }


def print_version(version: Dataset, as_json: bool, extra: dict[str, object] | None = None) -> None:
    if as_json:
        echo_json(version_facts(version) | (extra or {}))
        return
    spec = version.spec
    echo(*spec.changes)
    rows = ", ".join(f"{count:,} {split}" for split, count in spec.rows.items())
    echo(f"version {spec.version} of “{spec.name}”, made from version {spec.made_from}: {rows}")
    echo(f"folder: {version.folder}")
