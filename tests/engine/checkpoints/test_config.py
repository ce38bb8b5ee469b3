"""Every entry of transformers' configs is read, rejected if it differs, or has no effect."""

import dataclasses
from typing import Any

import pytest
import torch
import transformers
from transformers.activations import ACT2FN

from engine.checkpoints.config import ACTIVATIONS, CAUSAL, COMPATIBLE_VALUES, parse_spec
from engine.config.families import FAMILIES
from engine.errors import BadCheckpoint
from engine.models.feed_forward import ACTIVATIONS as FUNCTIONS

READ = {  # in addition to the sizes and settings of a spec
    "architectures": "which head it has",
    "problem_type": "for which task the head is",
    "id2label": "the labels",
    "label2id": "the same the other way round",
    "tie_word_embeddings": "whether the decoder has weights of its own",
    "dtype": "the weights' own types are read",
    "layer_types": "which of ModernBERT's layers have a window",
    "rope_parameters": "its angles",
    "classifier_pooling": "of which token its heads read",
    "head_dim": "the same as is worked out, or refused",
}
HARMLESS = {
    "transformers_version": "says who wrote it",
    "output_hidden_states": "what is given back, not what is computed",
    "return_dict": "the form of what is given back",
    "chunk_size_feed_forward": "the same numbers with less memory",
    "is_encoder_decoder": "these networks are encoders",
    "use_cache": "how a text is continued quickly",
    "bos_token_id": "the tokenizer says it",
    "eos_token_id": "the tokenizer says it",
    "pad_token_id": "the row of padding is masked; RoBERTa, which counts from it, reads it",
    "summary_last_dropout": "the dropout of ELECTRA's head for choices; ours is the network's",
    "cls_token_id": "the tokenizer says it",
    "sep_token_id": "the tokenizer says it",
    "initializer_cutoff_factor": "how fresh weights begin",
    "deterministic_flash_attn": "the same numbers with another kernel",
    "sparse_prediction": "which logits are worked out in training",
    "sparse_pred_ignore_index": "the same",
    "legacy": "under which names a head for masked words is stored; both are read",
    "sinusoidal_pos_embds": "how positions begin; the file has them",
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
}


UNPUBLISHED = {  # fields without an entry, and the reason
    "one_segment": "the tokenizer says it",
    "causal": "three entries say it together",
    "layer_norm_eps": "DistilBERT's is always the same",
    "head_dropout": "MPNet's is that of the layers",
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_every_option_names_its_entry(family):
    unsaid = set(family.spec.model_fields) - set(family.entries.values())
    assert unsaid <= UNPUBLISHED.keys()
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
def test_no_entry_of_a_config_is_passed_over(family):
    entries = {f.name for f in dataclasses.fields(theirs(family.name))}
    looked_at = {*family.sizes, *family.settings, *family.others, *COMPATIBLE_VALUES, CAUSAL}
    assert entries <= looked_at | READ.keys() | HARMLESS.keys()


def theirs(family: str, **values: Any) -> Any:
    return getattr(transformers, f"{FAMILIES[family].classes}Config")(**values)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f.name)
def test_omitted_entries_have_the_defaults_of_transformers(family):
    sizes = {name: getattr(theirs(family.name), name) for name in family.sizes}
    spec = parse_spec({"model_type": family.name, **sizes, **family.constants})
    config = theirs(family.name, **sizes)
    for name, ours in family.settings.items():
        value = getattr(spec, ours)
        expected = getattr(config, name, WITHOUT_FIELD.get(name))
        if name == "max_position_embeddings":
            value = spec.position_rows
        assert value == expected or (value is None and expected is None), name


@pytest.mark.parametrize("name", [*FUNCTIONS, *ACTIVATIONS])
def test_activations_are_those_of_transformers(name):
    x = torch.linspace(-8, 8, 999)
    ours = FUNCTIONS[ACTIVATIONS.get(name, name)]
    assert torch.allclose(ours(x), ACT2FN[name](x), atol=1e-6)


def test_another_activation_is_named():
    sizes = {name: getattr(theirs("bert"), name) for name in FAMILIES["bert"].sizes}
    with pytest.raises(BadCheckpoint, match="asks for the activation “laplace”") as caught:
        parse_spec({"model_type": "bert", **sizes, "hidden_act": "laplace"})
    assert caught.value.advice.endswith("gelu, gelu_new, relu, silu, quick_gelu, tanh, mish.")
