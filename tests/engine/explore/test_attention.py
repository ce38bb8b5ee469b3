"""Attention of every head, and its file format."""

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import BadCheckpoint, DiskFull
from engine.explore import attention
from engine.explore.attention import attend, weights
from engine.messages.explore.attention import Attend
from engine.models.checkpoint import load
from tests.engine.models.small import folder


def question(text: str, number: int = 1, **options) -> Attend:
    return Attend(number=number, checkpoint=Path("any"), text=text, **options)


def test_rows_sum_to_one_and_the_file_holds_all_heads(tiny, tmp_path):
    answer = attend(tiny, question("a b c", number=41), tmp_path)
    array = np.load(answer.weights.path, mmap_mode="r")
    assert (answer.to, answer.weights.path) == (41, tmp_path / "attention-41.npy")
    assert array.shape == answer.weights.shape == (2, 2, 5, 5)
    assert array.dtype == answer.weights.dtype == "float32"
    assert np.allclose(array.sum(-1), 1, atol=1e-6)
    tokens, exact = weights(tiny, "a b c")
    assert len(tokens) == 5 and tokens == answer.tokens and np.array_equal(array, exact)


def test_layers_can_be_read_while_more_are_computed(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "REPORT_SECONDS", 0)
    answers, read = [], []

    def emit(partial):
        answers.append(partial)
        file = partial.weights
        with open(file.path, "rb") as stream:
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
            start = stream.tell()
        shape_so_far = (partial.layers, *shape[1:])
        read.append(np.memmap(file.path, dtype, "r", start, shape_so_far).copy())

    answer = attend(tiny, question("a b c", measure="norms"), tmp_path, emit)
    complete = np.load(answer.weights.path)
    assert [(item.layers, item.is_final) for item in answers] == [(1, False)]
    assert np.array_equal(read[0], complete[:1])
    assert answers[0].largest == complete[0].max()
    assert (answer.layers, answer.largest) == (None, complete.max())


def test_masking_a_word_equals_typing_a_mask(tiny, tmp_path):
    typed = attend(tiny, question("a [MASK] c", 1), tmp_path)
    masked = attend(tiny, question("a b c", 2, masked=(2,)), tmp_path)
    assert np.array_equal(np.load(typed.weights.path), np.load(masked.weights.path))


def test_only_the_two_newest_files_are_kept(tiny, tmp_path):
    for number in range(1, 6):
        attend(tiny, question("a b c", number), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["attention-4.npy", "attention-5.npy"]


def test_a_full_disk_is_reported_and_leaves_no_file(tiny, tmp_path, monkeypatch):
    def raise_disk_full(file, header):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(attention.np.lib.format, "write_array_header_1_0", raise_disk_full)
    with pytest.raises(DiskFull):
        attend(tiny, question("a b c"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_non_finite_weights_are_reported(tmp_path):
    broken = load(folder(tmp_path / "broken"))
    with torch.no_grad():
        broken.network.encoder.embeddings.token.weight.fill_(float("inf"))
    with pytest.raises(BadCheckpoint, match="NaN or infinite"):
        attend(broken, question("a b c"), tmp_path)
