"""Time and memory are measured once for each job, and only while they are wanted."""

from pytestqt.qtbot import QtBot

from app.pages.train.state import TrainState
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Refused, Working
from tests.app.pages.train.conftest import AskedErrand, choose_all

ESTIMATED = Estimated(
    steps=10,
    seconds_per_step=0.5,
    seconds=5,
    memory=1,
    available=10,
    parameters=100,
    device="cpu",
)


def test_an_estimate_is_measured_once_for_a_job(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    state.estimate.measure()
    assert errands == []  # nothing to measure yet
    choose_all(state, qtbot)
    state.estimate.measure()
    state.estimate.measure()
    assert len(errands) == 1
    question = errands[0].question
    assert isinstance(question, Estimate) and question.job == state.job()
    errands[0].working(Working(stage="Measuring"))
    assert state.estimate.progress == Working(stage="Measuring")
    errands[0].done(ESTIMATED)
    assert (state.estimate.found, state.estimate.progress) == (ESTIMATED, None)
    state.name("another name")
    assert state.estimate.found == ESTIMATED
    state.set(state.choices.with_quick_trial(True))
    assert state.estimate.found is None
    state.set(state.choices.with_quick_trial(False))
    assert state.estimate.found == ESTIMATED


def test_a_late_or_cancelled_estimate_is_dropped(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    choose_all(state, qtbot)
    state.estimate.measure()
    state.set(state.choices.with_quick_trial(True))
    state.estimate.measure()
    assert errands[0].cancelled
    errands[0].done(ESTIMATED)
    assert state.estimate.found is None
    state.estimate.cancel()
    assert errands[1].cancelled and state.estimate.progress is None


def test_a_refused_estimate_says_why_and_can_be_asked_again(
    state: TrainState, qtbot: QtBot, errands: list[AskedErrand]
) -> None:
    choose_all(state, qtbot)
    state.estimate.measure()
    errands[0].refused(Refused(problem="Too little memory.", advice="Close programs."))
    assert str(state.estimate.problem) == "Too little memory. Close programs."
    state.estimate.measure()
    assert len(errands) == 2 and state.estimate.problem is None
