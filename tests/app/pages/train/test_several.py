"""Several values in the wizard: the “+” of each field, further models, and the resulting runs."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.pages.train.choices import CUSTOM_SIZE, Step, goals
from app.pages.train.estimate import verdict_sentence
from app.pages.train.job import choices_from_job, compose_job
from app.pages.train.view import TrainPage
from app.studio import Studio
from app.widgets.forms.several import SeveralValues, can_vary
from app.widgets.help_topics import concept
from engine.config.job import FromCheckpoint
from engine.files.home import Home
from engine.messages.estimating import Estimated
from engine.runs.groups import expand
from tests.app.accessible import assert_accessible
from tests.app.conftest import StubWorker
from tests.app.pages.train.conftest import MakeData, choose_all, write_model
from tests.app.pages.train.examples import PAIR, SCRATCH, SENTENCE, TAGS


@pytest.fixture
def wizard(
    qtbot: QtBot, studio: Studio, sentences: object, model: object,
    one_time_workers: list[StubWorker], home: Home, make_data: MakeData,
) -> TrainPage:  # fmt: skip
    """With two data sets and two models, one of each chosen."""
    write_model(home.models / "other")
    make_data("more films")
    wizard = TrainPage(studio)
    qtbot.addWidget(wizard)
    with qtbot.waitSignal(wizard.state.lists.changed):
        wizard.state.lists.read()
    choose_all(wizard.state, qtbot)
    return wizard


def click(qtbot: QtBot, several: SeveralValues) -> None:
    qtbot.mouseClick(several.button, Qt.MouseButton.LeftButton)


def test_typed_values_and_ranges_make_a_job_with_a_search(qtbot, wizard):
    step, state = wizard.settings, wizard.state
    rate = step.fine_tuning.several["learning_rate"]
    click(qtbot, rate)
    assert rate.line is not None and rate.line.text().startswith("5e-4, 5e-5")
    assert rate.line.selectedText() == rate.line.text(), "typing replaces them"
    assert rate.field.isHidden() and not rate.editor.isHidden()
    rate.line.setText("1e-5, 3e-5; 1e-4")
    assert "number" in state.obstacle(Step.SETTINGS)
    rate.line.setText("1e-5, 3e-5")
    check = step.more.several["gradient_checkpointing"]
    click(qtbot, check)
    spec = compose_job(state.choices)
    assert spec.training.learning_rate == 1e-5 and spec.search is not None
    assert {field.path: field.values for field in spec.search.fields} == {
        "training.learning_rate": (1e-5, 3e-5),
        "training.gradient_checkpointing": (False, True),
    }
    assert len(expand(spec)) == 4
    restored = choices_from_job(spec, [], [])
    assert compose_job(restored).search == spec.search, "a saved job keeps its search"
    click(qtbot, rate)
    click(qtbot, check)
    assert compose_job(state.choices).search is None and not rate.field.isHidden()

    # invalid values are reported at the field
    form = step.fine_tuning
    click(qtbot, rate)
    for text, message in [
        ("1e-5", "at least two"),
        ("1e-5, fast", "must be a number"),
        ("1e-5, 1e-5", "listed twice"),
        ("1e-5, -1", "-1: Must be greater than 0"),
        ("", "at least two"),
    ]:
        rate.line.setText(text)
        assert message in form.problems()["learning_rate"]
        assert state.job() is None
    click(qtbot, rate)

    # a range is searched by TPE and restored from a job
    for form, name, text in (
        (step.fine_tuning, "learning_rate", "1e-5..1e-3"),
        (step.more, "frozen_layers", "0..1"),
    ):
        click(qtbot, form.several[name])
        line = form.several[name].line
        line.setText(text)
        assert not form.problems(), name
    search = compose_job(state.choices).search
    assert search is not None and search.method == "tpe"
    rate, layers = search.fields
    assert (rate.low, rate.high, rate.log, rate.whole) == (1e-5, 1e-3, True, False)
    assert (layers.low, layers.high, layers.log, layers.whole) == (0, 1, False, True)
    assert "Learning rate: 1e-5 to 0.001" in wizard.review.search.values.shown()
    restored = choices_from_job(compose_job(state.choices), [], [])
    assert compose_job(restored).search == search
    line = step.fine_tuning.several["learning_rate"].line
    for text, message in (
        ("1e-3..1e-5", "lower to the higher number"),
        ("1e-5..1e-3, 1", "one range"),
        ("0..1", "greater than 0"),
    ):
        line.setText(text)
        assert message in step.fine_tuning.problems()["learning_rate"]


def test_the_layers_of_a_new_network_can_have_several_values(qtbot, wizard):
    state, form = wizard.state, wizard.base_model.scratch
    state.choose_goal(SCRATCH)
    state.set(replace(state.choices, scratch=replace(state.choices.scratch, size=CUSTOM_SIZE)))
    click(qtbot, form.custom.several["layers"])
    line = form.custom.several["layers"].line
    line.setText("2, 4")
    spec = compose_job(state.choices)
    assert [s.base_model.model.layers for s in expand(spec)] == [2, 4]
    assert compose_job(choices_from_job(spec, [], [])).search == spec.search
    state.choose_goal(SENTENCE)
    assert state.choices.search is None, "the layers of a base model are fixed"


def test_every_control_has_help_and_each_number_or_choice_can_have_several_values(wizard):
    state = wizard.state
    state.set(state.choices.with_varied("training", {"max_length": (64, 512)}))
    assert "at most 128 tokens, but “Max. length” is 512" in state.obstacle(Step.SETTINGS)
    settings = wizard.settings
    for goal in goals():
        wizard.state.set(replace(wizard.state.choices, goal=goal))
    forms = (settings.fine_tuning, settings.pre_training, settings.more, settings.features)
    for form in (*forms, settings.hardware, *settings.tasks.values()):
        varied = {name for name, field in form.fields.items() if can_vary(field)}
        assert varied - {"seeds"} == set(form.several)
        assert not {name for name in form.fields if name not in varied} - {
            "class_weights", "cores", "labels"
        }  # fmt: skip
    wizard.create_rest()
    keys = {str(w.property("help")) for w in wizard.findChildren(QWidget) if w.property("help")}
    assert len(keys) > 60
    assert all(concept(key).title for key in keys)


def test_further_models_and_data_sets_are_part_of_the_search(qtbot, wizard):
    state = wizard.state
    for step in (wizard.base_model, wizard.data):
        (box,) = step.more.boxes.values()
        box.click()
        assert box.isChecked() and step.more.button.isHidden()
    search = compose_job(state.choices).search
    assert search is not None and [field.path for field in search.fields] == ["base_model", "data"]
    jobs = expand(compose_job(state.choices))
    assert len({str(j.base_model) for j in jobs}) == len({str(j.data) for j in jobs}) == 2
    model = state.choices.model
    assert model is not None and jobs[0].base_model == FromCheckpoint(path=model.path)
    (box,) = wizard.base_model.more.boxes.values()
    box.click()
    assert not box.isChecked() and len(expand(compose_job(state.choices))) == 2


def test_one_start_trains_on_several_label_columns(qtbot, wizard, make_data):
    make_data("tickets", kinds=True)
    make_data("further films")  # so many that there is a menu
    state, more = wizard.state, wizard.data.more
    with qtbot.waitSignal(state.lists.changed):
        state.lists.read()
    state.choose_data(next(d for d in state.lists.datasets if d.name == "tickets"))
    more._fill()
    other = next(action for action in more.menu.actions() if action.text().endswith("1 · kind"))
    other.trigger()
    assert other.text() in more.note.text() and not more.boxes
    jobs = expand(compose_job(state.choices))
    assert [job.data.target for job in jobs] == [None, "kind"]
    assert [job.name.rpartition(" ")[2] for job in jobs] == ["1", "kind"]
    state.choose_target("kind")
    more._fill()
    names = [action.text() for action in more.menu.actions()]
    assert "tickets 1" in names and "tickets 1 · kind" not in names


def test_the_review_shows_the_number_of_runs_and_the_search_plan(qtbot, wizard):
    state, box = wizard.state, wizard.review.search
    assert box.isHidden()
    choices = state.choices.with_varied("training", {"epochs": (1, 2, 3), "seed": (1, 2)})
    state.set(choices)
    assert not box.isHidden()
    assert box.count.text() == "3 combination(s) with 2 seeds each: 6 run(s)", "no translator here"
    assert box.values.shown() == ["Epochs: 1, 2, 3", "Random seed: 1, 2"]
    box.form.set_value({"method": "tpe", "budget": 2, "prune": True})
    assert box.count.text() == "2 of 3 combinations with 2 seeds each: 4 run(s)"
    spec = state.job()
    assert spec is not None and spec.search is not None and spec.search.prune
    assert_accessible(wizard)


def test_the_estimate_covers_all_runs():
    estimate = Estimated(
        steps=10, seconds_per_step=0.1, seconds=7200, memory=1, available=1000, parameters=1,
        device="cpu", runs=6,
    )  # fmt: skip
    assert verdict_sentence(estimate) == "Fits in memory. Takes about 2 h 0 min. (6 runs together)"


def test_several_values_end_with_their_task_or_data_set_and_come_back_by_undo(qtbot, wizard):
    step, state = wizard.settings, wizard.state
    rate = step.fine_tuning.several["learning_rate"]
    click(qtbot, rate)
    rate.line.setText("1e-5, 3e-5")
    searched = state.choices
    more = next(entry for entry in state.lists.datasets or () if entry.name == "more films")
    for change in (
        lambda: state.choose_goal(PAIR),
        lambda: state.adjust_goal(state.choices, TAGS, "The task suits the data."),
        lambda: state.choose_data(more),
    ):
        state.load(searched, "")
        assert rate.is_open and compose_job(state.choices).search is not None
        change()
        assert not state.choices.varied and not rate.is_open and not rate.line.text()
        assert state.choices.training.learning_rate == state.choices.defaults.learning_rate
        assert "search values were dropped: they were for “" in state.adjustment.sentence
        state.set(replace(state.choices, name="later"))
        state.undo_adjustment()
        assert state.choices.varied == searched.varied and state.choices.name == "later"
    state.load(searched, "")
    state.choose_goal(PAIR)
    state.choose_goal(SENTENCE)
    assert state.choices.training.learning_rate == state.choices.defaults.learning_rate
    # what was typed but is invalid does not block another task
    click(qtbot, rate)
    rate.line.setText("fast")
    assert state.obstacle(Step.SETTINGS)
    state.choose_goal(SCRATCH)
    assert not state.obstacle(Step.SETTINGS) and not rate.is_open
