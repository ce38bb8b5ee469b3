"""Lock for one window per home; no Qt, so that a second start ends quickly."""

from contextlib import ExitStack

from engine.errors import StudioError
from engine.files.home import Home
from engine.phrases import phrase
from engine.runs.lock import hold


class Claim:
    """Ownership of a home, until `release` or the end of the process."""

    def __init__(self) -> None:
        self._held = ExitStack()

    def take(self, home: Home) -> bool:
        """Return True if this process owns the home now, False if another window does."""
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
