"""Trains run folders in ranks that a process of `killing.py` forks."""

import os
import tempfile
from pathlib import Path
from typing import Any

from engine.runs.folder import RunFolder
from engine.runs.ranks import Rank
from tests.engine.training.killing import Process


class Crew:
    def __init__(self, process: Process) -> None:
        self._process = process

    def train(self, run: RunFolder, ranks: int, stop_after: int = 0) -> list[int]:
        """Train `run` with `ranks` processes; returns their exit codes."""
        run.clear_stop()
        codes: list[int] = self._process.ask(str(run.path), ranks, stop_after)
        return codes


def train_in_ranks(folder: Path, ranks: int, stop_after: int) -> list[int]:
    run = RunFolder(folder)
    with tempfile.TemporaryDirectory() as store, run.lock():
        members = [Rank(n, ranks, n, ranks, Path(store)) for n in range(ranks)]
        children = [_fork_rank(run, rank, stop_after) for rank in members]
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _fork_rank(run: RunFolder, rank: Rank, stop_after: int) -> int:
    child = os.fork()
    if child:
        return child
    os.environ.update(rank.environment())
    os.dup2(os.pipe()[0], 0)  # stdin that never closes
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from engine.worker.train import main as work

    def on_event(event: Any) -> None:
        if (getattr(event, "name", ""), getattr(event, "step", -1)) == ("loss", stop_after):
            run.request_stop()

    os._exit(work(run.path, on_event))
