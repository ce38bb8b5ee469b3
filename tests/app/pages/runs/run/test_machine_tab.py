"""Load of the machine during a run, as curves."""

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.pages.runs.run.machine_tab import place_text
from app.pages.runs.view import RunsPage
from app.studio import Studio
from engine.desktop.load import GpuLoad, MachineSample
from engine.desktop.machine_history import Place, keep
from engine.runs.folder import RunFolder
from tests.app.pages.runs.conftest import MakeRun
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


def test_the_curves_grow_while_the_run_trains(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("live", upto=4, outcome=None)
    folder = RunFolder(studio.home.runs / run_id)
    keep(folder, sample(1, 0.2))
    view = open_run(page(), run_id, qtbot)
    view.tabs.setCurrentWidget(view.machine)
    tab = view.machine.made
    qtbot.waitUntil(lambda: tab.busy.names() == ["machine", "this run"])
    assert tab.memory.series("this run").values.tolist() == [1.0], "in GB"
    assert not tab.temperature.isVisible() and not tab.power.isVisible(), "nothing tells them"
    keep(folder, sample(3, 0.6, GPUS))
    tab.read()
    qtbot.waitUntil(lambda: len(tab.busy.series("machine")) == 2)
    assert tab.busy.series("machine").values.tolist() == [20.0, 60.0]
    assert tab.busy.series("this run").steps.tolist() == [1.0, 3.0]
    assert tab.busy.names()[2:] == ["GPU 0 (0)", "GPU 1 (1)"]
    assert tab.busy.series("GPU 1 (1)").values.tolist() == [75.0]
    qtbot.waitUntil(lambda: tab.temperature.isVisible() and tab.power.isVisible())
    figure = tab.power.figure()
    assert figure is not None, "a picture, and its numbers"


def test_a_run_without_machine_events_shows_a_note(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    view = open_run(page(), make_run("older"), qtbot)
    view.tabs.setCurrentWidget(view.machine)
    assert view.machine.made.busy.empty.text() == "Nothing of it was kept with this run."
    assert not view.machine.made._timer.isActive()


def test_gpus_of_equal_names_are_numbered() -> None:
    assert place_text(Place("gpu", 0, "NVIDIA A100")) == "NVIDIA A100"
    assert place_text(Place("gpu", 1, "NVIDIA A100"), True) == "NVIDIA A100 (1)"
    assert place_text(Place("gpu", 1, ""), True) == "GPU (1)"
