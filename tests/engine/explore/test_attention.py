"""Attention of every head, and the file that it travels in."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from engine.errors import BadCheckpoint, DiskFull
from engine.explore import attention
from engine.explore.attention import attend, weights
from engine.messages import Attend
from engine.models.checkpoint import load
from tests.engine.models.small import folder


def question(text: str, number: int = 1, **more) -> Attend:
    return Attend(number=number, checkpoint=Path("any"), text=text, **more)


def test_rows_sum_to_one_and_the_file_holds_halves_of_all_heads(tiny, tmp_path):
    answer = attend(tiny, question("a b c", number=41), tmp_path)
    array = np.load(answer.weights.path, mmap_mode="r")
    assert (answer.to, answer.weights.path) == (41, tmp_path / "attention-41.npy")
    assert array.shape == answer.weights.shape == (2, 2, 5, 5)
    assert array.dtype == np.float16
    assert np.allclose(array.sum(-1, dtype=np.float32), 1, atol=2e-3)
    assert len(answer.tokens) == 5


def test_the_file_is_the_weights_rounded_to_halves(tiny, tmp_path):
    tokens, exact = weights(tiny, "a b", "c d")
    answer = attend(tiny, question("a b", pair="c d"), tmp_path)
    assert exact.dtype == np.float32
    assert tokens == answer.tokens
    assert np.array_equal(np.load(answer.weights.path), exact.astype(np.float16))


def test_hidden_words_are_seen_as_masks(tiny, tmp_path):
    typed = attend(tiny, question("a [MASK] c", 1), tmp_path)
    masked = attend(tiny, question("a b c", 2, masked=(2,)), tmp_path)
    assert np.array_equal(np.load(typed.weights.path), np.load(masked.weights.path))


def test_old_files_go_and_none_is_left_half_written(tiny, tmp_path):
    for number in range(1, 6):
        attend(tiny, question("a b c", number), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["attention-4.npy", "attention-5.npy"]


def test_a_full_disk_is_told_and_leaves_nothing(tiny, tmp_path, monkeypatch):
    def full(file, array):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(attention.np, "save", full)
    with pytest.raises(DiskFull):
        attend(tiny, question("a b c"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_told(tmp_path):
    broken = load(folder(tmp_path / "broken"))
    with torch.no_grad():
        broken.network.encoder.embeddings.token.weight.fill_(float("inf"))
    with pytest.raises(BadCheckpoint, match="not finite"):
        attend(broken, question("a b c"), tmp_path)


@torch.no_grad()
def test_attention_is_that_of_transformers(assets):
    source = assets / "models" / "ref-bert-tiny-sst2"
    theirs = transformers.BertModel.from_pretrained(
        source, attn_implementation="eager", local_files_only=True
    ).eval()
    words = transformers.BertTokenizerFast.from_pretrained(source, local_files_only=True)
    text, pair = "a warm , unbelievably funny film", "with a twist"
    given = words(text, pair, return_tensors="pt")
    expected = torch.cat(theirs(**given, output_attentions=True).attentions)
    tokens, array = weights(load(source), text, pair)
    assert [token.id for token in tokens] == given.input_ids[0].tolist()
    assert np.abs(array - expected.numpy()).max() < 1e-5
