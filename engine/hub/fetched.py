"""Downloaded files of a data set, with the split of each; does not import the hub's library."""

from pathlib import Path
from typing import NamedTuple, Self

from engine.config.dataset import SPLITS, HubOrigin, Source, SplitName
from engine.messages.hub import Planned

PREFIX = "hub:"  # prefix of data sets of the hub, which are entered like files


class Fetched(NamedTuple):
    """A downloaded data set in a folder."""

    folder: Path
    name: str
    sources: dict[Source, tuple[Path, ...]]  # the first has rows for training
    origin: HubOrigin

    @property
    def main_file(self) -> Path:
        """The file whose format applies to all."""
        return next(iter(self.sources.values()))[0]

    def splits(self) -> dict[Path, SplitName | None]:
        """Each file with its split; a single file has all rows."""
        splits_of_files: dict[Path, SplitName | None] = {}
        for split, paths in self.sources.items():
            assigned: SplitName = "train" if split == "all" else split
            splits_of_files.update(dict.fromkeys(paths, assigned))
        return splits_of_files if len(splits_of_files) > 1 else dict.fromkeys(splits_of_files)

    @classmethod
    def from_plan(cls, planned: Planned, folder: Path) -> Self:
        """The files of a planned download, in its folder."""
        paths = {
            split: tuple(folder / name for name in names) for split, names in planned.splits.items()
        }
        sources: dict[Source, tuple[Path, ...]] = {"train": paths.pop("train")}
        sources |= {split: paths[split] for split in SPLITS if split in paths}
        if len(sources) == 1:
            sources = {"all": sources["train"]}
        name = planned.name.rpartition("/")[2]
        return cls(
            folder=folder,
            name=f"{name}-{planned.subset}" if planned.subset else name,
            sources=sources,
            origin=HubOrigin(
                name=planned.name,
                subset=planned.subset,
                revision=planned.revision,
                host=planned.host,
                licence=planned.licence,
            ),
        )
