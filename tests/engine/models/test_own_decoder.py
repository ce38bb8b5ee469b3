"""An untied MLM decoder is loaded, saved and trained."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoints.config import parse_spec
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.errors import StudioError
from engine.models.checkpoint import Checkpoint, load, save
from engine.models.heads import Heads
from engine.models.tf1 import write_tf1
from engine.training.optimiser import layer_index
from tests.engine.models.agreement import assert_close, reference
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, published_folder
from tests.engine.models.test_families import random_batch

CASES = [("bert", "ForPreTraining"), *((name, "ForMaskedLM") for name in ("bert", *OWN_NETWORKS))]


@torch.no_grad()
def assert_same_logits(loaded: Checkpoint, model: torch.nn.Module, family: str) -> None:
    ids, segments, real = random_batch(family)
    extra = {"token_type_ids": segments} if EXAMPLES[family].has_segments else {}
    output = model(input_ids=ids, attention_mask=real.long(), **extra)
    expected = getattr(output, "prediction_logits", None)
    expected = output.logits if expected is None else expected
    actual = loaded.network.mlm(loaded.network.encoder(ids, segments, real).last)
    assert_close(actual[real], expected[real])


def rewrite(folder: Path, change: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize("family,suffix", CASES)
def test_an_untied_decoder_is_saved_and_agrees_with_transformers(family, suffix, tmp_path):
    folder, model = published_folder(family, suffix, tmp_path / "theirs", tie_word_embeddings=False)
    loaded = load(folder)
    assert loaded.network.heads.own_decoder
    assert not loaded.report.missing and not loaded.report.unexpected
    assert not [note for note in loaded.report.notes if "decoder" in note or "bias" in note]
    assert_same_logits(loaded, model, family)
    save(tmp_path / "ours", loaded.network, loaded.tokenizer)
    their_copy = reference(type(model), tmp_path / "ours")
    assert their_copy.config.tie_word_embeddings is False
    assert_same_logits(loaded, their_copy, family)
    our_copy = load(tmp_path / "ours", Heads(mlm=True))  # as continued pre-training loads it
    assert our_copy.network.heads.own_decoder and not our_copy.report.missing
    assert_same_logits(our_copy, model, family)
    info = checkpoint_info(tmp_path / "ours")
    assert info == load(tmp_path / "ours").info
    spec = parse_spec(json.loads((tmp_path / "ours" / "config.json").read_text("utf-8")))
    assert parameters(outline(spec, info.task_heads)) == info.parameters


@pytest.mark.parametrize("family", ["bert", *OWN_NETWORKS])
def test_a_differing_decoder_despite_tying_is_read_and_reported(family, tmp_path):
    folder, model = published_folder(family, "ForMaskedLM", tmp_path / "theirs")
    decoder, bias = FAMILIES[family].decoder
    embedding = FAMILIES[family].published_name("encoder.embeddings.token.weight")

    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors[decoder] = tensors[embedding].flip(0).contiguous()
        if bias:
            tensors[bias] = tensors[FAMILIES[family].published_name("mlm.bias")] + 1

    rewrite(folder, change)
    loaded = load(folder)
    assert not loaded.report.unexpected
    assert "it is used, as in transformers" in loaded.report.notes[0]
    assert len(loaded.report.notes) == (2 if bias else 1)
    assert_same_logits(loaded, reference(type(model), folder), family)
    save(tmp_path / "ours", loaded.network, loaded.tokenizer)
    assert not load(tmp_path / "ours").report.notes
    assert_same_logits(loaded, reference(type(model), tmp_path / "ours"), family)


def test_a_differing_decoder_bias_is_used_and_reported(tmp_path):
    folder, model = published_folder("bert", "ForMaskedLM", tmp_path / "theirs")
    rewrite(
        folder,
        lambda tensors: tensors.update(
            {"cls.predictions.decoder.bias": tensors["cls.predictions.bias"] + 2}
        ),
    )
    loaded = load(folder)
    assert not loaded.network.heads.own_decoder
    assert "two different biases" in loaded.report.notes[0]
    assert_same_logits(loaded, reference(type(model), folder), "bert")
    save(tmp_path / "ours", loaded.network, loaded.tokenizer)
    assert_same_logits(loaded, reference(type(model), tmp_path / "ours"), "bert")


def test_a_promised_but_missing_decoder_is_reported(tmp_path):
    folder, _ = published_folder("bert", "ForMaskedLM", tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    loaded = load(folder)
    assert "the file has none" in loaded.report.notes[0]
    assert not loaded.network.heads.own_decoder


def test_a_decoder_of_another_shape_is_reported_and_not_loaded(tmp_path):
    folder, _ = published_folder("bert", "ForMaskedLM", tmp_path / "theirs")
    rewrite(folder, lambda t: t.update({"cls.predictions.decoder.weight": torch.zeros(3, 24)}))
    loaded = load(folder)
    assert loaded.network.mlm is None
    assert "differs in shape" in loaded.report.notes[0]
    with pytest.raises(StudioError, match="has the shape"):
        load(folder, Heads(mlm=True))


def test_an_untied_decoder_is_trained_and_refused_by_tf1(tmp_path):
    folder, _ = published_folder("bert", "ForMaskedLM", tmp_path / "t", tie_word_embeddings=False)
    loaded = load(folder)
    network = loaded.network
    assert "mlm.decoder" in dict(network.named_parameters())
    network.tie()
    assert network.mlm.decoder is not network.encoder.embeddings.token.weight
    ids, segments, real = random_batch("bert")
    hidden = network.encode(ids, segments, real).last[real]
    network.mlm.loss(hidden, ids[real], len(hidden)).backward()
    assert network.mlm.decoder.grad.abs().sum() > 0
    assert layer_index("mlm.decoder", loaded.spec) == loaded.spec.layers + 1
    with pytest.raises(StudioError, match="separate decoder"):
        write_tf1(tmp_path, network, loaded.tokenizer)
