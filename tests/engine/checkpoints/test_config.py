"""Every entry of transformers' configs is read, rejected if it differs, or has no effect."""

import dataclasses
from typing import Any

import pytest
import torch
import transformers
from transformers.activations import ACT2FN

from engine.checkpoints.config import ACTIVATIONS, CAUSAL_KEY, COMPATIBLE_VALUES, parse_spec
from engine.config.families import FAMILIES
from engine.errors import BadCheckpoint
from engine.models.feed_forward import ACTIVATIONS as FUNCTIONS

READ = {  # in addition to the sizes and settings of a spec
    "architectures": "which head it has",
    "problem_type": "for which task the head is",
    "id2label": "the labels",
    "label2id": "the inverse of id2label",
    "tie_word_embeddings": "whether the decoder shares the embeddings",
    "dtype": "the types stored with the weights are used",
    "layer_types": "which of ModernBERT's layers have a window",
    "rope_parameters": "the angles of rotary positions",
    "classifier_pooling": "which token the heads read",
    "head_dim": "refused unless it is the computed size",
}
HARMLESS = {
    "transformers_version": "the version that wrote the file",
    "output_hidden_states": "what is returned, not what is computed",
    "return_dict": "the form of the result",
    "chunk_size_feed_forward": "the same numbers with less memory",
    "is_encoder_decoder": "these networks are encoders",
    "use_cache": "a cache for generation",
    "bos_token_id": "the tokenizer has it",
    "eos_token_id": "the tokenizer has it",
    "pad_token_id": "the row of padding is masked; RoBERTa, which counts from it, reads it",
    "summary_last_dropout": "of ELECTRA's multiple-choice head; ours uses the network's dropout",
    "cls_token_id": "the tokenizer has it",
    "sep_token_id": "the tokenizer has it",
    "initializer_cutoff_factor": "initialization of new weights",
    "deterministic_flash_attn": "the same numbers with another kernel",
    "sparse_prediction": "which logits are computed in training",
    "sparse_pred_ignore_index": "the same",
    "legacy": "the names of a stored MLM head; both are read",
    "sinusoidal_pos_embds": "initialization of positions, which the file has",
}


WITHOUT_FIELD = {  # defaults for missing entries
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
    "position_buckets": -1,
    "conv_kernel_size": 0,
    "conv_act": "tanh",
    "cls_dropout": None,
    "rotary_emb_base": 1_000.0,
    "rope_theta": 160_000.0,
}


UNPUBLISHED = {  # fields without an entry, and the reason
    "one_segment": "the tokenizer has it",
    "causal": "derived from three entries",
    "layer_norm_eps": "constant in DistilBERT",
    "head_dropout": "MPNet uses that of its layers",
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_every_option_names_its_entry(family):
    unnamed = set(family.spec.model_fields) - set(family.entries.values())
    assert unnamed <= UNPUBLISHED.keys()
    assert len(family.sizes) == 5 and not set(family.sizes) & set(family.settings)


def test_special_values_are_described_on_the_shared_field():
    bert, distilbert = FAMILIES["bert"], FAMILIES["distilbert"]
    assert (bert.get_entry("hidden_size"), distilbert.get_entry("hidden_size")) == (
        "hidden_size",
        "dim",
    )
    field = distilbert.spec.model_fields["hidden_size"]
    shared = bert.spec.model_fields["hidden_size"]
    assert field.title == shared.title and field.description == shared.description
    assert field.metadata == shared.metadata and field.default == shared.default


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_every_entry_of_a_config_is_handled(family):
    entries = {f.name for f in dataclasses.fields(hf_config(family.name))}
    handled = {*family.sizes, *family.settings, *family.others, *COMPATIBLE_VALUES, CAUSAL_KEY}
    assert entries <= handled | READ.keys() | HARMLESS.keys()


def hf_config(family: str, **values: Any) -> Any:
    return getattr(transformers, f"{FAMILIES[family].classes}Config")(**values)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_omitted_entries_have_the_defaults_of_transformers(family):
    sizes = {name: getattr(hf_config(family.name), name) for name in family.sizes}
    spec = parse_spec({"model_type": family.name, **sizes, **family.constants})
    config = hf_config(family.name, **sizes)
    for name, ours in family.settings.items():
        value = getattr(spec, ours)
        expected = getattr(config, name, WITHOUT_FIELD.get(name))
        if name == "max_position_embeddings":
            value = spec.position_rows
        assert value == expected or (value is None and expected is None), name


@pytest.mark.parametrize("name", [*FUNCTIONS, *ACTIVATIONS])
def test_activations_equal_those_of_transformers(name):
    x = torch.linspace(-8, 8, 999)
    ours = FUNCTIONS[ACTIVATIONS.get(name, name)]
    assert torch.allclose(ours(x), ACT2FN[name](x), atol=1e-6)


def test_an_unsupported_activation_is_named():
    sizes = {name: getattr(hf_config("bert"), name) for name in FAMILIES["bert"].sizes}
    with pytest.raises(BadCheckpoint, match="asks for the activation “laplace”") as caught:
        parse_spec({"model_type": "bert", **sizes, "hidden_act": "laplace"})
    assert caught.value.advice.endswith("gelu, gelu_new, relu, silu, quick_gelu, tanh, mish.")
