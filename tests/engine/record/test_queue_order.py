"""The order of the queue, the number of concurrent runs, and runs that wait for others."""

import json

import pytest

from engine.errors import StudioError
from engine.record.runs import runs_in
from tests.engine.record.window import Window
from tests.engine.runs import fake_worker


def queued_names(window: Window) -> list[str]:
    with window.record.read() as session:
        return [run.name for run in runs_in(session, ("queued", "on hold"))]


def test_the_queue_can_be_reordered(window):
    long = window.add(fake_worker.job("long"))
    window.until_waiting(long)
    ids = {name: window.add(fake_worker.job(name)) for name in "abcd"}
    window.manager.order([ids["c"], ids["a"], "gone"])
    assert queued_names(window) == ["c", "a", "b", "d"]
    window.manager.start_next([ids["a"]])
    window.manager.start_next([ids["d"], ids["b"], long, "gone"])
    assert queued_names(window) == ["d", "b", "a", "c"] and window.run(long).priority == 0


def test_runs_per_device_follow_the_preference(window):
    window.home.settings.write_text(json.dumps({"preferences": {"runs_per_device": 2}}))
    ids = [window.add(fake_worker.job(f"long {n}")) for n in range(3)]
    for run_id in ids[:2]:
        window.until_waiting(run_id)
    window.refresh()
    assert window.states()[ids[2]] == "queued"
    window.send(ids[0], "go on")
    window.until_waiting(ids[2])


def test_a_run_waiting_for_another_does_not_block_the_queue(window):
    first, second, third = (window.add(fake_worker.job(name)) for name in ("long", "b", "c"))
    window.until_waiting(first)
    window.manager.start_after([second], first)
    window.send(first, "go on")
    second_run = window.until(second, "finished")
    ended = window.run(first).ended
    assert second_run.started is not None and ended is not None and second_run.started >= ended
    window.until(third, "finished")


def test_a_run_is_put_on_hold_if_its_predecessor_fails(window):
    first, second, third = (window.add(fake_worker.job(name)) for name in ("long", "b", "c"))
    window.until_waiting(first)
    window.manager.start_after([second], first)
    window.manager.stop(first)
    second_run = window.until(second, "on hold")
    assert second_run.problem == "Set to start after “long”, which has not finished."
    window.until(third, "finished")


def test_circular_waits_are_refused(window):
    window.until_waiting(window.add(fake_worker.job("long")))
    a, b = (window.add(fake_worker.job(name)) for name in "ab")
    window.manager.start_after([a], b)
    with pytest.raises(StudioError, match="cannot start after itself"):
        window.manager.start_after([b], a)
    with pytest.raises(StudioError, match="cannot start after itself"):
        window.manager.start_after([a], a)
    window.manager.start_after([a], "")
    window.manager.start_after([b], a)


def test_runs_are_followed_for_notices_and_to_prevent_sleep(window, monkeypatch):
    """The system may sleep when nothing trains."""
    calls: list[str] = []
    monkeypatch.setattr(window.manager.awake, "hold", lambda: calls.append("hold"))
    monkeypatch.setattr(window.manager.awake, "release", lambda: calls.append("release"))
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    run = window.run(run_id)
    assert calls[-1] == "hold" and window.manager._is_followed([run])
    window.home.settings.write_text(json.dumps({"preferences": {"keep_awake": False}}))
    window.refresh()
    assert calls[-1] == "release" and not window.manager._is_followed([run])
    window.home.settings.write_text(
        json.dumps({"preferences": {"keep_awake": False, "notify": True}})
    )
    assert window.manager._is_followed([run]) and not window.manager._is_followed([])
