"""Paths below the home folder."""

import os
from pathlib import Path

from platformdirs import user_data_path

from engine.errors import StudioError
from engine.phrases import phrase
from engine.visible import is_valid_text

MAX_ROOT_BYTES = 400  # of its path; SQLite accepts 512 for a file below it


class Home:
    """The folder of everything a user creates: record, data sets, models, runs.

    Everything in it is private to the user (on POSIX: modes 0700 and 0600). An existing folder
    keeps its own mode.
    """

    def __init__(self, root: Path | None = None) -> None:
        chosen = os.environ.get("BERT_STUDIO_HOME")
        self.root = root or (Path(chosen) if chosen else user_data_path("BERT Studio", False))
        self.root = self.root.expanduser().absolute()
        self.lock = self.root / "home.lock"
        # held by the process that starts runs: the window or the runner
        self.queue_lock = self.root / "queue.lock"
        self.runner_lock = self.root / "runner.lock"  # of the queue runner
        self.runner_log = self.root / "runner.log"
        self.on_end_log = self.root / "on_end.log"  # output of the user's own command
        self.record = self.root / "studio.db"
        self.backups = self.root / "backups"
        self.settings = self.root / "settings.json"
        self.inputs = self.root / "inputs.json"
        self.slices = self.root / "slices.json"
        self.exports = self.root / "exports.jsonl"  # log of exports
        self.datasets = self.root / "datasets"
        self.edits = self.root / "edits"
        self.models = self.root / "models"
        self.vectors = self.root / "vectors"  # of words, one folder for each imported file
        self.runs = self.root / "runs"
        self.results = self.root / "results"  # of the models, one folder each
        self.curves = self.root / "curves"  # live, for TensorBoard and MLflow
        self.cache = self.root / "cache"
        self.downloads = self.cache / "downloads"  # of models, until they are imported
        self.log = self.root / "studio.log"

    def make(self) -> None:
        """Make the missing folders. Raises StudioError if the path cannot be used."""
        self._check()
        is_new = not self.root.exists()
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_new and os.name == "posix":
            self.root.chmod(0o700)
        for folder in (
            *(self.backups, self.datasets, self.models, self.vectors, self.runs, self.cache),
        ):
            folder.mkdir(mode=0o700, exist_ok=True)

    def _check(self) -> None:
        path = str(self.root)
        if not is_valid_text(path) or len(os.fsencode(path)) > MAX_ROOT_BYTES:
            problem = (
                phrase("The path of the home folder {path} is too long.", path=path)
                if is_valid_text(path)
                else phrase("The home folder {path} has a name that is not valid text.", path=path)
            )
            advice = phrase("Choose another one: set BERT_STUDIO_HOME, or unset it.")
            raise StudioError(problem, advice)


WINDOWS_DEVICES = {"con", "prn", "aux", "nul"} | {
    f"{d}{n}" for d in ("com", "lpt") for n in "123456789"
}


def folder_name(name: str) -> str:
    """One safe folder name from any input: no separators, no device names.

    Letters and digits of any script stay; all else becomes “-”; at most 80 characters and 120
    bytes. An empty result is “unnamed”.
    """
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip(".-_ ")
    while "--" in safe:
        safe = safe.replace("--", "-")
    safe = safe[:80].encode("utf-8", "ignore")[:120].decode("utf-8", "ignore").strip(".-_ ")
    if not safe or safe.split(".")[0].lower() in WINDOWS_DEVICES:
        safe = f"unnamed-{safe}".rstrip("-") if safe else "unnamed"
    return safe


def free_folder(parent: Path, name: str) -> Path:
    """A path below `parent` that does not exist yet, named after `name`."""
    safe = folder_name(name)
    candidate, number = parent / safe, 2
    while candidate.exists() or candidate.is_symlink():
        candidate, number = parent / f"{safe}-{number}", number + 1
    return candidate


def subfolders(parent: Path) -> list[Path]:
    """The folders in `parent` by name, without links and hidden ones, which are still being
    written; none if it cannot be read."""
    try:
        entries = sorted(parent.iterdir(), key=lambda entry: entry.name.casefold())
    except OSError:
        return []
    return [e for e in entries if not e.name.startswith(".") and e.is_dir() and not e.is_symlink()]


def versions_in(dataset: Path) -> list[int]:
    """The version numbers in the folder of a data set, ascending."""
    try:
        names = [entry.name for entry in dataset.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isdecimal())


def newest_version(dataset: Path) -> int:
    """The newest version number in the folder of a data set; 0 if there is none."""
    return max(versions_in(dataset), default=0)


def next_version(dataset: Path) -> int:
    """The next version number in the folder of a data set, from 1."""
    return newest_version(dataset) + 1
