"""Live curves of stopped, killed and resumed runs have each point once."""

import json

from engine.record import follow_ups
from engine.record.follow_ups import FORMS
from tests.engine.record.window import Window
from tests.engine.runs import fake_worker
from tests.engine.runs.test_curve_files import points


def set_live_curves(window: Window, live: str) -> None:
    preferences = {"preferences": {"live_curves": live, "keep_awake": False}}
    window.home.settings.write_text(json.dumps(preferences))


def losses(window: Window, run_id: str, form: str) -> list[int]:
    """Steps of the loss in the files."""
    kind = next(kind for kind in FORMS["both"] if kind.form.lower() == form)
    files = kind(window.run(run_id).run_folder(), window.home.curves / form)
    return [step for name, step, _ in points(files) if name == "training/loss"]


def test_points_are_written_once_across_crash_and_resume(window, monkeypatch):
    monkeypatch.setattr(follow_ups, "LIVE_SECONDS", 0.0)
    set_live_curves(window, "both")
    run_id = window.add(fake_worker.job("long", steps=12))
    run = window.until_waiting(run_id)
    window.refresh()
    assert window.manager._is_followed([run]), "also without the window"
    for form in ("tensorboard", "mlflow"):
        assert losses(window, run_id, form) == [1, 2, 3]
    window.send(run_id, "die")
    window.until(run_id, "crashed")
    mlflow = next(window.home.curves.glob("mlflow/*/*/meta.yaml"))
    assert "status: 4\n" in mlflow.read_text(), "it failed"
    window.clear_command(run_id)
    window.manager.resume(run_id)  # from step 2: step 3 is measured again
    window.until_waiting(run_id)
    window.refresh()
    assert "status: 1\n" in mlflow.read_text(), "it is running again"
    for form in ("tensorboard", "mlflow"):
        assert losses(window, run_id, form) == [1, 2, 3, 4, 5]
    window.send(run_id, "go on")
    window.until(run_id, "finished")
    for form in ("tensorboard", "mlflow"):
        assert losses(window, run_id, form) == list(range(1, 13))
    assert "status: 3\n" in mlflow.read_text()


def test_no_curves_are_written_by_default(window):
    run_id = window.add(fake_worker.job())
    window.until(run_id, "finished")
    assert not window.home.curves.exists()


def test_unwritable_curves_are_reported_once_and_the_run_finishes(window, monkeypatch):
    monkeypatch.setattr(follow_ups, "LIVE_SECONDS", 0.0)
    window.home.curves.write_text("a file is in the way")
    set_live_curves(window, "tensorboard")
    run_id = window.add(fake_worker.job())
    window.until(run_id, "finished")
    notices = [update.values for update in window.updates if update.signal == "noted"]
    assert [run for run, text in notices if "curves" in str(text)] == [run_id]
