"""The memory estimate of a run matches its measured peak."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from engine.config.families.bert import PRESETS
from engine.config.job import FromScratch, JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.messages.estimating import Estimate, Estimated
from engine.messages.events import Ended
from engine.messages.question import Working, parse_answer
from engine.runs import launch
from engine.runs.reproducibility import read_reproducibility
from engine.training.device.machine import peak_memory
from tests.engine.training import small

WIDE = PRESETS["mini"].model_copy(update={"vocab_size": 120})  # exceeds noise of Python and torch
MARGIN = 0.15


def large_job(folder: Path) -> JobSpec:
    job = small.pretraining(folder, batch_size=8, max_length=128, steps=2)
    task = Pretraining(nsp=True)
    return job.model_copy(update={"task": task, "base_model": FromScratch(model=WIDE)})


def estimate_in_worker(job: JobSpec, scratch: Path) -> Estimated:
    """The answer of a new process, as in the window."""
    pipe = subprocess.PIPE
    command = launch.worker("explore", str(scratch))
    with subprocess.Popen(
        command, env=launch.environment(), cwd=launch.CODE, stdin=pipe, stdout=pipe
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        question, stages = Estimate(job=job, number=9), set[str]()
        process.stdin.write(question.line())
        process.stdin.flush()
        while isinstance(answer := parse_answer(process.stdout.readline(), question), Working):
            stages.add(answer.stage)
        process.kill()
    assert isinstance(answer, Estimated) and answer.to == 9 and len(stages) > 2
    return answer


@pytest.mark.long
def test_the_estimate_matches_the_run(home, tmp_path):
    job = large_job(tmp_path)
    result = estimate_in_worker(job, tmp_path)
    run = small.new_run(tmp_path / "run", job)
    with launch.start(run.path) as worker:
        assert worker.wait() == 0
    ended = run.last_events()[-1]
    assert isinstance(ended, Ended) and ended.memory > 100e6
    assert result.memory == pytest.approx(ended.memory, rel=MARGIN)
    assert result.disk_free is not None and result.disk_free > 0
    assert read_reproducibility(run).memory == ended.memory


def test_the_peak_counts_freed_memory():
    before = peak_memory().process
    array = np.ones(40_000_000)
    assert len(array) and peak_memory().process > before - 1e6
    del array
    after = peak_memory()
    assert after.process >= 300e6 and after.network_memory == (after.device or after.process)
