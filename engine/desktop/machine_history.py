"""History of the machine's load during a run: one line of JSON per sample, in the run folder.

The training worker takes the samples, so they exist also for runs without a window. They are
optional: errors in writing or reading them are ignored.
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
from pydantic import ValidationError

from engine.desktop.load import MachineSample, MachineWatch
from engine.errors import StudioError
from engine.files.regular_file import open_regular
from engine.runs.folder import RunFolder
from engine.runs.lock import open_here

FIRST_PAUSE, LAST_PAUSE = 2.0, 30.0  # seconds between samples
TARGET_SAMPLES = 100  # since the start, if the pauses allow
MAX_BYTES = 64 << 20  # maximum bytes read of one file, about 200,000 samples

Figure = Literal["busy", "memory", "temperature", "power"]


class Subject(NamedTuple):
    """Subject of a curve: the whole machine, the run, or a GPU by index and name."""

    kind: Literal["machine", "run", "gpu"]
    gpu: int = 0
    name: str = ""


Curves = dict[Subject, tuple[list[float], list[float | None]]]


@contextmanager
def sampling(run: RunFolder, pid: int, step: Callable[[], int]) -> Iterator[None]:
    """Sample the machine during a block, in a background thread.

    Args:
        pid: leading process of the run.
        step: returns the last completed step.
    """
    done = threading.Event()

    def run_thread() -> None:
        with contextlib.suppress(OSError, psutil.Error):  # the system may not provide any
            follow()

    def follow() -> None:
        watch, start = MachineWatch(), time.monotonic()
        watch.sample(pid)  # the first sample has no utilisation
        pause = FIRST_PAUSE / 4
        while not done.wait(pause):
            append_sample(run, watch.sample(pid, step()))
            pause = min(max((time.monotonic() - start) / TARGET_SAMPLES, FIRST_PAUSE), LAST_PAUSE)

    thread = threading.Thread(target=run_thread, name="machine", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def append_sample(run: RunFolder, sample: MachineSample) -> None:
    """Append a sample; errors of the disk are ignored."""
    with contextlib.suppress(OSError, StudioError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = open_here(run.machine_file, flags)
        try:
            os.write(descriptor, sample.line())
        finally:
            os.close(descriptor)


def read_samples(path: Path, offset: int) -> tuple[list[MachineSample], int]:
    """The samples from `offset` on, and the offset of their end; damaged ones are left out.

    Empty if the file is missing or unreadable.
    """
    try:
        with open_regular(path, MAX_BYTES, follows_links=False) as file:
            file.seek(offset)
            content = file.read(MAX_BYTES)
    except OSError:
        return [], offset
    lines = content[: content.rfind(b"\n") + 1]
    samples = []
    for line in lines.splitlines():
        with contextlib.suppress(ValidationError):
            samples.append(MachineSample.model_validate_json(line))
    return samples, offset + len(lines)


def build_curves(samples: Sequence[MachineSample], figure: Figure) -> Curves:
    """One figure over the steps, for all subjects that have it.

    The last of several samples at one step counts; a run that resumes from an older step discards
    the samples after it.
    """
    curves: Curves = {}
    for sample in samples:
        for key, value in _values(sample, figure):
            steps, values = curves.setdefault(key, ([], []))
            while steps and steps[-1] >= sample.step:
                steps.pop()
                values.pop()
            steps.append(float(sample.step))
            values.append(value)
    return curves


def _values(sample: MachineSample, figure: Figure) -> Iterator[tuple[Subject, float]]:
    for key, value in (
        (Subject("machine"), getattr(sample, figure, None)),
        (Subject("run"), getattr(sample, f"run_{figure}", None)),
        *(
            (Subject("gpu", number, gpu.name), getattr(gpu, figure))
            for number, gpu in enumerate(sample.gpus)
        ),
    ):
        if value is not None:
            yield key, float(value)
