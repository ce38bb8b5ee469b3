"""Models that lie elsewhere and are used in place: those of the hub's cache, and of a folder.

Nothing is copied, and nothing there is written. What cannot be loaded as it is stands on no list;
importing such a folder says why.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.checkpoints.info import checkpoint_info
from engine.errors import StudioError

PREFIX = "models--"  # of the folder of a model in the cache, with “--” for each “/”
DATA_PREFIX = "datasets--"  # of that of a data set
SNAPSHOTS = "snapshots"  # in such a folder, with a folder for each commit
MAX_FOLDERS = 2_000  # that are looked into


def hub_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the hub's library keeps what any program of this user has fetched."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return Path(os.path.expandvars(environment[name])).expanduser()
    above = environment.get("XDG_CACHE_HOME") or "~/.cache"
    home = environment.get("HF_HOME") or os.path.join(above, "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def models_elsewhere(folder: Path | None, cache: Path) -> dict[str, Path]:
    """The models of the user's folder and of the cache that can be used, by name."""
    found: dict[str, Path] = {}
    for name, path in (*_in_folder(folder), *_in_cache(cache)):
        if name not in found and _is_usable(path):
            found[name] = path
    return found


def datasets_elsewhere(cache: Path) -> dict[str, Path]:
    """The data sets of the cache by name, each the folder of its newest snapshot."""
    return dict(_in_cache(cache, DATA_PREFIX))


def _is_usable(path: Path) -> bool:
    try:
        checkpoint_info(path)
    except (StudioError, OSError):
        return False
    return True


def _in_folder(folder: Path | None) -> Iterator[tuple[str, Path]]:
    if folder is not None:
        for path in (folder, *_entries(folder)):
            if (path / "config.json").is_file():
                yield path.name, path


def _in_cache(cache: Path, prefix: str = PREFIX) -> Iterator[tuple[str, Path]]:
    """The newest snapshot of each model; the cache keeps older ones beside it."""
    for model in _entries(cache):
        if not model.name.startswith(prefix):
            continue
        snapshots = [path for path in _entries(model / SNAPSHOTS) if path.is_dir()]
        if snapshots:
            newest = max(snapshots, key=_moment)
            yield model.name.removeprefix(prefix).replace("--", "/"), newest


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())[:MAX_FOLDERS]
    except OSError:
        return []


def _moment(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
