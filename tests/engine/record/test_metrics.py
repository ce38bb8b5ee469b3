import math

import pytest

from engine.files.home import Home
from engine.messages.events import measured
from engine.record.metrics import BATCH, add_metrics, best_point, curves, sparkline
from engine.record.opening import Record
from engine.record.runs import add_run
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker


@pytest.fixture
def run_id(home: Home, record: Record) -> str:
    folder = RunFolder.create(home.runs / "one", fake_worker.job())
    with record.session() as session:
        return add_run(session, folder, folder.job(), "stopped").id


def test_a_step_measured_again_replaces_the_old_value(record, run_id):
    with record.session() as session:
        add_metrics(session, run_id, [measured("loss", s, s) for s in (1, 2, 3)])
        add_metrics(session, run_id, [measured("loss", 2, 20), measured("loss", 2, 21)])
        curve = curves(session, run_id)["loss"]
    assert list(curve.finite()) == [(1, 1), (2, 21), (3, 3)] and not curve.not_finite


@pytest.mark.parametrize("count", [BATCH - 1, BATCH, 2 * BATCH, 2 * BATCH + 1])
def test_points_are_added_in_batches(record, run_id, count):
    """The last value of a step wins, even across batches."""
    points = [measured("loss", step, step) for step in (*range(1, count), 1)]
    points[-1] = measured("loss", 1, 7.0)
    with record.session() as session:
        add_metrics(session, run_id, points)
        curve = curves(session, run_id)["loss"]
    assert list(curve.finite()) == [(1, 7.0), *((step, step) for step in range(2, count))]


def test_non_finite_values_are_preserved(record, run_id):
    values = [math.nan, math.inf, -math.inf, 0.5]
    with record.session() as session:
        add_metrics(session, run_id, [measured("loss", s, v) for s, v in enumerate(values)])
    with record.read() as session:
        curve = curves(session, run_id)["loss"]
        assert curve.steps.tolist() == [0, 1, 2, 3] and list(curve.finite()) == [(3, 0.5)]
        assert curve.not_finite == ((0, "nan"), (1, "inf"), (2, "-inf"))
        assert best_point(session, run_id, "loss", highest=True) == (3, 0.5)
        assert sparkline(session, run_id, "loss") == [0.5]


def test_sparklines_downsample_long_curves(record, run_id):
    with record.session() as session:
        add_metrics(session, run_id, [measured("loss", s, 1000 - s) for s in range(1, 1001)])
        values = sparkline(session, run_id, "loss", points=50)
    assert len(values) == 50 and values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(989.5) and sum(values) / 50 == pytest.approx(499.5)


def test_a_curve_without_points_is_empty(record, run_id):
    with record.read() as session:
        assert curves(session, run_id) == {} and sparkline(session, run_id, "loss") == []
        assert best_point(session, run_id, "loss", highest=False) is None


def test_the_earliest_of_equal_values_is_the_best(record, run_id):
    with record.session() as session:
        add_metrics(
            session, run_id, [measured("f1", s, v) for s, v in ((1, 0.5), (2, 0.9), (3, 0.9))]
        )
        assert best_point(session, run_id, "f1", highest=True) == (2, 0.9)
        assert best_point(session, run_id, "f1", highest=False) == (1, 0.5)
