"""Selection of a TensorFlow checkpoint in a folder."""

import re
from pathlib import Path

from engine.checkpoints.tf1.bundle import INDEX
from engine.errors import BadCheckpoint
from engine.files.regular_file import open_regular
from engine.files.untrusted import AGAIN, plain_file, safe_name
from engine.phrases import phrase

STATE = "checkpoint"  # the file that names the last checkpoint written by TensorFlow's Saver
MAX_STATE = 1_000_000  # maximum bytes read; the last checkpoint comes first
LATEST = re.compile(rb'^\s*model_checkpoint_path:\s*"(?:[^"\n]*[/\\])?([^"\n/\\]+)"', re.MULTILINE)
DATA = re.compile(r"(.+)\.data-\d{5}-of-\d{5}")


def find_index(folder: Path) -> tuple[str, str] | None:
    """The name of the index to read, and a note about it; None if there is none.

    Raises BadCheckpoint if there are several and none is selected, or if the index is missing.
    """
    names = sorted(path.name for path in folder.iterdir())
    indices = [name for name in names if name.endswith(INDEX)]
    latest = _latest(folder)
    if latest is not None and f"{latest}{INDEX}" in indices:
        return f"{latest}{INDEX}", ""
    if len(indices) > 1:
        raise BadCheckpoint(
            "{folder} contains {count} TensorFlow checkpoints, for example {found}.",
            "Put one of them into its own folder, with its config and vocabulary.",
            folder=safe_name(folder.name),
            count=len(indices),
            found=safe_name(indices[0]),
        )
    if indices and latest is None:
        return indices[0], ""
    if indices:
        missing, read = safe_name(latest), safe_name(indices[0])
        return indices[0], phrase(
            "The file “{state}” lists {missing}, which is missing; {read} was loaded.",
            state=STATE,
            missing=missing,
            read=read,
        )
    prefix = next((match[1] for match in map(DATA.fullmatch, names) if match), latest)
    if prefix is None:
        return None
    raise BadCheckpoint(
        "{prefix}{index} is missing in {folder}.",
        "A TensorFlow checkpoint cannot be read without it. {again}",
        prefix=safe_name(prefix),
        index=INDEX,
        folder=safe_name(folder.name),
        again=AGAIN,
    )


def _latest(folder: Path) -> str | None:
    """The prefix in the file `checkpoint`, without its original folder."""
    path = plain_file(folder, STATE) if (folder / STATE).is_file() else None
    if path is None:
        return None
    with open_regular(path) as file:
        match = LATEST.search(file.read(MAX_STATE))
    return match[1].decode("utf-8", "replace") if match else None
