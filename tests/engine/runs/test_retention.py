"""Retention of checkpoints, and the consequences of deleting one."""

import pytest

from engine.cli import main as command
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.runs import retention
from engine.runs.reproducibility import read_reproducibility
from engine.training.estimate import estimate
from engine.worker.train import main as work
from tests.engine.runs.test_reproducibility import run_until
from tests.engine.training import small


def test_the_best_the_last_and_every_nth_checkpoint_are_kept(finished):
    plan = TrainingSpec(keep=2, keep_every=10)
    assert retention.reasons_to_keep(range(5, 31, 5), 15, plan) == {
        10: ("every 10",),
        15: ("best",),
        20: ("every 10",),
        25: ("last",),
        30: ("last", "every 10"),
    }
    retained = retention.retained_checkpoints(finished)
    assert {10, 20, 30} <= {checkpoint.step for checkpoint in retained}
    for entry in retained:
        assert entry.bytes == sum(f.stat().st_size for f in entry.folder.rglob("*") if f.is_file())
    assert retention.max_checkpoints(30, 5, plan) >= len(retained)
    assert retention.max_checkpoints(3, 5, TrainingSpec()) == 2


def test_the_last_checkpoint_of_an_unfinished_run_is_not_deleted(finished, tmp_path, capsys):
    assert retention.check_removal(finished, 30) == ""
    run = run_until(tmp_path / "run", finished.job(), 12)
    assert retention.check_removal(run, 10) == ""
    assert "resume from step 10 instead of step 12" in retention.check_removal(run, 12)
    arguments = ["checkpoints", str(run.path), "--delete", "12"]
    assert command(arguments) == 1
    assert "not finished" in capsys.readouterr().err
    with run.lock(), pytest.raises(StudioError, match="is training"):
        retention.check_removal(run, 12)
    assert command([*arguments, "--force"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].startswith("step 10: ") and "last, every 10" in printed[-2]
    assert printed[-1].startswith("all: ")
    for folder in run.checkpoint_folders()[:-1]:
        assert command(["checkpoints", str(run.path), "--delete", folder.name[-2:]]) == 0
    assert "starts again from step 0" in retention.check_removal(run, 10)


def test_the_estimate_includes_the_size_of_the_checkpoints(finished):
    estimated = estimate(finished.job(), lambda stage: None)
    folders = retention.retained_checkpoints(finished)
    size = max(folder.bytes for folder in folders)
    assert estimated.checkpoint == pytest.approx(size, abs=1.2e6)  # one megabyte for the tokenizer
    assert len(folders) <= estimated.checkpoints <= len(folders) + 2


def test_an_unreported_save_is_reported_after_a_resume(tmp_path):
    run = small.new_run(tmp_path / "run", small.classifying(tmp_path, steps=6, save_every=3))
    assert work(run.path) == 0
    complete = read_reproducibility(run)
    lines = run.events_file.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"kind":"saved"' in line)
    run.events_file.write_bytes(b"".join(lines[:last]))  # as if the worker had been killed there
    assert read_reproducibility(run).weights != complete.weights
    assert work(run.path) == 0
    assert read_reproducibility(run).weights == complete.weights
    count = run.events_file.read_bytes().count(b'"kind":"saved"')
    assert work(run.path) == 0
    assert run.events_file.read_bytes().count(b'"kind":"saved"') == count
