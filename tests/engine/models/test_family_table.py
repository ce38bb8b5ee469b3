"""The family table is complete for all its consumers."""

import json

import pytest
import torch
import transformers

from engine.checkpoints.config import config_entries, parse_spec
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.models.checkpoint import examine, load, save
from engine.models.encoder import Encoder
from engine.models.heads import Heads
from engine.models.lora import add_adapters, merge_adapters
from engine.models.network import Network, meta_network
from engine.models.outputs import head_outputs, named_outputs
from engine.models.published import architecture, published_name
from engine.serving.network import pack_network
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.optimiser import layer_index
from tests.engine.models.family_folders import EXAMPLES, write_tokenizer
from tests.engine.models.test_families import random_batch

every_family = pytest.mark.parametrize("family", FAMILIES)


def new_network(family: str, heads: Heads) -> Network:
    torch.manual_seed(1)
    return Network(EXAMPLES[family].spec, heads).eval()


def specs(kind: type[EncoderSpec] = EncoderSpec) -> list[type[EncoderSpec]]:
    """All spec classes of the engine that name a family."""
    is_ours = kind.__module__.startswith("engine.config.families.")
    result = [kind] if "family" in vars(kind) and is_ours else []
    return result + [spec for subclass in kind.__subclasses__() for spec in specs(subclass)]


def test_every_spec_has_its_family_and_every_family_an_example():
    assert {spec.family for spec in specs()} == set(FAMILIES) == set(EXAMPLES)
    assert all(name == family.name for name, family in FAMILIES.items())


@every_family
def test_the_config_holds_the_whole_spec(family):
    spec = EXAMPLES[family].spec
    assert parse_spec({"model_type": family, **config_entries(spec)}) == spec


@every_family
def test_the_network_has_the_layers_of_its_spec(family):
    encoder = new_network(family, Heads()).encoder
    spec = EXAMPLES[family].spec
    assert isinstance(encoder, Encoder) and len(encoder.layers) == spec.stored_layers
    assert len(list(encoder.iter_layers())) == spec.layers
    assert [h for n in range(spec.stored_layers) for h in spec.layer_indices(n)] == list(
        range(1, spec.layers + 1)
    )


@every_family
def test_every_parameter_has_one_published_name_and_a_layer(family):
    spec, entry = EXAMPLES[family].spec, FAMILIES[family]
    heads = Heads(mlm=True, nsp=entry.has_nsp_head, outputs=3)
    names = [name for name, _ in meta_network(spec, heads).named_parameters()]
    assert len({published_name(name, entry, heads) for name in names}) == len(names)
    assert all(0 <= layer_index(name, spec) <= spec.layers + 1 for name in names)


@every_family
def test_transformers_has_the_class_that_the_config_names(family):
    expected = [Heads(), Heads(mlm=True), Heads(outputs=3)]
    if FAMILIES[family].has_nsp_head:
        expected.append(Heads(nsp=True))
    assert all(hasattr(transformers, architecture(heads, family)) for heads in expected)


@every_family
def test_a_checkpoint_is_saved_described_and_loaded(family, tmp_path):
    heads = Heads(mlm=True, outputs=3)
    network, labels = new_network(family, heads), ("a", "b", "c")
    tokenizer = Tokenizer.from_folder(write_tokenizer(family, tmp_path / "tokenizer"))
    folder = tmp_path / "saved"
    save(folder, network, tokenizer, labels)
    config = json.loads((folder / "config.json").read_text())
    loaded, info = load(folder), checkpoint_info(folder)
    assert loaded.spec == parse_spec(config) == EXAMPLES[family].spec
    assert loaded.network.heads == heads and loaded.info == info == examine(folder)[0]
    blocks = outline(loaded.spec, info.task_heads, len(info.labels))
    assert parameters(blocks) == info.parameters


@every_family
def test_a_network_is_adapted_packed_and_exported(family):
    network, inputs = new_network(family, Heads(outputs=3)), random_batch(family)
    with torch.inference_mode():
        outputs = named_outputs(network, *inputs)
        packed = named_outputs(pack_network(network, "float32"), *inputs)
    assert list(outputs) == [output.name for output in head_outputs(network.heads)]
    assert torch.allclose(outputs["logits"], packed["logits"], atol=1e-5)
    names = {name for name, _ in network.named_parameters()}
    add_adapters(network, 2, 4, 0.0, "all")
    assert set(merge_adapters(network)) == names
