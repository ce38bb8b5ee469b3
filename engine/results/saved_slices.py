"""Named slices, in one file of the home that is written atomically."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import read_regular
from engine.phrases import phrase
from engine.results.slices import Slice

SLICES: TypeAdapter[tuple[Slice, ...]] = TypeAdapter(tuple[Slice, ...])


def read_slices(path: Path, source: str | None = None) -> tuple[Slice, ...]:
    """The saved slices, of one source or of all; none if there is no file.

    Raises StudioError if the file cannot be read or is no such file.
    """
    try:
        found = SLICES.validate_json(read_regular(path))
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        raise StudioError(
            phrase("The saved slices in {name} cannot be read.", name=path.name),
            phrase("Delete the file; the slices in it are lost."),
        ) from error
    return tuple(one for one in found if source in (None, one.source))


def save_slice(path: Path, new: Slice) -> None:
    """Add a slice, or replace the one with its name and source. Raises StudioError."""
    others = [one for one in read_slices(path) if _key(one) != _key(new)]
    _write(path, (*others, new))


def delete_slice(path: Path, name: str, source: str) -> None:
    """Remove a slice if it exists. Raises StudioError."""
    found = read_slices(path)
    left = [one for one in found if _key(one) != (name, source)]
    if len(left) < len(found):
        _write(path, left)


def rename_slice(path: Path, name: str, source: str, new: str) -> None:
    """Rename a slice, keeping its position, if it exists.

    Raises StudioError, also if another slice of the same rows has the new name.
    """
    found = read_slices(path)
    if new != name and any(_key(one) == (new, source) for one in found):
        raise StudioError(
            phrase("There is already a slice “{name}”.", name=new),
            phrase("Choose another name, or delete that slice first."),
        )
    renamed = [
        one.model_copy(update={"name": new}) if _key(one) == (name, source) else one
        for one in found
    ]
    if renamed != list(found):
        _write(path, renamed)


def _key(one: Slice) -> tuple[str, str]:
    return one.name, one.source


def _write(path: Path, slices: Sequence[Slice]) -> None:
    with disk_errors_for(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, SLICES.dump_json(tuple(slices), indent=1))
