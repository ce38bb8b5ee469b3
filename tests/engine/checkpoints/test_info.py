"""Checkpoint summaries without torch; a damaged checkpoint does not break a list."""

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoints.info import checkpoint_info
from engine.errors import BadCheckpoint
from engine.models.checkpoint import load
from tests.engine.models import small

CONFIG = {
    "model_type": "bert",
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 16,
    "vocab_size": 10,
    "id2label": {"1": "<b>good</b>", "0": "bad"},
}
TENSORS = {
    "bert.embeddings.word_embeddings.weight": ("F16", [10, 8]),
    "bert.embeddings.position_ids": ("I64", [1, 16]),
    "bert.pooler.dense.weight": ("F16", [8, 8]),
    "cls.predictions.bias": ("F16", [10]),
    "cls.predictions.decoder.weight": ("F16", [10, 8]),
    "classifier.weight": ("F32", [2, 8]),
}
SIZES = {"F16": 2, "F32": 4, "I64": 8}


def safetensors(tensors: dict[str, tuple[str, list[int]]]) -> bytes:
    """A safetensors file of zeros: length, header, data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for side in shape:
            count *= side
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [end, end + count * SIZES[dtype]],
        }
        end += count * SIZES[dtype]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(end)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    (path / "model.safetensors").write_bytes(safetensors(TENSORS))
    return path


def test_size_heads_and_labels_are_read(folder):
    info = checkpoint_info(folder)
    assert (info.layers, info.hidden_size, info.heads, info.vocab_size) == (2, 8, 2, 10)
    assert info.parameters == 80 + 64 + 10 + 16, "tied weights and buffers are not counted"
    assert info.task_heads == ("mlm", "pooler", "text_classification")
    assert info.labels == ("bad", "<b>good</b>")
    assert info.dtype == "float16" and not info.lowercase
    assert info.bytes == (folder / "model.safetensors").stat().st_size


def test_labels_need_a_classification_head(folder):
    fewer = {name: value for name, value in TENSORS.items() if not name.startswith("classifier")}
    (folder / "model.safetensors").write_bytes(safetensors(fewer))
    assert checkpoint_info(folder).labels == ()


def test_shards_are_read_together(folder):
    names = list(TENSORS)
    for number, part in enumerate((names[:3], names[3:])):
        shard = safetensors({name: TENSORS[name] for name in part})
        (folder / f"part-{number}.safetensors").write_bytes(shard)
    (folder / "model.safetensors").unlink()
    shards = {name: f"part-{0 if name in names[:3] else 1}.safetensors" for name in names}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": shards}))
    assert checkpoint_info(folder).parameters == 170
    index.write_text(json.dumps({"weight_map": {**shards, "x": "../outside.safetensors"}}))
    with pytest.raises(BadCheckpoint):
        checkpoint_info(folder)


def test_a_changed_config_is_read(folder):
    assert checkpoint_info(folder).layers == 2
    (folder / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": 12}))
    assert checkpoint_info(folder).layers == 12


@pytest.mark.parametrize(
    "name,content",
    [
        ("config.json", None),
        ("config.json", b"[]"),
        ("config.json", b"{" * 100_000),
        ("config.json", b"\xff\xfe"),
        ("config.json", json.dumps({**CONFIG, "hidden_size": 10**12}).encode()),
        ("config.json", json.dumps({**CONFIG, "vocab_size": True}).encode()),
        ("model.safetensors", None),
        ("model.safetensors", b""),
        ("model.safetensors", b"<!DOCTYPE html><html>"),
        ("model.safetensors", (2**63).to_bytes(8, "little")),
        ("model.safetensors", safetensors(TENSORS)[:-1]),
        ("model.safetensors", safetensors(TENSORS) + b"x"),
    ],
)
def test_errors_are_one_sentence(folder, name, content):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(BadCheckpoint) as error:
        checkpoint_info(folder)
    assert error.value.problem.startswith("model cannot be used") and error.value.advice


def test_a_mutated_file_is_read_or_raises_bad_checkpoint(folder):
    rng = random.Random(7)
    for name in ("config.json", "model.safetensors", "tokenizer_config.json"):
        original = (folder / name).read_bytes()
        for _ in range(300):
            mutant = bytearray(original)
            for _ in range(rng.randint(1, 4)):
                mutant[rng.randrange(len(mutant))] = rng.randrange(256)
            (folder / name).write_bytes(bytes(mutant[: rng.randint(0, len(mutant))]))
            with suppress(BadCheckpoint):
                checkpoint_info(folder)
        (folder / name).write_bytes(original)


def test_the_summary_agrees_with_the_loader(assets):
    from engine.models.checkpoint import examine

    for name in ("bert-tiny-splade-en", "ref-bert-tiny-sst2"):
        result, _ = examine(assets / "models" / name)
        assert checkpoint_info(assets / "models" / name) == result


def test_case_is_that_of_tokenizer_json_if_the_config_does_not_state_it(tmp_path):
    folder = small.folder(tmp_path / "model")
    (folder / "manifest.json").unlink(missing_ok=True)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(content))
    loaded = load(folder)
    assert checkpoint_info(folder).lowercase is loaded.info.lowercase is False
    assert "do_lower_case: false" in loaded.report.notes[0]
