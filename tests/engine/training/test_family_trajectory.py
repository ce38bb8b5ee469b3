"""Every family learns as transformers does: 50 steps on SST-2 and WNUT 17 give the same losses.

From small random weights, without dropout, on the batches of the run itself.
"""

from itertools import islice
from pathlib import Path

import pytest
import torch
import transformers

from engine.config.dataset import FileData, Mapping, Reading
from engine.config.job import JobSpec
from engine.messages.events import Event, Measured
from engine.training.data.batch_preview import BatchPreview
from engine.training.loop import train
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, published_folder
from tests.engine.training import small
from tests.engine.training.test_trajectory import SETTINGS, STEPS, of_classes, of_tags

CLOSE = 1e-4


def of_sst2(folder: Path, assets: Path) -> JobSpec:
    """Its first 300 sentences."""
    with open(assets / "datasets/sst2/train.tsv", encoding="utf-8") as file:
        (folder / "sst2.tsv").write_text("".join(islice(file, 301)), encoding="utf-8")
    data = FileData(
        path=folder / "sst2.tsv",
        reading=Reading(format="csv", delimiter="\t"),
        mapping=Mapping(text="sentence", label="label"),
    )
    return small.classifying(folder).model_copy(update={"data": data})


def of_wnut17(folder: Path, assets: Path) -> JobSpec:
    """Its first sentences, to the end of one."""
    text = (assets / "datasets/wnut17/wnut17train.conll").read_text(encoding="utf-8")
    sentences = text.replace("\r\n", "\n").split("\n\n")[:300]
    (folder / "wnut17.conll").write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    data = FileData(path=folder / "wnut17.conll")
    return small.tagging(folder).model_copy(update={"data": data})


@pytest.mark.parametrize("work", [of_sst2, pytest.param(of_wnut17, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", OWN_NETWORKS)
def test_the_losses_of_a_run_are_those_of_transformers(family, work, tmp_path, assets):
    start = published_folder(family, "ForMaskedLM", tmp_path / "theirs", initializer_range=0.1)[0]
    job = work(tmp_path, assets)
    settings = {**SETTINGS, "learning_rate": 5e-4, "max_length": 40}
    training = job.training.model_copy(update=settings)
    whole = {"base_model": {"kind": "checkpoint", "path": start}, "training": training}
    job = JobSpec.model_validate(job.model_dump() | whole)
    run, ours = small.new_run(tmp_path / "run", job), list[float]()

    def tell(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured) and event.name == "loss" and event.value is not None:
            ours.append(event.value)

    assert train(job, run, tell, lambda: bool(ours)) == ("stopped", 1)
    suffix = "SequenceClassification" if work is of_sst2 else "TokenClassification"
    model = getattr(transformers, f"{EXAMPLES[family].classes}For{suffix}")
    theirs = model.from_pretrained(run.checkpoint(1), local_files_only=True).eval()
    assert train(job, run, tell) == ("finished", STEPS)
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in theirs.parameters() if p.dim() > 1], "weight_decay": 0.01},
            {"params": [p for p in theirs.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=5e-4,
    )
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, 5, STEPS)
    showing, label = BatchPreview(), of_classes if work is of_sst2 else of_tags
    farthest = 0.0
    for step in range(1, STEPS + 1):
        batch = showing.batch(run, step)
        mask = batch.attention_mask
        told = {"token_type_ids": batch.segments} if EXAMPLES[family].has_segments else {}
        loss = theirs(
            input_ids=batch.tokens,
            attention_mask=None if mask is None else mask.long(),
            labels=label(batch),
            **told,
        ).loss
        assert ours[step - 1] == pytest.approx(loss.item(), abs=CLOSE), step
        farthest = max(farthest, abs(ours[step - 1] - loss.item()))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
    assert ours[-1] < ours[0]
    print(f"\n| {family} | {work.__name__} | {farthest:.1e} |")
