"""A run has the losses of transformers with the same weights, batches and settings.

There is no dropout. The learning rate of the first step is 0, so a run stopped after it still has
its initial weights.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from engine.config.job import JobSpec
from engine.messages.events import Event, Measured
from engine.tasks.learner import Batch
from engine.tasks.token_classification import UNKNOWN
from engine.training.data.batch_preview import BatchPreview
from engine.training.loop import train
from tests.engine.training import small

STEPS = 30
SETTINGS = {
    "steps": STEPS,
    "dropout": 0.0,
    "learning_rate": 2e-3,
    "warmup_ratio": 5 / 30,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "save_every": STEPS,
}
IGNORED = -100  # ignore_index of transformers


def of_classes(batch: Batch) -> Tensor:
    return batch.targets


def of_tags(batch: Batch) -> Tensor:
    """int64 [B, T]: the tag of each word at its first piece."""
    assert batch.positions is not None
    labels = torch.full_like(batch.tokens, IGNORED)
    labels.view(-1)[batch.positions] = batch.targets.where(batch.targets != UNKNOWN, IGNORED)
    return labels


def in_parts(folder: Path, **training: object) -> JobSpec:
    """Tagging in micro-batches with gradient checkpointing, which change no update."""
    return small.tagging(folder, **training, micro_batch_size=3, gradient_checkpointing=True)


@pytest.mark.parametrize(
    "make, model, labels, schedule",
    [
        (small.classifying, transformers.BertForSequenceClassification, of_classes, "linear"),
        (in_parts, transformers.BertForTokenClassification, of_tags, "cosine"),
    ],
    ids=["classes", "tags"],
)
def test_the_losses_of_a_run_are_those_of_transformers(
    make: Callable[..., JobSpec],
    model: type,
    labels: Callable[[Batch], Tensor],
    schedule: str,
    tmp_path: Path,
) -> None:
    job = make(tmp_path, **SETTINGS, lr_schedule=schedule)
    run = small.new_run(tmp_path / "run", job)
    ours = list[float]()

    def tell(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured) and event.name == "loss" and event.value is not None:
            ours.append(event.value)

    assert train(job, run, tell, lambda: bool(ours)) == ("stopped", 1)
    theirs = model.from_pretrained(run.checkpoint(1))  # type: ignore[attr-defined]
    theirs.eval()  # no dropout
    assert train(job, run, tell) == ("finished", STEPS)
    assert len(ours) == STEPS
    optimiser = torch.optim.AdamW(groups(theirs), lr=2e-3)
    scheduler = transformers.get_scheduler(schedule, optimiser, 5, STEPS)
    showing = BatchPreview()
    for step in range(1, STEPS + 1):
        batch = showing.batch(run, step)
        loss = theirs(
            input_ids=batch.tokens,
            token_type_ids=batch.segments,
            attention_mask=None if batch.attention_mask is None else batch.attention_mask.long(),
            labels=labels(batch),
        ).loss
        assert ours[step - 1] == pytest.approx(loss.item(), abs=2e-5)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimiser.step()
        scheduler.step()
        optimiser.zero_grad()
    assert ours[-1] < 0.8 * ours[0]


def groups(model: torch.nn.Module) -> list[dict[str, object]]:
    """Weights decay; biases and layer norms do not."""
    plain, decaying = [], []
    for name, parameter in model.named_parameters():
        is_plain = name.endswith("bias") or "LayerNorm" in name
        (plain if is_plain else decaying).append(parameter)
    return [{"params": decaying, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
