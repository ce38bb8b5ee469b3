"""Find stored data sets by folder or name, and create their new versions."""

from collections.abc import Callable
from pathlib import Path

from engine.config.dataset import DatasetSpec
from engine.data.columns.fit import unlabelled_rows
from engine.data.datasets.importing import SPEC
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.files.home import Home, folder_name, free_folder, newest_version, next_version
from engine.system.terminal import echo, echo_json


def find_version(path: Path) -> Path | None:
    """Find a version by its folder, or by the folder or name of its data set (the newest version).

    A name may end with a version number, such as reviews/2. None if no version is found.
    """
    version = _find_in_folder(path)
    if version is None and not path.is_absolute() and not path.exists():
        name, *rest = path.parts
        version = _find_in_folder(Home().datasets.joinpath(folder_name(name), *rest))
    return version


def require_dataset(path: Path) -> Dataset:
    """The selected version. Raises StudioError if it does not exist, or is damaged."""
    folder = find_version(path)
    if folder is None:
        raise StudioError(
            "There is no stored data set {given}.",
            "Use the name shown on the Data page, or the folder.",
            given=str(path)[-200:],
        )
    return open_dataset(folder)


def _find_in_folder(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    if (folder / SPEC).is_file():
        return folder
    newest = folder / str(newest_version(folder))
    return newest if (newest / SPEC).is_file() else None


def make_version(old: Dataset, write: Callable[[Path, int], DatasetSpec]) -> Dataset:
    """Create the next version after `old`; `write(folder, number)` writes it.

    Raises StudioError if `old` is not in the folder of a data set.
    """
    folder = old.folder.absolute()
    if not folder.name.isdecimal():
        raise StudioError(
            "{folder} is not a version of a data set.",
            "Choose a data set of the Data page: a copy in a run is never changed.",
            folder=folder.name,
        )
    number = next_version(folder.parent)
    target = free_folder(folder.parent, str(number))
    write(target, number)
    return open_dataset(target)


def version_facts(version: Dataset) -> dict[str, object]:
    spec = version.spec
    return {
        "folder": str(version.folder),
        "version": spec.version,
        "made_from": spec.made_from,
        "changes": list(spec.changes),
        "rows": spec.rows,
        "unlabelled": unlabelled_rows(spec),
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
