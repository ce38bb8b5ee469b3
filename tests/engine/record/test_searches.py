"""A search in the queue: its next runs, pruned runs, and those left at its end."""

from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.record import runner
from engine.record.runs import all_runs
from engine.record.searches import has_pending, list_search_runs
from engine.runs import searching
from tests.engine.record.window import Window
from tests.engine.runs import fake_worker

RATE = "training.learning_rate"


def job(*rates: float, name: str = "short", **options: object) -> JobSpec:
    fields = (SearchField(path=RATE, values=rates),)
    search = SearchSpec.model_validate({"fields": fields, **options})
    raw = fake_worker.job(name, steps=4).model_dump() | {"search": search}
    return JobSpec.model_validate(raw)


def rates(window: Window) -> dict[float, str]:
    """State of each run by its rate, oldest first."""
    with window.record.read() as session:
        return {
            run.parse_job().training.learning_rate: run.state for run in reversed(all_runs(session))
        }


def test_the_runner_adds_the_next_run_of_a_search(window):
    window.manager.add(job(1e-5, 2e-5, 3e-5, 5e-5, method="tpe", budget=2))
    window.manager.detach()
    assert len(window.states()) == 1
    runner.run_queue(window.home)
    assert list(rates(window).values()) == ["finished"] * 2
    assert not has_pending(window.record) and not runner.has_work(window.record)


def test_a_search_whose_runner_was_killed_is_resumed(window, windows):
    (first,) = window.manager.add(job(1e-5, 5e-5, method="tpe", budget=2))
    window.manager._searches._pending = set()  # it gets no events, as if killed
    window.manager._searches.follow = lambda updates: []  # type: ignore[method-assign]
    window.until(first, "finished")
    assert has_pending(window.record) and runner.has_work(window.record)
    windows()
    window.manager.release_queue()
    runner.run_queue(window.home)
    assert list(rates(window).values()) == ["finished"] * 2


def test_stopping_a_run_pauses_its_search(window):
    (first,) = window.manager.add(job(1e-5, 5e-5, name="long", method="tpe", budget=2))
    window.until_waiting(first)
    window.manager.stop(first)
    window.until(first, "stopped")
    window.refresh()
    assert not window.manager._searches.is_busy and not has_pending(window.record)


def test_a_poor_run_is_pruned_with_a_reason(window, monkeypatch):
    monkeypatch.setattr(searching, "STARTUP_RUNS", 1)
    good, poor = window.manager.add(job(5e-5, 1e-5, name="long", prune=True))
    window.until_waiting(good)
    window.send(good, "go on")
    run = window.until(poor, "stopped")
    assert run.problem.startswith("Pruned at step 2: its best score of 0.1 is worse than 0.5")
    ends = [values[0] for name, values in window.updates if name == "ended"]
    assert [end.name for end in ends if not end.by_user] == [window.run(good).name]  # type: ignore[attr-defined]
    with window.record.read() as session:
        group = all_runs(session)[0].parse_job().group
    assert group is not None
    runs, higher = list_search_runs(window.record, group.id)
    assert higher and [trial.state for trial in searching.list_trials(runs)] == [
        "finished",
        "pruned",
    ]

    window.manager.resume(poor)
    window.send(poor, "go on")
    assert window.until(poor, "finished").problem == "", "a resumed run is not pruned again"


def test_queued_runs_of_an_ended_search_are_stopped(window):
    first, *others = window.manager.add(job(5e-5, 4e-5, 3e-5, 2e-5, stop_after=1))
    run = window.until(others[-1], "stopped")
    assert run.problem == (
        "Not trained, because the search has ended: 1 combination in a row was not better."
    )
    assert run.started is None and window.run(first).state == "finished"
    assert list(rates(window).values()) == ["finished", "finished", "stopped", "stopped"]
