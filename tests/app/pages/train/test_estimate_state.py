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


def test_settings_with_less_memory_are_measured_if_it_is_short(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    one_time_workers[0].done(ESTIMATED.model_copy(update={"memory": 9}))
    before = state.choices.training
    for number, memory in ((1, 9), (2, 6), (3, 4)):  # the first saves nothing
        assert len(one_time_workers) == number + 1
        one_time_workers[number].done(ESTIMATED.model_copy(update={"memory": memory}))
    size = one_time_workers[1].question.job.training.micro_batch_size
    assert 4 * size == before.batch_size
    assert [
        (saving.training.micro_batch_size, saving.training.gradient_checkpointing, result.memory)
        for saving, result in state.estimate.savings
    ] == [(0, True, 6), (size, True, 4)]
    assert state.estimate.progress is None
    state.save_memory(state.estimate.savings[0][0])
    assert state.job() == one_time_workers[2].question.job
    assert state.estimate.result.memory == 6  # known already
    state.undo_adjustment()
    assert state.choices.training == before


def test_lack_of_memory_measures_settings_that_need_less(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    one_time_workers[0].refused(Refused(problem="A bug."))
    assert len(one_time_workers) == 1  # nothing else would help
    state.estimate.measure()
    one_time_workers[1].refused(Refused(problem="Too little memory.", lacks_memory=True))
    one_time_workers[2].refused(Refused(problem="Too little memory.", lacks_memory=True))
    one_time_workers[3].done(ESTIMATED)
    one_time_workers[4].done(ESTIMATED)
    assert len(one_time_workers) == 5
    assert str(state.estimate.problem) == "Too little memory."
    assert [saving.training.gradient_checkpointing for saving, _ in state.estimate.savings] == [
        True,
        True,
    ]


def test_no_other_settings_are_measured_if_memory_is_enough(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    one_time_workers[0].done(ESTIMATED)
    assert len(one_time_workers) == 1 and state.estimate.savings == []
