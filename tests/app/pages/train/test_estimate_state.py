"""Time and memory are measured once for each job."""

from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Refused, Working
from tests.app.pages.train.conftest import choose_all

ESTIMATED = Estimated(
    steps=10, seconds_per_step=0.5, seconds=5, memory=1, available=10, parameters=100, device="cpu"
)


def test_an_estimate_is_measured_once_for_a_job(state, qtbot, one_time_workers):
    state.estimate.measure()
    assert one_time_workers == []  # nothing to measure yet
    choose_all(state, qtbot)
    state.estimate.measure()
    state.estimate.measure()
    assert len(one_time_workers) == 1
    question = one_time_workers[0].question
    assert isinstance(question, Estimate) and question.job == state.job()
    one_time_workers[0].working(Working(stage="Measuring"))
    assert state.estimate.progress == Working(stage="Measuring")
    one_time_workers[0].done(ESTIMATED)
    assert (state.estimate.result, state.estimate.progress) == (ESTIMATED, None)
    state.set_name("another name")
    assert state.estimate.result == ESTIMATED
    state.set(state.choices.with_quick_trial(True))
    assert state.estimate.result is None
    state.set(state.choices.with_quick_trial(False))
    assert state.estimate.result == ESTIMATED


def test_a_late_or_cancelled_estimate_is_dropped(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    state.set(state.choices.with_quick_trial(True))
    state.estimate.measure()
    assert one_time_workers[0].cancelled
    one_time_workers[0].done(ESTIMATED)
    assert state.estimate.result is None
    state.estimate.cancel()
    assert one_time_workers[1].cancelled and state.estimate.progress is None


def test_a_refused_estimate_shows_its_problem_and_can_be_repeated(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    one_time_workers[0].refused(Refused(problem="Too little memory.", advice="Close programs."))
    assert str(state.estimate.problem) == "Too little memory. Close programs."
    state.estimate.measure()
    assert len(one_time_workers) == 2 and state.estimate.problem is None
