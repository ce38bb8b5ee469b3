"""Load of the machine during a run: curves over the steps, and the current load in a line."""

import socket
import time

from PySide6.QtWidgets import QGridLayout

from app import background
from app.notices import Notices
from app.pages.runs.run.state import RunState
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.live import LiveChart, link_crosshairs
from app.widgets.help import set_help
from app.widgets.page import Card, PollingWidget
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, visible
from engine.desktop.load import GpuLoad, MachineSample, MachineWatch
from engine.desktop.machine_history import Curves, Figure, Subject, build_curves, read_samples
from engine.runs.folder import RunFolder

MACHINE_POLL_MS = 2_000  # between readings while the run trains
PERCENT, GIGABYTE = 100.0, 1e-9
ALWAYS_SHOWN: tuple[Figure, ...] = ("busy", "memory")  # every system reports them

Reading = tuple[list[MachineSample], int, dict[Figure, Curves]]


class MachineTab(PollingWidget):
    """Load, memory, temperature and power."""

    def __init__(self, state: RunState, notices: Notices) -> None:
        super().__init__(MACHINE_POLL_MS)
        set_help(self, "charts")
        self._state = state
        self._samples: list[MachineSample] = []
        self._offset = 0
        self._reading: background.Job | None = None
        self._was_working: bool | None = None  # None: not known yet
        self.busy = LiveChart(self.tr("Load"), self.tr("Load (%)"), decimals=0)
        self.memory = LiveChart(self.tr("Memory"), self.tr("Memory (GB)"), decimals=2)
        self.temperature = LiveChart(
            self.tr("Temperature"), self.tr("Temperature (°C)"), decimals=0
        )
        self.power = LiveChart(self.tr("Power"), self.tr("Power (W)"), decimals=0)
        self.figures: dict[Figure, tuple[LiveChart, float]] = {
            "busy": (self.busy, PERCENT),
            "memory": (self.memory, GIGABYTE),
            "temperature": (self.temperature, 1.0),
            "power": (self.power, 1.0),
        }
        self._cards: dict[Figure, Card] = {}
        hint = self.tr(
            "Load of the machine, of this run and of each GPU. Temperature and power are shown"
            " where the system reports them."
        )
        layouts.tab(self, Text(hint, "muted"), (self._grid(notices), 1))
        link_crosshairs([curve for curve, _ in self.figures.values()])
        state.changed.connect(self._on_changed)
        self._on_changed()

    def _grid(self, notices: Notices) -> QGridLayout:
        grid = layouts.grid(h_spacing=3 * SPACE, v_spacing=3 * SPACE)
        for index, (name, (curve, _)) in enumerate(self.figures.items()):
            curve.offer_figure(f"machine-{name}", notices)
            card = Card(padding=3 * SPACE)
            card.body.addWidget(curve)
            set_shown(card, name in ALWAYS_SHOWN)
            self._cards[name] = card
            grid.addWidget(card, index // 2, index % 2)
        for column in (0, 1):
            grid.setColumnStretch(column, 1)
        return grid

    def _on_changed(self) -> None:
        is_working = self._state.row is not None and self._state.row.is_working
        self.set_polling(is_working)
        if is_working == self._was_working:
            return
        self._was_working = is_working
        for curve, _ in self.figures.values():
            curve.set_empty_text(
                self.tr("Waiting for the first values…")
                if is_working
                else self.tr("No values were recorded for this run.")
            )

    def poll(self) -> None:
        """Read new samples off the GUI thread, unless they are being read."""
        if self._reading is not None:
            return
        file, previous, offset = self._state.folder.machine_file, self._samples, self._offset

        def work() -> Reading:
            new, end = read_samples(file, offset)
            samples = [*previous, *new]
            curves = {item: build_curves(samples, item) for item in self.figures} if new else {}
            return samples, end, curves

        self._reading = background.run(self, work, self._on_read)

    def _on_read(self, result: Reading) -> None:
        self._reading = None
        self._samples, self._offset, curves = result
        for figure, by_subject in curves.items():
            curve, factor = self.figures[figure]
            gpus = {subject.gpu for subject in by_subject if subject.kind == "gpu"}
            self._cards[figure].setVisible(figure in ALWAYS_SHOWN or bool(by_subject))
            for subject, (steps, values) in by_subject.items():
                scaled = [None if value is None else value * factor for value in values]
                curve.set_series(subject_text(subject, len(gpus) > 1), steps, scaled)


def subject_text(subject: Subject, with_number: bool = False) -> str:
    """Legend text of a curve."""
    match subject.kind:
        case "machine":
            return tr("machine")
        case "run":
            return tr("this run")
    name = visible(subject.name) or tr("GPU")
    return f"{name} ({subject.gpu})" if with_number else name


LOAD_POLL_MS = 2000  # between readings
FIRST_INTERVAL = 0.3  # s


class MachineLine(PollingWidget):
    """Current load, while the run trains on this machine."""

    def __init__(self, state: RunState, notices: Notices) -> None:
        super().__init__(LOAD_POLL_MS)
        self._state, self._notices = state, notices
        self._watch: MachineWatch | None = None
        self._reading: background.Job | None = None
        self.note = Text("", "muted")
        self.note.hide()
        layouts.column(self.note, parent=self)
        state.changed.connect(self._on_changed)
        self._on_changed()

    def _on_changed(self) -> None:
        is_working = self._state.row is not None and self._state.row.is_working
        self.set_polling(is_working)
        if not is_working:
            self.note.hide()

    def poll(self) -> None:
        """Read the load off the GUI thread, unless it is being read."""
        if self._reading is not None or not self._is_polling:
            return
        folder, previous = self._state.folder, self._watch

        def work() -> tuple[MachineWatch, MachineSample | None]:
            watch = previous or MachineWatch()
            pid = local_worker_pid(folder)
            if pid and previous is None:  # usage is measured since the last reading
                watch.sample(pid)
                time.sleep(FIRST_INTERVAL)
            return watch, watch.sample(pid) if pid else None

        self._reading = background.run(self, work, self._on_read, self._on_failed)

    def _on_read(self, result: tuple[MachineWatch, MachineSample | None]) -> None:
        self._reading = None
        self._watch, load = result
        self.note.setVisible(load is not None and self._timer.isActive())
        if load is not None:
            self.note.setText(load_text(load))

    def _on_failed(self, error: BaseException) -> None:
        """Report the error once, and stop reading."""
        self._reading = None
        self.set_polling(False)
        self.note.hide()
        self._notices.show(error)


def local_worker_pid(folder: RunFolder) -> int:
    """Id of the worker process on this machine; 0 if there is none."""
    started = folder.last_started()
    if started is None or started.host not in ("", socket.gethostname()):
        return 0
    return started.pid if folder.has_worker() else 0


def load_text(load: MachineSample) -> str:
    """CPU, memory, temperature and GPUs in one line."""
    processors = tr("Machine: CPU {0}").format(numbers.percent(load.busy or 0.0, 0))
    if load.run_busy is not None:
        usage = numbers.percent(load.run_busy, 0)
        processors = tr("{0} (this run {1})").format(processors, usage)
    memory = tr("memory {0} of {1}").format(
        numbers.size(load.memory or 0), numbers.size(load.memory_total or 0)
    )
    if load.run_memory is not None:
        memory = tr("{0} (this run {1})").format(memory, numbers.size(load.run_memory))
    texts = [processors, memory]
    if load.temperature is not None:
        texts.append(degrees(load.temperature))
    return " · ".join([*texts, *map(gpu_text, load.gpus)])


def gpu_text(gpu: GpuLoad) -> str:
    """One GPU in a few words."""
    texts = [gpu.name]
    if gpu.busy is not None:
        texts.append(numbers.percent(gpu.busy, 0))
    if gpu.memory is not None and gpu.memory_total is not None:
        pair = numbers.size(gpu.memory), numbers.size(gpu.memory_total)
        texts.append(tr("{0} of {1}").format(*pair))
    if gpu.temperature is not None:
        texts.append(degrees(gpu.temperature))
    if gpu.power is not None:
        texts.append(tr("{0} W").format(numbers.decimal(gpu.power, 0)))
    return ", ".join(texts)


def degrees(temperature: float) -> str:
    return tr("{0} °C").format(numbers.decimal(temperature, 0))
