"""Models outside the library that are used in place: in the hub's cache, and in the user's folder.

Nothing there is copied or written. Folders that cannot be loaded unchanged are not listed;
importing one reports the reason.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine.checkpoints.info import checkpoint_info
from engine.errors import StudioError

PREFIX = "models--"  # of a model folder in the cache, with “--” for each “/”
DATA_PREFIX = "datasets--"  # of a data set folder
SNAPSHOTS = "snapshots"  # subfolder with a folder for each commit
MAX_FOLDERS = 2_000  # maximum folders searched


def hub_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """The cache folder of the hub's library, shared by all programs of this user."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return Path(os.path.expandvars(environment[name])).expanduser()
    parent = environment.get("XDG_CACHE_HOME") or "~/.cache"
    home = environment.get("HF_HOME") or os.path.join(parent, "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def models_elsewhere(folder: Path | None, cache: Path) -> dict[str, Path]:
    """The usable models of the user's folder and of the cache, by name."""
    models: dict[str, Path] = {}
    for name, path in (*_in_folder(folder), *_in_cache(cache)):
        if name not in models and _is_usable(path):
            models[name] = path
    return models


def datasets_elsewhere(cache: Path) -> dict[str, Path]:
    """The data sets of the cache by name, each as the folder of its newest snapshot."""
    return dict(_in_cache(cache, DATA_PREFIX))


def _is_usable(path: Path) -> bool:
    try:
        checkpoint_info(path)
    except (StudioError, OSError):
        return False
    return True


def _in_folder(folder: Path | None) -> Iterator[tuple[str, Path]]:
    if folder is not None:
        for path in (folder, *_subfolders(folder)):
            if (path / "config.json").is_file():
                yield path.name, path


def _in_cache(cache: Path, prefix: str = PREFIX) -> Iterator[tuple[str, Path]]:
    """The newest snapshot of each model in the cache."""
    for model in _subfolders(cache):
        if not model.name.startswith(prefix):
            continue
        snapshots = [path for path in _subfolders(model / SNAPSHOTS) if path.is_dir()]
        if snapshots:
            newest = max(snapshots, key=_modified)
            yield model.name.removeprefix(prefix).replace("--", "/"), newest


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())[:MAX_FOLDERS]
    except OSError:
        return []


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
