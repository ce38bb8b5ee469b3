"""A broken config or file of any family is refused with one clear sentence.

The broken values follow from the fields of the spec, so that a new family is covered.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoints.info import checkpoint_info
from engine.config.families import FAMILIES
from engine.config.families.family import Family
from engine.config.families.nomic import FIRST_FORM
from engine.errors import BadCheckpoint, StudioError
from engine.files.atomic_write import MANIFEST
from engine.models.checkpoint import examine, import_checkpoint, load, save
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, write_tokenizer

INVALID_VALUES: tuple[object, ...] = (-7, "7", [7], {"seven": 7}, float("nan"))
INVALID_SIZES: tuple[object, ...] = (0, True, None, 1.5, 10**12)
REPEATED = ("rope_parameters", "layer_types")  # repeat other entries in another form


class Good(NamedTuple):
    """A valid folder and its config."""

    family: Family
    folder: Path
    config: dict[str, Any]


@pytest.fixture(scope="module", params=("bert", *OWN_NETWORKS))
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Good:
    folder, family = tmp_path_factory.mktemp("good") / "model", FAMILIES[request.param]
    torch.manual_seed(1)
    spec = EXAMPLES[family.name].spec.model_copy(update={"layers": 1})
    network = Network(spec, Heads(mlm=True))
    tokens = write_tokenizer(family.name, folder.parent / "tokenizer")
    save(folder, network, Tokenizer.from_folder(tokens))
    (folder / MANIFEST).unlink()  # like a folder from elsewhere
    config = json.loads((folder / "config.json").read_bytes())
    config = {name: value for name, value in config.items() if name not in REPEATED}
    (folder / "config.json").write_text(json.dumps(config))
    assert load(folder).spec == network.spec
    return Good(family, folder, config)


def refusal(folder: Path, everywhere: bool = True) -> str:
    """The problem for which `load` refuses a folder; `everywhere`: other readers refuse it, too."""
    with pytest.raises(BadCheckpoint) as raised:
        load(folder)
    problem, advice = raised.value.problem, raised.value.advice
    assert problem.isprintable() and len(problem) <= 300 and problem.endswith(".")
    assert advice.endswith(".")
    if everywhere:
        with pytest.raises(BadCheckpoint):
            examine(folder)
        with pytest.raises(BadCheckpoint):
            import_checkpoint(folder, folder.parent / "into")
        assert not (folder.parent / "into").exists()
        with suppress(StudioError):  # it reads less, and may find nothing wrong
            checkpoint_info(folder)
    return problem


def invalid_entries(good: Good) -> Iterator[tuple[str, object]]:
    """Each entry of the config with each invalid value."""
    last = {ours: entry for entry, ours in good.family.entries.items()}  # the last of several names
    for entry in last.values():
        for value in INVALID_VALUES + (INVALID_SIZES if entry in good.family.sizes else ()):
            yield entry, value


def test_invalid_values_of_config_entries_are_refused(good, tmp_path):
    folder = shutil.copytree(good.folder, tmp_path / "model")
    problems = set[str]()
    for entry, value in invalid_entries(good):
        (folder / "config.json").write_text(json.dumps(good.config | {entry: value}))
        problem = refusal(folder, everywhere=value == INVALID_VALUES[0])
        assert entry in problem or "config.json" in problem, (entry, value, problem)
        problems.add(problem)
    assert len(problems) >= len(good.family.settings)


ODD_VALUES: tuple[object, ...] = (
    *("7", float("nan"), [], True, 10**30, ["full_attention", 7]),
    {"full_attention": 7, "sliding_attention": {"rope_theta": "x"}, "rope_theta": [1]},
    {"rope_type": [], "rope_theta": {"a": 1}},
)


def test_odd_values_of_other_entries_are_read_or_refused(good, tmp_path):
    """Required values, and entries repeated in another form."""
    folder = shutil.copytree(good.folder, tmp_path / "model")
    names = {*good.family.others, *good.family.constants, "model_type", "id2label"}
    if good.family.normalize is not None:
        names |= {*REPEATED, *FIRST_FORM, "activation_function", "rotary_scaling_factor"}
    refused = set[str]()
    for name in sorted(names):
        for value in ODD_VALUES:
            (folder / "config.json").write_text(json.dumps(good.config | {name: value}))
            try:
                load(folder)
            except BadCheckpoint:
                if name not in refused:
                    refused.add(name)
                    refusal(folder, everywhere=False)
    assert refused >= {"model_type", "id2label", *good.family.constants}


def test_absent_and_mismatched_sizes_are_named(good, tmp_path):
    folder = shutil.copytree(good.folder, tmp_path / "model")
    names = {ours: entry for entry, ours in good.family.sizes.items()}
    for entry in good.family.sizes:
        others = {name: value for name, value in good.config.items() if name != entry}
        (folder / "config.json").write_text(json.dumps(others))
        assert f"it has no {entry}" in refusal(folder)
    for ours, value, message in (
        ("heads", 5, "24 is not divisible by 5 attention heads"),
        ("intermediate_size", 41, "41"),
        ("vocab_size", 9, "9"),
        ("hidden_size", 48, "config.json"),
    ):
        (folder / "config.json").write_text(json.dumps(good.config | {names[ours]: value}))
        assert message in refusal(folder), (ours, value)


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def without_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def truncate(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def without_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors[max(tensors, key=lambda name: tensors[name].numel())]
    save_file(tensors, folder / "model.safetensors")


def change_matrix(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Path], None]:
    """Corrupt a matrix of the first layer."""

    def spoil(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        name = next(n for n in sorted(tensors) if ".0." in n and tensors[n].dim() == 2)
        save_file(tensors | {name: change(tensors[name])}, folder / "model.safetensors")

    return spoil


BROKEN_FILES: tuple[tuple[Callable[[Path], None], str], ...] = (
    (without_weights, "no weights"),
    (without_config, "has neither config.json"),
    (truncate, "model.safetensors"),
    (without_a_tensor, "1 encoder tensors are missing"),
    (change_matrix(lambda t: t * float("nan")), "NaN or infinite"),
    (change_matrix(lambda t: t[:-3].contiguous()), "in the file, but"),
    (change_matrix(lambda t: t[None].contiguous()), "in the file"),
    (change_matrix(lambda t: t.to(torch.int32)), "stored as I32"),
)


def test_missing_and_damaged_files_are_named(good, tmp_path):
    for number, (spoil, message) in enumerate(BROKEN_FILES):
        folder = shutil.copytree(good.folder, tmp_path / str(number))
        spoil(folder)
        assert message in refusal(folder), number
