"""The Home page: links to other pages, recent runs, and the machine."""

from datetime import timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.machine import Machine
from app.pages.home import view as home_view
from app.pages.home.view import HomePage, RunRow
from app.studio import Studio
from engine.config.dataset import FileData
from engine.config.families.bert import bert
from engine.config.job import FromScratch, JobSpec
from engine.config.tasks.text_classification import TextClassification
from engine.messages import now
from engine.messages.events import Ended, Measured, Prepared, Started
from engine.record.rebuild import refill
from engine.runs.folder import RunFolder
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(qtbot, studio: Studio) -> HomePage:
    page = HomePage(studio)
    qtbot.addWidget(page)
    page.resize(1100, 700)
    return page


@pytest.fixture
def visits(studio: Studio) -> list[tuple[str, object]]:
    """Pages that were opened."""
    visits: list[tuple[str, object]] = []
    studio.navigate.connect(lambda key, argument: visits.append((key, argument)))
    return visits


def add_run(studio: Studio, name: str, number: int) -> None:
    """A finished run in the record."""
    job = JobSpec(
        name=name,
        task=TextClassification(),
        base_model=FromScratch(model=bert(2, 128)),
        data=FileData(path=Path("reviews.csv")),
    )
    folder = RunFolder.create(studio.home.runs / f"run-{number}", job)
    at = now() - timedelta(minutes=5)
    folder.append(Started(at=at, pid=1))
    plan = Prepared(at=at, steps=20, parameters=9, examples=9, device="cpu", threads=1)
    folder.append(plan.model_copy(update={"best_metric": "validation_accuracy"}))
    for step in range(20):
        folder.append(Measured(at=at, name="loss", step=step, value=1 / (step + 1)))
    folder.append(Measured(at=at, name="validation_accuracy", step=19, value=0.875))
    folder.append(Ended(at=at, outcome="finished", step=20))
    refill(studio.record, studio.home)


def rows(page: HomePage) -> list[RunRow]:
    return [row for row in page.findChildren(RunRow) if not row.isHidden()]


def test_the_cards_lead_to_the_pages(qtbot, page, visits):
    page.show()
    qtbot.mouseClick(page.cards[0], Qt.MouseButton.LeftButton)
    for card in page.cards[1:]:
        card.setFocus()
        qtbot.keyClick(card, Qt.Key.Key_Return)
    assert visits == [
        ("train", {"task": "text_classification"}),
        ("explore", None),
        ("train", {"task": "pretraining"}),
    ]


def test_the_first_step_opens_the_completed_wizard(qtbot, page, visits, monkeypatch):
    monkeypatch.setattr(home_view, "minilm", lambda: Path(__file__).parent)
    monkeypatch.setattr(home_view, "sample_data", lambda: Path(__file__))
    page.show()
    qtbot.waitUntil(page.first_steps.isVisible)
    page.begin.click()
    page.pretrain.click()
    assert visits == [("train", {"preset": preset}) for preset in ("first", "scratch")]


def test_without_the_sample_nothing_is_offered(qtbot, page, monkeypatch, tmp_path):
    monkeypatch.setattr(home_view, "minilm", lambda: tmp_path / "none")
    with qtbot.waitSignal(page.state.runs_changed):
        page.show()
    assert not page.first_steps.isVisible() and not page.runs.isVisible()


def test_recent_runs_show_their_best_metric_and_open(qtbot, page, studio, visits, screen):
    add_run(studio, "My <b>first</b> run", 1)
    page.show()
    qtbot.waitUntil(lambda: len(rows(page)) == 1)
    (row,) = rows(page)
    assert row.name.full_text() == "My <b>first</b> run"
    assert row.figure.text() == "87.5 %" and "accuracy" in row.figure_name.text()
    assert_accessible(page)
    screen(page, "home")
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
    page.runs.all.click()
    assert visits == [("runs", {"run": "run-1"}), ("runs", {"list": True})]


def test_a_changed_run_keeps_its_row(qtbot, page, studio):
    add_run(studio, "First", 1)
    page.show()
    qtbot.waitUntil(lambda: len(rows(page)) == 1)
    (row,) = rows(page)
    with studio.record.session() as session:
        listed = home_view.all_runs(session)[0]
        listed.name = "Renamed"
    with qtbot.waitSignal(page.state.runs_changed):
        studio.dispatcher.run_changed.emit("run-1")
    assert rows(page) == [row] and row.name.full_text() == "Renamed"
    add_run(studio, "Second", 2)
    studio.dispatcher.run_added.emit("run-2")
    qtbot.waitUntil(lambda: len(rows(page)) == 2)


def test_the_machine_is_described_with_a_gpu_that_torch_cannot_use(qtbot, page, studio):
    with qtbot.waitSignal(page.state.machine_read) as signal:
        page.show()
    assert isinstance(signal.args[0], Machine)
    text = " ".join(label.text() for label in page.health.findChildren(QLabel))
    assert "free" in text and str(studio.home.root)[:8] in text
    assert not page.health.warning.isVisible()
    gpu = Machine("Linux", "x", 8, 1, 1, 1, ("NVIDIA H200",), "2.13.0+cpu")
    page.health.show_machine(gpu)
    assert "NVIDIA" in page.health.warning.text() and "CPU" in page.health.device.full_text()
    page.health.show_machine(Machine("Linux", "x", 8, 1, 1, 1, ("NVIDIA H200",), "2.13.0+cu130"))
    assert page.health.device.full_text() == "NVIDIA H200" and not page.health.warning.text()


def test_nothing_is_read_while_hidden(qtbot, page, studio):
    with qtbot.waitSignal(page.state.runs_changed):
        page.show()
    page.hide()
    with qtbot.assertNotEmitted(page.state.runs_changed, wait=home_view.REFRESH_DELAY_MS + 200):
        studio.dispatcher.run_changed.emit("x")
