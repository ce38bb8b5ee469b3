"""Time and memory are measured once for each job."""

from dataclasses import replace

from app.pages.train.estimate import long_text_ways
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
        for saving, result, _ in state.estimate.savings
    ] == [(0, True, 6), (size, True, 4)]
    assert state.estimate.progress is None
    state.use(state.estimate.savings[0].other)
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
    assert [saving.training.gradient_checkpointing for saving, *_ in state.estimate.savings] == [
        True,
        True,
    ]


def test_no_other_settings_are_measured_if_memory_is_enough(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    state.estimate.measure()
    one_time_workers[0].done(ESTIMATED)
    assert len(one_time_workers) == 1 and state.estimate.savings == []


def test_both_ways_to_read_long_texts_are_measured(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    assert long_text_ways(state.choices) == [], "up to 512 positions there are only windows"
    info = state.choices.model.info.model_copy(update={"max_positions": 4096})
    model = replace(state.choices.model, info=info)
    state.set(replace(state.choices, model=model, typical_length=500))
    assert long_text_ways(state.choices) == [], "each text fits into a window"
    state.set(replace(state.choices, typical_length=3000))
    before = state.choices
    assert (before.training.max_length, before.task.long_texts) == (3008, "truncate")
    state.estimate.measure()
    one_time_workers[0].done(ESTIMATED)
    assert state.estimate.measures_ways and not state.estimate.measures_savings
    windows = one_time_workers[1].question.job
    assert (windows.training.max_length, windows.task.long_texts) == (512, "windows")
    one_time_workers[1].done(ESTIMATED.model_copy(update={"seconds": 3, "memory": 2}))
    found = [(way.other.title, way.estimate.seconds, way.is_chosen) for way in state.estimate.ways]
    assert found == [
        ("In windows of 512 tokens", 3, False),
        ("At once, up to 3,008 tokens", 5, True),
    ]
    assert len(one_time_workers) == 2 and not state.estimate.savings
    state.use(state.estimate.ways[0].other)
    assert state.job() == windows and state.estimate.result.seconds == 3
    assert [way.is_chosen for way in state.estimate.ways] == [True, False]
    state.undo_adjustment()
    assert (state.choices.training, state.choices.task) == (before.training, before.task)


def test_a_way_without_enough_memory_is_shown_as_such(state, qtbot, one_time_workers):
    choose_all(state, qtbot)
    info = state.choices.model.info.model_copy(update={"max_positions": 4096})
    choices = replace(state.choices, model=replace(state.choices.model, info=info))
    state.set(replace(choices, typical_length=9000).with_long_texts("windows"))
    assert state.choices.training.max_length == 512
    state.estimate.measure()
    one_time_workers[0].done(ESTIMATED)
    assert one_time_workers[1].question.job.training.max_length == 4096
    one_time_workers[1].refused(Refused(problem="Too little memory.", lacks_memory=True))
    assert [way.estimate for way in state.estimate.ways] == [ESTIMATED, None]
    assert state.estimate.problem is None
