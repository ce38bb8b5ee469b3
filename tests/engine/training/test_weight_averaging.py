"""Weight averaging: formula, saved weights, exact resume."""

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

STEPS, DECAY = 12, 0.5  # from step 8 on the decay is in full use: (1 + 8) / (10 + 8)


def weights(folder: Path) -> dict[str, np.ndarray]:
    network = checkpoint.load(folder).network
    return {name: parameter.detach().numpy() for name, parameter in network.named_parameters()}


def test_the_checkpoint_holds_the_average_and_resume_the_weights(tmp_path):
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
    beside = safetensors.numpy.load_file(last / RESUME / TRAINED_WEIGHTS)
    trained = weights(raw.checkpoint(STEPS))
    assert all(np.array_equal(value, trained[name]) for name, value in beside.items())
    assert "encoder.layers.0.attention.query.weight" in beside


def test_the_average_is_what_is_evaluated(tmp_path):
    """A decay of almost 1 with a first weight: the metrics stay near the first ones."""
    events: list[object] = []
    job = classifying(tmp_path, steps=12, evaluate_every=12, ema_decay=0.5)
    run = new_run(tmp_path / "run", job)
    train(job, run, events.append)
    again = set_up(RunContext(job, new_run(tmp_path / "again", job)), run.checkpoint(12))
    again.network.eval()
    learner, rows = again.data.learner, again.data.validation
    assert rows is not None
    random = np.random.default_rng(0)
    batch = learner.batch(rows, np.arange(len(rows)), again.data.tokenizer, random)
    with torch.inference_mode():
        loss = float(sum(learner.losses(again.network, batch).values()))
    losses = [e.value for e in events if isinstance(e, Measured) and e.name == "validation_loss"]
    np.testing.assert_allclose(losses, [loss], rtol=1e-5)
