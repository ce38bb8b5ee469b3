"""Weight averaging: its formula, the saved weights, and evaluation."""

from pathlib import Path

import numpy as np
import safetensors.numpy
import torch

from engine.messages.events import Measured
from engine.models import checkpoint
from engine.training.checkpoints import RESUME, TRAINED_WEIGHTS
from engine.training.context import RunContext
from engine.training.loop import train
from engine.training.setup import set_up
from tests.engine.training.small import classifying, new_run

STEPS, DECAY = 9, 0.5  # reached at step 8: (1 + 8) / (10 + 8)


def weights(folder: Path) -> dict[str, np.ndarray]:
    network = checkpoint.load(folder).network
    return {name: parameter.detach().numpy() for name, parameter in network.named_parameters()}


def test_checkpoints_hold_the_average_and_the_trained_weights(tmp_path):
    raw_job = classifying(tmp_path, steps=STEPS, save_every=1, keep=STEPS)
    raw = new_run(tmp_path / "raw", raw_job)
    first = set_up(RunContext(raw_job, raw)).network
    train(raw_job, raw)
    job = classifying(tmp_path, steps=STEPS, save_every=STEPS, ema_decay=DECAY)
    run = new_run(tmp_path / "run", job)
    train(job, run)

    means = {name: p.detach().numpy().astype(np.float64) for name, p in first.named_parameters()}
    for step in range(1, STEPS + 1):
        decay = min(DECAY, (1 + step) / (10 + step))
        for name, weight in weights(raw.checkpoint(step)).items():
            means[name] = decay * means[name] + (1 - decay) * weight
    last = run.checkpoint(STEPS)
    for name, saved in weights(last).items():
        np.testing.assert_allclose(saved, means[name], atol=1e-6, err_msg=name)
    trained_weights = safetensors.numpy.load_file(last / RESUME / TRAINED_WEIGHTS)
    expected = weights(raw.checkpoint(STEPS))
    assert all(np.array_equal(value, expected[name]) for name, value in trained_weights.items())
    assert "encoder.layers.0.attention.query.weight" in trained_weights


def test_evaluation_uses_the_averaged_weights(tmp_path):
    events: list[object] = []
    job = classifying(tmp_path, steps=12, evaluate_every=12, ema_decay=0.5)
    run = new_run(tmp_path / "run", job)
    train(job, run, events.append)
    reloaded = set_up(RunContext(job, new_run(tmp_path / "again", job)), run.checkpoint(12))
    reloaded.network.eval()
    learner, rows = reloaded.data.learner, reloaded.data.validation
    assert rows is not None
    rng = np.random.default_rng(0)
    batch = learner.batch(rows, np.arange(len(rows)), reloaded.data.tokenizer, rng)
    with torch.inference_mode():
        loss = float(sum(learner.losses(reloaded.network, batch).values()))
    losses = [e.value for e in events if isinstance(e, Measured) and e.name == "validation_loss"]
    np.testing.assert_allclose(losses, [loss], rtol=1e-5)
