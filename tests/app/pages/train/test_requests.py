"""What other pages ask of the wizard is chosen, or refused in words."""

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.pages.train.job import job
from app.pages.train.requests import Requests
from app.pages.train.state import TrainState
from app.studio import Studio
from engine.errors import StudioError
from tests.app.pages.train.cards import ONWARD, PAIR, SCRATCH
from tests.app.pages.train.conftest import MakeData, choose_all


def test_the_first_preset_imports_the_sample_and_chooses_everything(
    studio: Studio, qtbot: QtBot, starter: Path
) -> None:
    state = TrainState(studio, studio)
    requests = Requests(studio, state)
    with qtbot.waitSignal(state.lists.changed, timeout=20_000):
        requests.take_first()
    composed = state.job()
    assert composed is not None
    assert composed.base_model.path == starter  # type: ignore[union-attr]
    data = state.choices.data
    assert data is not None and data.spec is not None
    training = composed.training
    rows = data.spec.rows["train"]
    assert 1000 <= training.train_fraction * training.epochs * rows <= 6000  # about a minute
    # a second time nothing is imported again
    with qtbot.waitSignal(state.lists.changed):
        requests.take_first()
    assert state.lists.datasets is not None and len(state.lists.datasets) == 1
    assert state.choices.hardware == state.choices.usual_hardware


def test_the_first_preset_without_a_starter_says_so(studio: Studio, qtbot: QtBot) -> None:
    state = TrainState(studio, studio)
    requests = Requests(studio, state)
    with qtbot.waitSignal(requests.refused, timeout=20_000) as refused:
        requests.take_first()
    assert isinstance(refused.args[0], StudioError)


def test_a_data_set_from_elsewhere_brings_a_task_that_it_fits(
    state: TrainState, requests: Requests, qtbot: QtBot, make_data: MakeData
) -> None:
    folder = make_data("two", pair=True)
    with qtbot.waitSignal(state.lists.changed):
        requests.take_data(folder)
    assert state.choices.goal == PAIR
    assert state.choices.data is not None and state.choices.data.name == "two"
    bare = make_data("bare", label=False)
    with qtbot.waitSignal(state.lists.changed):
        requests.take_data(bare)
    assert state.choices.goal == ONWARD


def test_a_model_from_elsewhere_leaves_the_scratch(
    state: TrainState, requests: Requests, qtbot: QtBot, model: Path
) -> None:
    state.choose_goal(SCRATCH)
    with qtbot.waitSignal(state.lists.changed):
        requests.take_model(model)
    assert state.choices.goal == ONWARD
    assert state.choices.model is not None and state.choices.model.path == model


@pytest.mark.parametrize("asked", ["take_data", "take_model"])
def test_what_is_gone_is_refused_in_words(
    state: TrainState, requests: Requests, qtbot: QtBot, tmp_path: Path, asked: str
) -> None:
    with qtbot.waitSignal(requests.refused) as refused:
        getattr(requests, asked)(tmp_path / "gone")
    assert "no longer exists" in str(refused.args[0])


def test_a_job_comes_back_to_be_changed(
    state: TrainState, requests: Requests, qtbot: QtBot
) -> None:
    choose_all(state, qtbot)
    given = job(replace(state.choices, name="again").with_quick_trial(True))
    state.choose_goal(SCRATCH)
    with qtbot.waitSignal(state.lists.changed):
        requests.take_job(given)
    assert state.job() == given
