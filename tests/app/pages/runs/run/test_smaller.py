"""“Make it smaller”: options, progress, the picture and the table of models."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import QMainWindow, QMenu

from app.library import describe_model
from app.pages.runs.run import smaller_state
from app.pages.runs.run.header import can_teach
from app.pages.runs.run.smaller import SmallerDialog
from app.pages.runs.run.smaller_points import point_name, points_chart
from app.pages.runs.run.smaller_state import SmallerState
from app.widgets.charts.chart import Line, Points
from engine.checkpoints.info import checkpoint_info
from engine.files.shipped import minilm, starter_model
from engine.messages.question import Refused, Working
from engine.messages.shrinking import Shape, Shrink, ShrinkPoint, Shrunk
from engine.results.students import POINTS, students_folder
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import open_run


def point(number: int, score: float, milliseconds: float, size: int, **fields: Any) -> ShrinkPoint:
    shape = Shape(layers=number, heads=2, intermediate_size=64, max_length=32)
    return ShrinkPoint(
        **{
            "name": f"{number} layers",
            "checkpoint": Path(f"/students/{number}"),
            "shape": shape,
            "layers": number,
            "hidden_size": 32,
            "intermediate_size": 64,
            "vocabulary": 99,
            "parameters": 9,
            "bytes": size,
            "max_length": 32,
            "milliseconds": milliseconds,
            "times": 8 / milliseconds,
            "slowest": 7 / milliseconds,
            "fastest": 9 / milliseconds,
            "score": score,
            "low": score - 0.02,
            "high": score + 0.02,
            **fields,
        }
    )


SHRUNK = Shrunk(
    points=(
        point(12, 0.90, 8, 400_000_000, is_teacher=True, shape=None, name="Teacher"),
        point(4, 0.88, 2, 90_000_000),
        point(4, 0.879, 1, 90_000_000, computed="int8"),
        point(6, 0.87, 4, 200_000_000),
        point(2, 0.80, 0.5, 60_000_000),
    ),
    metric="accuracy",
    rows=500,
    done=3,
    trials=8,
)


class Worker:
    def cancel(self) -> None:
        pass


@pytest.fixture
def dialog(qtbot, studio, tmp_path, monkeypatch):
    asked = []

    def ask(*args: Any, **_: Any) -> Worker:
        asked.append(args)
        return Worker()

    monkeypatch.setattr(studio, "one_time_worker", ask)
    state = SmallerState(studio, tmp_path / "run", "Reviews")
    window = QMainWindow()
    qtbot.addWidget(window)
    dialog = SmallerDialog(state, studio, window)
    dialog.asked = asked
    window.show()
    dialog.show()
    dialog.window_below = window  # lives as long
    return dialog


def test_the_frontier_is_a_line_with_intervals_and_all_models_are_points():
    chart = points_chart(SHRUNK, "milliseconds")
    (line,) = [item for item in chart.series if isinstance(item, Line)]
    assert line.x.tolist() == [0.5, 1, 2, 8] and line.low is not None
    assert np.allclose(line.low, line.y - 0.02)
    students, teacher = [item for item in chart.series if isinstance(item, Points)]
    assert (len(students.x), teacher.y.tolist()) == (4, [0.9])
    sizes = points_chart(SHRUNK, "bytes")
    assert sizes.series[0].x.tolist() == [60, 90, 400]
    assert "MB" in sizes.x.title


def test_a_search_asks_and_shows_its_points_as_they_come(dialog, monkeypatch):
    state = dialog.state
    assert not dialog.chart.isVisible() and dialog.start.text().replace("&", "") == "Search"
    dialog.trials.setValue(5)
    dialog.start.click()
    question, done, _, working, _, partial = dialog.asked[0]
    assert isinstance(question, Shrink)
    assert (question.run, question.into) == (state.run, students_folder(state.run))
    assert question.trials == 5 and not dialog.trials.isEnabled()
    working(Working(stage="Training student 1 of 5", done=3, total=9))
    assert "Training student" in dialog.status.text() and dialog.bar.value() == 3
    partial(SHRUNK.model_copy(update={"points": SHRUNK.points[:1]}))
    state.working = None
    state.changed.emit()
    assert dialog.status.text() == "No smaller model keeps 97 % of the score yet."
    partial(SHRUNK)
    assert dialog.chart.isVisible() and dialog.model.rowCount() == len(SHRUNK.points)
    assert dialog.state.is_running
    done(SHRUNK.model_copy(update={"ended": True}))
    assert not state.is_running and dialog.start.text().replace("&", "") == "Continue"
    # the smallest within 3 % of the score: the one in int8 is faster with the same file
    assert dialog.status.text().startswith("4 layers, int8: 87.9 % against 90.0 %")
    exported = []
    dialog.export_requested.connect(exported.append)
    assert not dialog.export.isEnabled()
    dialog.table.selectRow(1)
    dialog.export.click()
    assert exported == [SHRUNK.points[1].checkpoint]
    dialog.start.click()
    dialog.asked[1][2](Refused(problem="The run has no validation rows."))
    assert "no validation rows" in dialog.status.text() and not state.is_running
    assert dialog.figure() is not None
    dialog.start.click()
    stopped = list[bool]()
    monkeypatch.setattr(Worker, "cancel", lambda _: stopped.append(True))
    dialog.reject()
    assert stopped


def test_smaller_models_can_be_chosen_as_students(dialog, qtbot, studio, monkeypatch):
    state = dialog.state
    assert not dialog.others.isEnabled()  # a run without checkpoints
    models = {"Starter": starter_model(), "MiniLM": minilm()}
    entries = [describe_model(name, path, "included") for name, path in models.items()]
    monkeypatch.setattr(studio, "models", lambda: entries)
    sizes = {name: checkpoint_info(path).parameters for name, path in models.items()}
    whole = checkpoint_info(starter_model()).model_copy(update={"parameters": 10 * sizes["MiniLM"]})
    monkeypatch.setattr(smaller_state, "checkpoint_info", lambda _: whole)
    monkeypatch.setattr(RunFolder, "best_step", lambda _: 3)
    state.open()
    qtbot.waitUntil(dialog.others.isEnabled)
    assert [model.name for model in state.others] == sorted(sizes, key=sizes.__getitem__)
    dialog.menu.aboutToShow.emit()
    actions = {action.text().split(":")[0]: action for action in dialog.menu.actions()}
    assert "parameters, 10 % of this run" in actions["MiniLM"].text()
    actions["MiniLM"].trigger()
    assert state.students == (minilm(),)
    assert dialog.others.text().replace("&", "").startswith("1 other model")
    dialog.start.click()
    assert dialog.asked[0][0].students == (minilm(),) and not dialog.others.isEnabled()
    state.stop()
    actions["MiniLM"].trigger()
    assert state.students == ()


def test_an_earlier_search_is_read_and_a_damaged_one_is_reported(qtbot, studio, tmp_path):
    folder = students_folder(tmp_path)
    folder.mkdir()
    for content, found in ((SHRUNK.model_dump_json(), True), ("{", False)):
        (folder / POINTS).write_text(content)
        state = SmallerState(studio, tmp_path, "Reviews")
        state.open()
        qtbot.waitUntil(lambda state=state: state.shrunk is not None or state.problem != "")
        assert (state.shrunk == SHRUNK) is found
        assert bool(state.problem) is not found


def test_names_say_what_a_model_is():
    assert [point_name(item) for item in SHRUNK.points] == [
        *("This run", "4 layers", "4 layers, int8", "6 layers", "2 layers"),
    ]


def test_the_menu_of_a_run_opens_the_dialog(make_page, make_run, qtbot):
    page = make_page()
    view = open_run(page, make_run("done"), qtbot)
    view.header._on_more()
    (menu,) = view.header.findChildren(QMenu)
    (action,) = [a for a in menu.actions() if a.text().replace("&", "") == "Make it smaller…"]
    assert action.isEnabled() == can_teach(view.state.row)
    menu.close()
    view.header.smaller_requested.emit()
    (dialog,) = page.window().findChildren(SmallerDialog)
    assert dialog.state.run == view.state.folder.path and dialog.state.name == "done"
    dialog.reject()
