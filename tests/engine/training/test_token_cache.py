"""Token cache: data is tokenized once, and waiting can be stopped."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.dataset import Split, StoredData
from engine.config.job import JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.messages.events import Event, Progressed, Saved
from engine.runs.folder import RunFolder
from engine.runs.launch import environment
from engine.training.data.token_cache import UNUSED_SECONDS, TokenCache, shared_tokens
from engine.training.loop import train
from tests.engine.training import small

SLOW = ("Training the tokenizer", "Tokenising the training set", "Tokenising the validation set")


def with_pairs(folder: Path) -> JobSpec:
    task = Pretraining(nsp=True, long_length=40)
    return small.pretraining(folder, steps=1).model_copy(update={"task": task})


JOBS: dict[str, Callable[[Path], JobSpec]] = {
    "masked words": lambda folder: small.pretraining(folder, steps=1),
    "pairs of sentences": with_pairs,
    "tags": lambda folder: small.tagging(folder, steps=1),
    "answers": lambda folder: small.answering(folder, steps=1, max_length=32),
    "choices": lambda folder: small.learning("choices", folder, steps=1),
}


def stages(job: JobSpec, folder: Path) -> list[str]:
    run = small.new_run(folder, job)
    assert train(job, run, run.append)[0] == "finished"
    return [event.stage for event in run.events_after(0)[0] if isinstance(event, Progressed)]


@pytest.mark.parametrize("name", JOBS)
def test_a_second_run_reuses_the_cached_tokens(home, tmp_path, name):
    job = JOBS[name](tmp_path)
    first = stages(job, tmp_path / "first")
    assert set(SLOW) <= set(first)
    second = stages(job, tmp_path / "second")
    assert not set(second) & set(SLOW)
    assert small.notes(RunFolder(tmp_path / "first")) == small.notes(RunFolder(tmp_path / "second"))
    shorter = job.training.model_copy(update={"max_length": 24})
    third = stages(job.model_copy(update={"training": shorter}), tmp_path / "third")
    assert SLOW[0] not in third
    assert (SLOW[1] in third) is (name != "pairs of sentences"), "sentences suit every length"
    assert len(list((home.cache / "tokens").glob("train-*/*-24"))) == 1


def test_a_second_run_on_a_stored_version_reads_no_text(home, tmp_path, monkeypatch):
    job = small.classifying(tmp_path, steps=1, early_stopping_patience=0)
    import_dataset(
        *("films", {"all": job.data.path}, job.data.reading, job.data.mapping),
        *(Split(validation=0), tmp_path / "films"),
    )
    job = job.model_copy(update={"data": StoredData(folder=tmp_path / "films")})
    read: list[str] = []
    original = Dataset.column

    def column(dataset: Dataset, name: str) -> object:
        read.append(name)
        return original(dataset, name)

    monkeypatch.setattr(Dataset, "column", column)
    stages(job, tmp_path / "first")
    assert set(read) == {"text", "label", "_line"}
    read.clear()
    stages(job, tmp_path / "second")
    assert sorted(read) == ["_line", "_line", "label"], "there are no validation rows"


def test_jobs_share_token_ids_unless_their_pairs_differ(home, tmp_path):
    job = with_pairs(tmp_path)
    stages(job, tmp_path / "first")

    def change(**update: object) -> list[str]:
        task = job.task.model_copy(update=update)
        name = "-".join(update)
        return stages(job.model_copy(update={"task": task}), tmp_path / name)

    assert SLOW[1] not in change(mlm_probability=0.3)
    sentences = list((home.cache / "tokens").glob("*/sentences"))
    times = [folder.stat().st_mtime_ns for folder in sentences]
    change(is_next_ratio=0.3)
    assert len(list((home.cache / "tokens").glob("train-*/pairs-0.3-1-*"))) == 2
    assert [folder.stat().st_mtime_ns for folder in sentences] == times, "reused"


@pytest.mark.parametrize("stage", ["Reading the data set", *SLOW[:2]])
def test_a_run_stopped_during_tokenization_resumes(home, tmp_path, stage):
    job = JOBS["masked words"](tmp_path)
    run = small.new_run(tmp_path / "run", job)
    events: list[Event] = []

    def reached() -> bool:
        return any(isinstance(event, Progressed) and event.stage == stage for event in events)

    assert train(job, run, events.append, reached) == ("stopped", 0)
    assert reached() and not any(isinstance(event, Saved) for event in events)
    last = [event.stage for event in events if isinstance(event, Progressed)][-1]
    assert last == stage
    assert not [p for p in home.cache.rglob("*") if ".tmp-" in p.name]
    assert train(job, run, events.append) == ("finished", 1)


def test_deleted_or_damaged_tokens_are_rebuilt_identically(home, tmp_path):
    job = with_pairs(tmp_path)
    stages(job, tmp_path / "first")

    def contents() -> dict[str, bytes]:
        root = home.cache / "tokens"
        return {
            file.relative_to(root).as_posix(): file.read_bytes()
            for file in root.rglob("*")
            if file.suffix in (".bin", ".npy", ".txt")
        }

    before = contents()
    for file in (home.cache / "tokens").rglob("ids.npy"):
        file.write_bytes(b"nothing")
    stages(job, tmp_path / "second")
    assert contents() == before


def test_only_one_of_two_runs_tokenizes(tmp_path):
    cache = TokenCache(tmp_path / "tokens")
    code = (
        "import sys; from pathlib import Path; "
        "from engine.training.data.token_cache import TokenCache\n"
        "with TokenCache(Path(sys.argv[1])).reserve('a', lambda: None) as folder:\n"
        "    (folder / 'begun').touch(); print('here', flush=True); input()\n"
        "    (folder / 'ended').touch()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "tokens")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdin=pipe, stdout=pipe) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == b"here\n"
        waits = 0

        def release() -> None:
            nonlocal waits
            waits += 1
            assert other.stdin is not None
            other.stdin.write(b"\n")
            other.stdin.flush()

        with cache.reserve("a", release) as folder:
            assert waits >= 1 and (folder / "ended").exists()


def test_waiting_for_reserved_tokens_can_be_stopped(tmp_path):
    cache = TokenCache(tmp_path / "tokens")

    def stop_waiting() -> None:
        raise StudioError("enough")

    with (
        cache.reserve("a", stop_waiting),
        pytest.raises(StudioError, match="enough"),
        cache.reserve("a", stop_waiting),
    ):
        raise AssertionError("reserved twice")


def test_unused_tokens_are_eventually_deleted(home):
    cache = shared_tokens()
    for name in ("old", "new", "busy"):
        with cache.reserve(name, lambda: None) as folder:
            (folder / "ids.npy").touch()
    long_ago = time.time() - UNUSED_SECONDS - 10
    for name in ("old", "busy"):
        os.utime(home.cache / "tokens" / name, (long_ago, long_ago))
    with cache.reserve("busy", lambda: None) as folder:
        os.utime(folder, (long_ago, long_ago))
        cache.delete_old()
    remaining = sorted(p.name for p in (home.cache / "tokens").iterdir() if p.is_dir())
    assert remaining == ["busy", "new"]
