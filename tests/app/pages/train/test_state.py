"""Choices, what follows from them, and the start."""

from datetime import UTC, datetime, timedelta

from app import library
from app.pages.train.choices import Step
from app.pages.train.state import TrainState
from app.pages.train.view import same_job_text
from engine.config.dataset import StoredData
from engine.record.runs import all_runs, find_run
from tests.app.pages.train.conftest import choose_all, write_model
from tests.app.pages.train.examples import CONTINUE, SENTENCE


def test_the_choices_become_the_job_unless_a_form_is_invalid(state, qtbot, sentences):
    assert state.job() is None
    choose_all(state, qtbot)
    spec = state.job()
    assert spec.name == "films · little"
    assert spec.data.folder == sentences
    choose_all(state, qtbot)
    state.set_invalid(Step.SETTINGS, "Batch must be a whole number.")
    assert state.obstacle(Step.SETTINGS) == "Batch must be a whole number."
    assert state.job() is None
    state.set_invalid(Step.SETTINGS, "")
    assert state.job() is not None


def test_the_default_model_is_selected(state, studio, qtbot, home, monkeypatch):
    models = {name: write_model(home.root / name) for name in ("Starter", "MiniLM")}
    monkeypatch.setattr(library, "included_models", lambda: models)
    target = "app.pages.train.state.default_base_model"
    monkeypatch.setattr(target, lambda pretrains: models["Starter" if pretrains else "MiniLM"])
    fresh = TrainState(studio, studio)
    with qtbot.waitSignal(fresh.lists.changed):
        fresh.lists.read()

    def model_name() -> str:
        return fresh.choices.model.name

    assert model_name() == "MiniLM"
    fresh.choose_goal(CONTINUE)
    assert model_name() == "Starter"
    fresh.choose_goal(SENTENCE)
    assert model_name() == "MiniLM"
    fresh.choose_model(next(m for m in fresh.lists.models or () if m.name == "little"))
    fresh.choose_goal(CONTINUE)
    assert model_name() == "little"


def test_the_max_length_follows_the_data_until_it_is_set_by_hand(state, qtbot):
    choose_all(state, qtbot)
    suggested = state.choices.training.max_length
    assert 16 <= suggested < 128
    training = state.choices.training.model_copy(update={"max_length": 100})
    state.choose_settings(training, state.choices.hardware, state.choices.task)
    state.choose_goal(CONTINUE)
    state.choose_goal(SENTENCE)
    qtbot.waitUntil(lambda: state.preview.result is not None and not state.preview.is_reading)
    assert state.choices.training.max_length == 100
    state.reset_advanced()
    assert state.choices.training.max_length == suggested


def test_start_queues_the_job(state, studio, qtbot):
    choose_all(state, qtbot)
    state.set_name("mine")
    spec = state.job()
    with qtbot.waitSignal(state.started) as started:
        state.start()
    with studio.record.read() as session:
        runs = all_runs(session)
        assert [run.id for run in runs] == started.args
        assert (runs[0].state, runs[0].parse_job()) == ("queued", spec)
    assert state.choices.name == ""  # the next run gets a new name


def test_deleted_data_or_models_cannot_start(state, studio, qtbot, sentences, model):
    choose_all(state, qtbot)
    hidden = sentences.parent.rename(sentences.parent.with_name(".gone"))
    with qtbot.waitSignal(state.lists.changed):
        studio.datasets_changed.emit()
    assert "“films” no longer exists" in state.obstacle(Step.DATA)
    hidden.rename(sentences.parent)
    with qtbot.waitSignal(state.lists.changed):
        studio.datasets_changed.emit()
    assert state.obstacle(Step.DATA) == ""
    model.rename(model.with_name(".gone"))
    with qtbot.waitSignal(state.lists.changed):
        studio.models_changed.emit()
    assert "“little” no longer exists" in state.obstacle(Step.BASE_MODEL)


def test_a_version_without_incomplete_rows_is_created_and_undone(state, qtbot, make_data):
    folder = make_data("holes", holes=2)
    with qtbot.waitSignal(state.lists.changed):
        state.lists.read()
    choose_all(state, qtbot)
    state.choose_data(next(d for d in state.lists.datasets if d.folder == folder))
    (fix,) = state.fixes(Step.DATA)
    with qtbot.waitSignal(state.versions.ended):
        state.apply(fix)
        assert state.fixes(Step.DATA) == [], "one at a time"
        assert state.obstacle(Step.DATA) == "Creating a new version of the data set…"
    assert state.obstacle(Step.DATA) == ""
    version = state.choices.data
    assert version.source == StoredData(
        folder=folder.with_name("2"), fingerprint=version.spec.fingerprint
    )
    assert sum(version.spec.rows.values()) == 58
    assert state.adjustment.sentence == "Version 2 skips the rows in which “text” is empty."
    state.undo_adjustment()
    assert state.choices.data is not None and state.choices.data.source.folder == folder


def test_data_chosen_while_a_version_is_created_is_kept(state, qtbot, make_data, sentences):
    folder = make_data("holes", holes=2)
    with qtbot.waitSignal(state.lists.changed):
        state.lists.read()
    choose_all(state, qtbot)
    entries = {entry.folder: entry for entry in state.lists.datasets or ()}
    state.choose_data(entries[folder])
    with qtbot.waitSignal(state.versions.ended):
        state.apply(state.fixes(Step.DATA)[0])
        state.choose_data(entries[sentences])
    assert state.choices.data is not None and state.choices.data.source.folder == sentences
    assert state.adjustment is None


def test_a_job_that_was_started_before_is_asked_about(state, studio, qtbot):
    choose_all(state, qtbot)
    with qtbot.waitSignal(state.started) as started:
        state.ask_to_start()
    (run,) = started.args
    assert state.last_model == "little", "it is said that the base model is that of the last job"
    state.set_name("another name")
    with qtbot.waitSignal(state.repeated) as repeated:
        state.ask_to_start()
    (same,) = repeated.args
    seed = state.choices.training.seed
    assert (same.run_id, same.free_seed) == (run, seed + 1)
    assert "in the queue or running" in same_job_text(same)
    with studio.record.session() as session:
        record = find_run(session, run)
        record.state, record.ended = "finished", datetime.now(UTC) - timedelta(days=1, hours=1)
        record.best_metric, record.best_score = "validation_accuracy", 0.912
    with qtbot.waitSignal(state.repeated) as repeated:
        state.ask_to_start()
    assert same_job_text(repeated.args[0]).startswith(
        "The same job finished 1 day(s) ago with 91.2 % acc."
    )
    with qtbot.waitSignal(state.started):
        state.start(same.free_seed)
    with qtbot.waitSignal(state.repeated) as repeated:
        state.ask_to_start()
    assert repeated.args[0].free_seed == seed + 2, "the next seed that was not tried"
    with studio.record.session() as session:
        for record in all_runs(session):
            record.state = "failed"
    with qtbot.waitSignal(state.started):
        state.ask_to_start()  # failed runs may be tried again
    state.choose_model(state.lists.model_at(state.choices.model.path))
    assert state.last_model == ""
