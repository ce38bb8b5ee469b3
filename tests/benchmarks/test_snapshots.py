"""The benchmark of training snapshots: the window can read those of its runs."""

from app.pages.explore.over_training.state import read_snapshots
from benchmarks.explore.snapshots import make_run
from engine.files.shipped import tiny_model
from engine.models.checkpoint import load
from engine.runs.snapshots import snapshot_folder


def test_snapshots_of_a_run_can_be_browsed_in_explore(tmp_path):
    tiny = load(tiny_model())
    run = make_run(tmp_path / "run", tiny.spec, tiny.tokenizer, steps=3)
    snapshots = read_snapshots(snapshot_folder(run, 0))
    assert snapshots is not None and snapshots.steps == (0, 1, 2)
