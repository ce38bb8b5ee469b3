"""What every side of the benchmark measures, and the line in which it says so."""

import json
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from types import ModuleType


@dataclass
class Clock:
    """Notes the time after each step; the first `warm` steps are not counted."""

    warm: int
    steps: int
    marks: list[tuple[float, float]] = field(default_factory=list)  # s, of the clock and of the CPU

    def tick(self) -> bool:
        """After a step: whether it was the last."""
        if gpu := _gpu():
            gpu.synchronize()
        self.marks.append((time.perf_counter(), time.process_time()))
        return len(self.marks) == self.warm + self.steps

    def tell(self, tokens: float, needed: float, once: tuple[float, float] = (0.0, 0.0)) -> None:
        """Print the line: `tokens` and `needed` operations of all counted steps together, and
        their share of what was done `once` for all steps, in seconds of the clock and the CPU."""
        (began, cpu_began), (ended, cpu_ended) = self.marks[self.warm - 1], self.marks[-1]
        found = {
            "tokens": tokens,
            "operations": needed,
            "seconds": ended - began + once[0],
            "cpu_seconds": cpu_ended - cpu_began + once[1],
            "memory": _memory(),
            "load": os.getloadavg()[0],
        }
        print(json.dumps(found), flush=True)


class Profiled(Clock):
    """Tells on standard error what torch's profiler saw of a GPU in the counted steps."""

    def tick(self) -> bool:
        import torch
        from torch.profiler import ProfilerActivity, profile

        is_last = super().tick()
        if len(self.marks) == self.warm:
            self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            self._profile.start()
        if is_last:
            self._profile.stop()
            found = self._profile.key_averages()
            on_gpu = [one for one in found if one.device_type == torch.autograd.DeviceType.CUDA]
            kernels = sum(one.self_device_time_total for one in on_gpu) / 1000 / self.steps
            launches = sum(one.count for one in found if "LaunchKernel" in one.key) / self.steps
            print(f"a step: {kernels:.1f} ms of kernels, {launches:.0f} launches", file=sys.stderr)
            print(found.table(sort_by="self_cpu_time_total", row_limit=40), file=sys.stderr)
        return is_last


def _memory() -> int:
    """Bytes at the most: of the GPU where one was used, else of the process."""
    if gpu := _gpu():
        return int(gpu.max_memory_reserved())
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _gpu() -> ModuleType | None:
    """torch.cuda, where this process has used it."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
