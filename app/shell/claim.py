"""One window for each home: the lock on it. No Qt, so that a second start is over soon."""

from contextlib import ExitStack

from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.runs.lock import hold


class Claim:
    """The right to be the window of a home, until `release` or the end of the process."""

    def __init__(self) -> None:
        self._held = ExitStack()

    def take(self, home: Home) -> bool:
        """Whether this process is the one; False where another window has the home."""
        taken = StudioError(phrase("BERT Studio is already running with this home folder."))
        try:
            self._held.enter_context(hold(home.lock, taken))
        except StudioError as error:
            if error is taken:
                return False
            raise
        return True

    def release(self) -> None:
        self._held.close()
