"""What the window is told of the runs: a signal's name and its values."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from engine.messages.events import AnyEvent, Measured, Noted, Progressed


class RunUpdate(NamedTuple):
    """One signal of the dispatcher, to be sent in the window's thread."""

    signal: Literal["run_added", "run_changed", "run_removed", "measured", "progressed", "noted"]
    values: tuple[object, ...]


def updates_of(run_id: str, events: Iterable[AnyEvent]) -> list[RunUpdate]:
    """What the window hears of new events of a run."""
    points = [event for event in events if isinstance(event, Measured)]
    updates = [RunUpdate("measured", (run_id, points))] if points else []
    stages = {event.stage: event for event in events if isinstance(event, Progressed)}
    updates += [
        RunUpdate("progressed", (run_id, event.stage, event.done, event.total))
        for event in stages.values()
    ]
    updates += [
        RunUpdate("noted", (run_id, event.text)) for event in events if isinstance(event, Noted)
    ]
    return updates
