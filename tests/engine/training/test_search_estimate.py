"""The estimate of a search measures one run per base model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.messages.estimating import Estimated
from engine.training import estimate as module
from engine.training.estimate import estimate
from tests.engine.runs import fake_worker

EPOCHS = SearchField(path="training.epochs", values=(1, 2, 4))
SIZES = SearchField(path="training.batch_size", values=(16, 64))
SEEDS = SearchField(path="training.seed", values=(1, 2))


@pytest.fixture
def measured_jobs(monkeypatch: pytest.MonkeyPatch) -> list[JobSpec]:
    """Fake measurements: 10 s per epoch, twice that with the large model."""
    jobs: list[JobSpec] = []

    def fake_estimate(job: JobSpec, working: Callable[[str], None], scratch: Path) -> Estimated:
        jobs.append(job)
        large = "large" in str(job.base_model)
        return Estimated(
            steps=1,
            seconds_per_step=1,
            seconds=10 * job.training.epochs * (2 if large else 1),
            memory=2000 if large else 1000,
            available=9000,
            parameters=1,
            device="cpu",
            checkpoint=7,
            checkpoints=3,
        )

    monkeypatch.setattr(module, "_estimate", fake_estimate)
    return jobs


def estimate_search(*fields: SearchField, **options: object) -> Estimated:
    search = SearchSpec.model_validate({"fields": fields, **options})
    raw = fake_worker.job().model_dump() | {"training": {"epochs": 1}, "search": search}
    return estimate(JobSpec.model_validate(raw), lambda _: None)


def test_only_the_largest_run_is_measured(measured_jobs):
    result = estimate_search(EPOCHS, SIZES, SEEDS)
    assert (result.runs, result.checkpoints) == (12, 36)
    assert result.seconds == pytest.approx(2 * 2 * (10 + 20 + 40))
    assert [job.training.batch_size for job in measured_jobs] == [64], "it needs the most memory"


def models(*names: str) -> SearchField:
    values = tuple({"kind": "checkpoint", "path": f"/models/{name}"} for name in names)
    return SearchField(path="base_model", values=values)


def test_each_base_model_is_measured_up_to_four(measured_jobs):
    result = estimate_search(EPOCHS, models("small", "large"))
    assert result.seconds == pytest.approx(70 + 140) and result.memory == 2000
    assert len(measured_jobs) == 2
    measured_jobs.clear()
    many = estimate_search(models(*map(str, range(8))))
    assert len(measured_jobs) == 4 and many.runs == 8
    assert many.seconds == pytest.approx(80), "the others are assumed to be alike"


def test_tpe_is_estimated_from_random_combinations(measured_jobs):
    ranged = SearchField(path="training.learning_rate", low=1e-5, high=1e-3, log=True)
    result = estimate_search(ranged, SEEDS, method="tpe", budget=5)
    assert result.runs == 10 and result.seconds == pytest.approx(100)
