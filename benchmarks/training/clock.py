"""Timing of the training steps of one side."""

import json
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from types import ModuleType


@dataclass
class Clock:
    """Records the time after each step; the first `warm` steps are not counted."""

    warm: int
    steps: int
    marks: list[tuple[float, float]] = field(default_factory=list)  # s, of the clock and of the CPU

    def tick(self) -> bool:
        """Call after a step; returns True after the last one."""
        if gpu := _gpu():
            gpu.synchronize()
        self.marks.append((time.perf_counter(), time.process_time()))
        return len(self.marks) == self.warm + self.steps

    def print_result(
        self, tokens: float, needed: float, once: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        """Print a JSON line.

        Args:
            tokens: real tokens of all counted steps.
            needed: FLOP of all counted steps.
            once: (wall, CPU) seconds of shared work to add, such as a cache.
        """
        (began, cpu_began), (ended, cpu_ended) = self.marks[self.warm - 1], self.marks[-1]
        result = {
            "tokens": tokens,
            "operations": needed,
            "seconds": ended - began + once[0],
            "cpu_seconds": cpu_ended - cpu_began + once[1],
            "memory": _memory(),
            "load": os.getloadavg()[0],
        }
        print(json.dumps(result), flush=True)


class Profiled(Clock):
    """Also prints the torch profile of a GPU to stderr."""

    def tick(self) -> bool:
        import torch
        from torch.profiler import ProfilerActivity, profile

        is_last = super().tick()
        if len(self.marks) == self.warm:
            self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            self._profile.start()
        if is_last:
            self._profile.stop()
            events = self._profile.key_averages()
            on_gpu = [e for e in events if e.device_type == torch.autograd.DeviceType.CUDA]
            kernels = sum(e.self_device_time_total for e in on_gpu) / 1000 / self.steps
            launches = sum(e.count for e in events if "LaunchKernel" in e.key) / self.steps
            print(
                f"per step: {kernels:.1f} ms of kernels, {launches:.0f} launches", file=sys.stderr
            )
            print(events.table(sort_by="self_cpu_time_total", row_limit=40), file=sys.stderr)
        return is_last


def _memory() -> int:
    """Peak bytes of the GPU if one was used, else of the process."""
    if gpu := _gpu():
        return int(gpu.max_memory_reserved())
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _gpu() -> ModuleType | None:
    """torch.cuda if this process has used it."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
