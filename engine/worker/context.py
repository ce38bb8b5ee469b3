"""The resources of a worker that answers questions; loads torch when created."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import torch

from engine.cores import thread_candidates
from engine.explore.model_cache import ModelCache
from engine.messages.question import Answer

THREADS = "BERT_STUDIO_THREADS"  # environment: CPU threads; unset or 0 means all cores
DEVICE = "BERT_STUDIO_EXPLORER_DEVICE"  # environment: cpu, cuda, mps; unset or auto means cpu

LOW_PRIORITY = 10  # niceness of POSIX, 0 to 19


class WorkerContext:
    """The models in use, a folder for tensors, and the sink for partial answers."""

    def __init__(self, scratch: Path, emit: Callable[[Answer], object], device: str = "") -> None:
        use_threads()
        name = device or os.environ.get(DEVICE, "auto")
        self.scratch = scratch
        self.emit = emit
        self.models = ModelCache("cpu" if name == "auto" else name)


def use_threads() -> None:
    """Set the number of threads to the user's choice, or else to the usable cores."""
    chosen = os.environ.get(THREADS, "")
    threads = int(chosen) if chosen.isdecimal() else 0
    if not threads and "OMP_NUM_THREADS" not in os.environ:
        threads = thread_candidates()[0]  # torch ignores the limit of a container
    if threads:
        torch.set_num_threads(threads)


def lower_priority() -> None:
    """Lower the CPU priority of this process until it ends."""
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        psutil.Process().nice(LOW_PRIORITY)
