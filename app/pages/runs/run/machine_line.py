"""What the machine does while a run trains, in one line that is renewed."""

import socket
import time

from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.pages.runs.run.state import RunState
from app.timers import repeated
from app.translation import tr
from app.widgets import layouts
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.desktop.load import GpuLoad, MachineLoad, MachineWatch
from engine.runs.folder import RunFolder

LOAD_POLL_MS = 2000  # between two looks
FIRST_S = 0.3  # over which the first shares are measured


class MachineLine(QWidget):
    """Looks only while it is on the screen and the run trains on this machine."""

    def __init__(self, state: RunState, notices: Notices) -> None:
        super().__init__()
        self._state, self._notices = state, notices
        self._watch: MachineWatch | None = None
        self._looking: background.Job | None = None
        self.said = Text("", "muted")
        self.said.hide()
        layouts.column(self.said, parent=self)
        self._timer = repeated(self, LOAD_POLL_MS, self.look)
        state.changed.connect(self._on_changed)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_changed()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _on_changed(self) -> None:
        works = self._state.row is not None and self._state.row.is_working
        if works and self.isVisible() and not self._timer.isActive():
            self._timer.start()
            self.look()
        elif not works:
            self._timer.stop()
            self.said.hide()

    def look(self) -> None:
        """Look at the machine off the window's thread, unless that is being done."""
        if self._looking is not None:
            return
        folder, known = self._state.folder, self._watch

        def work() -> tuple[MachineWatch, MachineLoad | None]:
            watch = known or MachineWatch()
            pid = worker_here(folder)
            if pid and known is None:  # shares are those since the look before
                watch.look(pid)
                time.sleep(FIRST_S)
            return watch, watch.look(pid) if pid else None

        self._looking = background.run(self, work, self._on_looked, self._on_failed)

    def _on_looked(self, found: tuple[MachineWatch, MachineLoad | None]) -> None:
        self._looking = None
        self._watch, load = found
        self.said.setVisible(load is not None and self._timer.isActive())
        if load is not None:
            self.said.setText(load_text(load))

    def _on_failed(self, error: BaseException) -> None:
        """Say it once, and look no more."""
        self._looking = None
        self._timer.stop()
        self.said.hide()
        self._notices.show(error)


def worker_here(folder: RunFolder) -> int:
    """The process that trains a run on this machine; 0 where there is none."""
    started = folder.last_started()
    if started is None or started.host not in ("", socket.gethostname()):
        return 0
    return started.pid if folder.has_worker() else 0


def load_text(load: MachineLoad) -> str:
    """Processors, memory, temperature and GPUs in one line."""
    processors = tr("Machine: CPU {0}").format(numbers.percent(load.processors, 0))
    if load.run_processors is not None:
        own = numbers.percent(load.run_processors, 0)
        processors = tr("{0} (this run {1})").format(processors, own)
    memory = tr("memory {0} of {1}").format(
        numbers.size(load.memory), numbers.size(load.memory_total)
    )
    if load.run_memory is not None:
        memory = tr("{0} (this run {1})").format(memory, numbers.size(load.run_memory))
    said = [processors, memory]
    if load.temperature is not None:
        said.append(degrees(load.temperature))
    return " · ".join([*said, *map(gpu_text, load.gpus)])


def gpu_text(gpu: GpuLoad) -> str:
    """One GPU, with what it tells."""
    said = [gpu.name]
    if gpu.busy is not None:
        said.append(numbers.percent(gpu.busy, 0))
    if gpu.memory is not None and gpu.memory_total is not None:
        pair = numbers.size(gpu.memory), numbers.size(gpu.memory_total)
        said.append(tr("{0} of {1}").format(*pair))
    if gpu.temperature is not None:
        said.append(degrees(gpu.temperature))
    if gpu.power is not None:
        said.append(tr("{0} W").format(numbers.decimal(gpu.power, 0)))
    return ", ".join(said)


def degrees(temperature: float) -> str:
    return tr("{0} °C").format(numbers.decimal(temperature, 0))
