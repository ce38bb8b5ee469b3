"""Which of several processes of a run this one is, as torchrun and the worker say it."""

import os
from dataclasses import dataclass
from pathlib import Path

from engine.errors import StudioError
from engine.phrases import phrase

RANKS_FOLDER = (
    "BERT_STUDIO_RANKS"  # names the folder in which the ranks of one worker find one another
)
RANK_LOST = 75  # exit code of a rank that ended because another one had


class RankLost(StudioError):
    """Another rank has ended, so that this one cannot go on."""

    def __init__(self) -> None:
        super().__init__(
            phrase("Another process of this run ended, so all of them were stopped."),
            phrase("The log says which one ended first. Resume from the last checkpoint."),
        )


@dataclass(frozen=True)
class Rank:
    """One of the processes that train a run together.

    `store` is None where torchrun started it: then torchrun says how the ranks find one another.
    """

    number: int = 0
    world: int = 1  # how many there are
    local: int = 0  # its number on its machine
    beside: int = 1  # how many there are on its machine
    store: Path | None = None

    @property
    def has_worker(self) -> bool:
        """Whether a worker of ours started it, which holds the lock and watches over it."""
        return self.store is not None

    def environment(self) -> dict[str, str]:
        """What tells a new process that it is this rank of a worker."""
        return {
            "RANK": str(self.number),
            "WORLD_SIZE": str(self.world),
            "LOCAL_RANK": str(self.local),
            "LOCAL_WORLD_SIZE": str(self.beside),
            RANKS_FOLDER: str(self.store),
        }


def this_rank() -> Rank | None:
    """Which rank this process is; None where it was started as a program of its own."""
    found = os.environ
    if (
        RANKS_FOLDER not in found
        and not {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE"} <= found.keys()
    ):
        return None
    return Rank(
        number=int(found["RANK"]),
        world=int(found["WORLD_SIZE"]),
        local=int(found["LOCAL_RANK"]),
        beside=int(found["LOCAL_WORLD_SIZE"]),
        store=Path(found[RANKS_FOLDER]) if RANKS_FOLDER in found else None,
    )
