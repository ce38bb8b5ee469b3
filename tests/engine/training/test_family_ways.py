"""Every family is trained in every way that BERT is: ranks, branches, frozen layers, rates.

That a resume is exact, with the activations of layers computed twice as well, and that a probe
reads frozen features, is in `test_families.py`; the answers of packed weights are in the tests of
serving.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from engine.config.families import FAMILIES
from engine.config.job import FromCheckpoint, JobSpec
from engine.models.checkpoint import save
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.published import published_name
from engine.runs.branching import branch
from engine.runs.folder import RunFolder, checkpoint_step
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train
from engine.training.optimiser import adamw, layer_index
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, write_tokenizer
from tests.engine.training import small
from tests.engine.training.crew import Crew
from tests.engine.training.test_loop import final, metrics

NETWORKS = ("bert", *OWN_NETWORKS)  # two families differ from RoBERTa by their names alone
CLOSE = 1e-5  # of curves with ranks from those of one process, without dropout
STEPS = 6


class Calm(NamedTuple):
    """A run of a family that nothing disturbed."""

    family: str
    run: RunFolder


def classifying(start: Path, folder: Path, **training: object) -> JobSpec:
    """Classes, learned from the weights in `start` without dropout."""
    job = small.classifying(folder, steps=STEPS, save_every=3, dropout=0.0, **training)
    return job.model_copy(update={"base_model": FromCheckpoint(path=start)})


def trained(folder: Path, job: JobSpec) -> RunFolder:
    run = small.new_run(folder, job)
    assert train(job, run, run.append) == ("finished", STEPS)
    return run


@pytest.fixture(scope="module", params=NETWORKS)
def calm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Calm:
    family, folder = request.param, tmp_path_factory.mktemp(request.param)
    torch.manual_seed(1)
    network = Network(EXAMPLES[family].spec, Heads(mlm=True))
    tokenizer = Tokenizer.from_folder(write_tokenizer(family, folder / "tokenizer"))
    save(folder / "start", network, tokenizer)
    job = classifying(folder / "start", folder, layer_lr_decay=0.8)
    return Calm(family, trained(folder / "run", job))


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.close()


@pytest.mark.skipif(os.name == "nt", reason="the tests fork their ranks")
def test_two_ranks_draw_the_curves_of_one_process(calm: Calm, crew: Crew, tmp_path: Path) -> None:
    both = small.new_run(tmp_path / "both", calm.run.job())
    assert crew.train(both, 2) == [0, 0]
    ours, theirs = metrics(calm.run), metrics(both)
    assert ours.keys() == theirs.keys() and ("loss", STEPS) in ours
    for key, value in ours.items():  # a norm of gradients is larger than a loss
        assert (theirs[key] or 0) == pytest.approx(value or 0, rel=CLOSE, abs=CLOSE), key


def test_a_branch_that_changes_nothing_ends_with_the_same_weights(
    calm: Calm, tmp_path: Path
) -> None:
    step = checkpoint_step(calm.run.checkpoint_folders()[0])
    assert step < STEPS
    run = branch(calm.run, step, calm.run.job(), tmp_path / "branch")
    assert train(run.job(), run, run.append) == ("finished", STEPS)
    assert final(run) == final(calm.run)


def test_frozen_layers_stay_and_the_others_learn(calm: Calm, tmp_path: Path) -> None:
    spec, family = EXAMPLES[calm.family].spec, FAMILIES[calm.family]
    frozen = spec.layers if spec.shares_layers else spec.layers - 1
    source = calm.run.job().base_model
    assert isinstance(source, FromCheckpoint)
    job = classifying(source.path, tmp_path, frozen_layers=frozen)
    run = trained(tmp_path / "run", job)
    before = load_file(source.path / "model.safetensors")
    after = load_file(run.checkpoint(STEPS) / "model.safetensors")
    heads = Heads(outputs=2)
    moved = {True: 0, False: 0}  # by whether it is below what is frozen
    for name, _ in Network(spec, heads).encoder.named_parameters(prefix="encoder"):
        theirs = published_name(name, family, heads)
        theirs = theirs if theirs in before else _whole(theirs, family.fused)
        if theirs not in before or name.startswith("encoder.pooler"):
            continue
        stays = layer_index(name, spec) <= frozen
        moved[stays] += not torch.equal(before[theirs], after[theirs])
    assert moved[True] == 0
    assert moved[False] > 0 or frozen == spec.layers


@pytest.mark.parametrize("all_layers", [False, True], ids=["but one", "all"])
def test_cached_frozen_layers_draw_the_same_curves(
    calm: Calm, tmp_path: Path, all_layers: bool
) -> None:
    spec, source = EXAMPLES[calm.family].spec, calm.run.job().base_model
    assert isinstance(source, FromCheckpoint)
    if spec.shares_layers and not all_layers:
        pytest.skip("layers that share their weights are frozen all or none")
    frozen = {"frozen_layers": spec.layers - (not all_layers)}
    plain, cached = (
        trained(tmp_path / name, classifying(source.path, tmp_path, **frozen, **more))
        for name, more in (("plain", {}), ("cached", {"cache_frozen_layers": True}))
    )
    ours, theirs = metrics(plain), metrics(cached)
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        assert (theirs[key] or 0) == pytest.approx(value or 0, rel=CLOSE, abs=CLOSE), key


def _whole(published: str, fused: dict[str, int]) -> str:
    """The name of the tensor in a file of which this one is a part."""
    for stem, count in fused.items():
        for number in range(count):
            published = published.replace(f"{stem}{number}.", stem)
    return published


@pytest.mark.parametrize("family", FAMILIES)
def test_rates_fall_with_the_height_of_a_layer(family: str, tmp_path: Path) -> None:
    spec = EXAMPLES[family].spec
    network = Network(spec, Heads(outputs=2))
    training = small.classifying(tmp_path, layer_lr_decay=0.5).training
    shares = {
        id(parameter): group["lr_scale"]
        for group in adamw(network, training).param_groups
        for parameter in group["params"]
    }
    for name, parameter in network.named_parameters():
        below = spec.layers + 1 - layer_index(name, spec)
        assert shares[id(parameter)] == pytest.approx(0.5**below), name
