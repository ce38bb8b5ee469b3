"""Requests of other pages are loaded, or refused with a reason."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.pages.train.choices import Step
from app.pages.train.job import compose_job
from app.pages.train.requests import Requests
from app.pages.train.state import TrainState
from app.pages.train.summary import summary
from app.sample import sample_entry
from engine.config.job import FromScratch
from engine.files.home import Home
from tests.app.pages.train.conftest import choose_all
from tests.app.pages.train.examples import CONTINUE, LABELS, PAIR, SCRATCH, SENTENCE, TAGS


def test_the_first_preset_imports_the_sample_and_chooses_all(studio, qtbot, included):
    state = TrainState(studio, studio)
    requests = Requests(studio, state)
    with qtbot.waitSignal(state.lists.changed, timeout=20_000):
        requests.load_first()
    spec = state.job()
    assert spec.base_model.path == included
    data = state.choices.data
    training = spec.training
    rows = data.spec.rows["train"]
    assert 1000 <= training.train_fraction * training.epochs * rows <= 6000  # about a minute
    # not imported a second time
    with qtbot.waitSignal(state.changed):
        requests.load_first()
    assert state.lists.datasets is not None and len(state.lists.datasets) == 1
    assert state.choices.hardware == state.choices.default_hardware
    with qtbot.waitSignal(state.changed):
        requests.load_first(pretrains=True)
    spec = state.job()
    assert isinstance(spec.base_model, FromScratch) and spec.base_model.tokenizer == included
    assert (spec.base_model.model.layers, spec.training.epochs) == (2, 20)


def test_the_sample_requested_twice_is_imported_once(studio, qtbot, monkeypatch):
    state = TrainState(studio, studio)
    requests = Requests(studio, state)
    calls: list[object] = []
    monkeypatch.setattr(state, "choose_data", calls.append)
    for _ in range(3):
        requests.load_sample()
    qtbot.waitUntil(lambda: bool(calls), timeout=20_000)
    qtbot.wait(50)
    assert len(calls) == 1
    with ThreadPoolExecutor() as pool:  # also by several pages at a time
        entries = list(pool.map(lambda _: sample_entry(Home(studio.home.root / "other")), range(4)))
    assert len({entry.folder for entry in entries}) == 1


def test_the_first_preset_without_its_model_is_refused(studio, qtbot):
    state = TrainState(studio, studio)
    requests = Requests(studio, state)
    with qtbot.waitSignal(studio.notices.added, timeout=20_000) as refused:
        requests.load_first()
    assert "was not installed with this program" in refused.args[0].problem


def load_data(state: TrainState, requests: Requests, qtbot: QtBot, folder: Path) -> str:
    """Load a data set; returns the sentence of its adjustment."""
    with qtbot.waitSignal(state.changed):
        requests.load_data(folder)
    assert state.choices.data is not None and state.choices.data.source.folder == folder
    return state.adjustment.sentence if state.adjustment else ""


def test_a_requested_data_set_sets_its_task(state, requests, qtbot, make_data, sentences):
    announcement = load_data(state, requests, qtbot, make_data("two", pair=True))
    assert state.choices.goal == PAIR
    assert announcement == "The task is now “Sentence-pair classification”, which suits “two”."
    load_data(state, requests, qtbot, make_data("bare", label=False))
    assert state.choices.goal == CONTINUE
    state.choose_goal(LABELS)
    assert load_data(state, requests, qtbot, sentences)
    assert state.choices.goal == SENTENCE, "single labels fit, but suggest classification"
    state.undo_adjustment()
    assert state.choices.goal == LABELS and state.adjustment is None
    assert state.choices.data.source.folder == sentences
    state.choose_goal(SCRATCH)
    assert load_data(state, requests, qtbot, make_data("plain", label=False)) == ""
    assert state.choices.goal == SCRATCH, "both are pre-training"


def test_rows_without_a_label_are_no_obstacle(state, requests, qtbot, make_data, model):
    state.choose_goal(SENTENCE)
    folder = make_data("part", unlabelled=15)
    assert load_data(state, requests, qtbot, folder) == ""
    assert state.choices.goal == SENTENCE and state.obstacle(Step.DATA) == ""
    assert state.choices.data.spec.unlabelled and sum(state.choices.spec.rows.values()) == 45
    rows = state.choices.spec.rows["train"]
    requests.load_model(model)
    assert f"over {rows} rows" in summary(state.choices)
    assert "15 row(s) without a label (25.0 %) are left out." in summary(state.choices)


def test_home_and_a_model_change_the_task_with_a_message(state, requests, qtbot, model):
    requests.load_family(pretrains=False)
    assert state.choices.goal == SENTENCE and state.adjustment is None, "none was chosen"
    state.choose_goal(TAGS)
    requests.load_family(pretrains=False)
    assert state.choices.goal == TAGS and state.adjustment is None
    requests.load_family(pretrains=True)
    assert state.choices.goal == SCRATCH and state.adjustment is not None
    state.undo_adjustment()
    assert state.choices.goal == TAGS
    state.choose_goal(SCRATCH)
    with qtbot.waitSignal(state.changed):
        requests.load_model(model)
    assert state.choices.goal == CONTINUE
    assert state.choices.model is not None and state.choices.model.path == model
    assert state.adjustment.sentence.endswith("which starts from a base model.")
    state.undo_adjustment()
    assert state.choices.goal == SCRATCH


def test_deleted_data_and_models_are_refused(studio, requests, qtbot, tmp_path):
    for load, kind in ((requests.load_data, "data set"), (requests.load_model, "model")):
        with qtbot.waitSignal(studio.notices.added) as refused:
            load(tmp_path / "gone")
        assert refused.args[0].problem == f"The {kind} no longer exists."


def test_a_loaded_job_can_be_undone(state, requests, qtbot):
    choose_all(state, qtbot)
    spec = compose_job(replace(state.choices, name="again").with_quick_trial(True))
    state.choose_goal(SCRATCH)
    before = state.choices
    with qtbot.waitSignal(state.changed):
        requests.load_job(spec)
    assert state.job() == spec
    assert state.adjustment.sentence == "The settings of “again” were loaded."
    state.undo_adjustment()
    assert state.choices == before
