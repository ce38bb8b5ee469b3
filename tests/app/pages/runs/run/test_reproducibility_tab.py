"""Reproducibility of a run."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from engine.config.changes import changes
from engine.files.atomic_write import MANIFEST
from engine.messages.events import Prepared, Saved, Started
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import open_run
from tests.engine.runs import fake_worker


def test_reproducibility_is_shown_and_the_files_are_verified(make_page, studio, make_run, qtbot):
    run_id = make_run("one", step=10, outcome="stopped")
    folder = RunFolder(studio.home.runs / run_id)
    environment = {"cpu": "A fast one", "device": "cpu", "threads": "2", "torch": "2.13.0"}
    environment["attention"] = "nested"
    prepared = Prepared(steps=20, parameters=1, examples=1, device="cpu", threads=2)
    for first, last, differing in ((5, 15, ("threads 1 → 2",)), (15, 20, ())):
        folder.append(Started(pid=1, step=first))
        update = {"step": first, "environment": environment, "differences": differing}
        folder.append(prepared.model_copy(update=update))
        folder.append(Saved(step=last, folder="x", weights="ab" * 32, optimiser="cd" * 32))
    view = open_run(make_page(), run_id, qtbot)
    view.tabs.setCurrentWidget(view.reproducibility)
    tab = view.reproducibility.widget
    qtbot.waitUntil(lambda: bool(tab.verdict.text()))
    assert "may give slightly different weights" in tab.verdict.text()
    assert tab.obstacles.text() == "From step 5: threads 1 → 2."
    assert tab.facts.values["Weights (SHA-256)"].text() == f"{'ab' * 16}\n{'ab' * 16}"
    rows = [label.text() for label in tab.findChildren(QLabel) if "Session" in label.text()]
    assert rows[1].startswith("Session 2: steps 6–15, started ")
    assert rows[1].endswith("; resumed, but not bit for bit: threads 1 → 2")
    assert rows[2].startswith("Session 3: steps 16–20") and rows[2].endswith("resumed bit for bit")
    qtbot.mouseClick(tab.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "are intact" in tab.files.text())
    (folder.checkpoint(5) / MANIFEST).write_text("{")
    qtbot.mouseClick(tab.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "step-00000005: The manifest" in tab.files.text())
    qtbot.mouseClick(tab.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert "CPU: A fast one" in copied
    assert "Attention of unpadded batches: variable-length kernels" in copied


def test_a_run_is_repeated_and_compared_with_others_of_its_job(make_page, studio, make_run, qtbot):
    ids = [make_run(name, job=fake_worker.job(name)) for name in ("one", "same", "another", "bare")]
    prepared = Prepared(steps=20, parameters=1, examples=1, device="cpu", threads=2)
    for run_id, weights, threads in zip(ids, ("ab", "ab", "cd"), ("2", "2", "4"), strict=False):
        folder = RunFolder(studio.home.runs / run_id)
        environment = {"device": "cpu", "threads": threads}
        folder.append(prepared.model_copy(update={"environment": environment}))
        folder.append(Saved(step=10, folder="x", weights="ef" * 32, optimiser="cd" * 32))
        folder.append(Saved(step=20, folder="x", weights=weights * 32, optimiser="cd" * 32))
    view = open_run(make_page(), ids[0], qtbot)
    view.tabs.setCurrentWidget(view.reproducibility)
    tab = view.reproducibility.widget

    def table_rows() -> list[str]:
        labels = [label for label in tab.findChildren(QLabel) if "the same job" in label.text()]
        return sorted(label.text() for label in labels)

    qtbot.waitUntil(lambda: len(table_rows()) == 2)
    assert table_rows() == [
        (
            "“another”, the same job: different weights at step 20."
            " Differences in the environment: Threads."
        ),
        "“same”, the same job: identical weights at step 20.",
    ]
    qtbot.mouseClick(tab.again, Qt.MouseButton.LeftButton)
    (new,) = {folder.name for folder in studio.home.runs.iterdir()} - set(ids)
    repeated = RunFolder(studio.home.runs / new).job()
    assert repeated.name != "one" and not changes(fake_worker.job("one"), repeated)
