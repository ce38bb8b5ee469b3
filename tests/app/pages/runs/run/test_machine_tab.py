"""Load of the machine during a run, as curves."""

import os
import socket
from dataclasses import replace

from app.pages.runs.run.machine_tab import load_text, local_worker_pid, subject_text
from engine.desktop.load import GpuLoad, MachineSample
from engine.desktop.machine_history import Subject, append_sample
from engine.messages.events import Started
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import open_run

GPUS = tuple(
    GpuLoad(name=f"GPU {n}", busy=0.5 + n / 4, memory=2_000_000_000, temperature=60.0, power=250.0)
    for n in (0, 1)
)


def sample(step: int, busy: float, gpus: tuple[GpuLoad, ...] = ()) -> MachineSample:
    return MachineSample(
        step=step,
        busy=busy,
        run_busy=busy / 2,
        memory=4_000_000_000,
        memory_total=25_000_000_000,
        run_memory=1_000_000_000,
        gpus=gpus,
    )


def test_curves_and_load_are_shown_while_the_run_trains(make_page, studio, make_run, qtbot):
    run_id = make_run("live", step=4, outcome=None)
    folder = RunFolder(studio.home.runs / run_id)
    append_sample(folder, sample(1, 0.2))
    page = make_page()
    view = open_run(page, run_id, qtbot)
    view.tabs.setCurrentWidget(view.machine)
    tab = view.machine.widget
    qtbot.waitUntil(lambda: tab.busy.names() == ["machine", "this run"])
    assert tab.memory.series("this run").values.tolist() == [1.0], "in GB"
    assert not tab.temperature.isVisible() and not tab.power.isVisible(), "nothing measures them"
    append_sample(folder, sample(3, 0.6, GPUS))
    tab.poll()
    qtbot.waitUntil(lambda: len(tab.busy.series("machine")) == 2)
    assert tab.busy.series("machine").values.tolist() == [20.0, 60.0]
    assert tab.busy.series("this run").steps.tolist() == [1.0, 3.0]
    assert tab.busy.names()[2:] == ["GPU 0 (0)", "GPU 1 (1)"]
    assert tab.busy.series("GPU 1 (1)").values.tolist() == [75.0]
    qtbot.waitUntil(lambda: tab.temperature.isVisible() and tab.power.isVisible())
    figure = tab.power.figure()
    assert figure is not None
    # the load while the run trains here
    run_id = make_run("here", step=4, outcome=None)
    folder = RunFolder(studio.home.runs / run_id)
    assert local_worker_pid(folder) == 0, "its lock is free"
    with folder.lock():
        folder.append(Started(pid=os.getpid(), host="another-machine"))
        assert local_worker_pid(folder) == 0
        folder.append(Started(pid=os.getpid(), host=socket.gethostname()))
        view = open_run(page, run_id, qtbot)
        assert view.state.row is not None
        view.state.row = replace(view.state.row, state="running")
        view.state.changed.emit()
        line = view.charts.machine
        qtbot.waitUntil(lambda: "this run" in line.note.text())
        assert line.note.isVisible() and line.note.text().startswith("Machine: CPU ")
    # a run that has ended
    view = open_run(page, make_run("older"), qtbot)
    view.tabs.setCurrentWidget(view.machine)
    assert view.machine.widget.busy.empty.text() == "No values were recorded for this run."
    assert not view.machine.widget._timer.isActive()
    line = view.charts.machine
    assert not line.note.isVisible() and not line._timer.isActive()


def test_the_line_shows_the_known_values_and_numbers_equal_gpus():
    gpu = GpuLoad(
        name="NVIDIA A100",
        busy=0.87,
        memory=1 << 30,
        memory_total=80 << 30,
        temperature=61.0,
        power=250.6,
    )
    load = MachineSample(
        busy=0.96,
        run_busy=0.88,
        memory=4_100_000_000,
        memory_total=25_300_000_000,
        run_memory=1_200_000_000,
        temperature=61.0,
        gpus=(gpu,),
    )
    assert load_text(load) == (
        "Machine: CPU 96 % (this run 88 %) · memory 4.1 GB of 25.3 GB (this run 1.2 GB) · 61 °C"
        " · NVIDIA A100, 87 %, 1.1 GB of 85.9 GB, 61 °C, 251 W"
    )
    bare = MachineSample(busy=0.5, memory=1_000_000_000, memory_total=2_000_000_000)
    assert load_text(bare) == "Machine: CPU 50 % · memory 1.0 GB of 2.0 GB"
    assert subject_text(Subject("gpu", 0, "NVIDIA A100")) == "NVIDIA A100"
    assert subject_text(Subject("gpu", 1, "NVIDIA A100"), True) == "NVIDIA A100 (1)"
    assert subject_text(Subject("gpu", 1, ""), True) == "GPU (1)"
