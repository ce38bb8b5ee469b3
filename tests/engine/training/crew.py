"""A process that loads torch once and then trains run folders in ranks that it forks.

An input line is JSON: a run folder, the number of ranks, and the step after which to request a
stop (0: none). The answer lists the exit codes of the ranks.
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.runs.folder import RunFolder
from engine.runs.ranks import Rank
from engine.worker.ranks import loopback_env
from tests.engine.training.killing import Process


class Crew(Process):
    def __init__(self) -> None:
        super().__init__(__file__, loopback_env())

    def train(self, run: RunFolder, ranks: int, stop_after: int = 0) -> list[int]:
        """Train `run` with `ranks` processes; returns their exit codes."""
        run.clear_stop()
        codes: list[int] = self.ask(str(run.path), ranks, stop_after)
        return codes


def main() -> None:
    for module in ("torch._dynamo", "torch.distributed.fsdp", "engine.training.loop"):
        import_module(module)  # all ranks need the last one; sharded weights the others

    for line in sys.stdin:
        folder, ranks, stop_after = json.loads(line)
        run = RunFolder(Path(folder))
        with tempfile.TemporaryDirectory() as store, run.lock():
            members = [Rank(n, ranks, n, ranks, Path(store)) for n in range(ranks)]
            children = [_fork_rank(run, rank, stop_after) for rank in members]
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(codes), flush=True)


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


if __name__ == "__main__":
    main()
