"""Token ids that runs share: made once for the same data and vocabulary, found by every later run.

Each part of a data set has, with each vocabulary, a folder below the home's `cache`, and in it one
for each way and length. All of it can be made again, so that it is safe to delete; what no run has
asked for in a long time deletes itself.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from engine.errors import StudioError
from engine.files.atomic_write import clear_leftovers
from engine.files.home import Home
from engine.phrases import phrase
from engine.runs.lock import hold

UNUSED_SECONDS = 30 * 24 * 3600  # after which token ids are deleted


def shared_tokens() -> "TokenCache":
    """What the runs of this home share."""
    return TokenCache(Home().cache / "tokens")


class TokenCache:
    """The folder `root` with all that is shared."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def reserved(self, name: str, waiting: Callable[[], None]) -> Iterator[Path]:
        """The folder `name` for this process alone, while it fills it or finds it filled.

        `waiting` is called while another run works there, and may raise to end the wait.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as held:
            while not self._take(name, held):
                waiting()
            folder = self._root / name
            folder.mkdir(mode=0o700, exist_ok=True)
            clear_leftovers(folder)
            os.utime(folder)
            yield folder

    def drop_old(self) -> None:
        """Delete what nobody has asked for in a long time; what is being filled stays."""
        if not self._root.is_dir():
            return
        for folder in [entry for entry in self._root.iterdir() if entry.is_dir()]:
            if time.time() - folder.stat().st_mtime < UNUSED_SECONDS:
                continue
            with ExitStack() as held:
                if self._take(folder.name, held):
                    shutil.rmtree(folder, ignore_errors=True)

    def _take(self, name: str, held: ExitStack) -> bool:
        """Take the lock of a folder, or find within a second that another process has it."""
        taken = StudioError(phrase("Another run is tokenising the same data."))
        try:
            held.enter_context(hold(self._root / f"{name}.lock", taken))
        except StudioError as error:
            if error is not taken:
                raise
            return False
        return True
