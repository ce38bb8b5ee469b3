"""Folders with unusual names of tensors and labels, tokens, or rotary bases."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import ModernBertConfig

from engine.checkpoints.config import parse_spec
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.pickles import NESTED
from engine.data.datasets.rows import Rows
from engine.errors import BadCheckpoint, StudioError
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.tasks import checkpoint_learner
from engine.tasks.predicting import Predictor
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models.family_folders import published_folder
from tests.engine.models.small import LABELS, WORDS
from tests.engine.models.small import folder as small_folder

WRAPPERS = (
    "backbone.",
    "net.encoder.",
    "module.",
    "model.",
    "_orig_mod.",
    "module._orig_mod.",
    "_orig_mod.model.",
)


def change_config(folder: Path, **entries: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | entries))


def rename(folder: Path, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    changed = {change(name): tensor for name, tensor in tensors.items()}
    save_file(changed, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize("prefix", WRAPPERS)
def test_prefixes_of_wrappers_are_ignored(prefix, tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    before, info = load(folder), checkpoint_info(folder)
    rename(folder, prefix.__add__)
    after = load(folder)
    assert not after.report.missing and not after.report.unexpected
    for ours, theirs in zip(after.network.parameters(), before.network.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert checkpoint_info(folder).task_heads == info.task_heads


def test_a_compiled_part_inside_a_model_is_found(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    rename(folder, lambda name: name.replace("bert.encoder.", "bert.encoder._orig_mod."))
    assert not load(folder).report.missing


@pytest.mark.parametrize("name", NESTED)
def test_weights_in_the_state_of_a_training_are_found(name, tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    before, info = load(folder), checkpoint_info(folder)
    state = {name: load_file(folder / "model.safetensors"), "epoch": 3, "best": 0.5}
    (folder / "model.safetensors").unlink()
    (folder / "manifest.json").unlink(missing_ok=True)
    torch.save(state, folder / "pytorch_model.bin")
    for ours, theirs in zip(
        load(folder).network.parameters(), before.network.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)
    left_out = {"bytes"}
    assert checkpoint_info(folder).model_dump(exclude=left_out) == info.model_dump(exclude=left_out)


def test_an_encoder_with_another_name_is_found_and_its_head_is_named(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    before = load(folder).network
    change_config(folder, architectures=["BertModel"], bert_studio_task=None, problem_type=None)
    rename(folder, lambda name: name.replace("bert.", "backbone.").replace("classifier", "fc"))
    loaded = load(folder)
    assert not loaded.network.heads.outputs and checkpoint_info(folder).task is None
    assert set(loaded.report.unexpected) == {"fc.weight", "fc.bias"}
    for ours, theirs in zip(
        loaded.network.encoder.parameters(), before.encoder.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)
    rename(folder, lambda name: name.replace("fc", "classifier"))
    assert "does not say whether its classifier" in load(folder).report.notes[0]


def test_two_encoders_are_refused(tmp_path):
    folder = small_folder(tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    both = {
        f"{side}.{name}": t.clone() for name, t in tensors.items() for side in ("query", "text")
    }
    save_file(both, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadCheckpoint, match="no layers of BERT"):
        load(folder)


@pytest.mark.parametrize("ending", [" \n", "\t\n", "\r\n", "  \r\n"])
def test_blanks_behind_tokens_of_vocab_txt_are_ignored(ending, tmp_path):
    (tmp_path / "vocab.txt").write_bytes("".join(word + ending for word in WORDS).encode())
    assert Tokenizer.from_folder(tmp_path).tokens == list(WORDS)


def test_labels_without_a_name_get_the_usual_one(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    change_config(folder, num_labels=3, id2label={"0": "bad", "1": "good"}, bert_studio_task=None)
    loaded = load(folder)
    assert loaded.labels == checkpoint_info(folder).labels == ("bad", "good", "LABEL_2")
    assert "LABEL_2" in loaded.report.notes[-1]
    assert "p(LABEL_2)" in Predictor(folder).predict(Rows(["a b"]))[0]


def test_more_names_than_outputs_are_refused(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    change_config(folder, id2label={str(n): name for n, name in enumerate((*LABELS, "other"))})
    with pytest.raises(BadCheckpoint, match="names 4 labels"):
        load(folder)


def test_several_outputs_of_a_regression_are_named(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    change_config(folder, problem_type="regression", bert_studio_task=None)
    assert not load(folder).network.heads.outputs
    with pytest.raises(StudioError, match="has 3 outputs, and Regression has 1"):
        Predictor(folder)


def test_added_tokens_without_embeddings_are_named(tmp_path):
    folder = small_folder(tmp_path / "model")
    (folder / "manifest.json").unlink(missing_ok=True)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized", "special"), False)
    size, rows = len(WORDS), load(folder).spec.vocab_size
    content["added_tokens"] += [
        {"id": n, "content": f"<new{n}>", **flags} for n in range(size, rows + 1)
    ]
    path.write_text(json.dumps(content))
    with pytest.raises(BadCheckpoint, match=f"1 added token without .*<new{rows}>"):
        load(folder)


def test_a_missing_local_base_of_modernbert_is_the_global_one():
    """As in transformers 4; transformers 5.24 raises a TypeError."""
    config = ModernBertConfig(vocab_size=40, num_hidden_layers=4).to_dict()
    for name in ("rope_parameters", "layer_types"):
        config.pop(name)
    stated = config | {"global_rope_theta": 500.0, "local_rope_theta": None}
    assert parse_spec(stated).rotary_base == parse_spec(stated).global_rotary_base == 500
    assert parse_spec(config | {"global_rope_theta": 500.0}).rotary_base == 10_000


def forget(folder: Path, *names: str) -> None:
    """Remove entries of config.json."""
    config = json.loads((folder / "config.json").read_text())
    kept = {name: value for name, value in config.items() if name not in names}
    (folder / "config.json").write_text(json.dumps(kept))


@pytest.mark.parametrize("suffix", ["ForMaskedLM", "Model"])
@pytest.mark.parametrize("family", ["albert", "distilbert", "roberta", "bert"])
def test_a_family_that_config_json_does_not_state_is_shown_by_other_files(family, suffix, tmp_path):
    """As transformers wrote it before 2.3; a RoBERTa without a head was read as a BERT."""
    folder, _ = published_folder(family, suffix, tmp_path / "model")
    before, info = load(folder), checkpoint_info(folder)
    forget(folder, "model_type", "architectures")
    after = load(folder)
    assert after.spec == before.spec and checkpoint_info(folder) == info
    for ours, theirs in zip(after.network.parameters(), before.network.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("family, suffix, kind", [
    ("bert", "ForTokenClassification", "text_classification"),
    ("bert", "ForSequenceClassification", "text_classification"),
    ("roberta", "ForTokenClassification", "token_classification"),
    ("roberta", "ForMultipleChoice", "multiple_choice"),
])  # fmt: skip
def test_a_head_whose_kind_no_file_states_is_named(family, suffix, kind, tmp_path):
    folder, _ = published_folder(family, suffix, tmp_path / "model")
    said = "does not say whether its classifier is for texts or for tokens"
    assert not any(said in note for note in load(folder).report.notes)
    forget(folder, "architectures")
    loaded = load(folder)
    assert any(said in note for note in loaded.report.notes)
    assert loaded.network.heads.kind == kind == checkpoint_info(folder).task


def test_the_case_of_a_vocabulary_alone_is_that_of_its_letters(tmp_path):
    for name, words in (("cased", (*WORDS, "A")), ("uncased", WORDS)):
        folder = small_folder(tmp_path / name)
        for path in folder.iterdir():
            if "token" in path.name or path.name == "manifest.json":
                path.unlink()
        (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
        loaded = load(folder)
        assert loaded.tokenizer.lowercase == checkpoint_info(folder).lowercase == (name != "cased")
        assert any("capital letters" in note for note in loaded.report.notes) == (name == "cased")


def test_tensors_that_no_head_reads_are_not_counted(tmp_path):
    """transformers before 3 saved a pooler with the classifier of a RoBERTa."""
    folder, _ = published_folder("roberta", "ForSequenceClassification", tmp_path / "model")
    size = load(folder).spec.hidden_size
    tensors = load_file(folder / "model.safetensors")
    tensors["roberta.pooler.dense.weight"] = torch.zeros(size, size)
    tensors["roberta.pooler.dense.bias"] = torch.zeros(size)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert checkpoint_info(folder).parameters == load(folder).info.parameters


def test_a_vocabulary_without_a_mask_is_used_for_tasks(tmp_path):
    folder = small_folder(tmp_path / "model", Heads(outputs=3))
    for path in folder.iterdir():
        if "token" in path.name or path.name == "manifest.json":
            path.unlink()
    words = ("[unused]" if word == "[MASK]" else word for word in WORDS)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    loaded = load(folder)
    learner = checkpoint_learner(loaded)
    batch = learner.dummy_batch(2, 9, loaded.tokenizer, np.random.default_rng(0))  # of a training
    assert all(torch.isfinite(loss) for loss in learner.losses(loaded.network, batch).values())
    assert Predictor(folder).predict(Rows(["a b"]))[0]["label"] in loaded.labels
    with pytest.raises(StudioError, match=r"has no \[MASK\]"):
        _ = loaded.tokenizer.mask
