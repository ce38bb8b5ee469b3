"""What a worker has at hand for its answers; loads torch when it is made."""

import os
from collections.abc import Callable
from pathlib import Path

import torch

from engine.cores import threads_worth_trying
from engine.explore.model_cache import ModelCache
from engine.messages.question import Answer

THREADS = "BERT_STUDIO_THREADS"  # environment: processor threads; unset or 0 means all cores
DEVICE = "BERT_STUDIO_EXPLORER_DEVICE"  # environment: cpu, cuda, mps; unset or auto means cpu


class Desk:
    """The models that were asked about, a folder for tensors, and whom to tell of what is done."""

    def __init__(self, scratch: Path, tell: Callable[[Answer], object], device: str = "") -> None:
        use_threads()
        name = device or os.environ.get(DEVICE, "auto")
        self.scratch = scratch
        self.tell = tell
        self.models = ModelCache("cpu" if name == "auto" else name)


def use_threads() -> None:
    """As many as the user chose, or as there are cores to use."""
    chosen = os.environ.get(THREADS, "")
    threads = int(chosen) if chosen.isdecimal() else 0
    if not threads and "OMP_NUM_THREADS" not in os.environ:
        threads = threads_worth_trying()[0]  # torch knows no limit of a container
    if threads:
        torch.set_num_threads(threads)
