"""A training worker that loads torch first, and then gets the folder in which to train."""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

from engine.runs import launch


def main() -> int:
    """Wait for the folder of a run, a line of JSON on stdin, and train there.

    Ends when the input does: whoever started it has no use for it any more.
    """
    _load()
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    folder = Path(json.loads(line))
    _take_places(folder)
    from engine.worker.train import main as train

    return train(folder)


def _load() -> None:
    """Import what a first step needs, and nothing that depends on the job.

    No tensor is computed: how many threads there are is for the job to say. The process has its
    full priority, since one that was lowered could not be raised again for the run.
    """
    import_module("engine.training.loop")


def _take_places(folder: Path) -> None:
    """Print into the log of the run and read nothing, as a worker that was started for it."""
    log, nothing = launch.open_log(folder), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.close(nothing)
