"""Origin of files in the hub cache: data set, commit and licence."""

import re
from collections.abc import Iterable
from pathlib import Path

from engine.checkpoints.elsewhere import DATA_PREFIX, SNAPSHOTS
from engine.config.dataset import HubOrigin
from engine.data.formats.archives import file_on_disk
from engine.files.regular_file import open_regular

CARD, LARGEST_CARD = "README.md", 1_000_000  # bytes read of the card
FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---", re.DOTALL)
LICENCE = re.compile(r"^license:[ \t]*[\"']?([\w.+-]{1,60})[\"']?[ \t]*$", re.MULTILINE)


def cached_origin(paths: Iterable[Path]) -> HubOrigin | None:
    """Origin of files that are all in one commit of the hub cache, else None.

    The cache stores neither host nor subset, so these stay empty.
    """
    commits = {_commit_of(file_on_disk(path).absolute()) for path in paths}
    commit = commits.pop() if len(commits) == 1 else None
    if commit is None:
        return None
    name = commit.parent.parent.name.removeprefix(DATA_PREFIX).replace("--", "/")
    return HubOrigin(name=name, revision=commit.name, host="", licence=_licence(commit / CARD))


def _commit_of(path: Path) -> Path | None:
    """The folder datasets--OWNER--NAME/snapshots/COMMIT above a path."""
    for commit in path.parents:
        is_one = commit.parent.name == SNAPSHOTS and commit.parent.parent.name.startswith(
            DATA_PREFIX
        )
        if is_one:
            return commit
    return None


def _licence(card: Path) -> str:
    """Licence in the data set card, or ""."""
    try:
        with open_regular(card) as file:
            front = FRONT.match(file.read(LARGEST_CARD).decode("utf-8", errors="replace"))
    except OSError:
        return ""
    found = None if front is None else LICENCE.search(front[1])
    return "" if found is None else found[1]
