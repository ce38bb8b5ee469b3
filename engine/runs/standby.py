"""A training worker that has loaded torch before there is a run for it.

Loading takes seconds. A standby worker waits for one line on its input, the folder of a run; from
then on it is a normal worker. If its input ends instead, as when this process dies, it ends too.
"""

import json
import subprocess
import time
from pathlib import Path

from engine.runs import launch

STANDBY_SECONDS = 600.0  # until it ends, since it was last wanted


class StandbyWorker:
    """One such process. Raises StudioError if it cannot be started."""

    def __init__(self) -> None:
        self._process = launch.spawn(launch.worker("wait"), subprocess.DEVNULL, subprocess.PIPE)
        self._last_wanted = time.monotonic()

    def keep(self) -> None:
        """Restart its time limit."""
        self._last_wanted = time.monotonic()

    def is_usable(self) -> bool:
        """True if it lives, and was wanted recently."""
        return (
            self._process.poll() is None and time.monotonic() - self._last_wanted < STANDBY_SECONDS
        )

    def assign(self, folder: Path) -> "subprocess.Popen[bytes] | None":
        """Let it train in the folder of a run; None if it has died meanwhile."""
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                pipe.write(json.dumps(str(folder.absolute())).encode("ascii") + b"\n")
        except OSError:
            self.end()
            return None
        return self._process

    def end(self) -> None:
        """Kill it."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
