"""A job that was run before is found, whatever it was called."""

from pathlib import Path

from sqlalchemy.orm import Session

from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.record.runs import add_run
from engine.record.same_jobs import find_same
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from tests.engine.runs import fake_worker


def with_training(job: JobSpec, **training: object) -> JobSpec:
    return job.model_copy(update={"training": job.training.model_copy(update=training)})


def add(session: Session, folder: Path, job: JobSpec, state: str) -> list[str]:
    ids = []
    for run in expand(job):
        created = RunFolder.create(folder / f"run{len(list(folder.iterdir()))}", run)
        ids.append(add_run(session, created, run, state).id)
    session.flush()
    return ids


def test_a_job_is_found_by_all_that_decides_its_result(tmp_path, record):
    job = fake_worker.job("first")
    renamed = job.model_copy(update={"name": "second"})
    with record.session() as session:
        (first,) = add(session, tmp_path, job, "finished")
        same = find_same(session, renamed)
        assert same is not None and same.run_id == first
        assert same.free_seed == job.training.seed + 1
        assert find_same(session, with_training(job, learning_rate=1e-3)) is None
        assert find_same(session, with_training(job, seed=9)) is None
        # several seeds are the same job only if each of them was run
        several = with_training(job, seeds=2)
        assert find_same(session, several) is None
        add(session, tmp_path, with_training(job, seed=job.training.seed + 1), "queued")
        same = find_same(session, several)
        assert same is not None and same.free_seed == job.training.seed + 2
        # a run of a search is no single run, and failed runs may be tried again
        field = SearchField(path="training.learning_rate", values=(1e-5, 2e-5))
        search = job.model_copy(update={"search": SearchSpec(fields=(field,))})
        assert find_same(session, search) is None
        add(session, tmp_path, search, "running")
        assert find_same(session, search) is not None
        assert find_same(session, with_training(job, learning_rate=1e-5)) is None
        add(session, tmp_path, with_training(job, seed=50), "failed")
        assert find_same(session, with_training(job, seed=50)) is None
