"""The rank of a process in a distributed run, set by torchrun or the worker."""

import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import StudioError
from engine.phrases import phrase

RANKS_FOLDER = "BERT_STUDIO_RANKS"  # the rendezvous folder of the ranks of one worker
RANK_LOST = 75  # exit code of a rank that ended because another one had


class RankLost(StudioError):
    """Another rank has ended, so this one cannot continue."""

    def __init__(self) -> None:
        super().__init__(
            phrase("Another process of this run ended, so all of them were stopped."),
            phrase("The log says which one ended first. Resume from the last checkpoint."),
        )


@dataclass(frozen=True)
class Rank:
    """One of the processes that train a run together.

    `rendezvous` is None if torchrun started it and connects the ranks itself.
    """

    number: int = 0
    world: int = 1  # number of processes
    local: int = 0  # index on its machine
    local_world: int = 1  # processes on its machine
    rendezvous: Path | None = None

    @property
    def has_worker(self) -> bool:
        """True if one of our workers started it, which holds the lock and watches it."""
        return self.rendezvous is not None

    def environment(self) -> dict[str, str]:
        return {
            "RANK": str(self.number),
            "WORLD_SIZE": str(self.world),
            "LOCAL_RANK": str(self.local),
            "LOCAL_WORLD_SIZE": str(self.local_world),
            RANKS_FOLDER: str(self.rendezvous),
        }


def this_rank() -> Rank | None:
    """Rank of this process; None if it was started as a standalone program."""
    variables = os.environ
    if (
        RANKS_FOLDER not in variables
        and not {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE"} <= variables.keys()
    ):
        return None
    return Rank(
        number=int(variables["RANK"]),
        world=int(variables["WORLD_SIZE"]),
        local=int(variables["LOCAL_RANK"]),
        local_world=int(variables["LOCAL_WORLD_SIZE"]),
        rendezvous=Path(variables[RANKS_FOLDER]) if RANKS_FOLDER in variables else None,
    )
