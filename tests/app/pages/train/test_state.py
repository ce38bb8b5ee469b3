from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.pages.train.choices import Step, job
from app.pages.train.state import TrainState
from app.studio import Studio
from engine.errors import StudioError
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Answer, Question, Refused, Working
from engine.record.runs import all_runs
from tests.app.pages.train.cards import ONWARD, PAIR, SCRATCH, SENTENCE
from tests.app.pages.train.conftest import MakeData


@dataclass
class AskedErrand:
    """An errand that the test answers."""

    question: Question
    done: Callable[[Answer], object]
    refused: Callable[[Refused], object]
    working: Callable[[Working], object]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def errands(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> list[AskedErrand]:
    """What was asked of processes, which are not started."""
    asked: list[AskedErrand] = []

    def errand(
        question: Question, done: Any, refused: Any, working: Any, owner: Any
    ) -> AskedErrand:
        asked.append(AskedErrand(question, done, refused, working))
        return asked[-1]

    monkeypatch.setattr(studio, "errand", errand)
    return asked


@pytest.fixture
def state(studio: Studio, qtbot: QtBot, sentences: Path, model: Path) -> TrainState:
    """With lists that were read: one data set and one model."""
    made = TrainState(studio, studio)
    with qtbot.waitSignal(made.listed):
        made.read_lists()
    return made


def choose_all(state: TrainState, qtbot: QtBot) -> None:
    assert state.datasets and state.models
    state.choose_goal(SENTENCE)
    state.choose_data(next(d for d in state.datasets if d.name == "films"))
    state.choose_model(next(m for m in state.models if m.name == "little"))
    qtbot.waitUntil(lambda: state.look is not None and not state.is_looking)


ESTIMATED = Estimated(
    steps=10,
    seconds_per_step=0.5,
    seconds=5,
    memory=1,
    available=10,
    parameters=100,
    device="cpu",
)


def test_what_is_chosen_becomes_the_job(state: TrainState, qtbot: QtBot, sentences: Path) -> None:
    assert state.job() is None
    choose_all(state, qtbot)
    composed = state.job()
    assert composed is not None
    assert composed.name == "films · little"
    assert composed.data.folder == sentences  # type: ignore[union-attr]


def test_the_longest_input_follows_the_data_until_it_is_set_by_hand(
    state: TrainState, qtbot: QtBot
) -> None:
    choose_all(state, qtbot)
    suggested = state.choices.training.max_length
    assert 16 <= suggested < 128
    training = state.choices.training.model_copy(update={"max_length": 100})
    state.choose_settings(training, state.choices.hardware, state.choices.task)
    state.choose_goal(ONWARD)
    state.choose_goal(SENTENCE)
    qtbot.waitUntil(lambda: state.look is not None and not state.is_looking)
    assert state.choices.training.max_length == 100
    state.reset_advanced()
    assert state.choices.training.max_length == suggested


def test_an_estimate_is_measured_once_for_a_job(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    state.measure()
    assert errands == []  # nothing to measure yet
    choose_all(state, qtbot)
    state.measure()
    state.measure()
    assert len(errands) == 1
    question = errands[0].question
    assert isinstance(question, Estimate) and question.job == state.job()
    errands[0].working(Working(stage="Measuring"))
    assert state.estimating == Working(stage="Measuring")
    errands[0].done(ESTIMATED)
    assert (state.estimate, state.estimating) == (ESTIMATED, None)
    state.name("another name")
    assert state.estimate == ESTIMATED
    state.set(state.choices.with_quick_look(True))
    assert state.estimate is None
    state.set(state.choices.with_quick_look(False))
    assert state.estimate == ESTIMATED


def test_a_late_or_cancelled_estimate_is_dropped(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    choose_all(state, qtbot)
    state.measure()
    state.set(state.choices.with_quick_look(True))
    state.measure()
    assert errands[0].cancelled
    errands[0].done(ESTIMATED)
    assert state.estimate is None
    state.cancel_measuring()
    assert errands[1].cancelled and state.estimating is None


def test_a_refused_estimate_says_why_and_can_be_asked_again(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    choose_all(state, qtbot)
    state.measure()
    errands[0].refused(Refused(problem="Too little memory.", advice="Close programs."))
    assert str(state.estimate_problem) == "Too little memory. Close programs."
    state.measure()
    assert len(errands) == 2 and state.estimate_problem is None


def test_the_start_puts_the_job_into_the_queue(
    state: TrainState, studio: Studio, qtbot: QtBot
) -> None:
    choose_all(state, qtbot)
    state.name("mine")
    composed = state.job()
    with qtbot.waitSignal(state.started) as started:
        state.start()
    with studio.record.read() as session:
        runs = all_runs(session)
        assert [run.id for run in runs] == started.args
        assert (runs[0].state, runs[0].asked()) == ("queued", composed)
    assert state.choices.name == ""  # the next run gets a name of its own


def test_an_invalid_form_keeps_the_wizard_from_going_on(state: TrainState, qtbot: QtBot) -> None:
    choose_all(state, qtbot)
    state.set_invalid(Step.SETTINGS, "Batch must be a whole number.")
    assert state.obstacle(Step.SETTINGS) == "Batch must be a whole number."
    assert state.job() is None
    state.set_invalid(Step.SETTINGS, "")
    assert state.job() is not None


def test_the_first_preset_imports_the_sample_and_chooses_everything(
    studio: Studio, qtbot: QtBot, starter: Path
) -> None:
    state = TrainState(studio, studio)
    with qtbot.waitSignal(state.listed, timeout=20_000):
        state.take_first()
    composed = state.job()
    assert composed is not None
    assert composed.base_model.path == starter  # type: ignore[union-attr]
    data = state.choices.data
    assert data is not None and data.spec is not None
    training = composed.training
    rows = data.spec.rows["train"]
    assert 1000 <= training.train_fraction * training.epochs * rows <= 6000  # about a minute
    # a second time nothing is imported again
    with qtbot.waitSignal(state.listed):
        state.take_first()
    assert state.datasets is not None and len(state.datasets) == 1
    assert state.choices.hardware == state.choices.usual_hardware


def test_the_first_preset_without_a_starter_says_so(studio: Studio, qtbot: QtBot) -> None:
    state = TrainState(studio, studio)
    with qtbot.waitSignal(state.refused, timeout=20_000) as refused:
        state.take_first()
    assert isinstance(refused.args[0], StudioError)


def test_a_data_set_from_elsewhere_brings_a_task_that_it_fits(
    state: TrainState, qtbot: QtBot, make_data: MakeData
) -> None:
    folder = make_data("two", pair=True)
    with qtbot.waitSignal(state.listed):
        state.take_data(folder)
    assert state.choices.goal == PAIR
    assert state.choices.data is not None and state.choices.data.name == "two"
    bare = make_data("bare", label=False)
    with qtbot.waitSignal(state.listed):
        state.take_data(bare)
    assert state.choices.goal == ONWARD


def test_a_model_from_elsewhere_leaves_the_scratch(
    state: TrainState, qtbot: QtBot, model: Path
) -> None:
    state.choose_goal(SCRATCH)
    with qtbot.waitSignal(state.listed):
        state.take_model(model)
    assert state.choices.goal == ONWARD
    assert state.choices.model is not None and state.choices.model.path == model


@pytest.mark.parametrize("wish", ["take_data", "take_model"])
def test_what_is_gone_is_refused_in_words(
    state: TrainState, qtbot: QtBot, tmp_path: Path, wish: str
) -> None:
    with qtbot.waitSignal(state.refused) as refused:
        getattr(state, wish)(tmp_path / "gone")
    assert "no longer there" in str(refused.args[0])


def test_a_job_comes_back_to_be_changed(state: TrainState, qtbot: QtBot) -> None:
    choose_all(state, qtbot)
    given = job(replace(state.choices, name="again").with_quick_look(True))
    state.choose_goal(SCRATCH)
    with qtbot.waitSignal(state.listed):
        state.take_job(given)
    assert state.job() == given


def test_a_model_that_is_deleted_meanwhile_is_no_longer_startable(
    state: TrainState, studio: Studio, qtbot: QtBot, model: Path
) -> None:
    choose_all(state, qtbot)
    model.rename(model.with_name(".gone"))
    with qtbot.waitSignal(state.listed):
        studio.models_changed.emit()
    assert "“little” is no longer there" in state.obstacle(Step.START)
