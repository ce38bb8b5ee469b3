"""Shelf, search on the hub, and the download of one model. No widgets."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.machine import Machine, read_machine
from app.settings import Settings
from app.studio import Studio
from engine.desktop.load import GpuLoad, gpu_loads
from engine.hub import cost
from engine.hub.shelf import OFFERED, ShelfEntry
from engine.messages.hub import (
    Cost,
    Download,
    Downloaded,
    HubModel,
    HubModelsFound,
    HubQuestion,
    PlanDownload,
    Planned,
    SearchHub,
)
from engine.messages.question import Answer, Refused, Working


@dataclass(frozen=True)
class MachineFacts:
    """Properties of the machine that decide whether a model fits."""

    memory_free: int  # bytes
    rate: float  # CPU matrix products, operations per second
    gpu: str = ""  # used for training; "": none
    gpu_free: int = 0  # bytes of its memory

    @property
    def training_free(self) -> int:
        """Bytes free on the device that trains."""
        return self.gpu_free if self.gpu else self.memory_free


class GettingState(QObject):
    """One question to the hub at a time; a newer one cancels the previous.

    Signals:
        changed: offers, search results or progress.
        planned: a Planned, to confirm the download.
        fetched: the folder of a finished download, and the model's name.
    """

    changed = Signal()
    planned = Signal(object)
    fetched = Signal(Path, str)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.entries: Sequence[ShelfEntry] = OFFERED
        self.machine: MachineFacts | None = None  # None: not read yet
        self.results: tuple[HubModel, ...] | None = None  # None: no search yet
        self.working: Working | None = None
        self.problem: Refused | None = None
        self._worker: OneTimeWorker | None = None

    @property
    def folder(self) -> Path:
        """Folder of downloads until they are imported."""
        return self._studio.home.downloads

    @property
    def settings(self) -> Settings:
        """Settings with the user's consent to contact the hub."""
        return self._studio.settings

    def read_machine(self) -> None:
        """Read the machine's properties once, outside the GUI thread."""
        if self.machine is None:
            home = self._studio.home.root
            background.run(self, lambda: _read_machine(home), self._on_machine)

    def estimate_cost(self, entry: ShelfEntry) -> Cost:
        return cost.estimate_cost(entry.spec, self.machine.rate if self.machine else None)

    # ── asking the hub ───────────────────────────────────────────────────────────────────────

    @property
    def is_busy(self) -> bool:
        return self._worker is not None

    def search(self, query: str) -> None:
        self._ask(SearchHub(words=query), self._on_found, self.tr("Searching the hub"))

    def plan(self, model: str) -> None:
        """Request the list of a model's files."""
        rate = self.machine.rate if self.machine else None
        question = PlanDownload(model=model, folder=self.folder, flops=rate)
        self._ask(question, self._on_planned, self.tr("Listing the files"))

    def download(self, plan: Planned) -> None:
        """Start a planned download; `fetched` gives its folder."""
        question = Download(plan=plan, folder=self.folder)
        self._ask(question, self._on_downloaded, self.tr("Starting the download"))

    def cancel(self) -> None:
        """Cancel the current request; downloaded parts are kept."""
        if self._worker is not None:
            self._worker.cancel()
            self._end()

    def clear_search(self) -> None:
        """Clear search results and errors."""
        self.results = self.problem = None
        self.changed.emit()

    def clear_download(self, folder: Path) -> None:
        """Remove a download after its import."""
        if folder.parent == self.folder:
            background.run(self, lambda: shutil.rmtree(folder, ignore_errors=True), lambda _: None)

    def _ask(self, question: HubQuestion, done: Callable[[Answer], object], stage: str) -> None:
        if self._worker is not None:
            self._worker.cancel()
        self.problem, self.working = None, Working(stage=stage)
        self._worker = self._studio.one_time_worker(
            question, done, self._on_refused, self._on_working, self
        )
        self.changed.emit()

    def _end(self) -> None:
        self._worker, self.working = None, None
        self.changed.emit()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_found(self, answer: Answer) -> None:
        assert isinstance(answer, HubModelsFound)
        self.results = answer.models
        self._end()

    def _on_planned(self, answer: Answer) -> None:
        assert isinstance(answer, Planned)
        self._end()
        self.planned.emit(answer)

    def _on_downloaded(self, answer: Answer) -> None:
        assert isinstance(answer, Downloaded)
        self._end()
        self.fetched.emit(answer.folder, answer.source.model.rpartition("/")[2])

    def _on_refused(self, refusal: Refused) -> None:
        self.problem = refusal
        self._end()

    def _on_machine(self, machine: MachineFacts) -> None:
        self.machine = machine
        self.changed.emit()


def _read_machine(home: Path) -> MachineFacts:
    machine = read_machine(home)
    return machine_facts(machine, gpu_loads() if machine.uses_gpu() else ())


def machine_facts(machine: Machine, gpus: Iterable[GpuLoad]) -> MachineFacts:
    """Properties that decide whether a model fits; `gpus` are available for training.

    Only the first one is used; a GPU that shares the machine's memory does not count.
    """
    rate = cost.matmul_rate(machine.thread_speeds, machine.speeds)
    first = next(iter(gpus), None)
    if first is None or first.memory_total is None:
        return MachineFacts(machine.memory_free, rate)
    free = first.memory_total - (first.memory or 0)
    return MachineFacts(machine.memory_free, rate, first.name, free)
