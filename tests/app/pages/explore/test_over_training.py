"""The bar of a run with snapshots: mouse and keys move through its training, panels follow."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from app.library import ModelEntry, describe_model
from app.pages.explore.view import ExplorePage
from app.studio import Studio
from engine.config.tasks.pretraining import Pretraining
from engine.files.home import Home
from engine.files.shipped import tiny_model
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import snapshot_folder
from tests.app.accessible import assert_accessible
from tests.app.pages.explore.conftest import FakeExplorer
from tests.engine.training import small

TEXT = "a warm film and a good end"
STEPS = (0, 1, 2, 4, 8, 16, 24)


@pytest.fixture(scope="session")
def night_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("film")
    job = small.pretraining(folder, steps=24, save_every=12, evaluate_every=12, snapshot_every=600)
    job = job.model_copy(update={"name": "Night", "task": Pretraining()})
    run = RunFolder.create(folder / "run", job)
    from engine.worker.train import main as work

    assert work(run.path) == 0
    return run


@pytest.fixture
def run(night_run: RunFolder, home: Home) -> RunFolder:
    home.runs.mkdir(exist_ok=True)
    return RunFolder(Path(shutil.copytree(night_run.path, home.runs / "night")))


class Answerer:
    """Answers the newest question of each kind as the worker does."""

    def __init__(self, explorer: FakeExplorer) -> None:
        self.explorer, self.done = explorer, 0

    def __call__(self, *kinds: str) -> None:
        questions = self.explorer.questions[self.done :]
        self.done = len(self.explorer.questions)
        newest = {(q.kind, q.side): q for q in questions}
        for question in newest.values():
            if not kinds or question.kind in kinds:
                self.explorer.compute(question)


@pytest.fixture
def answer(explorer: FakeExplorer) -> Answerer:
    return Answerer(explorer)


@pytest.fixture
def settle(answer, wait) -> Callable[[ExplorePage], None]:
    """Answer until everything visible belongs to the step."""
    return lambda page: wait(lambda: answer() or page.training_bar.state.is_answered)


@pytest.fixture
def page(make_page, model, run, wait, answer) -> ExplorePage:
    """The last checkpoint of the run, with “film” masked and predicted."""
    new_page = make_page(run.checkpoint(24), TEXT, (1180, 760))
    wait(new_page.training_bar.isVisible)
    new_page.state.toggle_mask(
        next(n for n, t in enumerate(new_page.state.first.tokens) if "film" in t.text)
    )
    answer()
    return new_page


def current_step(page: ExplorePage) -> int:
    assert page.state.first.checkpoint is not None
    return checkpoint_step(page.state.first.checkpoint)


def click(page: ExplorePage, number: int) -> None:
    slider = page.training_bar.slider
    point = QPoint(round(slider.to_x(number)), slider.height() // 3)
    QTest.mouseClick(slider, Qt.MouseButton.LeftButton, pos=point)


def test_the_bar_changes_the_step_and_panels_follow(
    page, run, settle, explorer, answer, wait, qtbot
):
    bar = page.training_bar
    cards = page.bench.docks["words"].panel.predictions.cards
    assert cards[0].bars.maximum < 1, "for a checkpoint they end at its largest value"
    assert bar.state.snapshots.steps == STEPS
    assert bar.status.text() == "Checkpoint of step 24"
    click(page, 3)
    assert current_step(page) == 4 and page.state.first.checkpoint == snapshot_folder(run, 4)
    settle(page)
    assert bar.status.text().startswith("Step 4 · loss ")
    assert bar.slider.accessibleDescription() == bar.status.text()
    assert page.state.first.model.name == "Night, step 4"
    assert_accessible(bar)
    slider = page.training_bar.slider
    slider.setFocus()
    steps = []
    for key in ("Home", "Left", "Right", "Right", "Up", "Down", "PageUp", "End", "Right"):
        QTest.keyClick(slider, getattr(Qt.Key, f"Key_{key}"))
        steps.append(current_step(page))
    assert steps == [0, 0, 1, 2, 4, 2, 24, 24, 24]
    y = slider.height() // 3
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(round(slider.to_x(0)), y))
    steps = [current_step(page)]
    for number in (1, 3, 5):
        QTest.mouseMove(slider, QPoint(round(slider.to_x(number)), y))
        steps.append(current_step(page))
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(0, y))
    assert steps == [0, 1, 4, 16] and current_step(page) == 16
    settle(page)
    assert_panels_follow(page, explorer, answer, wait)
    assert_playback_covers_every_step(page, answer, wait, qtbot)
    assert_bars_and_scales_cover_every_step(page, answer, wait)
    # switched-off heads stay off over the steps
    click(page, 5)
    page.state.switch_head(0, 1)
    wait(lambda: page.state.is_settled)
    click(page, 2)
    first, second = page.state.both
    assert page.state.first.heads_off == ((0, 1),)
    assert checkpoint_step(first.checkpoint) == checkpoint_step(second.checkpoint) == 2


def assert_panels_follow(page, explorer, answer, wait):
    """Each keeps its content until the next answer."""
    words = page.bench.docks["words"].panel
    tokens = page.state.first.tokens
    page.state.pick(3)
    before = page.bench.docks["words"].panel.predictions.state.mask_queries[0].answer
    assert before is not None
    click(page, 1)
    assert page.state.first.tokens == tokens and page.state.picked == 3
    assert (
        words.predictions.state.mask_queries[0].answer is before
        and words.predictions.state.mask_queries[0].is_waiting
    )
    wait(lambda: page.state.is_settled)
    answer()
    assert words.predictions.state.mask_queries[0].answer is not before
    questions = explorer.of_kind("fill_mask")
    assert checkpoint_step(questions[-1].checkpoint) == 1
    assert page.precision.status.text() == "Exact (fp32), as always with snapshots."


def assert_playback_covers_every_step(page, answer, wait, qtbot):
    """It can be paused."""
    bar = page.training_bar
    bar.state._playing.setInterval(1)
    click(page, 6)
    qtbot.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    for _ in range(20):
        bar.state._playing.timeout.emit()
    assert bar.play.accessibleName() == "Pause"
    assert current_step(page) == 0, "it waits for the answers"
    steps = []

    def reaches(last: int) -> Callable[[], bool]:
        def condition() -> bool:
            answer()
            if not steps or steps[-1] != current_step(page):
                steps.append(current_step(page))
            return current_step(page) == last

        return condition

    wait(reaches(4))
    qtbot.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert bar.play.accessibleName() == "Play" and not bar.state.is_playing
    qtbot.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert current_step(page) == steps[-1]
    wait(lambda: reaches(24)() and not bar.state.is_playing)
    assert tuple(steps) == STEPS, "no step is skipped"


def assert_bars_and_scales_cover_every_step(page, answer, wait):
    words = page.bench.docks["words"].panel.predictions
    for number in (6, 0, 6):
        click(page, number)
        wait(lambda: answer() or words.cards[0].bars.maximum == 1)
    explore = page.state
    click(page, 0)
    assert [explore.running_max("x", value) for value in (1.0, 5.0, 2.0)] == [1.0, 5.0, 5.0]
    explore.set_texts("a poor story")
    assert explore.running_max("x", 2.0) == 2.0, "it restarts for another text"
    page.picker.choose(page.picker.chosen().path)
    explore.choose_model(page.picker.chosen())
    assert [explore.running_max("x", value) for value in (5.0, 2.0)] == [5.0, 2.0]  # no steps


def test_a_step_stays_until_another_checkpoint_or_model_is_chosen(
    page, workshop, wait, run, model, monkeypatch
):
    click(page, 2)
    reload_models(page, workshop, wait)
    assert page.state.first.checkpoint == snapshot_folder(run, 2)
    page.arrive({"model": snapshot_folder(run, 8)})
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == snapshot_folder(run, 8))
    reload_models(page, workshop, wait)
    assert page.picker.chosen().path == page.state.first.checkpoint == snapshot_folder(run, 8)
    page.choose(run.checkpoint(12))
    wait(lambda: page.state.first.checkpoint == run.checkpoint(12))
    wait(lambda: page.training_bar.status.text() == "Checkpoint of step 12")
    assert page.training_bar.slider.value() == STEPS.index(8)
    page.choose(model)
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == model)
    assert not page.training_bar.isVisible(), "it has no snapshots"
    # like a running training that keeps only its newest checkpoints
    monkeypatch.setattr(workshop, "models", lambda: list_entries(run, 12, 24))
    page.choose(run.checkpoint(24))
    wait(lambda: page.state.first.model.run == "night")
    wait(page.training_bar.isVisible)
    click(page, 3)
    for steps, expected in (([12], run.checkpoint(12)), ([], snapshot_folder(run, 4))):
        monkeypatch.setattr(workshop, "models", lambda steps=steps: list_entries(run, *steps))
        reload_models(page, workshop, wait)
        assert page.state.first.checkpoint == snapshot_folder(run, 4)
        assert page.picker.chosen().path == expected


def test_a_series_has_a_picture_of_each_step(
    page, answer, wait, qtbot, tmp_path, workshop, explorer
):
    bar, folder = page.training_bar, tmp_path / "pictures"
    folder.mkdir()
    click(page, 2)
    wait(lambda: page.state.is_settled)
    answer()
    qtbot.mouseClick(bar.save, Qt.MouseButton.LeftButton)
    dialog = next(d for d in page.findChildren(QFileDialog) if d.isVisible())
    dialog.fileSelected.emit(str(folder))
    dialog.close()
    assert bar.series.is_running and bar.save.text() == "&Cancel saving"

    def is_saved() -> bool:
        answer()
        return not bar.series.is_running

    wait(is_saved)
    names = sorted(file.name for file in folder.iterdir())
    predictions = [name for name in names if name.startswith("predictions")]
    assert [int(name[-12:-4]) for name in predictions] == list(STEPS)
    pictures = [QImage(str(folder / name)) for name in names]
    assert all(not picture.isNull() for picture in pictures)
    titles = {picture.text("Description") for picture in pictures}
    assert len(titles) == len(pictures), "each title names its step"
    assert current_step(page) == 2, "the step is restored"
    assert "pictures in" in workshop.notices.shown[-1].problem
    bar.series.start(tmp_path / "nowhere")
    wait(is_saved)
    assert "could not be written" in workshop.notices.shown[-1].problem
    # playing and saving end with cancel and when the page is left
    bar.state.play()
    page.hide()
    assert not bar.state.is_playing
    page.show()
    bar.series.start(tmp_path)
    page.hide()
    assert not bar.series.is_running
    page.show()
    bar.series.start(tmp_path)
    assert current_step(page) == 0
    qtbot.mouseClick(bar.save, Qt.MouseButton.LeftButton)
    assert not bar.series.is_running and bar.save.text() == "Save a se&ries…"
    assert not any(tmp_path.glob("*.png"))
    assert_attention_follows(page, explorer, answer, wait)


def assert_attention_follows(page, explorer, answer, wait):
    page.bench.show_panel("attention")
    wait(lambda: explorer.of_kind("attend"))
    answer()
    state = page.bench.docks["attention"].panel._state
    wait(lambda: len(state.tokens))
    weights = []
    for number in (0, 6):
        click(page, number)
        wait(
            lambda n=number: checkpoint_step(explorer.of_kind("attend")[-1].checkpoint) == STEPS[n]
        )
        answer()
        wait(lambda: not state.maps.query.is_waiting)
        weights.append(state.maps.weights.copy())
    assert abs(weights[0] - weights[1]).max() > 1e-4


def list_entries(run: RunFolder, *steps: int) -> list[ModelEntry]:
    """Checkpoints of the run as the record lists them."""
    entries = [describe_model("Night", run.checkpoint(step), "run") for step in steps]
    return [replace(entry, run="night", step=n) for entry, n in zip(entries, steps, strict=True)]


def reload_models(page: ExplorePage, workshop: Studio, wait: Callable[..., None]) -> None:
    """Read the list of models again and wait until it is shown."""
    changes: list[int] = []
    page.picker.currentIndexChanged.connect(changes.append)
    workshop.models_changed.emit()
    wait(lambda: bool(changes))


def test_the_included_tiny_model_shows_how_it_learned(make_page, settle, wait):
    """Without any run: its steps, its loss, and what it predicts before and after."""
    entry = describe_model("Tiny", tiny_model(), "included")
    page = make_page(entry.path, "the president of the united states")
    wait(page.training_bar.isVisible)
    snapshots = page.training_bar.state.snapshots
    assert snapshots.steps == (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000)
    states = next(n for n, token in enumerate(page.state.first.tokens) if token.text == "states")
    page.state.toggle_mask(states)
    page.bench.show_panel("words")
    probabilities = []
    for number in (0, len(snapshots.steps) - 1):
        page.training_bar.slider.setValue(number)
        settle(page)
        answer = page.bench.docks["words"].panel._state.mask_queries[0].answer
        ranked = {p.label: p.probability for p in answer.predictions[0].ranked}
        probabilities.append(ranked.get("states", 0.0))
    assert probabilities[0] < 0.5 < probabilities[1]
    assert page.state.first.model.name == f"{snapshots.run_name}, step 2,000"
    assert snapshots.loss_at(len(snapshots.steps) - 1) < snapshots.loss_at(0) - 1
