"""The files of a data set that were fetched, with the split of each; loads nothing of the hub's."""

from pathlib import Path
from typing import NamedTuple, Self

from engine.config.dataset import SPLITS, HubOrigin, Source, SplitName
from engine.messages.hub import Planned

PREFIX = "hub:"  # how a data set of the hub is named where files are, too


class Fetched(NamedTuple):
    """What a download of a data set has left in a folder."""

    folder: Path
    name: str
    sources: dict[Source, tuple[Path, ...]]  # the first of them has rows for training
    origin: HubOrigin

    @property
    def first(self) -> Path:
        """The file by which all are read."""
        return next(iter(self.sources.values()))[0]

    def splits(self) -> dict[Path, SplitName | None]:
        """Each file with its split; a single one has all rows."""
        found: dict[Path, SplitName | None] = {}
        for split, paths in self.sources.items():
            own: SplitName = "train" if split == "all" else split
            found.update(dict.fromkeys(paths, own))
        return found if len(found) > 1 else dict.fromkeys(found)

    @classmethod
    def of(cls, planned: Planned, folder: Path) -> Self:
        """What was planned, in the folder to which it was fetched."""
        places = {
            split: tuple(folder / name for name in names) for split, names in planned.splits.items()
        }
        sources: dict[Source, tuple[Path, ...]] = {"train": places.pop("train")}
        sources |= {split: places[split] for split in SPLITS if split in places}
        if len(sources) == 1:
            sources = {"all": sources["train"]}
        name = planned.model.rpartition("/")[2]
        return cls(
            folder=folder,
            name=f"{name}-{planned.subset}" if planned.subset else name,
            sources=sources,
            origin=HubOrigin(
                name=planned.model,
                subset=planned.subset,
                revision=planned.revision,
                host=planned.host,
                licence=planned.licence,
            ),
        )
