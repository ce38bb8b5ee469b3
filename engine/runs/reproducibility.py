"""Reproducibility of a run: the origin of its weights, and whether they can be reproduced.

All of it is derived from the events of the run folder.
"""

from dataclasses import dataclass
from datetime import datetime

from engine.errors import BadCheckpoint
from engine.files.atomic_write import MANIFEST, verify
from engine.files.regular_file import MAX_MANIFEST, read_json
from engine.messages.events import AnyEvent, Branched, Ended, Noted, Prepared, Saved, Started
from engine.phrases import join, phrase
from engine.progress import ProgressCallback, no_progress
from engine.runs.folder import RunFolder, checkpoint_step

WEIGHTS, OPTIMISER = "model.safetensors", "resume/optimiser.safetensors"  # in a checkpoint


@dataclass(frozen=True)
class RunSession:
    """The steps that one worker added: those after `first`, up to `last`."""

    at: datetime
    host: str
    first: int
    last: int
    differences: tuple[str, ...]  # from the environment of the checkpoint it resumed from

    @property
    def affects_weights(self) -> bool:
        """True if the weights depend on it; False if a worker died before it saved."""
        return self.last > self.first


@dataclass(frozen=True)
class Reproducibility:
    """The origin of the weights of the last checkpoint of a run."""

    environment: dict[str, str]  # of the last worker, by name; empty before any training
    sessions: tuple[RunSession, ...]
    remarks: tuple[str, ...]  # events that may differ on another machine
    branched: Branched | None
    step: int
    steps: int
    is_finished: bool
    weights: str  # SHA-256 of the files; empty if nothing was saved
    optimiser: str
    memory: int = 0  # maximum bytes of a worker; 0 if unknown
    device_memory: int = 0  # the same for a GPU

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Reasons why the same job in the same environment may give other weights."""
        reasons = [
            phrase(
                "From step {first}: {differences}.",
                first=session.first,
                differences=join(", ", session.differences),
            )
            for session in self.sessions
            if session.affects_weights and session.differences
        ]
        if not self.environment:
            reasons.append(phrase("The environment was not recorded."))
        elif "device" not in self.environment:
            reasons.append(phrase("The device was not recorded."))
        elif not self.environment["device"].startswith("cpu"):
            reasons.append(phrase("A GPU may add the same numbers in another order."))
        return (*reasons, *self.remarks)


def read_reproducibility(run: RunFolder) -> Reproducibility:
    """Read the events of a run folder; may take a second for millions."""
    events = run.milestones()
    saved = [event for event in events if isinstance(event, Saved)]
    prepared = [event for event in events if isinstance(event, Prepared)]
    ended = [event for event in events if isinstance(event, Ended)]
    last = saved[-1] if saved else Saved(step=0, folder="")
    return Reproducibility(
        environment=prepared[-1].environment if prepared else {},
        sessions=_sessions(events, last.step),
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


@dataclass(frozen=True)
class Repetition:
    """Comparison with another run of the same job."""

    name: str
    step: int  # the last one whose weights both have saved
    is_same: bool  # whether these weights are equal bit for bit
    differences: tuple[str, ...]  # differing parts of the environment


def compare_weights(run: RunFolder, other: RunFolder, name: str) -> Repetition | None:
    """Compare with `other`, a run of the same job called `name`.

    Returns None if there is no step of which both have saved the weights.
    """
    weights, other_weights = (_saved_weights(folder) for folder in (run, other))
    common = weights.keys() & other_weights.keys()
    if not common:
        return None
    step = max(common)
    env, other_env = (read_reproducibility(folder).environment for folder in (run, other))
    names = dict.fromkeys((*env, *other_env))
    return Repetition(
        name=name,
        step=step,
        is_same=weights[step] == other_weights[step],
        differences=tuple(name for name in names if env.get(name) != other_env.get(name)),
    )


def _saved_weights(run: RunFolder) -> dict[int, str]:
    """Checksums of the weights by step; the last ones of a step that was saved again."""
    return {e.step: e.weights for e in run.milestones() if isinstance(e, Saved) and e.weights}


def damaged_checkpoints(run: RunFolder, progress: ProgressCallback = no_progress) -> list[str]:
    """A sentence for each damaged checkpoint; reads every byte of them.

    Each is compared with its manifest, and with the checksums recorded when it was saved.
    """
    recorded = {e.step: e for e in run.milestones() if isinstance(e, Saved) and e.weights}
    folders = run.checkpoint_folders()
    sentences = []
    for index, folder in enumerate(folders):
        progress(index, len(folders))
        try:
            verify(folder)
        except BadCheckpoint as error:
            sentences.append(f"{folder.name}: {error.problem}")
            continue
        if (event := recorded.get(checkpoint_step(folder))) is not None:
            files = read_json(folder / MANIFEST, MAX_MANIFEST)["files"]
            for name, expected in ((WEIGHTS, event.weights), (OPTIMISER, event.optimiser)):
                if files.get(name, {}).get("sha256") != expected:
                    sentences.append(
                        phrase(
                            "{folder}: {name} is not the file that the run saved.",
                            folder=folder.name,
                            name=name,
                        )
                    )
    progress(len(folders), len(folders))
    return sentences


def _sessions(events: list[AnyEvent], last: int) -> tuple[RunSession, ...]:
    """The steps added by each worker that started training."""
    prepared_workers = list[tuple[Started, Prepared]]()
    started: Started | None = None
    for event in events:
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Prepared) and started is not None:
            prepared_workers.append((started, event))
    ends = [following.step for _, following in prepared_workers[1:]] + [last] * bool(
        prepared_workers
    )
    return tuple(
        RunSession(started.at, started.host, prepared.step, end, prepared.differences)
        for (started, prepared), end in zip(prepared_workers, ends, strict=True)
    )
