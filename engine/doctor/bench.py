"""The device under test, compared with the CPU; runs on both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from engine.config.training import HardwareSpec
from engine.doctor import material
from engine.messages.events import Measured
from engine.runs.folder import RunFolder
from engine.system.precision import Precision
from engine.training import loop
from engine.training.device.environment import device_name
from engine.training.device.machine import Machine, choose_machine

DeviceName = Literal["cpu", "cuda", "mps"]
PROCESSOR = HardwareSpec(device="cpu", precision="fp32", threads=1)
Curves = dict[tuple[str, int], float | None]  # by name and step


@dataclass
class Bench:
    """Trains tiny jobs on the device and on the CPU, each once."""

    folder: Path  # initially empty; contains runs and data
    device: DeviceName
    machine: Machine
    _runs: dict[str, RunFolder] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the device, with the number of CPU threads."""
        return f"{device_name(self.machine.device)}, {self.machine.threads} threads"

    def hardware(self, precision: Precision = "fp32") -> HardwareSpec:
        """The device, in a precision, without CUDA graphs."""
        return HardwareSpec(
            device=self.device, precision=precision, threads=self.machine.threads, cuda_graphs="off"
        )

    def run(
        self,
        kind: str,
        hardware: HardwareSpec = PROCESSOR,
        base: Path | None = None,
        **settings: Any,
    ) -> RunFolder:
        """Train a job built by `material.job` once, and return its finished run."""
        job = material.job(kind, self.folder, hardware, base, **settings)
        key = job.model_dump_json()
        if key not in self._runs:
            self._runs[key] = self.new_run(kind, hardware, base, **settings)
            loop.train(job, self._runs[key], self._runs[key].append)
        return self._runs[key]

    def new_run(
        self, kind: str, hardware: HardwareSpec, base: Path | None = None, **settings: Any
    ) -> RunFolder:
        """Create a run without starting it."""
        job = material.job(kind, self.folder, hardware, base, **settings)
        return RunFolder.create(self.folder / f"run-{len([*self.folder.glob('run-*')])}", job)

    def checkpoint(self, kind: str) -> Path:
        """A model trained on the CPU."""
        return self.run(kind).checkpoint_folders()[-1]


def bench(folder: Path, device: DeviceName) -> Bench:
    """Set up the device as a job would; raises StudioError if it is not available."""
    machine = choose_machine(HardwareSpec(device=device))
    material.write(folder)
    return Bench(folder, device, machine)


def curves(run: RunFolder) -> Curves:
    """The logged points of a run, except timings."""
    events, _ = run.events_after(0)
    return {
        (event.name, event.step): event.value
        for event in events
        if isinstance(event, Measured) and event.name != "tokens_per_second"
    }


def max_curve_difference(ours: Curves, theirs: Curves, is_compared: Callable[[str], bool]) -> float:
    """The largest difference of the curves selected by name; infinite if points are missing."""
    if ours.keys() != theirs.keys():
        return float("inf")
    differences = [0.0]
    for key, value in ours.items():
        if is_compared(key[0]):
            other = theirs[key]
            missing = value is None or other is None
            differences.append(float("inf") if missing else abs(value - other))  # type: ignore[operator]
    return max(differences)
