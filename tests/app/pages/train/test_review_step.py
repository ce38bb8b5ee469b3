"""The review: what was changed, the job file and its commands, the estimate."""

import json
from dataclasses import replace

from PySide6.QtGui import QGuiApplication

from app.pages.train.choices import Step
from engine.config.job import JobSpec
from engine.messages.estimating import Estimated
from tests.app.accessible import assert_accessible
from tests.app.pages.train.conftest import go_to_review, press
from tests.app.pages.train.examples import with_training

ESTIMATED = Estimated(
    steps=20,
    seconds_per_step=0.25,
    seconds=90,
    memory=900_000_000,
    available=1_000_000_000,
    parameters=4_400_000,
    device="cpu",
    precision="fp32",
    threads=2,
    checkpoint=53_000_000,
    checkpoints=4,
)


def test_the_job_file_is_shown_copied_and_saved(page, qtbot, tmp_path):
    go_to_review(qtbot, page)
    review = page.review
    assert_accessible(page)
    assert "learning rate 5e-4" in review.summary.text()
    assert review.changes.isHidden() and review.changes.shown() == []
    page.state.set(with_training(page.state.choices, learning_rate=1e-4))
    assert review.changes.shown() == ["Learning rate 1e-4 (default 5e-4)"]
    assert not review.changes.isHidden()
    assert review.command.isVisible() and not review.cluster.isVisible()
    press(qtbot, review.unfold)
    assert review.cluster.isVisible() and review.file.isHidden()
    press(qtbot, review.toggle)
    assert review.file.isVisible()
    assert JobSpec.model_validate_json(review.file.toPlainText()) == page.state.job()
    assert review.command.text() == "bert-studio train films-little.json --into films-little"
    cluster = "bert-studio cluster films-little.json --into films-little"
    assert review.cluster.text() == cluster
    press(qtbot, review.copy_job)
    assert json.loads(QGuiApplication.clipboard().text())["name"] == "films · little"
    file = tmp_path / "my job.json"
    review.save_to(file)
    qtbot.waitUntil(lambda: "my job.json" in review.command.text())
    assert JobSpec.model_validate_json(file.read_bytes()) == page.state.job()
    assert f"'{file}'" in review.command.text()


def test_an_estimate_can_be_cancelled(page, qtbot, one_time_workers, monkeypatch):
    go_to_review(qtbot, page)
    box = page.review.estimate
    qtbot.waitUntil(lambda: len(one_time_workers) == 1)
    press(qtbot, box.cancel)
    assert one_time_workers[0].cancelled
    assert not box.measure.isHidden()
    page.state.estimate.measure_automatically()
    assert len(one_time_workers) == 1
    press(qtbot, box.measure)
    assert len(one_time_workers) == 2 and not box.cancel.isHidden()
    one_time_workers[1].done(ESTIMATED)
    assert box.facts.text().endswith("Needs up to 212 MB of disk (4 checkpoints of 53.0 MB).")
    assert box.verdict.text() == "Barely fits in memory. Takes about 1 min 30 s."
    assert "4.4 M parameters on CPU, fp32, 2 thread(s)." in box.facts.text()
    assert page.next.text() == "&Start anyway"  # tight memory is worth a warning
    less = ESTIMATED.model_copy(update={"memory": ESTIMATED.memory // 2})
    one_time_workers[2].done(less)
    (use,) = box.savings.buttons
    assert use.accessibleName() == "Use: Micro-batches of 8"
    press(qtbot, box.cancel)
    press(qtbot, page.bar.steps[Step.BASE_MODEL])
    assert "tight" in [p.verdict for p in page.base_model.list.cards.rows]
    press(qtbot, page.bar.steps[Step.REVIEW])
    monkeypatch.setattr(page.state, "first_obstacle", lambda: (Step.DATA, "It has no rows."))
    page.state.changed.emit()
    assert page.next.text() == "&Start" and not page.next.isEnabled(), "an obstacle blocks it"


def test_one_press_takes_the_other_way_to_read_long_texts(page, qtbot, one_time_workers):
    go_to_review(qtbot, page)
    state, box = page.state, page.review.estimate
    assert box.ways.isHidden()
    info = state.choices.model.info.model_copy(update={"max_positions": 4096})
    model = replace(state.choices.model, info=info)
    state.set(replace(state.choices, model=model, typical_length=2000))
    state.estimate.measure()
    one_time_workers[-1].done(ESTIMATED)
    assert box.ways.isVisible() and len(box.ways.buttons) == 1, "the other way is measured"
    one_time_workers[-1].done(ESTIMATED.model_copy(update={"memory": 300_000_000, "seconds": 240}))
    windows, at_once = box.ways.buttons
    assert windows.accessibleName() == "Use: In windows of 512 tokens"
    assert windows.isEnabled() and not at_once.isEnabled()
    press(qtbot, windows)
    assert state.choices.task.long_texts == "windows"
    assert box.verdict.text() == "Fits in memory. Takes about 4 min."
    assert [button.isEnabled() for button in box.ways.buttons] == [False, True]
    assert_accessible(page)
