"""Events of a training worker, one per line of `events.jsonl`."""

import math
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, TypeAdapter

from engine.config.phrases import PhraseField
from engine.messages import Count, Message, Moment, now
from engine.phrases import Phrase, join, phrase


class Event(Message):
    at: Moment = Field(default_factory=now)


class Branched(Event):
    """The run began as a copy of another run at a step, possibly with other settings."""

    BEGINNING: ClassVar[str] = "Branched from “"

    kind: Literal["branched"] = "branched"
    run: str = Field(description="Name of the other run.")
    folder: Path
    step: Count
    changes: tuple[PhraseField, ...] = ()

    def sentence(self) -> Phrase:
        return phrase(
            "Branched from “{run}” at step {step}; {changes}.",
            run=self.run,
            step=self.step,
            changes=join("; ", self.changes) if self.changes else phrase("nothing was changed"),
        )


class Started(Event):
    """The worker holds the lock. `step` is the checkpoint it resumes from, 0 for a new run."""

    kind: Literal["started"] = "started"
    pid: Count
    step: Count = 0
    host: str = ""


class Prepared(Event):
    """Data and network are ready; the first step comes next."""

    kind: Literal["prepared"] = "prepared"
    steps: Count
    parameters: Count
    examples: Count
    device: str
    threads: Count
    processes: Count = 1
    versions: dict[str, str] = Field({})
    step: Count = Field(0, description="The step that it resumes from.")
    best_metric: str = Field("", description="The metric that compares checkpoints, or empty.")
    higher_is_better: bool = True
    layer_weights: int = Field(0, description="Weights of all layers, as `layer_weights` counts.")
    longest: int = Field(0, description="Maximum tokens of an input; 0: not known.")
    majority: str = Field(
        "", description="The most frequent label of the training examples; empty: there are none."
    )
    majority_score: float = Field(0.0, description="Fraction of `majority` in validation.")
    absent: tuple[str, ...] = Field(
        (), description="Labels of training examples that no validation example has."
    )
    truncated: float = Field(0.0, description="Fraction of the training inputs that are truncated.")
    environment: dict[str, str] = Field({}, description="Other influences on the weights.")
    differences: tuple[PhraseField, ...] = Field(
        (), description="Changes since the checkpoint that it resumes from."
    )


class Progressed(Event):
    """A stage that is not training: tokens, evaluation. `total` 0 means unknown."""

    kind: Literal["progressed"] = "progressed"
    stage: PhraseField
    done: Count
    total: Count = 0


class Measured(Event):
    """One point of one curve. `value` is None if it was not finite, as `status` says."""

    kind: Literal["measured"] = "measured"
    name: str
    step: Count
    value: float | None = Field(allow_inf_nan=False)
    status: Literal["finite", "nan", "inf", "-inf"] = "finite"


def measured(name: str, step: int, value: float) -> Measured:
    """Make a `Measured`; NaN and infinities, which JSON lacks, go into `status`."""
    if math.isfinite(value):
        return Measured(name=name, step=step, value=value)
    status: Literal["nan", "inf", "-inf"] = (
        "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    )
    return Measured(name=name, step=step, value=None, status=status)


class Saved(Event):
    """A checkpoint is complete and durable: `checkpoints/step-…` below the run folder."""

    kind: Literal["saved"] = "saved"
    step: Count
    folder: str = Field(description="Relative to the run folder.")
    best: bool = False
    bytes: Count = 0
    weights: str = Field("", description="SHA-256 of the file of the weights.")
    optimiser: str = Field("", description="SHA-256 of the file of the optimiser's state.")


class Removed(Event):
    """A checkpoint was deleted by the retention settings."""

    kind: Literal["removed"] = "removed"
    step: Count
    folder: str


class Noted(Event):
    """Something that the user should know and that did not end the run."""

    kind: Literal["noted"] = "noted"
    text: PhraseField
    exact: bool = Field(True, description="False: a repetition elsewhere may differ in rounding.")


class Waiting(Event):
    """The worker cannot continue now; its next event other than a note ends the wait."""

    kind: Literal["waiting"] = "waiting"
    problem: PhraseField
    advice: PhraseField = ""


class Ended(Event):
    """The last event of a worker."""

    kind: Literal["ended"] = "ended"
    outcome: Literal["finished", "stopped", "failed"]
    step: Count = 0
    problem: PhraseField = ""
    advice: PhraseField = ""
    details: str = ""
    bug: bool = Field(False, description="True for a bug of the program.")
    memory: Count = Field(0, description="Peak memory of the worker in bytes; 0: unknown.")
    device_memory: Count = Field(0, description="Peak memory on a GPU in bytes.")


AnyEvent = Annotated[
    Branched
    | Started
    | Prepared
    | Progressed
    | Measured
    | Saved
    | Removed
    | Noted
    | Waiting
    | Ended,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
EVENTS: TypeAdapter[list[AnyEvent]] = TypeAdapter(list[AnyEvent])
