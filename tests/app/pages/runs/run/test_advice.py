"""Advice on the page of a run."""

from pathlib import Path

from PySide6.QtCore import Qt

from app.pages.runs.run.view import RunView
from app.studio import Studio
from engine.config.dataset import Mapping, Reading, Split, StoredData
from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.messages.events import Ended, Prepared, Started, measured
from engine.record.follow import record_folder
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import open_run
from tests.engine.runs import fake_worker


def make_baseline_run(
    studio: Studio, folder: Path, data: StoredData | None = None
) -> tuple[str, JobSpec]:
    job = fake_worker.job("still").model_copy(
        update={"training": TrainingSpec(learning_rate=5e-5, epochs=3)}
    )
    if data is not None:
        job = job.model_copy(update={"data": data})
    run = RunFolder.create(folder, job)
    run.append(Started(pid=1))
    machine = {"steps": 8, "parameters": 9, "examples": 99, "device": "cpu", "threads": 1}
    rows = {"majority": "positive", "majority_score": 0.6, "absent": ("mixed",)}
    more = {"best_metric": "validation_accuracy", "layer_weights": 400_000}
    run.append(Prepared(**machine, **rows, **more))
    for step in range(1, 9):
        run.append(measured("loss", step, 0.69))
    run.append(measured("validation_accuracy", 8, 0.6))
    run.append(Ended(outcome="finished", step=8))
    with studio.record.session() as session:
        return record_folder(session, run, job).id, job


def tab_extent(view: RunView) -> tuple[int, int]:
    return view.tabs.y(), view.tabs.height()


def test_a_run_at_the_baseline_gets_advice(make_page, studio, make_run, qtbot, tmp_path):
    page = make_page()
    good = open_run(page, make_run("well"), qtbot)
    qtbot.wait(0)
    assert good.advice.isHidden()
    top, height = tab_extent(good)
    run_id, job = make_baseline_run(studio, studio.home.runs / "still")
    view = open_run(page, run_id, qtbot)
    line = view.advice
    qtbot.waitUntil(lambda: not line.isHidden())
    qtbot.waitUntil(lambda: tab_extent(view)[0] > top)
    assert sum(tab_extent(view)) == top + height
    assert line.text.full_text().startswith(
        "No better than the majority baseline, which always predicts “positive” (60.0 %)."
    )
    with qtbot.waitSignal(studio.navigate) as blocker:
        qtbot.mouseClick(line.prepare, Qt.MouseButton.LeftButton)
    page_name, request = blocker.args
    assert page_name == "train"
    rate = request["job"].training.learning_rate
    assert rate > 5e-5
    training = job.training.model_copy(update={"learning_rate": rate})
    assert request["job"] == job.model_copy(update={"training": training})

    assert line.next.text() == "1 of 2"
    qtbot.mouseClick(line.next, Qt.MouseButton.LeftButton)
    assert "The validation set has no row with “mixed”." in line.text.full_text()
    assert line.prepare.isHidden(), "its data set is not in this home"
    qtbot.mouseClick(line.next, Qt.MouseButton.LeftButton)
    assert line.text.full_text().startswith("No better")
    # rows of absent labels are moved to validation
    rows = [f"film {n},{'mixed' if n % 9 else 'positive'},train" for n in range(40)]
    rows += [f"play {n},positive,validation" for n in range(5)]
    file, folder = tmp_path / "films.csv", studio.home.datasets / "films" / "1"
    file.write_text("text,label,part\n" + "\n".join(rows) + "\n", encoding="utf-8")
    mapping, split = Mapping(text="text", label="label"), Split(column="part")
    import_dataset("films", {"all": file}, Reading(format="csv"), mapping, split, folder)
    data = StoredData(folder=folder)
    run_id, job = make_baseline_run(studio, studio.home.runs / "second", data)
    line = open_run(page, run_id, qtbot).advice
    qtbot.waitUntil(lambda: not line.isHidden())
    qtbot.mouseClick(line.next, Qt.MouseButton.LeftButton)
    assert "The validation set has no row with “mixed”." in line.text.full_text()
    with qtbot.waitSignal(studio.navigate) as blocker:
        qtbot.mouseClick(line.prepare, Qt.MouseButton.LeftButton)
    page_name, request = blocker.args
    newer = folder.parent / "2"
    assert page_name == "train"
    assert request["job"] == job.model_copy(update={"data": StoredData(folder=newer)})
    assert "mixed" in open_dataset(newer).cells("validation")["label"]

    with qtbot.waitSignal(studio.notices.added) as blocker:
        line._state.run.runs._open_wizard_after_fix(request["job"], ("absent_labels", "move"))
    assert "too few rows" in blocker.args[0].problem
