"""A run reproduces the losses of transformers, given the same weights, batches and settings.

There is no dropout. The learning rate of the first step is 0, so a run stopped after it still has
its initial weights.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from engine.config.dataset import FileData, Mapping, Reading
from engine.config.job import JobSpec
from engine.messages.events import Event, Measured
from engine.tasks.learner import Batch
from engine.tasks.token_classification import UNKNOWN
from engine.training.data.batch_preview import BatchPreview
from engine.training.loop import train
from tests.engine.models.family_folders import EXAMPLES
from tests.engine.training import small
from tests.engine.training.test_families import PARAMS, from_family

SETTINGS = {
    "steps": 12,
    "dropout": 0.0,
    "learning_rate": 4e-3,
    "warmup_ratio": 2 / 12,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "save_every": 0,
}
IGNORED = -100  # ignore_index of transformers
Labels = Callable[[Batch], Tensor]


def class_labels(batch: Batch) -> Tensor:
    return batch.targets


def tag_labels(batch: Batch) -> Tensor:
    """int64 [B, T]: the tag of each word at its first token."""
    assert batch.positions is not None
    labels = torch.full_like(batch.tokens, IGNORED)
    labels.view(-1)[batch.positions] = batch.targets.where(batch.targets != UNKNOWN, IGNORED)
    return labels


def check_losses(
    job: JobSpec,
    model: str,
    labels: Labels,
    folder: Path,
    atol: float,
    has_segments: bool = True,
) -> list[float]:
    """Train a run and a transformers model; compare and return the losses of the run."""
    run, ours = small.new_run(folder / "run", job), list[float]()

    def on_event(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured) and event.name == "loss" and event.value is not None:
            ours.append(event.value)

    steps, rate = job.training.steps, job.training.learning_rate
    assert train(job, run, on_event, lambda: bool(ours)) == ("stopped", 1)
    kind = getattr(transformers, model)
    theirs = kind.from_pretrained(run.checkpoint(1), local_files_only=True).eval()
    assert train(job, run, on_event) == ("finished", steps) and len(ours) == steps
    groups = [
        {"params": [p for p in theirs.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in theirs.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate)
    warm_up = round(steps * job.training.warmup_ratio)
    schedule = transformers.get_scheduler(job.training.lr_schedule, optimiser, warm_up, steps)
    preview = BatchPreview()
    for step in range(1, steps + 1):
        batch = preview.batch(run, step)
        mask = batch.attention_mask
        loss = theirs(
            input_ids=batch.tokens,
            attention_mask=None if mask is None else mask.long(),
            labels=labels(batch),
            **({"token_type_ids": batch.segments} if has_segments else {}),
        ).loss
        assert ours[step - 1] == pytest.approx(loss.item(), abs=atol), step
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    return ours


def test_classification_losses_match_transformers(tmp_path):
    job = small.classifying(tmp_path, **SETTINGS)
    ours = check_losses(job, "BertForSequenceClassification", class_labels, tmp_path, 2e-5)
    assert ours[-1] < 0.8 * ours[0]


def test_tagging_losses_in_micro_batches_match_transformers(tmp_path):
    options = {"micro_batch_size": 3, "gradient_checkpointing": True, "lr_schedule": "cosine"}
    job = small.tagging(tmp_path, **SETTINGS, **options)
    ours = check_losses(job, "BertForTokenClassification", tag_labels, tmp_path, 2e-5)
    assert ours[-1] < 0.8 * ours[0]


def sst2_job(folder: Path, assets: Path) -> JobSpec:
    """Classification of the first 120 sentences of SST-2."""
    with open(assets / "datasets/sst2/train.tsv", encoding="utf-8") as file:
        (folder / "sst2.tsv").write_text("".join(islice(file, 121)), encoding="utf-8")
    data = FileData(
        path=folder / "sst2.tsv",
        reading=Reading(format="csv", delimiter="\t"),
        mapping=Mapping(text="sentence", label="label"),
    )
    return small.classifying(folder).model_copy(update={"data": data})


def wnut17_job(folder: Path, assets: Path) -> JobSpec:
    """Tagging of the first 300 sentences of WNUT-17."""
    text = (assets / "datasets/wnut17/wnut17train.conll").read_text(encoding="utf-8")
    sentences = text.replace("\r\n", "\n").split("\n\n")[:300]
    (folder / "wnut17.conll").write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    data = FileData(path=folder / "wnut17.conll")
    return small.tagging(folder).model_copy(update={"data": data})


@pytest.mark.parametrize("make_job", [sst2_job, pytest.param(wnut17_job, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", PARAMS)
def test_losses_of_every_family_match_transformers(family, make_job, tmp_path, assets):
    settings = {**SETTINGS, "steps": 5, "warmup_ratio": 0.4, "learning_rate": 5e-4}
    job = from_family(family, make_job(tmp_path, assets), tmp_path, **settings, max_length=40)
    suffix, labels = (
        ("SequenceClassification", class_labels)
        if make_job is sst2_job
        else ("TokenClassification", tag_labels)
    )
    example = EXAMPLES[family]
    model = f"{example.classes}For{suffix}"
    check_losses(job, model, labels, tmp_path, 1e-4, example.has_segments)
