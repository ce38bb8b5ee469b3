"""Models, word vectors and data sets of a home folder.

Entries are cached and read again only after their files change. A damaged folder is listed with its
problem.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from engine.checkpoints.elsewhere import hub_cache, models_elsewhere
from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import DatasetSpec
from engine.data.word_vectors.facts import read_facts, stored
from engine.errors import StudioError
from engine.files.atomic_write import clear_leftovers
from engine.files.home import Home, subfolders
from engine.files.regular_file import read_regular
from engine.files.shipped import included_models
from engine.messages.reports import CheckpointInfo
from engine.messages.word_vectors import VectorFacts
from engine.phrases import phrase
from engine.system.errors import explain_error, may_exist

Origin = Literal["included", "imported", "elsewhere", "run"]


@dataclass(frozen=True)
class ModelEntry:
    """A checkpoint folder; `problem` says why it cannot be used."""

    name: str
    path: Path
    info: CheckpointInfo | None
    origin: Origin
    problem: str = ""
    run: str = ""  # id of the run it came from
    step: int = 0  # training step of that run
    best: bool = False  # best checkpoint of that run
    data: str = ""  # data set of that run
    metric: str = ""  # metric that selects the run's best checkpoint
    score: float | None = None  # its value; None if not evaluated
    saved: datetime | None = None
    base: Path | None = None  # the checkpoint that its run began with


@dataclass(frozen=True)
class VectorsEntry:
    """Imported word vectors; `problem` says why they cannot be used."""

    name: str
    path: Path
    facts: VectorFacts | None
    problem: str = ""


@dataclass(frozen=True)
class DataEntry:
    """One version of a data set; `problem` says why it cannot be read."""

    name: str
    folder: Path
    spec: DatasetSpec | None
    problem: str = ""

    @property
    def version(self) -> int:
        return self.spec.version if self.spec else 0


def describe_model(
    name: str, path: Path, origin: Origin, run: str = "", step: int = 0, best: bool = False
) -> ModelEntry:
    """Entry of a checkpoint folder."""
    try:
        return ModelEntry(name, path, checkpoint_info(path), origin, "", run, step, best)
    except StudioError as error:
        return ModelEntry(name, path, None, origin, error.problem, run, step, best)


def home_models(home: Home) -> list[ModelEntry]:
    """List the included models, then the imported ones by name."""
    models = [
        describe_model(name, folder, "included")
        for name, folder in included_models().items()
        if folder.is_dir()
    ]
    for folder in subfolders(home.models):
        entry = describe_model(folder.name, folder, "imported")
        modified = _modified(folder)
        models.append(
            replace(entry, saved=datetime.fromtimestamp(modified / 1e9, UTC) if modified else None)
        )
    return models


def word_vectors(home: Home) -> list[VectorsEntry]:
    """List the imported word vectors by name."""
    entries = []
    for folder in stored(home):
        try:
            entries.append(VectorsEntry(folder.name, folder, read_facts(folder)))
        except StudioError as error:
            entries.append(VectorsEntry(folder.name, folder, None, error.phrase))
    return entries


def external_models(folder: str) -> list[ModelEntry]:
    """List models used in place: in the user's `folder` (“”: none) and in the hub's cache."""
    models = models_elsewhere(Path(folder) if folder else None, hub_cache())
    return [describe_model(name, path, "elsewhere") for name, path in models.items()]


def datasets(home: Home) -> list[DataEntry]:
    """All versions of all data sets, newest first."""
    entries = []
    for folder in subfolders(home.datasets):
        versions = [f for f in subfolders(folder) if may_exist(f / "spec.json")]
        if may_exist(folder / "spec.json"):
            versions.append(folder)
        entries += [(_modified(v / "spec.json"), _dataset(v)) for v in versions]
    return [entry for _, entry in sorted(entries, key=lambda pair: pair[0], reverse=True)]


_cache: dict[Path, tuple[int, int, DataEntry]] = {}


def _dataset(folder: Path) -> DataEntry:
    """Entry of one version, cached until its file changes."""
    file = folder / "spec.json"
    try:
        stat = file.stat()
        cached = _cache.get(folder)
        if cached is not None and cached[:2] == (stat.st_mtime_ns, stat.st_size):
            return cached[2]
        spec = DatasetSpec.model_validate_json(read_regular(file))
    except (OSError, ValueError) as error:
        explained = explain_error(error)
        problem = phrase("The description of {folder} is damaged.", folder=folder.name)
        return DataEntry(
            folder.name, folder, None, explained.problem if explained is not None else problem
        )
    entry = DataEntry(spec.name, folder, spec)
    _cache[folder] = (stat.st_mtime_ns, stat.st_size, entry)
    return entry


def _modified(path: Path) -> int:
    """Time of the last change in ns; 0 if it was deleted."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def remove_leftovers(home: Home) -> None:
    """Remove unfinished imports."""
    clear_leftovers(home.models)
    clear_leftovers(home.vectors)
    clear_leftovers(home.datasets)
    for folder in subfolders(home.datasets):
        clear_leftovers(folder)
