"""Tokenized data shared by runs with the same data and vocabulary.

Each split has a folder per vocabulary in the home's `cache`, with one subfolder per tokenization
and length. It is safe to delete; folders unused for 30 days are removed.
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
from engine.runs.lock import hold

UNUSED_SECONDS = 30 * 24 * 3600


def shared_tokens() -> "TokenCache":
    """Token cache of the current home."""
    return TokenCache(Home().cache / "tokens")


class TokenCache:
    """Folders below `root`, locked while in use."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def reserve(self, name: str, on_wait: Callable[[], None]) -> Iterator[Path]:
        """Lock the folder `name` for this process.

        `on_wait` is called while another process holds it, and may raise to stop waiting.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as stack:
            while not self._try_lock(name, stack):
                on_wait()
            folder = self._root / name
            folder.mkdir(mode=0o700, exist_ok=True)
            clear_leftovers(folder)
            os.utime(folder)
            yield folder

    def delete_old(self) -> None:
        """Delete folders unused for 30 days, unless locked."""
        if not self._root.is_dir():
            return
        for folder in [entry for entry in self._root.iterdir() if entry.is_dir()]:
            if time.time() - folder.stat().st_mtime < UNUSED_SECONDS:
                continue
            with ExitStack() as stack:
                if self._try_lock(folder.name, stack):
                    shutil.rmtree(folder, ignore_errors=True)

    def _try_lock(self, name: str, stack: ExitStack) -> bool:
        """Try to lock a folder within a second."""
        conflict = StudioError("Another run is tokenising the same data.")
        try:
            stack.enter_context(hold(self._root / f"{name}.lock", conflict))
        except StudioError as error:
            if error is not conflict:
                raise
            return False
        return True
