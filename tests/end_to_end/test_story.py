"""The whole workflow once: from a file to a fine-tuned model in the history.

The real window with real workers, offscreen; one worker is killed in between.
"""

import csv
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.explorer import Explorer
from app.notices import Notices
from app.pages.data.view import DataPage
from app.pages.runs.view import RunsPage
from app.pages.train.view import TrainPage
from app.studio import Studio
from app.window import MainWindow
from engine.files.home import Home
from engine.files.shipped import sample_data, tiny_model
from engine.messages.events import Measured
from engine.record.runs import all_runs, find_run
from engine.runs.folder import RunFolder
from engine.worker.train import main as train_in_worker
from tests.app.pages.train.examples import SENTENCE

STEP_TIMEOUT = 30_000  # ms, for a few steps of a worker
RUN_TIMEOUT = 240_000  # ms, for a whole training on a busy machine

needs_tiny = pytest.mark.skipif(
    not (tiny_model() / "config.json").is_file(), reason="the Tiny model is missing"
)


@pytest.fixture
def window(
    qtbot: Any, home: Home, no_preloading: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], MainWindow]]:
    """`window()` opens the program on the home, after closing the previous window.

    The page Explore is not part of the story, and its worker does not start.
    """
    monkeypatch.setattr(Explorer, "start", lambda explorer: None)
    opened: list[tuple[MainWindow, Studio]] = []

    def close() -> None:
        while opened:
            main_window, studio = opened.pop()
            main_window.close()
            studio.close()
            main_window.deleteLater()
            QApplication.processEvents()

    def open_window() -> MainWindow:
        close()
        studio = Studio(home, Notices())
        studio.settings.set("stand_by", False)
        main_window = MainWindow(studio)
        opened.append((main_window, studio))
        with qtbot.waitExposed(main_window):
            main_window.show()
        main_window.begin()
        return main_window

    yield open_window
    close()


def reviews(path: Path) -> Path:
    """A small part of the sample as a user's file."""
    with open(sample_data(), newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *random.Random(5).sample(rows, 40)])
    return path


def page(window: MainWindow, key: str) -> Any:
    window.go(key)
    return window.pages[key]


def last_values(folder: Path) -> dict[tuple[str, int], float | None]:
    """The last value of every point, without timings."""
    events, _ = RunFolder(folder).events_after(0)
    return {
        (e.name, e.step): e.value
        for e in events
        if isinstance(e, Measured) and e.name != "tokens_per_second"
    }


@needs_tiny
@pytest.mark.long
def test_the_workflow_survives_a_killed_worker(qtbot, window, home, tmp_path):
    main_window = window()

    # a file is dropped, previewed, and imported
    main_window.open_paths([reviews(tmp_path / "topics.csv")])
    qtbot.waitUntil(lambda: "data" in main_window.pages, timeout=STEP_TIMEOUT)
    data = main_window.pages["data"]
    assert isinstance(data, DataPage)
    importing = data.importing
    qtbot.waitUntil(importing.start.isEnabled, timeout=STEP_TIMEOUT)
    qtbot.waitUntil(importing.examples.isVisible, timeout=STEP_TIMEOUT)
    qtbot.mouseClick(importing.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(main_window.studio.datasets()) == 1, timeout=STEP_TIMEOUT)
    (entry,) = main_window.studio.datasets()
    assert entry.spec is not None and sum(entry.spec.rows.values()) == 40

    # the wizard, from the task to the start
    train = page(main_window, "train")
    assert isinstance(train, TrainPage)
    qtbot.waitUntil(lambda: train.state.lists.datasets is not None, timeout=STEP_TIMEOUT)
    train.state.choose_goal(SENTENCE)
    train.state.choose_data(entry)
    tiny = next(m for m in main_window.studio.models() if m.path == tiny_model())
    train.state.choose_model(tiny)
    training = train.state.choices.training.model_copy(
        update={
            "epochs": 1,
            "batch_size": 4,
            "max_length": 32,
            "learning_rate": 3e-4,
            "save_every": 4,
        }
    )
    hardware = train.state.choices.hardware.model_copy(update={"threads": 1, "device": "cpu"})
    train.state.choose_settings(training, hardware, train.state.choices.task)
    for _ in range(4):
        qtbot.waitUntil(train.next.isEnabled, timeout=STEP_TIMEOUT)
        qtbot.mouseClick(train.next, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: train.state.estimate.result is not None, timeout=RUN_TIMEOUT)
    qtbot.waitUntil(train.next.isEnabled, timeout=STEP_TIMEOUT)
    with qtbot.waitSignal(train.state.started, timeout=STEP_TIMEOUT) as started:
        qtbot.mouseClick(train.next, Qt.MouseButton.LeftButton)
    (run_id,) = started.args

    # its page opens; the worker is killed once, and a click resumes the run
    runs = main_window.pages["runs"]
    assert isinstance(runs, RunsPage) and runs.run is not None
    with main_window.studio.record.read() as session:
        folder = Path(find_run(session, run_id).folder)
    run = RunFolder(folder)
    qtbot.waitUntil(lambda: len(run.checkpoint_folders()) >= 1, timeout=RUN_TIMEOUT)
    started_event = run.last_started()
    assert started_event is not None
    os.kill(started_event.pid, signal.SIGKILL)
    qtbot.waitUntil(runs.run.banner.resume.isVisible, timeout=STEP_TIMEOUT)
    assert run_state(main_window, run_id) == "crashed"
    qtbot.mouseClick(runs.run.banner.resume, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: run_state(main_window, run_id) == "finished", timeout=RUN_TIMEOUT)

    # the same job, undisturbed, ends with the same values
    undisturbed = RunFolder.create(tmp_path / "undisturbed", run.job())
    assert train_in_worker(undisturbed.path) == 0
    assert last_values(folder) == last_values(undisturbed.path)

    # after a restart, the run is in the history
    qtbot.waitUntil(lambda: not main_window.studio.running.runs, timeout=STEP_TIMEOUT)
    main_window = window()
    with main_window.studio.record.read() as session:
        assert [r.id for r in all_runs(session)] == [run_id]
    runs = page(main_window, "runs")
    qtbot.waitUntil(lambda: runs.list.table.model().rowCount() == 1, timeout=STEP_TIMEOUT)


def run_state(window: MainWindow, run_id: str) -> str:
    with window.studio.record.read() as session:
        return str(find_run(session, run_id).state)
