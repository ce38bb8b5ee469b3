"""Which precision trains fastest on this machine: measured once, kept in the cache of the home."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from engine.durable import write_file
from engine.home import Home

Precision = Literal["fp32", "bf16", "fp16"]


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


def kept(of: str) -> Speeds | None:
    """What was measured with the same device, torch and threads; None where nothing was."""
    return next((speeds for speeds in _read() if speeds.of == of), None)


def last(home: Path) -> Speeds | None:
    """What was measured last in the home of this folder; None where nothing was."""
    return next(iter(_read(_file(Home(home)))), None)


def keep(speeds: Speeds) -> None:
    """Write it down in place of what was measured with the same.

    Raises StudioError or OSError where there is no room, or no right to.
    """
    others = [asdict(one) for one in _read() if one.of != speeds.of]
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(file, json.dumps([asdict(speeds), *others], indent=1).encode())


def _read(file: Path | None = None) -> list[Speeds]:
    """The newest first; a file that cannot be read is none, and is made again."""
    try:
        text = (file or _file()).read_text(encoding="utf-8")
        return [Speeds(**entry) for entry in json.loads(text)]
    except (OSError, ValueError, TypeError):
        return []


def _file(home: Home | None = None) -> Path:
    return (home or Home()).cache / "precision.json"
