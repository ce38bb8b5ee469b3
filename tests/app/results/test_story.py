"""The Results page of a trained run, from its rows to its baselines."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app import background
from app.results.evaluating import results_of_run
from engine.config.dataset import FileData, Split
from engine.results.store import logged_evaluations, stored_predictions
from engine.runs.folder import RunFolder
from engine.training.loop import train
from tests.app.asking import question
from tests.app.results.test_view import open_results
from tests.engine.training.small import classifying

PATIENCE = 90_000  # ms; a worker loads torch first


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    """A tiny classifier of two labels, with held-out test rows."""
    folder = tmp_path_factory.mktemp("trained")
    job = classifying(folder, epochs=1)
    assert isinstance(job.data, FileData)
    parts = Split(validation=0.2, test=0.2)
    job = job.model_copy(update={"data": job.data.model_copy(update={"split": parts})})
    run = RunFolder.create(folder / "run", job)
    train(job, run, run.append)
    return run


@pytest.mark.usefixtures("in_threads")
def test_results_are_filtered_opened_tested_and_compared_with_baselines(qtbot, studio, trained):
    view = open_results(studio, qtbot, results_of_run(trained))
    (stored,) = stored_predictions(trained.results)
    rows, listed = stored.rows, view.rows.model
    qtbot.waitUntil(lambda: listed.rowCount() == rows, timeout=PATIENCE)
    qtbot.waitUntil(lambda: view.pictures.pictures["confusion"].figure() is not None)

    # a cell of the matrix lists as many rows as it counts
    matrix = view.pictures.pictures["confusion"].matrix
    counts = matrix.confusion.counts
    cell = next((g, p) for g in range(2) for p in range(2) if counts[g, p])
    matrix.pressed.emit(cell)
    qtbot.waitUntil(lambda: listed.rowCount() == counts[cell])
    requests: list[tuple[str, dict[str, object]]] = []
    studio.navigate.connect(lambda page, argument: requests.append((page, argument)))
    view.rows.table.setCurrentIndex(listed.index(0, 0))
    qtbot.keyClick(view.rows.table, Qt.Key.Key_Return)
    ((page, sent),) = requests
    assert page == "explore" and sent["text"] and sent["label"] in ("good", "bad")
    assert Path(str(sent["model"])).is_dir()

    # baselines are fitted on the training rows and compared with the score
    qtbot.mouseClick(view.baselines.fit, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "Majority" in view.baselines.verdict.text(), timeout=PATIENCE)
    assert "TF-IDF + logistic regression" in view.baselines.verdict.text()

    # scoring the test rows needs a confirmation and is counted
    view.test_action.trigger()
    question(qtbot).buttons["score"].click()
    qtbot.waitUntil(lambda: view.choice.currentText().startswith("Test"), timeout=PATIENCE)
    qtbot.waitUntil(lambda: "scored 1 time(s)" in view.headline.about.text())
    assert len(logged_evaluations(trained.results)) == 1
    background.finish()
