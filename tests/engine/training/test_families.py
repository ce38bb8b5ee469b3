"""Every family is trained: further, for classes and for answers; a resume is exact."""

from pathlib import Path
from statistics import fmean

import pytest
import torch
import transformers

from engine.config.features import Features
from engine.config.job import JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.errors import StudioError
from engine.models.checkpoint import load
from engine.runs.folder import RunFolder
from engine.training.loop import train
from tests.engine.models.family_folders import EXAMPLES, published_folder
from tests.engine.models.family_folders import OWN_NETWORKS as OTHERS
from tests.engine.training.small import answering, classifying, has_seen, new_run, pretraining
from tests.engine.training.test_loop import final, metrics

UNLIKE = ("albert", "deberta-v2", "modernbert")  # layers that are shared, and other attention


def from_family(family: str, job: JobSpec, folder: Path, **training: object) -> JobSpec:
    """The job, but from a checkpoint that transformers saved."""
    start = published_folder(family, "ForMaskedLM", folder / "theirs", initializer_range=0.1)[0]
    settings = {"steps": 20, "max_length": 40, "learning_rate": 5e-3, **training}
    changed = job.training.model_copy(update=settings)
    whole = {"base_model": {"kind": "checkpoint", "path": start}, "training": changed}
    return JobSpec.model_validate(job.model_dump() | whole)


def trained(folder: Path, job: JobSpec) -> RunFolder:
    run = new_run(folder, job)
    train(job, run, run.append)
    return run


def first_and_last_loss(run: RunFolder) -> tuple[float, float]:
    """Means of the first and the last five steps."""
    losses = {step: value for (name, step), value in metrics(run).items() if name == "loss"}
    values = [losses[step] for step in sorted(losses)]
    return fmean(values[:5]), fmean(values[-5:])


@pytest.mark.parametrize("family", OTHERS)
def test_classes_are_learned(family: str, tmp_path: Path) -> None:
    job = from_family(family, classifying(tmp_path), tmp_path, steps=80, save_every=0)
    run = trained(tmp_path / "run", job)
    first, last = first_and_last_loss(run)
    assert last < 0.8 * first

    folder = run.checkpoint_folders()[-1]
    kind = getattr(transformers, EXAMPLES[family].classes + "ForSequenceClassification")
    model, found = kind.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    loaded = load(folder)
    encoded = loaded.tokenizer.encode("a lovely warm film")
    ids, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
    with torch.no_grad():
        ours, theirs = loaded.network.logits(ids, segments), model.eval()(input_ids=ids).logits
    assert (ours - theirs).abs().max() < 1e-5
    assert loaded.labels[int(ours.argmax())] == "good"


@pytest.mark.parametrize("family", OTHERS)
def test_answers_are_learned(family: str, tmp_path: Path) -> None:
    job = from_family(family, answering(tmp_path), tmp_path, max_length=48)
    first, last = first_and_last_loss(trained(tmp_path / "run", job))
    assert last < first


@pytest.mark.parametrize("family", OTHERS)
def test_masked_words_are_learned_further(family: str, tmp_path: Path) -> None:
    task = Pretraining(nsp=family == "albert", whole_word_masking=True)
    job = from_family(family, pretraining(tmp_path), tmp_path)
    run = trained(tmp_path / "run", job.model_copy(update={"task": task}))
    first, last = first_and_last_loss(run)
    assert last < first
    suffix = "ForPreTraining" if family == "albert" else "ForMaskedLM"
    kind = getattr(transformers, EXAMPLES[family].classes + suffix)
    folder = run.checkpoint_folders()[-1]
    _, found = kind.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]


@pytest.mark.parametrize("family", ["distilbert", "roberta"])
def test_next_sentence_is_refused_before_anything_is_learned(family: str, tmp_path: Path) -> None:
    job = from_family(family, pretraining(tmp_path), tmp_path)
    job = job.model_copy(update={"task": Pretraining(nsp=True)})
    with pytest.raises(StudioError, match="no head for next-sentence"):
        trained(tmp_path / "run", job)


@pytest.mark.parametrize("family", OTHERS)
def test_adapters_and_rates_by_layer_go_with_every_family(family: str, tmp_path: Path) -> None:
    learns = {"lora_rank": 4, "steps": 30, "learning_rate": 2e-2}
    job = from_family(family, classifying(tmp_path), tmp_path, **learns, save_every=0)
    first, last = first_and_last_loss(trained(tmp_path / "adapted", job))
    assert last < first
    job = from_family(family, classifying(tmp_path), tmp_path, layer_lr_decay=0.8, steps=4)
    trained(tmp_path / "decayed", job)


def test_some_of_the_layers_that_share_weights_cannot_be_frozen(tmp_path: Path) -> None:
    job = from_family("albert", classifying(tmp_path), tmp_path, frozen_layers=1)
    with pytest.raises(StudioError, match="share their weights") as raised:
        trained(tmp_path / "run", job)
    assert raised.value.advice == "Freeze 0 or 3 layers."


@pytest.mark.parametrize(
    "family, way",
    [
        *((family, "plain") for family in OTHERS),
        *(
            pytest.param(family, way, marks=() if family in UNLIKE else pytest.mark.long)
            for way in ("adapters", "probe")
            for family in OTHERS
        ),
    ],
)
def test_a_resume_changes_nothing(family: str, way: str, tmp_path: Path) -> None:
    ways: dict[str, dict[str, object]] = {
        "plain": {},
        "adapters": {"lora_rank": 3, "lora_layers": "all", "ema_decay": 0.9},
        "probe": {},
    }
    job = from_family(family, classifying(tmp_path), tmp_path, steps=10, **ways[way])
    if way == "probe":
        features = Features(vectors="learned mix", probe_size=8)
        job = job.model_copy(update={"features": features})
    calm = trained(tmp_path / "calm", job)
    stopped = new_run(tmp_path / "stopped", job)
    train(job, stopped, stopped.append, lambda: has_seen(stopped, 4))
    train(job, stopped, stopped.append)
    assert final(stopped) == final(calm)
    assert metrics(stopped) == metrics(calm)
    if way == "plain":  # nor does it to compute the activations of the layers twice
        twice = job.training.model_copy(update={"gradient_checkpointing": True})
        again = trained(tmp_path / "again", job.model_copy(update={"training": twice}))
        assert final(again) == final(calm)
    loaded = load(calm.checkpoint_folders()[-1])
    assert not loaded.report.unexpected and not loaded.report.missing
    assert (loaded.network.probe is not None) == (way == "probe")
