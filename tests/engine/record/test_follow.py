from datetime import timedelta

import pytest

from engine.files.home import Home
from engine.messages import now
from engine.messages.events import (
    AnyEvent,
    Ended,
    Event,
    Noted,
    Progressed,
    Removed,
    Saved,
    Started,
    Waiting,
    measured,
)
from engine.record.checkpoints import get_checkpoints
from engine.record.follow import catch_up, record_crash, record_folder
from engine.record.metrics import Points, curves
from engine.record.opening import Record
from engine.record.runs import Run, add_run, find_run
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker

PREPARED = fake_worker.prepared(100, versions={"a": "1"}, best_metric="validation_accuracy")
COLUMNS = [column.key for column in Run.__table__.columns]


def comparable(by_name: dict[str, Points]) -> dict[str, tuple[list[tuple[int, float]], object]]:
    return {name: (list(points.finite()), points.not_finite) for name, points in by_name.items()}


class FollowedRun:
    """A run folder filled by a test, and the row that follows it."""

    def __init__(self, record: Record, home: Home) -> None:
        self.record = record
        self.folder = RunFolder.create(home.runs / "one", fake_worker.job())
        with record.session() as session:
            add_run(session, self.folder, self.folder.job(), "starting")

    def record_events(self, *events: Event) -> Run:
        for event in events:
            self.folder.append(event)
        return self.catch_up()[0]

    def catch_up(self) -> tuple[Run, list[AnyEvent]]:
        read = []
        while True:
            with self.record.session() as session:
                run = find_run(session, "one")
                assert run is not None
                events = catch_up(session, run, self.folder)
            if not events:
                return run, read
            read += events


@pytest.fixture
def followed(record: Record, home: Home) -> FollowedRun:
    return FollowedRun(record, home)


def test_state_and_step_follow_the_events(followed):
    assert followed.record_events().state == "starting"
    assert followed.record_events(Started(pid=1)).state == "running"
    run = followed.record_events(PREPARED, measured("loss", 3, 0.25), Progressed(stage="x", done=1))
    assert (run.step, run.steps, run.loss) == (3, 100, 0.25)
    assert (run.device, run.versions) == ("cpu", {"a": "1"})
    run = followed.record_events(Ended(outcome="finished", step=100))
    assert (run.state, run.step) == ("finished", 100)
    assert run.started is not None and run.ended is not None and run.started <= run.ended


def test_a_stop_request_is_shown_when_the_worker_starts(followed):
    followed.folder.request_stop()
    assert followed.record_events(Started(pid=1)).state == "stopping"
    assert followed.record_events(Ended(outcome="stopped", step=2)).state == "stopped"


def test_a_run_that_waits_for_disk_space_is_paused(followed):
    run = followed.record_events(
        Started(pid=1), PREPARED, Waiting(problem="Full.", advice="Free 3 MB.")
    )
    assert (run.state, run.problem, run.advice) == ("paused", "Full.", "Free 3 MB.")
    assert followed.record_events(Noted(text="There is room.")).state == "paused"
    run = followed.record_events(measured("loss", 4, 1))
    assert (run.state, run.problem, run.advice) == ("running", "", "")
    followed.record_events(Waiting(problem="Full."))
    followed.folder.request_stop()
    assert followed.record_events(Progressed(stage="x", done=1)).state == "stopping"
    run = followed.record_events(
        Ended(outcome="stopped", step=4, problem="Full.", advice="Free 3 MB.")
    )
    assert (run.state, run.problem) == ("stopped", "Full.")


def test_a_failure_is_shown_until_the_run_resumes(followed):
    end = Ended(outcome="failed", problem="No.", advice="Do.", details="Trace", bug=True)
    run = followed.record_events(Started(pid=1), measured("loss", 30, 1), end)
    assert run.step == 30
    assert (run.state, run.problem, run.advice, run.details, run.bug) == (
        "failed", "No.", "Do.", "Trace", True,
    )  # fmt: skip
    run = followed.record_events(Started(pid=2, step=40))
    assert (run.state, run.problem, run.details) == ("running", "", "")
    assert (run.step, run.ended) == (40, None)


def test_events_are_recorded_once_after_a_rollback(followed):
    for event in (Started(pid=1), Noted(text="a"), measured("loss", 1, 1.0)):
        followed.folder.append(event)
    with pytest.raises(ZeroDivisionError), followed.record.session() as session:  # noqa: PT012
        run = find_run(session, "one")
        assert run is not None and catch_up(session, run, followed.folder)
        _ = 1 / 0
    run, read = followed.catch_up()
    assert len(read) == 3 and run.remarks == ["a"]
    assert followed.catch_up() == (run, []) or followed.catch_up()[1] == []
    with followed.record.read() as session:
        assert list(curves(session, "one")["loss"].finite()) == [(1, 1.0)]


def test_the_best_score_uses_the_metric_of_the_worker(followed):
    run = followed.record_events(
        Started(pid=1), PREPARED, measured("validation_accuracy", 1, float("nan"))
    )
    assert (run.best_metric, run.best_score) == ("validation_accuracy", None)
    points = [measured("validation_accuracy", s, v) for s, v in ((2, 0.5), (3, 0.75), (4, 0.6))]
    run = followed.record_events(*points, measured("validation_loss", 4, 0.01))
    assert (run.best_score, run.best_step) == (0.75, 3)


def test_equal_scores_are_ranked_by_loss(followed):
    scores = [measured("validation_accuracy", step, 0.5) for step in (1, 2, 3, 4)]
    run = followed.record_events(Started(pid=1), PREPARED, *scores)
    assert (run.best_score, run.best_step) == (0.5, 1)
    for step, loss, best in ((1, float("nan"), 1), (2, 0.9, 2), (3, 0.7, 3), (4, 0.8, 3)):
        run = followed.record_events(measured("validation_loss", step, loss))
        assert (run.best_score, run.best_step) == (0.5, best)


def test_points_copied_by_a_branch_set_its_best_score(followed):
    followed.record_events(measured("validation_accuracy", 2, 0.9))
    run = followed.record_events(Started(pid=1, step=2), PREPARED)
    assert (run.best_score, run.best_step) == (0.9, 2)


def test_saved_and_removed_checkpoints_are_recorded(followed):
    folder = followed.folder
    followed.record_events(Started(pid=1))
    for step in (2, 4, 6):
        fake_worker.save(folder, step, best=step < 6)
    followed.record_events(Removed(step=2, folder="checkpoints/step-00000002"))
    with followed.record.read() as session:
        saved = [(c.folder, c.step, c.best) for c in get_checkpoints(session, "one")]
    assert saved == [(folder.checkpoint(4), 4, True), (folder.checkpoint(6), 6, False)]


def test_a_checkpoint_path_outside_the_run_is_ignored(followed, tmp_path):
    followed.record_events(Started(pid=1), Saved(step=2, folder="../../../etc"))
    with followed.record.read() as session:
        (checkpoint,) = get_checkpoints(session, "one")
    assert checkpoint.folder == followed.folder.checkpoint(2)


def test_an_unreported_checkpoint_is_found_at_the_end(followed):
    followed.record_events(Started(pid=1))
    fake_worker.save(followed.folder, 2, best=True)
    fake_worker.save(followed.folder, 4)
    lines = followed.folder.events_file.read_bytes().splitlines(keepends=True)
    followed.folder.events_file.write_bytes(b"".join(lines[:-1]))  # killed before the last line
    followed.catch_up()
    for file in followed.folder.checkpoint(2).iterdir():
        file.unlink()  # deleted by the user
    with followed.record.session() as session:
        run = find_run(session, "one")
        assert run is not None
        record_crash(session, run, followed.folder)
        assert [c.step for c in get_checkpoints(session, "one")] == [4]
    assert "from step 4" in run.advice


def test_training_time_is_robust_against_clock_changes(followed):
    start = now()

    def at(seconds: float, event: Event) -> Event:
        return event.model_copy(update={"at": start + timedelta(seconds=seconds)})

    run = followed.record_events(
        at(0, Started(pid=1)), at(5, PREPARED), at(10, measured("loss", 1, 1))
    )
    run = followed.record_events(
        at(20, measured("loss", 11, 1)), at(-90_000, measured("loss", 12, 1))
    )
    assert run.seconds == 20
    run = followed.record_events(
        at(50, Started(pid=1, step=10)), at(51, Ended(outcome="stopped", step=10))
    )
    assert run.seconds == 21


def test_the_time_left_follows_the_pace_of_the_current_worker(followed):
    start = now()
    run = followed.record_events(Started(pid=1), PREPARED)
    assert run.seconds_left() is None
    points = [
        measured("loss", step, 1).model_copy(update={"at": start + timedelta(seconds=2 * step)})
        for step in (10, 11, 20)
    ]
    run = followed.record_events(*points)
    assert run.seconds_left() == pytest.approx(160)
    paused = followed.record_events(Waiting(problem="The disk is full."))
    assert (paused.state, paused.seconds_left()) == ("paused", None), "nothing counts down"
    followed.record_events(
        measured("loss", 21, 1).model_copy(update={"at": start + timedelta(seconds=42)})
    )
    ended = followed.record_events(Ended(outcome="stopped", step=21))
    assert ended.seconds_left() is None


def test_a_stage_ends_with_the_next_event(followed):
    stage = Progressed(stage="Evaluating", done=13, total=14)
    run = followed.record_events(Started(pid=1), PREPARED, measured("loss", 1, 1), stage)
    assert (run.stage, run.stage_done, run.stage_total) == ("Evaluating", 13, 14)
    assert followed.record_events(Noted(text="One label is never predicted.")).stage == "Evaluating"
    assert followed.record_events(measured("validation_accuracy", 1, 0.5)).stage == ""
    assert followed.record_events(stage, stage.model_copy(update={"done": 14})).stage == ""
    followed.record_events(stage)
    assert followed.record_events(Ended(outcome="stopped", step=1)).stage == ""
    followed.record_events(Started(pid=1), stage)
    with followed.record.session() as session:
        crashed = find_run(session, "one")
        assert crashed is not None
        record_crash(session, crashed, followed.folder)
        assert crashed.stage == ""


@pytest.mark.parametrize(
    "code, cause",
    [
        (-9, "was killed by signal 9 at step 7; perhaps memory ran out."),
        (-11, "was killed by signal 11 at step 7; a library crashed."),
        (-15, "was killed by signal 15 at step 7."),
        (3, "ended with exit code 3 at step 7."),
        (None, "disappeared at step 7."),
    ],
)
def test_a_crash_is_reported_with_cause_and_advice(followed, code, cause):
    followed.folder.log.write_text("line one\nterminate called\n")
    followed.record_events(Started(pid=1), measured("loss", 7, 1))
    with followed.record.session() as session:
        run = find_run(session, "one")
        assert run is not None
        record_crash(session, run, followed.folder, code)
    assert (run.state, run.problem) == ("crashed", f"The training process {cause}")
    assert run.details.endswith("terminate called") and "from the beginning" in run.advice


def test_an_existing_folder_is_recorded_with_its_state(record, home):
    histories = {
        "ended": [Started(pid=1), Ended(outcome="finished", step=5)],
        "dead": [Started(pid=1), measured("loss", 5, 1)],
        "fresh": [],
    }
    folders = {name: RunFolder.create(home.runs / name, fake_worker.job()) for name in histories}
    for name, history in histories.items():
        for event in history:
            folders[name].append(event)
    with record.session() as session:
        states = {n: record_folder(session, f, f.job()).state for n, f in folders.items()}
    assert states == {"ended": "finished", "dead": "crashed", "fresh": "stopped"}
    active = RunFolder.create(home.runs / "living", fake_worker.job())
    with active.lock(), record.session() as session:
        assert record_folder(session, active, active.job()).state == "starting"
    queued = RunFolder.create(home.runs / "queued", fake_worker.job())
    with record.session() as session:
        assert record_folder(session, queued, queued.job(), queued=True).state == "queued"


def test_events_have_the_same_effect_together_and_one_by_one(record, home):
    start = now()
    events = [
        Started(pid=1, at=start),
        PREPARED.model_copy(update={"at": start + timedelta(seconds=1)}),
        *(
            measured(name, step, value).model_copy(update={"at": start + timedelta(seconds=step)})
            for step in (2, 4, 3)
            for name, value in (("loss", 1 / step), ("validation_accuracy", step / 10))
        ),
        Waiting(problem="full", advice="make room", at=start + timedelta(seconds=5)),
        Progressed(stage="tokenising", done=1, total=3, at=start + timedelta(seconds=6)),
        measured("loss", 9, float("nan")).model_copy(update={"at": start + timedelta(seconds=9)}),
        measured("rate", 8, 0.5).model_copy(update={"at": start + timedelta(seconds=7)}),
    ]
    followed = FollowedRun(record, home)
    for event in events:
        followed.record_events(event)
    with record.session() as session:
        one_by_one = {c: getattr(find_run(session, "one"), c) for c in COLUMNS}
        run = find_run(session, "one")
        curve = comparable(curves(session, "one"))
        session.delete(run)
        session.flush()
        add_run(session, followed.folder, followed.folder.job(), "starting")
    run, read = followed.catch_up()
    assert len(read) == len(events)
    assert {c: getattr(run, c) for c in one_by_one if c != "created"} == {
        c: value for c, value in one_by_one.items() if c != "created"
    }
    assert (run.state, run.loss, run.step, run.seconds) == ("running", None, 9, 10.0)
    assert (run.paced_step, run.problem, run.stage) == (2, "", "")
    with record.session() as session:
        assert comparable(curves(session, "one")) == curve
