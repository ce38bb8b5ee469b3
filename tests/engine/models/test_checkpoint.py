"""Checkpoint folders survive a round trip; mismatches are reported or refused."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from engine.checkpoints.info import checkpoint_info
from engine.config.families.bert import BertSpec
from engine.errors import BadCheckpoint, StudioError
from engine.models import checkpoint
from engine.models.checkpoint import examine, import_checkpoint, load, save
from engine.models.heads import Heads
from engine.models.network import Network
from tests.engine.models import small
from tests.engine.models.small import LABELS, SPEC, batch, network, tokenizer
from tests.often import tries

SAFE = "model.safetensors"


def parameters(model: Network) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters())


def assert_same(first: Network, second: Network) -> None:
    assert list(parameters(first)) == list(parameters(second))
    for name, parameter in parameters(first).items():
        assert torch.equal(parameter, parameters(second)[name]), name


def rewrite_tensors(folder: Path, change) -> None:
    """Replace the stored tensors by `change` of them."""
    tensors = load_file(folder / SAFE)
    result = change(tensors) or tensors
    save_file({name: t.contiguous() for name, t in result.items()}, folder / SAFE, {"format": "pt"})


def update_config(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8")) | values
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


# ── round trip ───────────────────────────────────────────────────────────────────────────────


@st.composite
def specs(draw: st.DrawFn) -> BertSpec:
    heads = draw(st.integers(1, 3))
    return BertSpec(
        vocab_size=draw(st.integers(len(small.WORDS), 60)),
        hidden_size=heads * draw(st.integers(1, 5)),
        layers=draw(st.integers(1, 3)),
        heads=heads,
        intermediate_size=draw(st.integers(1, 9)),
        max_positions=draw(st.integers(2, 9)),
        segments=draw(st.integers(1, 3)),
        dropout=draw(st.floats(0, 0.9)),
        attention_dropout=draw(st.floats(0, 0.9)),
        activation=draw(st.sampled_from(["gelu", "gelu_new", "relu"])),
        layer_norm_eps=draw(st.sampled_from([1e-12, 1e-5])),
        initializer_range=draw(st.floats(1e-3, 1)),
    )


@tries(40, suppress_health_check=[HealthCheck.too_slow])
@given(
    spec=specs(),
    mlm=st.booleans(),
    nsp=st.booleans(),
    labels=st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True, min_size=2)
    | st.none(),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
)
def test_any_network_is_restored(tmp_path_factory, spec, mlm, nsp, labels, dtype):
    names = tuple(labels or ())
    heads = Heads(mlm, nsp, len(names))
    model = network(heads, spec)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(dtype))  # what half precision can hold
    folder = tmp_path_factory.mktemp("any")
    save(folder / "model", model, tokenizer(folder), names, dtype)
    loaded = load(folder / "model")
    assert_same(loaded.network, model)
    assert (loaded.spec, loaded.labels, loaded.network.heads) == (spec, names, heads)
    assert loaded.dtype == str(dtype).removeprefix("torch.") and not loaded.network.training
    assert loaded.report.missing == loaded.report.unexpected == loaded.report.notes == ()
    assert set(loaded.report.loaded) == set(parameters(model))
    assert loaded.tokenizer.tokens == list(small.WORDS)
    shutil.rmtree(folder)


def test_the_info_matches_the_network_and_checkpoint_info(tmp_path):
    folder = small.folder(tmp_path / "model", Heads(mlm=True, outputs=3), dtype=torch.float16)
    info, report = examine(folder)
    assert info.parameters == sum(p.numel() for p in network(Heads(True, False, 3)).parameters())
    assert info.task_heads == ("mlm", "pooler", "text_classification")
    assert (info.labels, info.dtype, info.lowercase) == (LABELS, "float16", True)
    assert info == checkpoint_info(folder)
    assert "tensors loaded" in report.sentence()


def test_extra_config_entries_are_kept_and_never_override(tmp_path):
    folder = small.folder(tmp_path / "model", extra={"made_by": "BERT Studio", "hidden_size": 5})
    loaded = load(folder)
    assert loaded.config["made_by"] == "BERT Studio"
    assert loaded.spec == SPEC


def test_a_save_replaces_the_whole_folder(tmp_path):
    small.folder(tmp_path / "made")
    target = tmp_path / "model"
    save(target, network(seed=1), tokenizer(tmp_path))
    (target / "stray").write_text("x")
    save(target, network(seed=2), tokenizer(tmp_path))
    assert_same(load(target).network, network(seed=2))
    assert not (target / "stray").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    small.folder(tmp_path / "model")
    before = (tmp_path / "model" / SAFE).read_bytes()
    model = network()
    with torch.no_grad():
        model.encoder.embeddings.token.weight[3, 2] = float("nan")
    with pytest.raises(StudioError, match="NaN or infinite"):
        save(tmp_path / "model", model, tokenizer(tmp_path))
    assert (tmp_path / "model" / SAFE).read_bytes() == before


def test_weights_too_large_for_float16_are_refused(tmp_path):
    model = network()
    with torch.no_grad():
        model.encoder.embeddings.token.weight[3, 2] = 1e6
    with pytest.raises(StudioError, match="too large for float16") as caught:
        save(tmp_path / "model", model, tokenizer(tmp_path), dtype=torch.float16)
    assert "bfloat16" in caught.value.advice
    save(tmp_path / "model", model, tokenizer(tmp_path), dtype=torch.bfloat16)


# ── requested and missing heads ─────────────────────────────────────────────────────────────


def test_a_missing_requested_head_is_initialised_and_reported(tmp_path):
    folder = small.folder(tmp_path / "model", Heads(mlm=True))
    loaded = load(folder, Heads(outputs=2), ("no", "yes"))
    assert loaded.report.missing == (
        "encoder.pooler.dense.weight",
        "encoder.pooler.dense.bias",
        "task.dense.weight",
        "task.dense.bias",
    )
    assert all(name.startswith("cls.predictions.") for name in loaded.report.unexpected)
    assert len(loaded.report.unexpected) == 5
    assert loaded.labels == ("no", "yes")
    weight = loaded.network.task.dense.weight
    assert 0 < weight.std() < 0.1
    assert (loaded.network.task.dense.bias == 0).all()


def test_a_class_head_is_reused_for_the_same_classes_only(tmp_path):
    heads = Heads(outputs=3)
    folder = small.folder(tmp_path / "model", heads)
    reused = load(folder, heads, LABELS)
    assert reused.report.missing == ()
    for labels in (LABELS[::-1], ("x", "y", "z"), ("no", "yes")):
        loaded = load(folder, Heads(outputs=len(labels)), labels)
        assert loaded.report.missing == ("task.dense.weight", "task.dense.bias")
        assert set(loaded.report.unexpected) == {"classifier.weight", "classifier.bias"}
        assert "does not match" in loaded.report.notes[0]
        assert loaded.labels == labels


def test_classes_without_names_get_those_of_transformers(tmp_path):
    folder = small.folder(tmp_path / "model", Heads(outputs=3))
    update_config(folder, id2label=None)
    assert load(folder).labels == ("LABEL_0", "LABEL_1", "LABEL_2")


@pytest.mark.parametrize(
    "config,kind",
    [
        ({"architectures": ["BertForTokenClassification"]}, "token_classification"),
        ({"problem_type": "multi_label_classification"}, "multi_label"),
        ({"architectures": ["BertModel"], "problem_type": None}, "text_classification"),
    ],
    ids=str,
)
def test_the_config_names_the_task_of_a_head(tmp_path, config, kind):
    folder = small.folder(tmp_path / "model", Heads(outputs=3))
    update_config(folder, **config)
    loaded = load(folder)
    assert loaded.network.heads.kind == kind
    assert loaded.labels == LABELS
    assert checkpoint_info(folder).task_heads[-1] == kind
    assert loaded.info.task_heads[-1] == kind
    other = load(folder, Heads(outputs=2, kind="question_answering"))
    assert set(other.report.missing) == {"task.dense.weight", "task.dense.bias"}
    assert set(other.report.unexpected) >= {"classifier.weight", "classifier.bias"}


@pytest.mark.parametrize(
    "config",
    [{"architectures": ["BertForMultipleChoice"]}, {"problem_type": "regression"}],
    ids=str,
)
def test_a_head_with_other_outputs_than_its_task_is_skipped_and_reported(tmp_path, config):
    folder = small.folder(tmp_path / "model", Heads(outputs=3))
    update_config(folder, **config)
    loaded = load(folder)
    assert loaded.network.task is None
    assert "has 3 outputs" in loaded.report.notes[0]
    assert set(loaded.report.unexpected) == {"classifier.weight", "classifier.bias"}


def test_a_promised_but_missing_head_is_reported(tmp_path):
    folder = small.folder(tmp_path / "model", Heads(pooler=True))
    update_config(folder, architectures=["BertForSequenceClassification"])
    assert "the file has no head for it" in load(folder).report.notes[0]
    update_config(folder, architectures=["BertForMaskedLM"])
    assert "none was loaded" in load(folder).report.notes[0]


def test_half_a_head_is_skipped_and_reported(tmp_path):
    folder = small.folder(tmp_path / "model")

    def remove_biases(tensors):
        del tensors["cls.predictions.transform.dense.bias"]
        del tensors["bert.pooler.dense.bias"]

    rewrite_tensors(folder, remove_biases)
    loaded = load(folder)
    assert loaded.network.mlm is None
    assert len([note for note in loaded.report.notes if "incomplete" in note]) == 2
    assert "encoder.pooler.dense.bias" in loaded.report.missing  # the NSP head needs it


def test_extra_heads_are_reported_as_unexpected(tmp_path):
    folder = small.folder(tmp_path / "model")

    def add_tensors(tensors):
        tensors["qa_outputs.weight"] = torch.zeros(2, SPEC.hidden_size)
        tensors["odd\nname\x1b[31m" + "x" * 200] = torch.zeros(1)

    rewrite_tensors(folder, add_tensors)
    unexpected = load(folder).report.unexpected
    assert "qa_outputs.weight" in unexpected
    assert all(name.isprintable() and len(name) <= 80 for name in unexpected)


# ── formats of other programs ────────────────────────────────────────────────────────────────


def old_names(tensors):
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }


def without_prefix(tensors):
    return {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}


def with_module(tensors):
    return {f"module.{name}": tensor for name, tensor in tensors.items()}


def with_decoder(tensors):
    tensors["cls.predictions.decoder.weight"] = tensors[
        "bert.embeddings.word_embeddings.weight"
    ].clone()
    tensors["cls.predictions.decoder.bias"] = tensors["cls.predictions.bias"].clone()


def decoder_bias_only(tensors):
    tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias")


def with_position_ids(tensors):
    tensors["bert.embeddings.position_ids"] = torch.arange(SPEC.max_positions)[None]


@pytest.mark.parametrize(
    "change",
    [old_names, without_prefix, with_module, with_decoder, decoder_bias_only, with_position_ids],
)
def test_every_form_of_a_checkpoint_gives_the_same_network(tmp_path, change):
    folder = small.folder(tmp_path / "model")
    rewrite_tensors(folder, change)
    loaded = load(folder)
    assert_same(loaded.network, network())
    assert loaded.report.missing == loaded.report.unexpected == loaded.report.notes == ()


@pytest.mark.parametrize("change, zipped", [(old_names, True), (with_decoder, False)])
def test_a_pickle_gives_the_same_network(tmp_path, change, zipped):
    folder = small.folder(tmp_path / "model")
    rewrite_tensors(folder, change)
    info = checkpoint_info(folder)
    convert_to_pickle(folder, zipped)
    loaded = load(folder)
    size = loaded.info.bytes
    assert checkpoint_info(folder) == info.model_copy(update={"bytes": size})
    assert_same(loaded.network, network())
    assert loaded.report.unexpected == ()
    assert loaded.info.bytes == (folder / "pytorch_model.bin").stat().st_size


def convert_to_pickle(folder: Path, zipped: bool = True) -> None:
    tensors = load_file(folder / SAFE)
    (folder / SAFE).unlink()
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)


def test_safetensors_are_preferred_and_pickles_ignored(tmp_path):
    folder = small.folder(tmp_path / "model")
    (folder / "pytorch_model.bin").write_bytes(b"no pickle at all")
    assert_same(load(folder).network, network())


def split_into_shards(folder: Path, suffix: str = ".safetensors") -> None:
    """Split the tensors into two files with an index."""
    tensors = load_file(folder / SAFE)
    (folder / SAFE).unlink()
    stem = "model" if suffix == ".safetensors" else "pytorch_model"
    names = [f"{stem}-0000{n}-of-00002{suffix}" for n in (1, 2)]
    shards: list[dict[str, torch.Tensor]] = [{}, {}]
    mapping = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        shards[number % 2][name] = tensor
        mapping[name] = names[number % 2]
    for name, shard in zip(names, shards, strict=True):
        if suffix == ".safetensors":
            save_file(shard, folder / name)
        else:
            torch.save(shard, folder / name)
    index = {"metadata": {}, "weight_map": mapping}
    (folder / f"{stem}{suffix}.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("suffix", [".safetensors", ".bin"])
def test_shards_give_the_same_network(tmp_path, suffix):
    folder = small.folder(tmp_path / "model")
    split_into_shards(folder, suffix)
    loaded = load(folder)
    assert_same(loaded.network, network())
    assert loaded.bytes == sum(p.stat().st_size for p in folder.glob(f"*of-00002{suffix}"))


def test_surplus_layers_in_the_file_are_reported(tmp_path):
    folder = small.folder(tmp_path / "model")
    update_config(folder, num_hidden_layers=1)
    loaded = load(folder)
    assert loaded.network.spec.layers == 1
    assert "The file has 2 layers" in loaded.report.notes[0]
    assert all(".layer.1." in name for name in loaded.report.unexpected)


def test_code_requested_by_a_config_is_ignored_and_reported(tmp_path):
    folder = small.folder(tmp_path / "model")
    update_config(folder, auto_map={"AutoModel": "modeling.Evil"}, trust_remote_code=True)
    (folder / "modeling.py").write_text("raise SystemExit('the code was run')")
    notes = load(folder).report.notes
    assert len([note for note in notes if "ignored" in note]) == 2


def test_config_entries_with_a_default_may_be_left_out(tmp_path):
    folder = small.folder(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    required = (*sizes, "intermediate_size", "max_position_embeddings")
    (folder / "config.json").write_text(json.dumps({name: config[name] for name in required}))
    assert load(folder).spec == SPEC


# ── import ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_an_import_keeps_heads_labels_and_precision(tmp_path, dtype):
    heads = Heads(mlm=True, nsp=True, outputs=3)
    source = small.folder(tmp_path / "source", heads, dtype=dtype)
    rewrite_tensors(source, old_names)
    convert_to_pickle(source)
    info, report = import_checkpoint(source, tmp_path / "into")
    assert report.unexpected == report.missing == ()
    assert info == checkpoint_info(tmp_path / "into") == load(tmp_path / "into").info
    assert info.dtype == str(dtype).removeprefix("torch.")
    assert (tmp_path / "into" / "manifest.json").exists()
    assert_same(load(tmp_path / "into").network, load(source).network)


# ── damage ───────────────────────────────────────────────────────────────────────────────────


def test_a_changed_byte_in_a_saved_file_is_detected(tmp_path):
    save(tmp_path / "model", network(), tokenizer(tmp_path))
    for name in (SAFE, "config.json", "tokenizer.json", "vocab.txt"):
        path = tmp_path / "model" / name
        original = path.read_bytes()
        changed = bytearray(original)
        index = len(changed) - 2 if name != "config.json" else changed.index(b"0.02") + 3
        changed[index] = changed[index] ^ 1
        path.write_bytes(bytes(changed))
        with pytest.raises(BadCheckpoint):
            load(tmp_path / "model")
        path.write_bytes(original)
    load(tmp_path / "model")


def test_a_manifest_of_another_program_is_ignored(tmp_path):
    folder = small.folder(tmp_path / "model")
    for text in ('{"files": []}', '{"version": 2}', '{"files": {"config.json": 5}}'):
        (folder / "manifest.json").write_text(text)
        assert load(folder).network is not None


def test_a_file_truncated_while_loading_is_refused(tmp_path, monkeypatch):
    folder = small.folder(tmp_path / "model")
    original = checkpoint.meta_network

    def truncate_first(*arguments):
        os.truncate(folder / SAFE, 2_000)
        return original(*arguments)

    monkeypatch.setattr(checkpoint, "meta_network", truncate_first)
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        load(folder)


def test_a_loaded_network_survives_changes_of_its_file(tmp_path):
    folder = small.folder(tmp_path / "model")
    loaded = load(folder).network
    os.truncate(folder / SAFE, 0)
    assert_same(loaded, network())
    with torch.no_grad():
        assert loaded.encoder(*batch()).last.isfinite().all()
