"""Every family agrees with transformers to 1e-5: in both directions, with every head."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.core_model_loading import revert_weight_conversion

from engine.checkpoints.config import parse_spec
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.families.nomic import FIRST_FORM
from engine.errors import BadCheckpoint, StudioError
from engine.models.checkpoint import Checkpoint, load, save
from engine.models.heads import Heads
from engine.models.network import Network, meta_network
from engine.models.published import build_config, published_name
from engine.training.optimiser import freeze, layer_index
from tests.engine.models import small
from tests.engine.models.agreement import assert_equal, reference
from tests.engine.models.family_folders import (
    EXAMPLES,
    LABELS,
    OTHERS,
    OWN_NETWORKS,
    published_folder,
    published_model,
    transformers_class,
    write_tokenizer,
)

TASK_HEADS = {
    "ForSequenceClassification": Heads(outputs=3),
    "ForTokenClassification": Heads(outputs=3, kind="token_classification"),
    "ForQuestionAnswering": Heads(outputs=2, kind="question_answering"),
    "ForMultipleChoice": Heads(outputs=1, kind="multiple_choice"),
}
UNLIKE = [  # other layers than those of BERT
    f if f in ("deberta-v2", "modernbert") else pytest.param(f, marks=pytest.mark.long)
    for f in OWN_NETWORKS
]
LAYERS = {"modernbert": 4}  # every third layer attends globally
BASE_PARAMETERS = {
    "distilbert": 66_362_880,
    "roberta": 124_055_040,
    "xlm-roberta": 277_453_056,
    "camembert": 110_031_360,
    "albert": 11_092_992,
    "electra": 108_891_648,
    "ernie": 108_891_648,
    "mpnet": 108_895_872,
    "deberta-v2": 183_831_552,
    "modernbert": 149_014_272,
    "nomic_bert": 136_731_648,
    "gte": 305_368_320,
}
NO_DROPOUT = {n: {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0} for n in OTHERS}
NO_DROPOUT["albert"] |= {"classifier_dropout_prob": 0.0}
NO_DROPOUT["modernbert"] = NO_DROPOUT["nomic_bert"] = {}
NO_DROPOUT["distilbert"] = {"dropout": 0.0, "attention_dropout": 0.0}
CASES = [  # a family with the network of another one is read as that one
    (family, suffix)
    for family in OTHERS
    for suffix in (
        (*EXAMPLES[family].suffixes, *TASK_HEADS) if family in OWN_NETWORKS else ["ForMaskedLM"]
    )
]


def random_batch(
    family: str, sequences: int = 3, tokens: int = 11
) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, segments and attention mask; the padding id occurs only in padding."""
    example = EXAMPLES[family]
    ids, segments, real = small.batch(example.spec, sequences, tokens)
    pad = example.spec.fixed_pad_id or 0
    ids[ids == pad] = pad + 5
    return torch.where(real, ids, pad), segments, real


def with_file_names(model: torch.nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a model of transformers under the names that its files have."""
    return revert_weight_conversion(model, tensors)


def split_fused(tensors: dict[str, Tensor], family: str) -> dict[str, Tensor]:
    """Tensors of transformers, with fused ones split."""
    result = dict(tensors)
    for stem, count in FAMILIES[family].fused.items():
        for fused in [name for name in result if stem in name]:
            for number, part in enumerate(result.pop(fused).chunk(count)):
                result[fused.replace(stem, f"{stem}{number}.")] = part
    return result


@pytest.mark.parametrize("family,suffix", CASES)
def test_weights_are_interchangeable_with_transformers(family, suffix, tmp_path):
    settings = {"num_labels": 3} if TASK_HEADS.get(suffix, Heads()).outputs == 3 else {}
    if suffix in TASK_HEADS:  # more layers are compared without them
        settings["n_layers" if family == "distilbert" else "num_hidden_layers"] = 1
    folder, model = published_folder(family, suffix, tmp_path / "theirs", **settings)
    loaded = load(folder)
    assert not loaded.report.missing
    assert not loaded.report.unexpected
    assert type(loaded.spec) is type(EXAMPLES[family].spec)
    inputs = random_batch(family)
    assert_equal(loaded.network, model, inputs)
    count = sum(p.numel() for p in model.parameters())
    assert sum(p.numel() for p in loaded.network.parameters()) == count

    save(tmp_path / "ours", loaded.network, loaded.tokenizer, loaded.labels)
    their_copy = reference(type(model), tmp_path / "ours")
    assert their_copy.config.architectures == [type(model).__name__]
    assert_equal(loaded.network, their_copy, inputs)
    our_copy = load(tmp_path / "ours")
    assert not our_copy.report.missing
    assert not our_copy.report.unexpected
    assert our_copy.spec == loaded.spec
    assert_equal(our_copy.network, model, inputs)
    assert our_copy.info == checkpoint_info(tmp_path / "ours") and our_copy.info.family == family
    blocks = outline(our_copy.spec, our_copy.info.task_heads, len(our_copy.info.labels))
    assert parameters(blocks) == our_copy.info.parameters
    assert ("Shared layers" in {block.name for block in blocks}) == (family == "albert")


@pytest.mark.parametrize("family", OWN_NETWORKS)
def test_our_checkpoints_are_loaded_by_transformers(family, tmp_path):
    tokenizer = load(published_folder(family, "Model", tmp_path / "theirs")[0]).tokenizer
    network = small.network(Heads(outputs=3), EXAMPLES[family].spec)
    save(tmp_path / "ours", network, tokenizer, LABELS, torch.bfloat16)
    model = reference(transformers_class(family, "ForSequenceClassification"), tmp_path / "ours")
    ours = load(tmp_path / "ours")
    assert_equal(ours.network, model, random_batch(family))
    assert model.config.id2label == dict(enumerate(LABELS))
    assert (model.config.cls_token_id, model.config.sep_token_id) == (tokenizer.cls, tokenizer.sep)
    long = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")(
        "a " * 2 * ours.spec.max_positions, truncation=True, return_tensors="pt"
    )
    assert long.input_ids.shape[1] == ours.spec.max_positions
    assert model(**long).logits.isfinite().all()


@pytest.mark.parametrize("family", ["bert", *UNLIKE])
def test_a_network_of_base_width_gives_the_same_numbers(family):
    spec = EXAMPLES[family].base  # base width; more layers add nothing new
    spec = spec.model_copy(update={"vocab_size": 1_000, "layers": LAYERS.get(family, 2)})
    heads = Heads(mlm=True)
    config = build_config(spec, heads, (), "float32")
    assert parse_spec(config) == spec
    torch.manual_seed(2)
    classes = EXAMPLES[family].classes
    their_config = getattr(transformers, f"{classes}Config")(
        **{"pad_token_id": 0, **config}, attn_implementation="eager"
    )
    model = getattr(transformers, f"{classes}ForMaskedLM")(their_config).eval()
    ours = meta_network(spec, heads)
    stored = split_fused(with_file_names(model, model.state_dict()), family)
    for name in dict(ours.named_parameters()):
        module, _, leaf = name.rpartition(".")
        value = torch.nn.Parameter(stored[published_name(name, FAMILIES[family], heads)])
        setattr(ours.get_submodule(module), leaf, value)
    ours.tie()
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in ours.parameters())
    assert_equal(ours.eval(), model, random_batch(family, 2, 40))


@pytest.mark.parametrize("family", OWN_NETWORKS)
def test_gradients_equal_those_of_transformers(family, tmp_path):
    """Of every parameter, with fast attention and with padding in the batch."""
    folder, model = published_folder(
        family, "ForTokenClassification", tmp_path / "theirs", num_labels=3, **NO_DROPOUT[family]
    )
    ours, model, tolerance = load(folder).network.train(), model.train(), 1e-6
    if ours.spec.parts.positions != "rotary":  # angles are float32 in transformers
        ours, model, tolerance = ours.double(), model.double(), 1e-9
    ids, segments, real = random_batch(family)
    expected = (ids % 3)[real]
    extra = {"token_type_ids": segments} if EXAMPLES[family].has_segments else {}
    output = model(input_ids=ids, attention_mask=real.long(), **extra).logits[real]
    torch.nn.functional.cross_entropy(output, expected).backward()
    logits = ours.task(ours.encode(ids, segments, real).last)[real]
    torch.nn.functional.cross_entropy(logits, expected).backward()
    actual = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    gradients = split_fused(with_file_names(model, actual), family)
    compared = 0
    for name, parameter in ours.named_parameters():
        other = gradients.get(published_name(name, FAMILIES[family], ours.heads))
        if other is None:  # a pooler that only one of them has
            assert parameter.grad is None or not parameter.grad.any(), name
            continue
        compared += 1
        assert torch.allclose(parameter.grad, other, atol=tolerance), name
    assert compared > 8 * ours.spec.stored_layers


def test_base_sizes_equal_those_of_the_papers():
    """Parameters of the encoders, without a pooler."""
    for family, expected in BASE_PARAMETERS.items():
        encoder = meta_network(EXAMPLES[family].base, Heads()).encoder
        assert sum(p.numel() for p in encoder.parameters()) == expected, family


@pytest.mark.parametrize("padding", [0, 5])
def test_roberta_positions_start_after_the_padding_id(padding):
    settings = {"pad_token_id": padding, "max_position_embeddings": 31 + padding}
    model = published_model("roberta", "Model", **settings)
    spec = parse_spec(model.config.to_dict())
    assert (spec.max_positions, spec.position_rows) == (30, 31 + padding)
    ours = meta_network(spec, Heads(pooler=True))
    stored = model.state_dict()
    for name in dict(ours.named_parameters()):
        module, _, leaf = name.rpartition(".")
        published = published_name(name, FAMILIES["roberta"], ours.heads)
        value = torch.nn.Parameter(stored[published.removeprefix("roberta.")])
        setattr(ours.get_submodule(module), leaf, value)
    ids = torch.randint(6, 700, (2, 30))  # the maximum length
    ids[1, 20:] = padding
    assert_equal(ours.eval(), model, (ids, torch.zeros_like(ids), ids != padding))


@pytest.mark.parametrize("family", OWN_NETWORKS)
def test_a_missing_head_is_initialised_and_reported(family, tmp_path):
    folder = published_folder(family, "ForMaskedLM", tmp_path / "theirs")[0]
    loaded = load(folder, Heads(outputs=3), LABELS)
    result = {name.rpartition(".")[0] for name in loaded.report.missing}
    shared = {"encoder.pooler.dense"} if family == "modernbert" else set()  # with the MLM head
    assert result == {"encoder.pooler.dense", "task.dense"} - shared
    assert loaded.report.unexpected  # the MLM head
    assert loaded.labels == LABELS


def test_the_pooler_of_roberta_is_not_used_for_classes(tmp_path):
    folder = published_folder("roberta", "Model", tmp_path / "theirs")[0]
    loaded = load(folder, Heads(outputs=3), LABELS)
    assert "encoder.pooler.dense.weight" in loaded.report.missing
    assert [name for name in loaded.report.unexpected if "pooler" in name]
    assert "encoder.pooler.dense.weight" in load(folder).report.loaded
    chosen = load(folder, Heads(outputs=1, kind="multiple_choice"))
    assert "encoder.pooler.dense.weight" in chosen.report.loaded


def test_the_sentence_order_head_of_albert_is_loaded(tmp_path):
    folder = published_folder("albert", "ForPreTraining", tmp_path / "theirs")[0]
    loaded = load(folder, Heads(mlm=True, nsp=True))
    assert not loaded.report.missing
    assert any("sentence-order head" in note for note in loaded.report.notes)


def test_shared_layers_have_the_index_of_their_top_layer():
    spec = EXAMPLES["albert"].spec.model_copy(update={"layers": 6, "layer_groups": 2})
    assert layer_index("encoder.layers.0.attention.query.weight", spec) == 3
    assert layer_index("encoder.layers.1.attention.query.weight", spec) == 6
    assert layer_index("encoder.embeddings.widen.weight", spec) == 0
    assert layer_index("task.dense.weight", spec) == 7


def test_the_discriminator_of_electra_is_identified(tmp_path):
    folder = published_folder("electra", "ForPreTraining", tmp_path / "theirs")[0]
    loaded = load(folder)
    assert loaded.report.notes == tuple(FAMILIES["electra"].remarks.values())
    assert not loaded.report.missing and loaded.network.mlm is None
    assert all("discriminator_predictions" in name for name in loaded.report.unexpected)


LM_HEAD = {
    "cls.predictions.transform.": "lm_predictions.lm_head.",
    "cls.predictions.bias": "lm_predictions.lm_head.bias",
}


def rename_mlm_head(folder: Path, **extra: Tensor) -> None:
    """Store the MLM head under the names of DeBERTa's own files."""
    stored, renamed = load_file(folder / "model.safetensors"), dict(extra)
    for name, tensor in stored.items():
        for ours, theirs in LM_HEAD.items():
            name = name.replace(ours, theirs)
        renamed[name] = tensor
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})


def test_the_new_mlm_head_of_deberta_is_read_and_saved(tmp_path):
    folder, model = published_folder("deberta-v2", "ForMaskedLM", tmp_path / "a", legacy=False)
    loaded = load(folder)
    assert not loaded.report.missing and not loaded.report.unexpected
    assert_equal(loaded.network, model, random_batch("deberta-v2"))
    save(tmp_path / "ours", loaded.network, loaded.tokenizer)
    their_copy = reference(type(model), tmp_path / "ours")
    assert_equal(loaded.network, their_copy, random_batch("deberta-v2"))


def test_a_deberta_v3_reports_its_missing_mlm_head(tmp_path):
    folder = published_folder("deberta-v2", "ForMaskedLM", tmp_path / "theirs")[0]
    rename_mlm_head(folder, **{"mask_predictions.dense.weight": torch.ones(24, 24)})
    loaded = load(folder)
    assert loaded.network.mlm is None
    assert any("no trained head for masked tokens" in note for note in loaded.report.notes)
    assert {name.partition(".")[0] for name in loaded.report.unexpected} == {
        "lm_predictions",
        "mask_predictions",
    }


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *(("albert", {"num_hidden_layers": 7, "num_hidden_groups": groups}) for groups in (2, 3, 7)),
    ("electra", {"embedding_size": 24}),  # no projection of embeddings
    ("deberta-v2", {"position_buckets": -1}),
    ("deberta-v2", {"position_buckets": -1, "max_relative_positions": 5}),
    ("deberta-v2", {"conv_kernel_size": 0, "type_vocab_size": 0}),
    ("deberta-v2", {"position_biased_input": True}),
]


@pytest.mark.parametrize("family,settings", VARIANTS, ids=str)
def test_every_variant_of_a_family_agrees(family, settings, tmp_path):
    folder, model = published_folder(family, "Model", tmp_path / "theirs", **settings)
    loaded = load(folder)
    assert not loaded.report.missing and not loaded.report.unexpected
    assert_equal(loaded.network, model, random_batch(family, 3, 30))
    if "num_hidden_groups" in settings:
        assert len(loaded.network.encoder.layers) == settings["num_hidden_groups"]


def test_layers_that_share_weights_are_frozen_together_or_not_at_all():
    spec = EXAMPLES["albert"].spec.model_copy(update={"layers": 6, "layer_groups": 2})
    network = Network(spec, Heads(outputs=2))
    freeze(network, 3)
    trainable = {n for n, p in network.named_parameters() if p.requires_grad}
    assert not any(n.startswith(("encoder.embeddings", "encoder.layers.0")) for n in trainable)
    assert "encoder.layers.1.attention.query.weight" in trainable
    with pytest.raises(StudioError, match="Layers 4 to 6 of this model share"):
        freeze(network, 4)
    freeze(network, 6)
    trainable = {n for n, p in network.named_parameters() if p.requires_grad}
    assert all(n.startswith(("encoder.pooler", "task")) for n in trainable)
    freeze(network, 0)
    assert all(p.requires_grad for p in network.parameters())


# ── invalid configs ──────────────────────────────────────────────────────────────────────────


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("distilbert", {"n_layers": 9}, "9 layers, but the file has 3"),
    ("distilbert", {"model_type": "bert"}, "it has no hidden_size"),
    ("distilbert", {"activation": "xielu"}, "asks for the activation “xielu”"),
    ("roberta", {"model_type": "bert"}, "The file contains no layers of BERT"),
    ("roberta", {"model_type": "longformer"}, "Longformer is an encoder that BERT Studio does"),
    ("gte", {"model_type": "new"}, "GTE with its own code is an encoder that BERT Studio does"),
    ("gte", {"rope_parameters": {"rope_type": "yarn"}}, "rope_type to “yarn”"),
    ("gte", {"rope_scaling": {"type": "ntk", "factor": 8.0}}, "rope_scaling to “"),
    ("roberta", {"model_type": "gpt2"}, "GPT-2 is not a text encoder like BERT"),
    ("roberta", {"pad_token_id": 0}, "padding token has id 0 in config.json, but 1"),
    ("roberta", {"pad_token_id": None}, "pad_token_id: must be a whole number"),
    ("roberta", {"pad_token_id": 49}, "max_position_embeddings: must be at least"),
    ("roberta", {"max_position_embeddings": 51}, "[50, 24] in the file, but [51, 24]"),
    ("roberta", {"type_vocab_size": 2}, "[1, 24] in the file, but [2, 24]"),
    ("roberta", {"is_decoder": True}, "“True”, which is not supported for RoBERTa"),
    ("roberta", {"position_embedding_type": "relative_key"}, "“relative_key”"),
    ("deberta-v2", {"relative_attention": False}, "relative_attention to “False”"),
    ("deberta-v2", {"pos_att_type": "absent"}, "pos_att_type to “None”"),
    ("deberta-v2", {"share_att_key": "yes"}, "share_att_key to “yes”"),
    ("deberta-v2", {"position_buckets": 5}, "[8, 24] in the file, but [10, 24]"),
    ("deberta-v2", {"position_buckets": 10**9}, "position_buckets: must be at most"),
    ("deberta-v2", {"conv_kernel_size": 5}, "[24, 24, 3] in the file, but [24, 24, 5]"),
    ("deberta-v2", {"conv_act": "xielu"}, "conv_act: must be"),
    ("modernbert", {"norm_bias": True}, "norm_bias to “True”"),
    ("modernbert", {"layer_types": ["sliding_attention"] * 3}, "irregular_layers"),
    ("modernbert", {"global_attn_every_n_layers": 0, "layer_types": None}, "must be at least"),
    (
        "modernbert",
        {"rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1e4}}},
        "rope_type to “yarn”",
    ),
    ("nomic_bert", {"head_dim": 8}, "head_dim to “8”"),
    ("nomic_bert", {"qkv_proj_bias": True}, "qkv_proj_bias to “True”"),
    ("nomic_bert", {"prenorm": True}, "prenorm to “True”"),
    ("nomic_bert", {"num_experts": 8}, "num_experts to “8”"),
    ("nomic_bert", {"activation_function": "gelu"}, "activation “gelu, not gated”"),
    (
        "nomic_bert",
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0}},
        "rope_type to “linear”",
    ),
    ("nomic_bert", {"rope_parameters": {"rope_theta": -1.0}}, "rotary_emb_base: must be"),
    ("mpnet", {"relative_attention_num_buckets": 64}, "relative_attention_num_buckets"),
    ("mpnet", {"pad_token_id": 0}, "pad_token_id to “0”"),
    ("electra", {"embedding_size": 11}, "[700, 10] in the file, but [700, 11]"),
    ("electra", {"summary_type": "mean"}, "summary_type to “mean”"),
    ("camembert", {"pad_token_id": 0}, "padding token has id 0 in config.json, but 1"),
    ("albert", {"embedding_size": 11}, "[700, 10] in the file, but [700, 11]"),
    ("albert", {"embedding_size": "absent"}, "but [700, 128]"),
    ("albert", {"num_hidden_groups": 2}, "2 layer groups, but the file has 1"),
    ("albert", {"num_hidden_groups": 4}, "more layer groups (4) than layers (3)"),
    ("albert", {"inner_group_num": 2}, "“2”, which is not supported for ALBERT"),
]


@pytest.mark.parametrize("name", ["deberta", "eurobert", "longformer", "new"])
def test_a_popular_network_is_refused_with_a_reason(name, tmp_path):
    folder = published_folder("bert", "Model", tmp_path / "theirs")[0]
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": name}))
    with pytest.raises(BadCheckpoint, match="is an encoder that BERT Studio does not") as raised:
        load(folder)
    assert "which no network here has" in raised.value.advice or "“gte”" in raised.value.advice


@pytest.mark.parametrize("family", dict.fromkeys(family for family, _, _ in REFUSED))
def test_an_invalid_config_is_refused(family, tmp_path):
    folder = published_folder(family, "ForMaskedLM", tmp_path / "theirs")[0]
    valid = json.loads((folder / "config.json").read_bytes())
    for values, error in ((values, error) for other, values, error in REFUSED if other == family):
        config = {name: v for name, v in (valid | values).items() if v != "absent"}
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(BadCheckpoint) as raised:
            load(folder)
        assert error in raised.value.problem, values


def original_config(config: dict[str, Any]) -> dict[str, Any]:
    """A config of NomicBERT with the names of GPT-2, as in its own files."""
    names = {new: old for old, new in FIRST_FORM.items()}
    stored = {names.get(name, name): value for name, value in config.items() if name != "head_dim"}
    stored |= {
        "rotary_emb_base": stored.pop("rope_parameters")["rope_theta"],
        "rotary_emb_fraction": 1.0,
    }
    return stored | {"activation_function": "swiglu", "prenorm": False, "qkv_proj_bias": False}


@pytest.mark.parametrize("prefix", ["", "bert.", "nomic_bert."])
def test_the_original_form_of_nomicbert_is_read(prefix, tmp_path):
    folder, model = published_folder("nomic_bert", "ForMaskedLM", tmp_path / "theirs")
    config = original_config(json.loads((folder / "config.json").read_bytes()))
    del config["hidden_act"]
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(folder / "model.safetensors")
    renamed = {name.replace("nomic_bert.", prefix): tensor for name, tensor in tensors.items()}
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    loaded = load(folder)
    assert not loaded.report.missing and not loaded.report.unexpected
    assert loaded.spec == EXAMPLES["nomic_bert"].spec
    assert loaded.info == checkpoint_info(folder)
    assert_equal(loaded.network, model, random_batch("nomic_bert"))
    config |= {"rotary_scaling_factor": 2, "max_trained_positions": 40, "n_positions": 80}
    assert parse_spec(config).max_positions == 40  # beyond it, angles would change


def test_a_roberta_with_the_vocabulary_of_a_bert_is_refused(tmp_path):
    folder = published_folder("roberta", "Model", tmp_path / "theirs")[0]
    for name in ("tokenizer.json", "vocab.json", "merges.txt", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(BadCheckpoint, match="has no vocabulary"):
        load(folder)
    write_tokenizer("bert", folder)
    with pytest.raises(BadCheckpoint, match=r"padding token has id 1 in config\.json, but 0"):
        load(folder)


def test_a_chinese_albert_may_have_wordpieces(tmp_path):
    folder = published_folder("albert", "Model", tmp_path / "theirs")[0]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    write_tokenizer("bert", folder)
    assert load(folder).tokenizer.vocabulary.kind == "WordPiece"


def test_the_dropout_of_a_head_is_kept(tmp_path):
    for family in EXAMPLES:
        names = {field: entry for entry, field in FAMILIES[family].settings.items()}
        if (name := names.get("head_dropout")) is None:
            continue  # it has the dropout of the layers
        folder = published_folder(
            family, "ForSequenceClassification", tmp_path / family, num_labels=3, **{name: 0.37}
        )[0]
        loaded: Checkpoint = load(folder)
        assert loaded.network.task.dropout.p == 0.37
        save(tmp_path / f"{family}-2", loaded.network, loaded.tokenizer, loaded.labels)
        config = json.loads((tmp_path / f"{family}-2" / "config.json").read_text())
        assert config[name] == 0.37
