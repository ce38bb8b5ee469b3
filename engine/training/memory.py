"""How much memory this process has held at the most."""

import sys
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

STATUS = Path("/proc/self/status")
OWN_PEAK = "VmHWM:"  # kB, since the program of this process began; see proc(5)


class Peak(NamedTuple):
    """Bytes at the most; `device` is 0 where the processor's memory is all there is."""

    process: int
    device: int

    @property
    def decisive(self) -> int:
        """Of the memory that holds the network."""
        return self.device or self.process


def peak_memory() -> Peak:
    """The peak of this process so far, and of what torch has asked of a GPU."""
    on_device = 0
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        on_device = int(torch.cuda.max_memory_reserved())
    elif torch.backends.mps.is_available():
        on_device = int(torch.mps.driver_allocated_memory())  # now; it is not given back
    return Peak(_of_process(), on_device)


def _of_process() -> int:
    """Not `ru_maxrss` on Linux: that begins with the peak of whoever started the process."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    if sys.platform == "linux":
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(OWN_PEAK):
                return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
