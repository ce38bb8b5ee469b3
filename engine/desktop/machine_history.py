"""What the machine did while a run trained: a line of JSON for each look, in the folder of the run.

The training worker looks by itself, so that it is known of runs without a window, too. A look is
a help and no part of the training: where it cannot be written or read, nothing is said of it.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import psutil
from pydantic import Field, ValidationError

from engine.desktop.load import MachineLoad, MachineWatch
from engine.errors import StudioError
from engine.files.regular_file import open_regular
from engine.messages import Count, Message, Moment, now
from engine.runs.folder import RunFolder
from engine.runs.lock import open_here

FIRST_PAUSE, LAST_PAUSE = 2.0, 30.0  # s between two looks
LOOKS = 100  # in the time from the start until now, as far as FIRST_PAUSE and LAST_PAUSE allow it
LARGEST = 64 << 20  # bytes that are read of one file, of some 200,000 looks

Figure = Literal["busy", "memory", "temperature", "power"]


class Look(Message):
    """One look. Shares from 0 to 1, bytes, °C and W; None, or no entry, where it is not known."""

    at: Moment = Field(default_factory=now)
    step: Count = 0
    busy: float | None = Field(None, allow_inf_nan=False)
    run_busy: float | None = Field(None, allow_inf_nan=False)
    memory: Count | None = None
    run_memory: Count | None = None
    temperature: float | None = Field(None, allow_inf_nan=False)
    gpus: tuple["GpuLook", ...] = Field((), max_length=64)


class GpuLook(Message):
    """One GPU at that moment."""

    name: str = Field("", max_length=200)
    busy: float | None = Field(None, allow_inf_nan=False)
    memory: Count | None = None
    temperature: float | None = Field(None, allow_inf_nan=False)
    power: float | None = Field(None, allow_inf_nan=False)


class Place(NamedTuple):
    """What a curve is about: the whole machine, the run, or a GPU by its number and name."""

    of: Literal["machine", "run", "gpu"]
    number: int = 0
    name: str = ""


Curves = dict[Place, tuple[list[float], list[float | None]]]


def look_of(load: MachineLoad, step: int) -> Look:
    """What is kept of a load."""
    return Look(
        step=step,
        busy=load.processors,
        run_busy=load.run_processors,
        memory=load.memory,
        run_memory=load.run_memory,
        temperature=load.temperature,
        gpus=tuple(
            GpuLook(
                name=gpu.name[:200],
                busy=gpu.busy,
                memory=gpu.memory,
                temperature=gpu.temperature,
                power=gpu.power,
            )
            for gpu in load.gpus
        ),
    )


@contextmanager
def looked_at(run: RunFolder, pid: int, step: Callable[[], int]) -> Iterator[None]:
    """Look at the machine again and again while the block runs, in a thread of its own.

    Args:
        pid: of the process that leads the run.
        step: the last step that was taken.
    """
    over = threading.Event()

    def look_on() -> None:
        with contextlib.suppress(OSError, psutil.Error):  # of a system that tells nothing
            follow()

    def follow() -> None:
        watch, began = MachineWatch(), time.monotonic()
        watch.look(pid)  # the first one has no shares to tell
        pause = FIRST_PAUSE / 4
        while not over.wait(pause):
            keep(run, look_of(watch.look(pid), step()))
            pause = min(max((time.monotonic() - began) / LOOKS, FIRST_PAUSE), LAST_PAUSE)

    thread = threading.Thread(target=look_on, name="machine", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def keep(run: RunFolder, look: Look) -> None:
    """Add a look, unless the disk refuses it."""
    with contextlib.suppress(OSError, StudioError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = open_here(run.machine_file, flags)
        try:
            os.write(descriptor, look.line())
        finally:
            os.close(descriptor)


def looks_after(path: Path, byte: int) -> tuple[list[Look], int]:
    """The looks from `byte` on, and the byte up to which they reach; what is damaged is left out.

    Nothing where there is no such file, or it cannot be read.
    """
    try:
        with open_regular(path, LARGEST, follows_links=False) as file:
            file.seek(byte)
            piece = file.read(LARGEST)
    except OSError:
        return [], byte
    whole = piece[: piece.rfind(b"\n") + 1]
    found = []
    for line in whole.splitlines():
        with contextlib.suppress(ValidationError):
            found.append(Look.model_validate_json(line))
    return found, byte + len(whole)


def curves_of(looks: Sequence[Look], figure: Figure) -> Curves:
    """One figure over the steps, for all that it is known of.

    Of several looks at one step the last counts; a run that resumed from an older step takes back
    what came after it.
    """
    found: Curves = {}
    for look in looks:
        for place, value in _values(look, figure):
            steps, values = found.setdefault(place, ([], []))
            while steps and steps[-1] >= look.step:
                steps.pop()
                values.pop()
            steps.append(float(look.step))
            values.append(value)
    return found


def _values(look: Look, figure: Figure) -> Iterator[tuple[Place, float]]:
    for place, value in (
        (Place("machine"), getattr(look, figure, None)),
        (Place("run"), getattr(look, f"run_{figure}", None)),
        *(
            (Place("gpu", number, gpu.name), getattr(gpu, figure))
            for number, gpu in enumerate(look.gpus)
        ),
    ):
        if value is not None:
            yield place, float(value)
