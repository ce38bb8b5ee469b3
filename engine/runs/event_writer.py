"""Write the events of a worker to its run folder, then pass them on."""

import contextlib
from collections.abc import Callable

from engine.errors import DiskFull
from engine.messages.events import Event, Measured, Prepared, Started
from engine.runs.folder import RunFolder
from engine.runs.full_disk import retry_when_full


class EventWriter:
    """Writes events, waiting for space while the disk is full. `step` is that of the last event.

    Args:
        on_event: gets each event after it is written, or None.
        stop_wanted: true if the run should stop, which ends the wait for space.
    """

    def __init__(
        self,
        run: RunFolder,
        on_event: Callable[[Event], None] | None,
        stop_wanted: Callable[[], bool],
    ) -> None:
        self._run, self._on_event = run, on_event
        self.step = 0
        self.has_listener = on_event is not None
        self.stop_wanted = stop_wanted

    def forward(self, event: Event) -> None:
        if isinstance(event, Measured | Prepared | Started):
            self.step = event.step
        if self._on_event is not None:
            self._on_event(event)

    def write(self, event: Event) -> None:
        retry_when_full(lambda: self._run.append(event), self.write_from_reserve, self.stop_wanted)
        self.forward(event)

    def write_from_reserve(self, event: Event) -> None:
        """Free the reserve for this event; if even that is too little, it is only passed on."""
        self._run.reserve_file.unlink(missing_ok=True)
        with contextlib.suppress(DiskFull):
            self._run.append(event)
        self.forward(event)
