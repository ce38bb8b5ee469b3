"""A network with fewer heads is one of its family, which transformers loads."""

import pytest
import torch

from engine.config.families import FAMILIES
from engine.models.attention import Attention
from engine.models.checkpoint import load, save
from engine.models.fewer_heads import cut_heads
from tests.engine.models.family_folders import published_folder, transformers_class

IDS = [3, 9, 11, 40, 5, 7, 4]
SAMPLE = [(IDS, [0] * len(IDS))]


@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_reads_fewer_heads_in_every_family(family, tmp_path):
    suffix = "ForSequenceClassification"
    folder, _ = published_folder(family, suffix, tmp_path / "model", num_labels=3)
    loaded = load(folder)
    smaller = cut_heads(loaded, 2, SAMPLE)
    before, spec = loaded.spec, smaller.spec
    assert (spec.heads, spec.head_size) == (2, before.head_size)
    assert smaller.info.parameters < loaded.info.parameters == load(folder).info.parameters
    save(tmp_path / "smaller", smaller.network, smaller.tokenizer, smaller.labels)
    again = load(tmp_path / "smaller")
    assert again.report.missing == again.report.unexpected == ()
    theirs = transformers_class(family, suffix).from_pretrained(tmp_path / "smaller").eval()
    ids, segments = torch.tensor([IDS]), torch.zeros(1, len(IDS), dtype=torch.int64)
    with torch.inference_mode():
        expected = theirs(input_ids=ids).logits
        for network in (smaller.network, again.network):
            assert torch.allclose(network.logits(ids, segments), expected, atol=1e-4)


def test_heads_and_dimensions_without_effect_are_left_out(tmp_path):
    folder, _ = published_folder("bert", "ForSequenceClassification", tmp_path / "model")
    loaded = load(folder)
    size, dimensions = loaded.spec.head_size, loaded.spec.hidden_size // 2
    attentions = [m for m in loaded.network.modules() if isinstance(m, Attention)]
    kept = [torch.tensor(heads) for heads in ([0, 2], [1, 2], [0, 3])]
    with torch.no_grad():
        for name, parameter in loaded.network.named_parameters():
            if name.endswith(("norm.weight", "norm.bias")):
                parameter[dimensions:] = 0
        for attention, heads in zip(attentions, kept, strict=True):
            columns = attention.output.weight.unflatten(1, (-1, size))
            columns[:, [head for head in range(4) if head not in heads]] = 0
    smaller = cut_heads(loaded, 2, SAMPLE).network
    narrow = [m for m in smaller.modules() if isinstance(m, Attention)]
    for old, new, heads in zip(attentions, narrow, kept, strict=True):
        rows = old.query.weight.unflatten(0, (-1, size))[heads].flatten(0, 1)
        assert torch.equal(new.query.weight, rows[:, :dimensions])
        columns = old.output.weight.unflatten(1, (-1, size))[:, heads].flatten(1)
        assert torch.equal(new.output.weight, columns[:dimensions])
        assert torch.equal(new.norm.weight, old.norm.weight[:dimensions])
