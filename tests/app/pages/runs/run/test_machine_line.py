"""Present load of the machine."""

import os
import socket
from collections.abc import Callable
from dataclasses import replace

from pytestqt.qtbot import QtBot

from app.pages.runs.run.machine_tab import load_text, worker_here
from app.pages.runs.view import RunsPage
from app.studio import Studio
from engine.desktop.load import GpuLoad, MachineSample
from engine.messages.events import Started
from engine.runs.folder import RunFolder
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import open_run


def test_the_load_is_shown_while_the_run_trains_here(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("live", upto=4, outcome=None)
    folder = RunFolder(studio.home.runs / run_id)
    assert worker_here(folder) == 0, "nobody holds its lock"
    with folder.lock():
        folder.append(Started(pid=os.getpid(), host="another-machine"))
        assert worker_here(folder) == 0
        folder.append(Started(pid=os.getpid(), host=socket.gethostname()))
        view = open_run(page(), run_id, qtbot)
        assert view.state.row is not None
        view.state.row = replace(view.state.row, state="running")
        view.state.changed.emit()
        line = view.charts.machine
        qtbot.waitUntil(lambda: "this run" in line.note.text())
        assert line.note.isVisible() and line.note.text().startswith("Machine: CPU ")


def test_a_run_that_has_ended_has_no_such_line(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    line = open_run(page(), make_run("done"), qtbot).charts.machine
    assert not line.note.isVisible() and not line._timer.isActive()


def test_the_line_shows_the_known_values() -> None:
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
