"""The average of the weights: its formula, what is saved where, and that a resume is exact."""

from pathlib import Path
from shutil import copytree

import numpy as np
import safetensors.numpy
import torch

from engine.messages.events import Measured
from engine.models import checkpoint
from engine.training.loop import train
from engine.training.preparing import prepare
from engine.training.saving import RAW, RESUME
from tests.engine.training.small import classifying, has_seen, new_run
from tests.engine.training.test_exact import final, metrics

STEPS, DECAY = 15, 0.5  # from step 8 on the decay is in full use: (1 + 8) / (10 + 8)


def weights(folder: Path) -> dict[str, np.ndarray]:
    network = checkpoint.load(folder).network
    return {name: parameter.detach().numpy() for name, parameter in network.named_parameters()}


def test_the_checkpoint_holds_the_average_and_resume_the_weights(tmp_path: Path) -> None:
    raw_job = classifying(tmp_path, steps=STEPS, save_every=1, keep=STEPS)
    raw = new_run(tmp_path / "raw", raw_job)
    first = prepare(raw_job, raw, lambda _: None).network
    train(raw_job, lambda _: None, lambda: False, raw)
    job = classifying(tmp_path, steps=STEPS, save_every=STEPS, ema_decay=DECAY)
    run = new_run(tmp_path / "run", job)
    train(job, lambda _: None, lambda: False, run)

    means = {name: p.detach().numpy().astype(np.float64) for name, p in first.named_parameters()}
    for step in range(1, STEPS + 1):
        decay = min(DECAY, (1 + step) / (10 + step))
        for name, weight in weights(raw.checkpoint(step)).items():
            means[name] = decay * means[name] + (1 - decay) * weight
    last = run.checkpoint(STEPS)
    for name, saved in weights(last).items():
        np.testing.assert_allclose(saved, means[name], atol=1e-6, err_msg=name)
    beside = safetensors.numpy.load_file(last / RESUME / RAW)
    trained = weights(raw.checkpoint(STEPS))
    assert all(np.array_equal(value, trained[name]) for name, value in beside.items())
    assert "encoder.layers.0.attention.query.weight" in beside


def test_the_average_is_what_is_judged(tmp_path: Path) -> None:
    """A decay of almost 1 with a first weight: the dev figures stay near the first ones."""
    told: list[object] = []
    job = classifying(tmp_path, steps=12, evaluate_every=12, ema_decay=0.5)
    run = new_run(tmp_path / "run", job)
    train(job, told.append, lambda: False, run)
    made = prepare(job, new_run(tmp_path / "again", job), lambda _: None, run.checkpoint(12))
    made.network.eval()
    assert made.validation is not None
    batch = made.learner.batch(
        made.validation, np.arange(len(made.validation)), made.tokenizer, np.random.default_rng(0)
    )
    with torch.inference_mode():
        loss = float(sum(made.learner.losses(made.network, batch).values()))
    said = [e.value for e in told if isinstance(e, Measured) and e.name == "validation_loss"]
    np.testing.assert_allclose(said, [loss], rtol=1e-5)


def test_a_stop_and_a_resume_change_nothing(tmp_path: Path) -> None:
    job = classifying(tmp_path, ema_decay=0.9, dropout=0.1)
    calm, stopped = (new_run(tmp_path / name, job) for name in ("calm", "stopped"))
    train(job, calm.append, lambda: False, calm)
    copytree(calm.cache / "vocabulary", stopped.cache / "vocabulary")
    train(job, stopped.append, lambda: has_seen(stopped, 11), stopped)
    assert stopped.checkpoint_folders()[-1].name == "step-00000011"
    train(job, stopped.append, lambda: False, stopped)
    assert final(stopped) == final(calm)
    assert metrics(stopped) == metrics(calm)
    assert f"{RESUME}/{RAW}" in final(calm)
