"""What the cache of the hub says of the files in it: the data set, the commit and the licence."""

import re
from collections.abc import Iterable
from pathlib import Path

from engine.checkpoints.elsewhere import DATA_PREFIX, SNAPSHOTS
from engine.config.dataset import HubOrigin
from engine.data.formats.archives import file_on_disk
from engine.files.regular_file import open_regular

CARD, LARGEST_CARD = "README.md", 1_000_000  # bytes that are looked at
FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---", re.DOTALL)
LICENCE = re.compile(r"^license:[ \t]*[\"']?([\w.+-]{1,60})[\"']?[ \t]*$", re.MULTILINE)


def cached_origin(paths: Iterable[Path]) -> HubOrigin | None:
    """Where on the hub files came from that all lie in one commit of its cache; else None.

    The cache keeps neither the host nor the subset, so these stay empty.
    """
    commits = {_commit_of(file_on_disk(path).absolute()) for path in paths}
    commit = commits.pop() if len(commits) == 1 else None
    if commit is None:
        return None
    name = commit.parent.parent.name.removeprefix(DATA_PREFIX).replace("--", "/")
    return HubOrigin(name=name, revision=commit.name, host="", licence=_licence(commit / CARD))


def _commit_of(path: Path) -> Path | None:
    """The folder of the commit in which a path lies: datasets--OWNER--NAME/snapshots/COMMIT."""
    for commit in path.parents:
        is_one = commit.parent.name == SNAPSHOTS and commit.parent.parent.name.startswith(
            DATA_PREFIX
        )
        if is_one:
            return commit
    return None


def _licence(card: Path) -> str:
    """What the card states; empty where there is none."""
    try:
        with open_regular(card) as file:
            front = FRONT.match(file.read(LARGEST_CARD).decode("utf-8", errors="replace"))
    except OSError:
        return ""
    found = None if front is None else LICENCE.search(front[1])
    return "" if found is None else found[1]
