"""Only usable files of a hub repository are fetched."""

import pytest

from engine.checkpoints.needed import TOKENIZERS, is_plain, select_files
from engine.errors import BadCheckpoint
from engine.models.checkpoint import TOKENIZER

BASE = ["config.json", "vocab.txt"]


def test_every_file_of_a_tokenizer_that_is_read_is_fetched() -> None:
    assert set(TOKENIZER) <= set(TOKENIZERS)


@pytest.mark.parametrize(
    "there, wanted",
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"], ["pytorch_model.bin"]),
        (
            ["model.safetensors.index.json", "model-00001-of-00001.safetensors"],
            ["model.safetensors.index.json", "model-00001-of-00001.safetensors"],
        ),
        (
            ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001", "graph.pbtxt"],
            ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"],
        ),
    ],
)
def test_weights_are_fetched_in_their_best_form(there: list[str], wanted: list[str]) -> None:
    assert select_files([*BASE, *there], "x") == [*BASE, *wanted]


def test_what_is_missing_is_named() -> None:
    for there, said in (
        (["vocab.txt", "model.safetensors"], "config.json"),
        (["config.json", "model.safetensors"], "vocabulary"),
        ([*BASE, "model.safetensors.index.json"], "weights"),
        ([*BASE, "tf_model.h5"], "weights"),
    ):
        with pytest.raises(BadCheckpoint, match=said):
            select_files(there, "x/y")


@pytest.mark.parametrize(
    "name",
    ["", "../a", "/a", "a/../b", "a//b", ".git/config", "a\\b", "c:/a", "a\nb", "a" * 300, "a/b/c"],
)
def test_a_name_that_leads_elsewhere_is_none(name: str) -> None:
    assert not is_plain(name)
