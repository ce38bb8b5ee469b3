"""The certificate of a run: what decided its weights, and whether they can be had again.

All of it stands in the events of the run folder; nothing is kept twice.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from engine.atomic_write import MANIFEST, verify
from engine.errors import BadCheckpoint
from engine.messages.events import AnyEvent, Branched, Ended, Noted, Prepared, Saved, Started
from engine.phrases import phrase
from engine.runs.folder import RunFolder, step_of

WEIGHTS, OPTIMISER = "model.safetensors", "resume/optimiser.safetensors"  # in a checkpoint


@dataclass(frozen=True)
class Stretch:
    """The steps that one worker added: those after `first`, up to `last`."""

    at: datetime
    host: str
    first: int
    last: int
    differences: tuple[str, ...]  # from the conditions of the checkpoint that it went on from

    @property
    def counts(self) -> bool:
        """Whether any of it is in the weights; nothing is where a worker died before it saved."""
        return self.last > self.first


@dataclass(frozen=True)
class Certificate:
    """How the weights of the last checkpoint of a run came about."""

    conditions: dict[str, str]  # of the last worker, by name; empty where a 0.1 trained it
    stretches: tuple[Stretch, ...]
    remarks: tuple[str, ...]  # what happened that another machine need not repeat
    branched: Branched | None
    step: int
    steps: int
    is_finished: bool
    weights: str  # SHA-256 of the files; empty where nothing was saved
    optimiser: str
    memory: int = 0  # most bytes that a worker of it held; 0: nobody knows
    device_memory: int = 0  # … of a GPU

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the same job under the same conditions may give other weights; empty: it does not."""
        found = [
            phrase(
                "From step {first} on: {differences}.",
                first=stretch.first,
                differences=", ".join(stretch.differences),
            )
            for stretch in self.stretches
            if stretch.counts and stretch.differences
        ]
        if not self.conditions:
            found.append(
                phrase("The conditions were not written down: an earlier version trained it.")
            )
        elif not self.conditions["device"].startswith("cpu"):
            found.append(phrase("A GPU may take the same sums in another order."))
        return (*found, *self.remarks)


def certificate(run: RunFolder) -> Certificate:
    """Read the events of a run folder; may take a second where there are millions."""
    events = run.milestones()
    saved = [event for event in events if isinstance(event, Saved)]
    prepared = [event for event in events if isinstance(event, Prepared)]
    ended = [event for event in events if isinstance(event, Ended)]
    last = saved[-1] if saved else Saved(step=0, folder="")
    return Certificate(
        conditions=prepared[-1].conditions if prepared else {},
        stretches=_stretches(events, last.step),
        remarks=tuple(e.text for e in events if isinstance(e, Noted) and not e.exact),
        branched=next((event for event in events if isinstance(event, Branched)), None),
        step=last.step,
        steps=prepared[-1].steps if prepared else 0,
        is_finished=bool(ended) and ended[-1].outcome == "finished",
        weights=last.weights,
        optimiser=last.optimiser,
        memory=max((event.memory for event in ended), default=0),
        device_memory=max((event.device_memory for event in ended), default=0),
    )


def damages(
    run: RunFolder, report: Callable[[int, int], None] = lambda done, total: None
) -> list[str]:
    """A sentence for each checkpoint that is not what was saved; reads every byte of them.

    Each is compared with its manifest, and with the sums that were told when it was saved.
    """
    told = {e.step: e for e in run.milestones() if isinstance(e, Saved) and e.weights}
    folders = run.checkpoint_folders()
    found = []
    for number, folder in enumerate(folders):
        report(number, len(folders))
        try:
            verify(folder)
        except BadCheckpoint as error:
            found.append(f"{folder.name}: {error.problem}")
            continue
        if (event := told.get(step_of(folder))) is not None:
            files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
            for name, wanted in ((WEIGHTS, event.weights), (OPTIMISER, event.optimiser)):
                if files.get(name, {}).get("sha256") != wanted:
                    found.append(
                        phrase(
                            "{folder}: {name} is not the one that the run saved.",
                            folder=folder.name,
                            name=name,
                        )
                    )
    report(len(folders), len(folders))
    return found


def _stretches(events: list[AnyEvent], last: int) -> tuple[Stretch, ...]:
    """What each worker added that got as far as training."""
    begun = list[tuple[Started, Prepared]]()
    started: Started | None = None
    for event in events:
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Prepared) and started is not None:
            begun.append((started, event))
    ends = [following.step for _, following in begun[1:]] + [last] * bool(begun)
    return tuple(
        Stretch(started.at, started.host, prepared.step, end, prepared.differences)
        for (started, prepared), end in zip(begun, ends, strict=True)
    )
