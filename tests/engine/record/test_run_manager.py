"""The queue and requests of the user."""

import os
from pathlib import Path

import pytest

from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.errors import StudioError
from engine.messages.events import Measured
from engine.record.checkpoints import get_checkpoints
from engine.record.metrics import curves
from engine.record.runs import annotate, find_run
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until

# ── from start to end ────────────────────────────────────────────────────────────────────────


def test_a_run_starts_trains_and_ends(window):
    run_id = window.add(fake_worker.job())
    assert window.run(run_id).state == "queued"
    run = window.until(run_id, "finished")
    assert (run.step, run.steps, run.best_metric) == (6, 6, "validation_accuracy")
    with window.record.read() as session:
        assert len(curves(session, run_id)["loss"]) == 6
        assert [c.step for c in get_checkpoints(session, run_id)] == [2, 4, 6]
    signals = [name for name, _ in window.updates]
    assert {"run_changed", "measured", "noted"} <= set(signals)
    points = [p for name, (_, *rest) in window.updates if name == "measured" for p in rest[0]]  # type: ignore[attr-defined]
    assert len([p for p in points if isinstance(p, Measured) and p.name == "loss"]) == 6
    assert not window.manager.is_busy

    def is_reaped() -> bool:
        window.refresh()
        return not window.manager.workers.processes()

    until(is_reaped)


def test_runs_with_the_same_name_get_distinct_names_and_folders(window):
    job = fake_worker.job("a/b")
    ids = [window.add(job) for _ in range(2)]
    ids.append(window.add(job.model_copy(update={"name": "a/b (2)"})))
    assert [window.run(run_id).name for run_id in ids] == ["a/b", "a/b (2)", "a/b (3)"]
    assert len(set(ids)) == 3 and set(ids) == set(window.states())
    seeds = job.model_copy(update={"training": job.training.model_copy(update={"seeds": 2})})
    groups = [window.manager.add(seeds) for _ in range(2)]
    assert [window.run(run_id).name for run_id in groups[1]] == [
        "a/b (2) · seed 42",
        "a/b (2) · seed 43",
    ]
    changed = {"learning_rate": 3e-5, "seed": 2}
    training = job.training.model_copy(update=changed)
    other = [window.add(job.model_copy(update={"training": training})) for _ in range(2)]
    named = "a/b · Learning rate 3e-5 · Random seed 2"
    assert sorted(window.run(run_id).name for run_id in other) == sorted([named, "a/b (4)"])
    longest = fake_worker.job("x" * RUN_NAME_LENGTH)
    names = [window.run(window.add(longest)).name for _ in range(2)]
    assert names[1].endswith("x (2)") and len(names[1]) == RUN_NAME_LENGTH


def test_one_run_per_device_in_queue_order(window):
    long = window.add(fake_worker.job("long"))
    second = window.add(fake_worker.job("short"))
    other = window.add(fake_worker.job("short", device="cuda"))
    anywhere = window.add(fake_worker.job("short", device="auto"))
    window.until_waiting(long)
    window.until(other, "finished")
    assert window.states()[second] == window.states()[anywhere] == "queued"
    window.manager.stop(long)
    window.until(anywhere, "finished")
    started = {i: window.run(i).started for i in (second, anywhere)}
    assert all(started.values()) and window.states()[second] == "finished"
    second_ended, anywhere_started = window.run(second).ended, started[anywhere]
    assert second_ended is not None and anywhere_started is not None
    assert second_ended <= anywhere_started


def test_stop_saves_and_resume_continues_in_the_same_folder(window):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.manager.stop(run_id)
    assert window.run(run_id).state == "stopping"
    assert window.until(run_id, "stopped").step == 3
    window.manager.resume(run_id)
    window.send(run_id, "go on")
    run = window.until(run_id, "finished")
    assert not run.run_folder().stop_requested()
    with window.record.read() as session:
        assert curves(session, run_id)["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_stop_request_during_the_start_is_kept(window):
    run_id = window.add(fake_worker.job("long"))
    window.updates += window.manager.refresh()
    assert window.run(run_id).state == "starting"
    window.manager.stop(run_id)
    assert window.until(run_id, "stopped").step == 3


def test_held_and_stopped_runs_are_skipped_until_resumed(window):
    names = ("long", "held", "stopped", "neither", "other")
    runs = {name: window.add(fake_worker.job(name)) for name in names}
    window.until_waiting(runs["long"])
    for name in ("held", "neither", "long"):
        window.manager.hold(runs[name])
    assert window.states()[runs["long"]] == "running"
    for name in ("stopped", "neither", "long"):
        window.manager.stop(runs[name])
    window.until(runs["other"], "finished")
    window.refresh()
    states = [window.states()[run_id] for run_id in runs.values()]
    assert states == ["stopped", "on hold", "stopped", "stopped", "finished"]
    assert not window.manager.is_busy
    held = runs["held"]
    window.manager.resume(held)
    window.until(held, "finished")


def test_a_finished_run_cannot_be_resumed(window):
    run_id = window.add(fake_worker.job())
    window.until(run_id, "finished")
    with pytest.raises(StudioError, match="cannot be resumed"):
        window.manager.resume(run_id)
    with pytest.raises(StudioError, match="no longer listed"):
        window.manager.resume("nobody")


# ── removing and adopting ───────────────────────────────────────────────────────────────────


def test_a_removed_run_is_moved_to_the_trash_and_restored(window, tmp_path):
    run_id = window.add(fake_worker.job())
    folder = window.until(run_id, "finished").folder
    until(lambda: not window.run(run_id).run_folder().has_worker())
    with window.record.session() as session:
        annotate(session, run_id, name="Mine", notes="Keep this.")

    def move_to_trash(path: Path) -> Path:
        os.rename(path, tmp_path / "trash")
        return tmp_path / "trash"

    removed, (signal, (trashed,)) = window.manager.remove([run_id, "gone"], move_to_trash)
    assert (removed, signal) == (("run_removed", (run_id,)), "trashed")
    assert window.states() == {} and not folder.exists()
    with window.record.read() as session:
        assert curves(session, run_id) == {} and get_checkpoints(session, run_id) == []
    os.rename(trashed[0].trash_path, folder)
    assert window.manager.restore(trashed) == [("run_added", (run_id,))]
    with window.record.read() as session:
        restored = find_run(session, run_id)
        assert restored is not None
        assert (restored.name, restored.notes, restored.state) == ("Mine", "Keep this.", "finished")
        assert curves(session, run_id) and get_checkpoints(session, run_id)


def test_permanent_deletion_without_a_trash_is_reported(window):
    run_id = window.add(fake_worker.job())
    folder = window.until(run_id, "finished").folder
    updates = window.manager.remove([run_id], lambda path: None)
    assert updates[0][0] == "noted" and "permanently" in str(updates[0][1][1])
    assert window.states() == {} and not folder.exists()


def test_a_run_in_training_is_not_removed(window):
    run_id = window.add(fake_worker.job("long"))
    folder = window.until_waiting(run_id).folder
    ((signal, (_, error)),) = window.manager.remove([run_id], lambda path: None)
    assert signal == "refused" and "is still being trained" in str(error)
    assert folder.exists()


def test_an_external_run_folder_is_adopted(window, tmp_path):
    external = RunFolder.create(tmp_path / "server run", fake_worker.job())
    assert fake_worker.main(external) == 0
    copied = window.manager.copy(external.path, lambda done, total: None, lambda: False)
    ((name, (run_id,)),) = window.manager.adopt(copied)
    assert name == "run_added" and isinstance(run_id, str)
    run = window.run(run_id)
    assert (run.state, run.step, run.folder.parent) == ("finished", 6, window.home.runs)


# ── several seeds ────────────────────────────────────────────────────────────────────────────


def test_a_job_with_several_seeds_becomes_a_group_of_runs(window):
    spec = fake_worker.job()
    training = spec.training.model_copy(update={"seed": 7, "seeds": 3})
    ids = window.manager.add(spec.model_copy(update={"training": training}))
    jobs = [window.run(run_id).parse_job() for run_id in ids]
    assert [job.training.seed for job in jobs] == [7, 8, 9]
    assert [job.name for job in jobs] == [f"{spec.name} · seed {seed}" for seed in (7, 8, 9)]
    groups = {(job.group.name, job.group.runs) for job in jobs if job.group is not None}
    assert groups == {(spec.name, 3)}
    assert len({job.group.id for job in jobs if job.group is not None}) == 1
    assert all(
        window.run(run_id).run_folder().job() == job for run_id, job in zip(ids, jobs, strict=True)
    )


def test_a_group_of_runs_is_added_completely_or_not_at_all(window, monkeypatch):
    create, calls = RunFolder.create, 0

    def raise_on_third_call(path: Path, job: JobSpec) -> RunFolder:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StudioError("The disk is full.")
        return create(path, job)

    monkeypatch.setattr(RunFolder, "create", raise_on_third_call)
    spec = fake_worker.job()
    training = spec.training.model_copy(update={"seeds": 3})
    with pytest.raises(StudioError, match="full"):
        window.manager.add(spec.model_copy(update={"training": training}))
    assert not window.states() and not list(window.home.runs.iterdir())
