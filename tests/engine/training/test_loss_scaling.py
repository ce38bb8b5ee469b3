"""Training in fp16 scales losses and skips steps whose gradient overflows."""

import math
from functools import partial

import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

from engine.config.job import JobSpec
from engine.messages.events import Ended, Measured
from engine.models.fast.vocabulary_loss import cross_entropy
from engine.runs.folder import RunFolder
from engine.system.precision import Precision
from engine.tasks.text_classification import TextClassificationLearner
from engine.training import gradients, start, step
from engine.training.checkpoints import latest_checkpoint
from engine.training.context import RunContext, TrainingProgress
from engine.training.device.machine import Machine
from engine.training.step import HIGHEST_SCALE, LOWEST_SCALE, STEPS_UNTIL_DOUBLED, LossScaler
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics

NEAR = 0.01  # of losses in fp16 from those in fp32
FEW = 4  # good steps that double the scale in some tests


def with_precision(job: JobSpec, precision: Precision = "fp16") -> JobSpec:
    return small.with_hardware(job, precision=precision)


def set_first_scale(monkeypatch: pytest.MonkeyPatch, scale: float) -> None:
    monkeypatch.setattr(start, "TrainingProgress", partial(TrainingProgress, loss_scale=scale))


def skipped_notes(run: RunFolder) -> list[str]:
    return [note for note in small.notes(run) if "was skipped" in note]


def load_progress(run: RunFolder) -> TrainingProgress:
    result = latest_checkpoint(RunContext(run.job(), run))
    assert result is not None
    return result.progress


def scaler_at(precision: Precision = "fp16", **state: float) -> tuple[LossScaler, TrainingProgress]:
    progress = TrainingProgress(**state)  # type: ignore[arg-type]
    return LossScaler(Machine(torch.device("cpu"), precision, 1), progress), progress


def test_the_scale_is_halved_after_an_overflow_and_doubled_after_many_good_steps():
    scaler, progress = scaler_at(step=6, loss_scale=65536.0, good_steps=9)
    assert scaler.scale == 65536
    assert "step 7 was skipped" in (notes := scaler.lower()) and "to 32,768." in notes
    assert (progress.loss_scale, progress.good_steps) == (32768, 0)
    scaler, progress = scaler_at(loss_scale=8.0, good_steps=STEPS_UNTIL_DOUBLED - 2)
    scaler.count_good_step()
    assert (progress.loss_scale, progress.good_steps) == (8, STEPS_UNTIL_DOUBLED - 1)
    scaler.count_good_step()
    assert (progress.loss_scale, progress.good_steps) == (16, 0)
    scaler, progress = scaler_at(loss_scale=HIGHEST_SCALE, good_steps=STEPS_UNTIL_DOUBLED - 1)
    scaler.count_good_step()
    assert progress.loss_scale == HIGHEST_SCALE


def test_only_overflows_that_a_lower_scale_may_fix_are_skipped():
    scaler, _ = scaler_at(loss_scale=2.0)
    assert scaler.overflowed(1.0, math.inf) and scaler.overflowed(1.0, math.nan)
    assert not scaler.overflowed(1.0, 1e30)
    assert not scaler.overflowed(math.inf, math.inf)
    assert not scaler_at(loss_scale=LOWEST_SCALE)[0].overflowed(1.0, math.inf)
    assert not scaler_at("bf16", loss_scale=2.0)[0].overflowed(1.0, math.inf)


def test_unscaling_is_exact():
    network = nn.Linear(3, 2)
    torch.manual_seed(1)
    gradient = torch.randn(2, 3)
    network.weight.grad = gradient * 2.0**20
    scaler_at(loss_scale=2.0**20)[0].unscale(network)
    assert torch.equal(network.weight.grad, gradient)
    scaler_at("bf16", loss_scale=2.0**20)[0].unscale(network)
    assert torch.equal(network.weight.grad, gradient)


@pytest.mark.parametrize("make", [small.classifying, small.pretraining])
def test_losses_are_near_those_of_fp32(make, tmp_path):
    job = make(tmp_path, steps=10, dropout=0.0, learning_rate=1e-3, evaluate_every=10)
    fp32 = small.new_run(tmp_path / "fp32", job)
    fp16 = small.new_run(tmp_path / "fp16", with_precision(job))
    assert work(fp32.path) == work(fp16.path) == 0
    ours, theirs = metrics(fp16), metrics(fp32)
    losses = [key for key in theirs if key[0] == "loss"]
    assert len(losses) == 10
    assert [ours[key] for key in losses] != [theirs[key] for key in losses]
    for key in losses:
        assert ours[key] == pytest.approx(theirs[key], abs=NEAR)
    assert not skipped_notes(fp16)


def test_overflowing_steps_are_skipped_and_reported(tmp_path, monkeypatch):
    set_first_scale(monkeypatch, 2.0**30)
    options = {"steps": 30, "save_every": 30, "evaluate_every": 30}
    job = with_precision(small.classifying(tmp_path, ema_decay=0.9, **options))
    run = small.new_run(tmp_path / "run", job)
    assert work(run.path) == 0
    notes, progress = skipped_notes(run), load_progress(run)
    assert 5 < len(notes) < 20
    assert "step 1 was skipped" in notes[0] and "536,870,912" in notes[0]
    assert "step 2 was skipped" in notes[1] and "268,435,456" in notes[1]
    assert progress.loss_scale == 2.0 ** (30 - len(notes))
    assert f"step {30 - progress.good_steps} was" in notes[-1]
    last = run.checkpoint(30) / "resume/optimiser.safetensors"
    counts = {k: v for k, v in safetensors.torch.load_file(last).items() if k.endswith("|step")}
    assert {float(count) for count in counts.values()} == {30.0 - len(notes)}
    losses = [value for (name, _), value in metrics(run).items() if name == "loss"]
    assert len(losses) == 30 and None not in losses
    rates = {step: value for (name, step), value in metrics(run).items() if name == "learning_rate"}
    assert rates[30] == pytest.approx(job.training.learning_rate / 27)  # as in any other run


@pytest.mark.parametrize("threads, stops_after, steps", [(1, 22, 26), (2, 3, 7)])
def test_a_resume_keeps_the_scale_bit_for_bit(threads, stops_after, steps, tmp_path, monkeypatch):
    monkeypatch.setattr(gradients, "MIN_PARALLEL", 0)  # each of two threads has a half
    set_first_scale(monkeypatch, 2.0**26)
    monkeypatch.setattr(step, "STEPS_UNTIL_DOUBLED", FEW)
    options = {"steps": steps, "save_every": 0, "evaluate_every": steps}
    job = with_precision(small.classifying(tmp_path, dropout=0.1, **options))
    job = small.with_hardware(job, threads=threads)
    reference, stopped = (small.new_run(tmp_path / name, job) for name in ("reference", "stopped"))
    assert work(reference.path) == 0
    assert len(skipped_notes(reference)) > 3  # at the beginning, and after it was doubled

    def stop(event: object) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", stops_after):
            stopped.request_stop()

    assert work(stopped.path, stop) == 0
    stopped.clear_stop()
    assert work(stopped.path) == 0
    assert sum(e.step == stops_after for e in stopped.milestones() if isinstance(e, Ended)) == 1
    assert final(stopped) == final(reference)
    assert metrics(stopped) == metrics(reference)
    assert skipped_notes(stopped) == skipped_notes(reference)
    assert load_progress(stopped).loss_scale == load_progress(reference).loss_scale


@pytest.mark.parametrize("kind", ["loss", "gradient"])
def test_a_run_ends_if_loss_or_gradient_is_nan_at_every_scale(kind, tmp_path, monkeypatch):
    original = TextClassificationLearner.losses

    def losses(*args: object) -> dict[str, Tensor]:
        terms = original(*args)  # type: ignore[arg-type]
        ((name, term),) = terms.items()
        slope = (term - term.detach()).abs().sqrt()  # 0 with an infinite slope
        return {name: term * math.nan if kind == "loss" else term + slope}

    monkeypatch.setattr(TextClassificationLearner, "losses", losses)
    set_first_scale(monkeypatch, 4.0)
    run = small.new_run(tmp_path / "run", with_precision(small.classifying(tmp_path, steps=30)))
    assert work(run.path) == 1
    ended = run.last_events()[-1]
    assert isinstance(ended, Ended)
    step = 1 if kind == "loss" else 3  # with scales of 4, 2 and 1
    assert f"The {kind} is not finite (nan) at step {step}" in ended.problem
    assert len(skipped_notes(run)) == step - 1


def test_vocabulary_gradients_of_a_scaled_loss_match_fp32():
    """Probabilities over a large vocabulary underflow in fp16, but their sum matters."""
    torch.manual_seed(1)
    rows, decoder = torch.randn(100, 8) / 10, torch.randn(20_000, 8) / 10
    targets, result = torch.randint(0, 20_000, (100,)), []
    for autocast, scale in ((False, 1.0), (True, 2.0**16)):
        leaf, weights = rows.clone().requires_grad_(), decoder.clone().requires_grad_()
        bias = torch.zeros(20_000, requires_grad=True)
        with torch.autocast("cpu", torch.float16, enabled=autocast):
            loss = cross_entropy(leaf, weights, bias, targets, 100)
        (loss * scale).backward()
        gradients = [x.grad / scale for x in (leaf, weights, bias)]  # type: ignore[operator]
        result.append([loss.detach(), *gradients])
    for fp32, fp16 in zip(*result, strict=True):
        assert fp16.dtype == torch.float32
        difference = float((fp16 - fp32).norm() / fp32.norm())
        assert difference < 2e-3
    unseen = torch.ones(20_000, dtype=torch.bool)
    unseen[targets] = False
    torch.testing.assert_close(result[1][3][unseen], result[0][3][unseen], rtol=0.02, atol=0)


def test_a_batch_without_masked_words_still_gives_gradients():
    decoder, bias = torch.randn(20, 8, requires_grad=True), torch.zeros(20, requires_grad=True)
    with torch.autocast("cpu", torch.float16):
        loss = cross_entropy(torch.empty(0, 8), decoder, bias, torch.empty(0).long(), 1)
    loss.backward()
    assert loss == 0 and not decoder.grad.any() and not bias.grad.any()  # type: ignore[union-attr]
