"""Every family supports each kind of training that BERT does, and a resume is exact.

`test_trajectory.py` compares losses with transformers, and the tests of serving cover packed
weights.
"""

import os
from pathlib import Path
from statistics import fmean

import pytest
import transformers
from safetensors.torch import load_file

from engine.config.families import FAMILIES
from engine.config.features import Features
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.errors import StudioError
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.published import published_name
from engine.runs.folder import RunFolder
from engine.training.optimiser import layer_index
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, published_folder
from tests.engine.training import small
from tests.engine.training.small import answering, classifying, new_run, pretraining, resumed
from tests.engine.training.test_loop import final, metrics

UNLIKE = ("albert", "deberta-v2", "modernbert")  # with shared layers or other attention
CLOSE = 1e-5  # of curves computed in another way, without dropout
STEPS = 4


def from_family(family: str, job: JobSpec, folder: Path, **training: object) -> JobSpec:
    """The job, starting from a checkpoint that transformers saved."""
    start = published_folder(family, "ForMaskedLM", folder / "theirs", initializer_range=0.1)[0]
    settings = {"steps": 8, "max_length": 40, "learning_rate": 5e-3, **training}
    spec = job.training.model_copy(update=settings)
    fields = {"base_model": {"kind": "checkpoint", "path": start}, "training": spec}
    return JobSpec.model_validate(job.model_dump() | fields)


def trained(folder: Path, job: JobSpec, **training: object) -> RunFolder:
    return small.trained(folder, small.with_training(job, **training))


def assert_curves_agree(run: RunFolder, other: RunFolder) -> None:
    ours, theirs = metrics(run), metrics(other)
    assert ours.keys() == theirs.keys() and ("loss", STEPS) in ours
    for key, value in ours.items():  # a norm of gradients is larger than a loss
        assert (theirs[key] or 0) == pytest.approx(value or 0, rel=CLOSE, abs=CLOSE), key


PARAMS = [f if f in UNLIKE else pytest.param(f, marks=pytest.mark.long) for f in OWN_NETWORKS]


def classification_job(family: str, folder: Path) -> JobSpec:
    settings = {"steps": STEPS, "save_every": 2, "dropout": 0.1, "layer_lr_decay": 0.8}
    return from_family(family, classifying(folder), folder, **settings)


@pytest.mark.parametrize("family", PARAMS)
def test_a_resume_changes_nothing(family, tmp_path):
    """Recomputing the activations of the layers changes nothing either."""
    job = classification_job(family, tmp_path)
    reference, stopped = trained(tmp_path / "reference", job), resumed(tmp_path / "stopped", job, 3)
    assert final(stopped) == final(reference) and metrics(stopped) == metrics(reference)
    recomputed = trained(tmp_path / "recomputed", job, gradient_checkpointing=True)
    assert final(recomputed) == final(reference)


@pytest.mark.parametrize(
    "family, method",
    [
        *(("deberta-v2", "adapters"), ("albert", "adapters"), ("modernbert", "probe")),
        pytest.param("deberta-v2", "probe", marks=pytest.mark.long),
        pytest.param("albert", "probe", marks=pytest.mark.long),
        pytest.param("modernbert", "adapters", marks=pytest.mark.long),
    ],
)
def test_a_resume_changes_nothing_with_adapters_or_a_probe(family, method, tmp_path):
    adapters = {"lora_rank": 3, "lora_layers": "all", "ema_decay": 0.9}
    settings = adapters if method == "adapters" else {}
    job = from_family(family, classifying(tmp_path), tmp_path, steps=STEPS, **settings)
    if method == "probe":
        features = Features(vectors="learned mix", probe_size=8)
        job = job.model_copy(update={"features": features})
    reference, stopped = trained(tmp_path / "reference", job), resumed(tmp_path / "stopped", job, 3)
    assert final(stopped) == final(reference) and metrics(stopped) == metrics(reference)
    loaded = load(reference.checkpoint_folders()[-1])
    assert not loaded.report.unexpected and not loaded.report.missing
    assert (loaded.network.probe is not None) == (method == "probe")


@pytest.mark.skipif(os.name == "nt", reason="ranks are forked")
@pytest.mark.long
@pytest.mark.parametrize("family", ["deberta-v2", "albert", "modernbert"])
def test_two_ranks_have_the_curves_of_one_process(family, crew, tmp_path):
    alone = trained(tmp_path / "alone", classification_job(family, tmp_path), dropout=0.0)
    parallel = new_run(tmp_path / "parallel", alone.job())
    assert crew.train(parallel, 2) == [0, 0]
    assert_curves_agree(alone, parallel)


@pytest.mark.parametrize("family", PARAMS)
def test_frozen_layers_are_unchanged_and_can_be_cached(family, tmp_path):
    job, spec = classification_job(family, tmp_path), EXAMPLES[family].spec
    frozen = spec.layers if spec.shares_layers else spec.layers - 1
    settings = {"frozen_layers": frozen, "dropout": 0.0}
    cached = trained(tmp_path / "cached", job, **settings, cache_frozen_layers=True)
    if family in UNLIKE:
        assert_curves_agree(trained(tmp_path / "plain", job, **settings), cached)

    source = job.base_model
    assert isinstance(source, FromCheckpoint)
    before = load_file(source.path / "model.safetensors")
    after = load_file(cached.checkpoint(STEPS) / "model.safetensors")
    heads = Heads(outputs=2)
    changed = {True: 0, False: 0}  # tensors, by whether they are frozen
    for name, _ in Network(spec, heads).encoder.named_parameters(prefix="encoder"):
        theirs = published_name(name, FAMILIES[family], heads)
        theirs = theirs if theirs in before else _fused_name(theirs, FAMILIES[family].fused)
        if theirs not in before or name.startswith("encoder.pooler"):
            continue
        is_frozen = layer_index(name, spec) <= frozen
        changed[is_frozen] += not before[theirs].equal(after[theirs])
    assert changed[True] == 0
    assert changed[False] > 0 or frozen == spec.layers


def _fused_name(published: str, fused: dict[str, int]) -> str:
    """Name in the file of the tensor that contains this one."""
    for stem, count in fused.items():
        for number in range(count):
            published = published.replace(f"{stem}{number}.", stem)
    return published


def first_and_last_loss(run: RunFolder) -> tuple[float, float]:
    """Means of the first and the last five steps."""
    losses = {step: value for (name, step), value in metrics(run).items() if name == "loss"}
    values = [losses[step] or 0 for step in sorted(losses)]
    return fmean(values[:5]), fmean(values[-5:])


@pytest.mark.parametrize("family", ["roberta", pytest.param("deberta-v2", marks=pytest.mark.long)])
def test_answers_are_learned(family, tmp_path):
    job = from_family(family, answering(tmp_path), tmp_path, max_length=48)
    first, last = first_and_last_loss(trained(tmp_path / "run", job))
    assert last < first


@pytest.mark.parametrize("family", PARAMS)
def test_masked_words_are_learned_further(family, tmp_path):
    task = Pretraining(nsp=family == "albert", whole_word_masking=True)
    job = from_family(family, pretraining(tmp_path), tmp_path, save_every=0)
    run = trained(tmp_path / "run", job.model_copy(update={"task": task}))
    first, last = first_and_last_loss(run)
    assert last < first
    suffix = "ForPreTraining" if family == "albert" else "ForMaskedLM"
    kind = getattr(transformers, EXAMPLES[family].classes + suffix)
    folder = run.checkpoint_folders()[-1]
    _, result = kind.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    assert not result["missing_keys"]
    assert not result["unexpected_keys"]


def test_unsupported_training_is_refused_before_it_starts(tmp_path):
    job = from_family("roberta", pretraining(tmp_path), tmp_path)
    job = job.model_copy(update={"task": Pretraining(nsp=True)})
    with pytest.raises(StudioError, match="no head for next-sentence"):
        trained(tmp_path / "run", job)
    job = from_family("albert", classifying(tmp_path), tmp_path / "albert", frozen_layers=1)
    with pytest.raises(StudioError, match="share their weights") as raised:
        trained(tmp_path / "albert" / "run", job)
    assert raised.value.advice == "Freeze 0 or 3 layers."
