"""Measured speeds of this machine, cached: precision, thread count, attention method."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

from engine.errors import DiskFull
from engine.files.atomic_write import write_file
from engine.files.home import Home
from engine.files.regular_file import read_json

Precision = Literal["fp32", "bf16", "fp16"]
MEASUREMENTS = "precision.json"  # in the cache of a home


@dataclass(frozen=True)
class Speeds:
    """Matrix products in operations per second; 0 if not measured."""

    key: str  # device, torch and threads
    fp32: float = 0.0
    bf16: float = 0.0  # 0 without hardware support
    fp16: float = 0.0  # measured only without bf16

    @property
    def fastest(self) -> Precision:
        """Reduced precision if clearly faster, as it is less accurate.

        bf16 first: it has the range of fp32 and needs no loss scaling.
        """
        if self.bf16 > 1.5 * self.fp32:
            return "bf16"
        return "fp16" if self.fp16 > 1.5 * self.fp32 else "fp32"

    @property
    def times(self) -> float:
        """Speed-up of reduced precision over fp32; 0 if not measured."""
        return max(self.bf16, self.fp16) / self.fp32 if self.fp32 else 0.0


@dataclass(frozen=True)
class ThreadSpeeds:
    """Matrix products in fp32 by thread count, in operations per second."""

    key: str  # CPU and torch
    usual: int  # default thread count
    rates: dict[str, float]  # by thread count, as JSON keys

    @property
    def fastest(self) -> int:
        """One thread per physical core, unless another count is over 10 % faster."""
        best = max(self.rates, key=lambda number: self.rates[number])
        return int(best) if self.rates[best] > 1.1 * self.rates[str(self.usual)] else self.usual


ATTENTION_METHODS = ("padded blocks", "nested")


@dataclass(frozen=True)
class AttentionTimes:
    """Forward and backward seconds of attention over an unpadded batch on a GPU."""

    key: str  # device, heads, precision and torch
    seconds: dict[str, float]  # by `ATTENTION_METHODS`; 0: no kernel

    @property
    def fastest(self) -> str:
        """Padded blocks, which every device supports, unless nested is clearly faster."""
        nested = self.seconds["nested"]
        return "nested" if 0 < 1.1 * nested < self.seconds["padded blocks"] else "padded blocks"


@dataclass(frozen=True)
class LayerTimes:
    """Forward and backward seconds of a layer; 0: not measured."""

    key: str  # device, layer, batch and torch
    fp32: float
    bf16: float = 0.0
    fp16: float = 0.0

    @property
    def fastest(self) -> Precision:
        """Reduced precision if clearly faster, as it is less accurate."""
        if 0 < 1.1 * self.bf16 < self.fp32:
            return "bf16"
        return "fp16" if 0 < 1.1 * self.fp16 < self.fp32 else "fp32"


@dataclass(frozen=True)
class ProductTimes:
    """The library that multiplies fp32 faster in training on a CPU."""

    key: str  # device and torch
    prefers_onednn: bool


Measured = Speeds | ThreadSpeeds | AttentionTimes | LayerTimes | ProductTimes
Kind = TypeVar("Kind", Speeds, ThreadSpeeds, AttentionTimes, LayerTimes, ProductTimes)
KINDS: dict[str, Callable[..., Measured]] = {
    kind.__name__: kind for kind in (Speeds, ThreadSpeeds, AttentionTimes, LayerTimes, ProductTimes)
}


def find(kind: type[Kind], key: str) -> Kind | None:
    """The measurement with this key."""
    return next((entry for entry in _read() if isinstance(entry, kind) and entry.key == key), None)


def last(kind: type[Kind], home: Path) -> Kind | None:
    """The latest measurement of a kind in a home."""
    return next((entry for entry in _read(_file(Home(home))) if isinstance(entry, kind)), None)


def save(measurement: Measured) -> None:
    """Save a measurement, replacing one with the same key; if that fails, it is repeated later."""
    others = [entry for entry in _read() if entry.key != measurement.key]
    entries = [{"kind": type(entry).__name__} | asdict(entry) for entry in (measurement, *others)]
    file = _file()
    with suppress(DiskFull, OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(file, json.dumps(entries, indent=1).encode())


def _read(file: Path | None = None) -> list[Measured]:
    """Measurements, newest first; an unreadable file counts as empty."""
    try:
        entries = read_json(file or _file())
        return [KINDS[entry.pop("kind")](**entry) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _file(home: Home | None = None) -> Path:
    return (home or Home()).cache / MEASUREMENTS
