"""The library of the products is chosen once, and a resumed run keeps it."""

import pytest
import torch

from engine.messages.events import Event, Measured
from engine.models.fast import linear
from engine.training.checkpoints import latest_checkpoint
from engine.training.context import RunContext
from engine.training.device import fastest
from engine.training.loop import train
from tests.engine.training import small


@pytest.fixture(autouse=True)
def small_layers(monkeypatch):
    monkeypatch.setattr(linear, "MIN_ONEDNN", 0)


def weights(run):
    tensors = latest_checkpoint(RunContext(run.job(), run)).folder / "model.safetensors"
    return tensors.read_bytes()


@pytest.mark.parametrize("is_faster", [True, False])
def test_runs_keep_the_library_of_their_products(unmeasured, monkeypatch, tmp_path, is_faster):
    if not torch.backends.mkl.is_available():
        pytest.skip("there is no choice without MKL")
    calls = []
    product = linear.multiply
    monkeypatch.setattr(linear, "multiply", lambda *args: calls.append(1) or product(*args))
    job = small.classifying(tmp_path, steps=6)
    monkeypatch.setattr(fastest, "onednn_is_faster", lambda: is_faster)
    whole, parts = (small.new_run(tmp_path / name, job) for name in ("whole", "parts"))
    assert train(job, whole)[0] == "finished"
    assert bool(calls) is is_faster
    done = list[int]()

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss":
            done.append(event.step)

    assert train(job, parts, on_event, lambda: len(done) >= 3)[0] == "stopped"
    environment = latest_checkpoint(RunContext(job, parts)).progress.environment
    assert environment.get("products") == ("oneDNN" if is_faster else None)
    # now the other library seems faster
    monkeypatch.setattr(fastest, "onednn_is_faster", lambda: not is_faster)
    calls.clear()
    assert train(job, parts)[0] == "finished"
    assert bool(calls) is is_faster
    assert weights(parts) == weights(whole)
    again = small.new_run(tmp_path / "again", job)
    assert train(job, again)[0] == "finished"
    assert bool(calls) is is_faster, "a repeated run chooses as the first one on this machine"
    assert weights(again) == weights(whole)
