"""A training worker that has loaded torch before there is a run for it.

Loading takes seconds, and so would the way from a click to the first step. A standby worker waits
for one line on its input, the folder of a run; from then on it is a worker as any other. Where its
input ends instead, as when this process dies, it ends too.
"""

import json
import subprocess
import time
from pathlib import Path

from engine.runs import launch

STANDBY_SECONDS = 600.0  # that it waits for a run since it was last wanted


class StandbyWorker:
    """One such process. Raises StudioError where it cannot be started."""

    def __init__(self) -> None:
        self._process = launch.spawn(launch.worker("wait"), subprocess.DEVNULL, subprocess.PIPE)
        self._last_wanted = time.monotonic()

    def keep(self) -> None:
        """Keep it for longer."""
        self._last_wanted = time.monotonic()

    def is_usable(self) -> bool:
        """Whether it lives, and was wanted recently."""
        return (
            self._process.poll() is None and time.monotonic() - self._last_wanted < STANDBY_SECONDS
        )

    def assign(self, folder: Path) -> "subprocess.Popen[bytes] | None":
        """Let it work in the folder of a run; None where it has died meanwhile."""
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                pipe.write(json.dumps(str(folder.absolute())).encode("ascii") + b"\n")
        except OSError:
            self.end()
            return None
        return self._process

    def end(self) -> None:
        """Kill it: it has no work."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
