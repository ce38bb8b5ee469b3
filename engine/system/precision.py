"""Which precision, how many threads and which way of attention train fastest on this machine.

Measured once, and kept in the cache of the home.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

from engine.files.atomic_write import write_file
from engine.files.home import Home
from engine.files.regular_file import read_json

Precision = Literal["fp32", "bf16", "fp16"]
MEASUREMENTS = "precision.json"  # in the cache of a home


@dataclass(frozen=True)
class Speeds:
    """How fast matrix products are, in operations per second; 0 where it was not measured."""

    of: str  # device, torch and threads: what they were measured with
    fp32: float = 0.0
    bf16: float = 0.0  # 0: the device has no instructions for it
    fp16: float = 0.0  # measured where a device may have it instead of bf16

    @property
    def fastest(self) -> Precision:
        """What is short where it is clearly faster, since it is a little coarser.

        bf16 before fp16, since it reaches as far as fp32 and needs no scaled losses.
        """
        if self.bf16 > 1.5 * self.fp32:
            return "bf16"
        return "fp16" if self.fp16 > 1.5 * self.fp32 else "fp32"

    @property
    def times(self) -> float:
        """How many times as fast as fp32 the shorter numbers are; 0 where none were measured."""
        return max(self.bf16, self.fp16) / self.fp32 if self.fp32 else 0.0


@dataclass(frozen=True)
class ThreadSpeeds:
    """How fast matrix products are in fp32 with some numbers of threads, in operations a second."""

    of: str  # processor and torch
    usual: int  # of the numbers: what is taken unless another is clearly faster
    rates: dict[str, float]  # by number, written out as JSON wants it

    @property
    def fastest(self) -> int:
        """One thread for each physical core, where no other number is a tenth faster."""
        best = max(self.rates, key=lambda number: self.rates[number])
        return int(best) if self.rates[best] > 1.1 * self.rates[str(self.usual)] else self.usual


ATTENTION_METHODS = ("padded blocks", "nested")


@dataclass(frozen=True)
class AttentionTimes:
    """How long attention takes over a batch without padding on a GPU, there and back."""

    of: str  # device, heads, precision and torch
    seconds: dict[
        str, float
    ]  # by its way, of `ATTENTION_METHODS`; 0: the device has no kernel for it

    @property
    def fastest(self) -> str:
        """Rectangles, which every device has, unless the other way is clearly faster."""
        nested = self.seconds["nested"]
        return "nested" if 0 < 1.1 * nested < self.seconds["padded blocks"] else "padded blocks"


@dataclass(frozen=True)
class LayerTimes:
    """How long a layer of a network takes there and back, in seconds; 0: not measured."""

    of: str  # device, layer, batch and torch
    fp32: float
    bf16: float = 0.0
    fp16: float = 0.0

    @property
    def fastest(self) -> Precision:
        """What is short where it is clearly faster, since it is a little coarser."""
        if 0 < 1.1 * self.bf16 < self.fp32:
            return "bf16"
        return "fp16" if 0 < 1.1 * self.fp16 < self.fp32 else "fp32"


Measured = Speeds | ThreadSpeeds | AttentionTimes | LayerTimes
Kind = TypeVar("Kind", Speeds, ThreadSpeeds, AttentionTimes, LayerTimes)
KINDS: dict[str, Callable[..., Measured]] = {
    kind.__name__: kind for kind in (Speeds, ThreadSpeeds, AttentionTimes, LayerTimes)
}


def find(kind: type[Kind], of: str) -> Kind | None:
    """What was measured with the same device, torch and threads; None where nothing was."""
    return next((one for one in _read() if isinstance(one, kind) and one.of == of), None)


def last(kind: type[Kind], home: Path) -> Kind | None:
    """What was measured last in the home of this folder; None where nothing was."""
    return next((one for one in _read(_file(Home(home))) if isinstance(one, kind)), None)


def save(found: Measured) -> None:
    """Write it down in place of what was measured with the same.

    Raises StudioError or OSError where there is no room, or no right to.
    """
    others = [one for one in _read() if one.of != found.of]
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    entries = [{"kind": type(one).__name__} | asdict(one) for one in (found, *others)]
    write_file(file, json.dumps(entries, indent=1).encode())


def _read(file: Path | None = None) -> list[Measured]:
    """The newest first; a file that cannot be read is none, and is made again."""
    try:
        entries = read_json(file or _file())
        return [KINDS[entry.pop("kind")](**entry) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _file(home: Home | None = None) -> Path:
    return (home or Home()).cache / MEASUREMENTS
