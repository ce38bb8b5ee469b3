"""The machine's load during a run is stored in its folder."""

import os
from pathlib import Path

import pytest

from engine.desktop import machine_history as history
from engine.desktop.load import GpuLoad, MachineSample
from engine.desktop.machine_history import Subject, append_sample, build_curves, read_samples
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until

GPU = GpuLoad(name="NVIDIA A100", busy=0.87, memory=1 << 30, temperature=61.0)
SAMPLE = MachineSample(
    busy=0.96, run_busy=0.5, memory=4_000, run_memory=1_000, temperature=70.0, gpus=(GPU,)
)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", fake_worker.job())


def test_a_run_is_sampled_until_it_ends(run, monkeypatch):
    monkeypatch.setattr(history, "FIRST_PAUSE", 0.01)
    steps = iter(range(1, 1_000_000))
    with history.sampling(run, os.getpid(), lambda: next(steps)):
        until(lambda: len(read_samples(run.machine_file, 0)[0]) >= 3)
    samples, end = read_samples(run.machine_file, 0)
    assert [sample.step for sample in samples] == list(range(1, len(samples) + 1))
    assert all(
        sample.memory and sample.run_memory and sample.run_memory > 1e6 for sample in samples
    )
    assert all(sample.busy is not None and 0 <= sample.busy <= 1 for sample in samples)
    assert read_samples(run.machine_file, end) == ([], end), "nothing is sampled after the end"


def test_each_measure_has_a_curve_per_subject(run):
    for step in (0, 10, 10, 20, 30, 15):  # two samples at step 10; resumed from 10 after 30
        append_sample(run, SAMPLE.model_copy(update={"step": step}))
    samples, _ = read_samples(run.machine_file, 0)
    steps = [0.0, 10.0, 15.0]
    gpu = Subject("gpu", 0, "NVIDIA A100")
    assert build_curves(samples, "busy") == {
        Subject("machine"): (steps, [0.96] * 3),
        Subject("run"): (steps, [0.5] * 3),
        gpu: (steps, [0.87] * 3),
    }
    assert build_curves(samples, "memory")[gpu] == (steps, [float(1 << 30)] * 3)
    assert set(build_curves(samples, "temperature")) == {Subject("machine"), gpu}
    assert build_curves(samples, "power") == {}, "no sample has it"


def test_a_truncated_damaged_or_missing_file_is_read(run, tmp_path):
    append_sample(run, MachineSample(step=1, busy=0.5))
    content = run.machine_file.read_bytes()
    with run.machine_file.open("ab") as file:
        file.write(b'{"step": -3}\n{"busy": NaN}\n\xff\xfe\n[1]\n' + content + b'{"step": 9')
    samples, end = read_samples(run.machine_file, 0)
    assert [sample.step for sample in samples] == [1, 1]
    with run.machine_file.open("ab") as file:
        file.write(b"}\n")
    assert [sample.step for sample in read_samples(run.machine_file, end)[0]] == [9]
    assert read_samples(tmp_path / "none", 0) == ([], 0)


@pytest.mark.skipif(os.name == "nt", reason="links need privileges on Windows")
def test_nothing_is_written_or_read_through_a_link(run, tmp_path):
    target = tmp_path / "mine"
    target.write_text("mine")
    run.machine_file.symlink_to(target)
    append_sample(run, MachineSample(step=1))
    assert target.read_text() == "mine" and read_samples(run.machine_file, 0) == ([], 0)
