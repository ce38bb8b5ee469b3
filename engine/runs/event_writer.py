"""How a worker says what happens: each event is written to the run folder, then passed on."""

import contextlib
from collections.abc import Callable

from engine.errors import DiskFull
from engine.messages.events import Event, Measured, Prepared, Started
from engine.runs.folder import RunFolder
from engine.runs.full_disk import retry_when_full


class EventWriter:
    """Writes the events of a worker, however long that takes while the disk is full.

    `step` is the last one of which an event was.

    Args:
        listen: gets each event after it is written; None: nobody does.
        stop_wanted: whether the run should stop, which ends the wait for space.
    """

    def __init__(
        self,
        run: RunFolder,
        listen: Callable[[Event], None] | None,
        stop_wanted: Callable[[], bool],
    ) -> None:
        self._run, self._listen = run, listen or _nobody
        self.step = 0
        self.is_heard = listen is not None
        self.stop_wanted = stop_wanted

    def listen(self, event: Event) -> None:
        """Pass on an event that has been written."""
        if isinstance(event, Measured | Prepared | Started):
            self.step = event.step
        self._listen(event)

    def write(self, event: Event) -> None:
        retry_when_full(lambda: self._run.append(event), self.write_from_reserve, self.stop_wanted)
        self.listen(event)

    def write_from_reserve(self, event: Event) -> None:
        """Write into the reserve; where even that is taken, the event is only passed on."""
        self._run.reserve_file.unlink(missing_ok=True)
        with contextlib.suppress(DiskFull):
            self._run.append(event)
        self.listen(event)


def _nobody(_event: Event) -> None:
    """Hears nothing."""
