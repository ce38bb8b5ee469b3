"""Data sets, the state of their sources, and their removal. No widgets."""

import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background, trash
from app.library import DataEntry
from app.sample import NAME, sample_entry
from app.studio import Studio
from app.uses import Uses, read_uses, reads_data
from engine.config.dataset import DatasetSpec
from engine.data.datasets.collecting import file_state, list_files, source_digest
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder
from engine.files.home import free_folder

SPEC, DATA = "spec.json", "data.parquet"


class DataState(QObject):
    """The data sets of the home.

    Signals:
        listed: `entries` or `sources` changed.
        added: folder of a version added to the home.
        removed: folder of a version moved to the trash, or restored.
    """

    listed = Signal()
    added = Signal(Path)
    removed = Signal(Path)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.entries: list[DataEntry] | None = None  # None: not read yet
        self.sources: dict[Path, str] = {}  # by folder, as returned by `source_state`
        self._digests: dict[tuple[Path, int, int], str] = {}
        self._reading = background.LatestJob(self)
        self._comparing = background.LatestJob(self)
        self._compare_again = False
        self.is_adding = False
        studio.datasets_changed.connect(self.read_list)

    # ── list ─────────────────────────────────────────────────────────────────────────────────

    def read_list(self) -> None:
        """Read the list again outside the GUI thread."""
        self._reading.run(self._studio.datasets, self._on_list)

    def all_entries(self) -> list[DataEntry]:
        return self.entries or []

    def find_entry(self, folder: Path) -> DataEntry | None:
        return next((entry for entry in self.all_entries() if entry.folder == folder), None)

    def has_sample(self) -> bool:
        folder = self._studio.home.datasets / NAME
        return any(entry.folder.parent == folder for entry in self.all_entries())

    def _on_list(self, entries: list[DataEntry]) -> None:
        self.entries = entries
        self.listed.emit()
        self._compare_sources()

    def _compare_sources(self) -> None:
        """Find sources that changed since the import.

        They are compared one by one, so that an unreachable drive blocks only one thread.
        """
        if self._comparing.is_busy:
            self._compare_again = True
            return
        self._compare_again = False
        specs = {entry.folder: entry.spec for entry in self.all_entries() if entry.spec is not None}
        digests = self._digests

        def work(progress: background.Progress) -> dict[Path, str]:
            states: dict[Path, str] = {}
            for folder, spec in specs.items():
                if progress.cancelled():
                    break
                states[folder] = source_state(spec, digests)
            return states

        self._comparing.run(work, self._on_compared, progress=lambda _done, _total: None)

    def _on_compared(self, sources: dict[Path, str]) -> None:
        if sources != self.sources:
            self.sources = sources
            self.listed.emit()
        if self._compare_again:
            self._compare_sources()

    # ── adding ───────────────────────────────────────────────────────────────────────────────

    def add_sample(self) -> None:
        home = self._studio.home
        self._add(lambda: sample_entry(home).folder)

    def adopt(self, folder: Path) -> None:
        """Copy a version from another home after verifying it."""
        home = self._studio.home

        def work() -> Path:
            if folder.is_relative_to(home.datasets):
                return folder
            dataset = open_dataset(folder)
            dataset.verify()
            version = free_folder(home.datasets, dataset.spec.name) / "1"
            with atomic_folder(version) as target:
                for name in (SPEC, DATA):
                    shutil.copyfile(folder / name, target / name)
            return version

        self._add(work)

    def clear_download(self, folder: Path) -> None:
        """Remove a download from the hub after its import."""
        if folder.parent == self._studio.home.downloads:
            background.run(self, lambda: shutil.rmtree(folder, ignore_errors=True), lambda _: None)

    def _add(self, work: Callable[[], Path]) -> None:
        if self.is_adding:
            return
        self.is_adding = True
        background.run(self, work, self._on_added, self._on_add_failed)
        self.listed.emit()

    def _on_added(self, folder: Path) -> None:
        self.is_adding = False
        self._studio.datasets_changed.emit()
        self.added.emit(folder)

    def _on_add_failed(self, error: BaseException) -> None:
        self.is_adding = False
        self.listed.emit()
        self._studio.notices.show(error)

    # ── deleting ─────────────────────────────────────────────────────────────────────────────

    def find_uses(self, folder: Path, done: Callable[[Uses], None]) -> None:
        """Find the runs based on this version."""
        record = self._studio.record
        background.run(self, lambda: read_uses(record, lambda job: reads_data(job, folder)), done)

    def delete(self, entry: DataEntry) -> None:
        """Move a version to the trash; a notice offers undo."""

        def changed() -> None:
            self._studio.datasets_changed.emit()
            self.removed.emit(entry.folder)

        template = self.tr("“{0}” (version {1}) was moved to the trash.")
        sentence = template.format(entry.name, entry.version)
        trash.delete(self, self._studio.notices, entry.folder, sentence, changed)

    def discard(self, folder: Path) -> None:
        """Move a version that was just created to the trash, without confirmation."""
        background.run(
            self,
            lambda: trash.move_to_trash(folder),
            lambda _: self._studio.datasets_changed.emit(),
            self._studio.notices.show,
        )


def source_state(spec: DatasetSpec, digests: dict[tuple[Path, int, int], str]) -> str:
    """State of the source files of a version: “same”, “changed” or “missing”; “hub” if they were
    downloaded or are no longer in the hub's cache.

    `digests` caches checksums, so that a file is read again only after it changed.
    """
    if spec.hub is not None and spec.hub.host:
        return "hub"
    states = set()
    for _, path in list_files(spec.sources):
        try:
            key = (path, *file_state(path))
            if key not in digests:
                digests[key] = source_digest(path)
        except (OSError, StudioError):
            states.add("missing")
            continue
        states.add("same" if digests[key] == spec.source_sha256.get(str(path)) else "changed")
    if "changed" in states:
        return "changed"
    if "missing" in states:
        return "missing" if spec.hub is None else "hub"
    return "same"
