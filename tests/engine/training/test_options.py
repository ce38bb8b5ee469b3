"""What a job can ask of its training beside the paper: parts of batches, layers, patience."""

from pathlib import Path

import pytest
import torch

from engine.errors import StudioError
from engine.messages.events import Measured, Noted
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.spec.job import JobSpec
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.training import TrainingSpec
from engine.tasks.learner import Batch
from engine.tasks.text_classification import TextClassificationLearner
from engine.training import loop
from engine.training.context import RunContext
from engine.training.loop import train
from engine.training.optimiser import adamw, freeze, height, load_state, set_learning_rate
from engine.training.setup import set_up
from tests.engine.training.small import NETWORK, classifying, new_run, pretraining


def trained(folder: Path, job: JobSpec) -> tuple[RunFolder, dict[str, torch.Tensor], list[object]]:
    """The run, its last weights, and what it told."""
    told: list[object] = []
    run = new_run(folder, job)
    assert train(job, run, told.append)[0] == "finished"
    network = checkpoint.load(run.checkpoint_folders()[-1]).network
    return run, dict(network.named_parameters()), told


def notes(told: list[object]) -> list[str]:
    return [event.text for event in told if isinstance(event, Noted)]


def assert_close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Equal but for rounding; the bias of keys gets nothing else, and Adam enlarges it."""
    for name, weight in one.items():
        if not name.endswith("key.bias"):
            assert (weight - other[name]).abs().max() < 1e-4, name


@pytest.mark.parametrize("kind", ["classes", "masked words", "next sentence"])
def test_an_update_in_parts_is_that_of_the_whole_batch(tmp_path: Path, kind: str) -> None:
    def job(micro_batch: int) -> JobSpec:
        options = {"steps": 4, "epochs": 1, "dropout": 0.0, "micro_batch_size": micro_batch}
        if kind == "classes":
            return classifying(tmp_path, **options)
        made = pretraining(tmp_path, **options)
        task = Pretraining(nsp=kind == "next sentence")
        return made.model_copy(update={"task": task})

    _, whole, told = trained(tmp_path / "whole", job(0))
    _, parts, told_in_parts = trained(tmp_path / "parts", job(3))
    assert_close(whole, parts)
    for one, other in zip(losses(told), losses(told_in_parts), strict=True):
        assert one == pytest.approx(other, abs=2e-5)


def losses(told: list[object]) -> list[float]:
    return [e.value or 0.0 for e in told if isinstance(e, Measured) and e.name == "loss"]


def test_where_memory_is_short_the_batch_is_halved_until_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, calm, _ = trained(tmp_path / "calm", classifying(tmp_path, steps=3, dropout=0.0))
    honest = TextClassificationLearner.losses

    def short(
        self: TextClassificationLearner, network: Network, batch: Batch, whole: Batch | None = None
    ) -> dict[str, torch.Tensor]:
        if len(batch.tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return honest(self, network, batch, whole)

    monkeypatch.setattr(TextClassificationLearner, "losses", short)
    _, weights, told = trained(tmp_path / "short", classifying(tmp_path, steps=3, dropout=0.0))
    said = [text for text in notes(told) if "Out of memory" in text]
    assert [text.split("micro-batch size of ")[1][0] for text in said] == ["4", "2"]
    assert_close(calm, weights)


def test_one_example_that_does_not_fit_and_other_errors_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (MemoryError("none left"), RuntimeError("shapes differ")):

        def broken(*_: object, error: Exception = error) -> dict[str, torch.Tensor]:
            raise error

        monkeypatch.setattr(TextClassificationLearner, "losses", broken)
        job = classifying(tmp_path, steps=3)
        with pytest.raises(type(error), match=str(error)):
            train(job, new_run(tmp_path / type(error).__name__, job))


@pytest.mark.parametrize("kind", ["classes", "masked words"])
def test_computing_layers_twice_gives_the_same_weights(tmp_path: Path, kind: str) -> None:
    make = classifying if kind == "classes" else pretraining
    _, kept, told = trained(tmp_path / "kept", make(tmp_path, steps=6, dropout=0.2))
    twice = make(tmp_path, steps=6, dropout=0.2, gradient_checkpointing=True)
    _, again, told_again = trained(tmp_path / "again", twice)
    assert all(torch.equal(weight, again[name]) for name, weight in kept.items())
    assert losses(told) == losses(told_again)


def test_what_an_optimiser_remembered_of_another_network_is_refused() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec())
    with pytest.raises(StudioError, match=r"unexpected classes.dense.bias"):
        load_state(optimiser, network, {"classes.dense.bias|step": torch.ones(())})


def test_computing_layers_twice_keeps_less_for_the_way_back() -> None:
    """Counts the bytes that autograd holds between the two ways."""

    def held(again: bool) -> int:
        network = Network(NETWORK.model_copy(update={"layers": 6}), Heads(outputs=2)).train()
        network.encoder.activation_checkpointing = again
        tokens = torch.ones(8, 32, dtype=torch.int64)
        kept: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = network.encoder(tokens, torch.zeros_like(tokens))
        assert out.last.requires_grad
        return sum(kept.values())

    assert held(True) < held(False) / 4


def test_a_frozen_layer_stays_bit_for_bit(tmp_path: Path) -> None:
    first, before, _ = trained(tmp_path / "first", classifying(tmp_path, steps=2))
    start = {"kind": "checkpoint", "path": first.checkpoint_folders()[-1]}
    job = JobSpec.model_validate(
        classifying(tmp_path, steps=5, frozen_layers=1).model_dump() | {"base_model": start}
    )
    _, after, _ = trained(tmp_path / "second", job)
    for name, weight in before.items():
        still = name.startswith(("encoder.embeddings.", "encoder.layers.0."))
        assert torch.equal(weight, after[name]) is still, name


def test_more_frozen_layers_than_there_are_leave_the_heads() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    freeze(network, 99)
    moving = {name for name, p in network.named_parameters() if p.requires_grad}
    assert moving and all(height(name, NETWORK) == NETWORK.layers + 1 for name in moving)
    assert adamw(network, TrainingSpec()).param_groups
    freeze(network, 0)
    assert all(p.requires_grad for p in network.parameters())


def test_each_layer_learns_at_its_share_of_the_rate() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec(layer_lr_decay=0.5, weight_decay=0.1))
    set_learning_rate(optimiser, 0.8)
    rates, decays = {}, {}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            rates[parameter], decays[parameter] = group["lr"], group["weight_decay"]
    for name, parameter in network.named_parameters():
        steps_down = NETWORK.layers + 1 - height(name, NETWORK)
        assert rates[parameter] == pytest.approx(0.8 * 0.5**steps_down), name
        assert decays[parameter] == (0.1 if parameter.dim() > 1 else 0.0), name
    assert len(rates) == len(list(network.parameters()))


def test_a_run_stops_early_when_its_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = classifying(
        tmp_path, steps=40, evaluate_every=2, early_stopping_patience=3, learning_rate=1e-9
    )
    told: list[object] = []
    run = new_run(tmp_path / "run", job)
    outcome, step = train(job, run, told.append)
    assert outcome == "finished"
    looks = [e for e in told if isinstance(e, Measured) and e.name == "validation_accuracy"]
    assert step == 8 and len(looks) == 4, (
        "one that is the best so far, and three without improvement"
    )
    assert "no improvement in the last 3 evaluations (best at step 2)" in notes(told)[-1]
    assert run.checkpoint_folders()[-1].name == "step-00000008"

    def no_step(*_: object) -> None:
        raise AssertionError("it had ended")

    monkeypatch.setattr(loop, "update", no_step)
    assert train(job, run, told.append) == ("finished", 8)


def test_the_last_steps_see_long_inputs(tmp_path: Path) -> None:
    job = pretraining(tmp_path, steps=10, max_length=16)
    task = Pretraining(long_length=48, long_share=0.3)
    job = job.model_copy(update={"task": task})
    prepared = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    widths = []
    for step in range(10):
        examples, numbers = prepared.data.examples_at(step)
        widths.append(int(examples.packed.lengths[numbers].max()))
    assert max(widths[:7]) <= 16 < min(widths[7:]) <= max(widths) == 48
    run, _, told = trained(tmp_path / "trained", job)
    assert len(losses(told)) == 10 and run.checkpoint_folders()
    cut = job.model_copy(update={"task": Pretraining(long_length=512)})
    said: list[object] = []
    set_up(RunContext(cut, new_run(tmp_path / "cut", cut), said.append))
    assert any("truncated to 64 tokens" in text for text in notes(said))
