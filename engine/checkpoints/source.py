"""Origin of a model, stored in its folder as `source.json`."""

import shutil
from pathlib import Path

from engine.errors import BadCheckpoint
from engine.files.regular_file import read_regular
from engine.files.untrusted import plain_file
from engine.messages.hub import Source

SOURCE = "source.json"
LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "license.txt", "NOTICE")
MAX_BYTES = 1_000_000


def write_source(folder: Path, source: Source) -> None:
    """Store the origin in the folder of a model."""
    (folder / SOURCE).write_text(source.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_source(folder: Path) -> Source | None:
    """Origin of the model in `folder`; None if not recorded or unreadable."""
    try:
        path = plain_file(folder, SOURCE)
        return None if path is None else Source.model_validate_json(read_regular(path, MAX_BYTES))
    except (OSError, ValueError, BadCheckpoint):
        return None


def copy_source(folder: Path, target: Path) -> None:
    """Copy the origin and the licence of a model."""
    for name in (SOURCE, *LICENCES):
        path = plain_file(folder, name)
        if path is not None and path.stat().st_size <= MAX_BYTES:
            shutil.copyfile(path, target / name)
