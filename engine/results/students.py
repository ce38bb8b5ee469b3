"""The folder with the students of a run, and the file with their points."""

from pathlib import Path

from pydantic import ValidationError

from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.files.regular_file import read_regular
from engine.messages.shrinking import Shrunk

POINTS = "shrink.json"


def students_folder(run: Path) -> Path:
    """The usual folder for the students of a run."""
    return run / "students"


def read_points(folder: Path) -> Shrunk | None:
    """The points of a search so far; None before the first. Raises StudioError."""
    try:
        return Shrunk.model_validate_json(read_regular(folder / POINTS))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StudioError(
            "{file} cannot be read, so the search for smaller models cannot continue.",
            "Delete the folder {folder}, and search again.",
            file=POINTS,
            folder=folder,
        ) from error


def write_points(folder: Path, shrunk: Shrunk) -> None:
    write_file(folder / POINTS, shrunk.model_dump_json(indent=1).encode("utf-8"))
