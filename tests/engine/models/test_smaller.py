"""Smaller networks keep the weights of what is left, and transformers reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from engine.models import checkpoint
from engine.models.smaller import (
    can_lose_tokens,
    cut_vocabulary,
    kept,
    make_smaller,
    needed_tokens,
)

TEXT = "a lovely warm film"


@pytest.fixture
def loaded(tuned: Any) -> checkpoint.Checkpoint:
    return checkpoint.load(tuned("text_classification").checkpoint)


def logits(loaded: checkpoint.Checkpoint, text: str = TEXT) -> torch.Tensor:
    encoded = loaded.tokenizer.encode(text)
    with torch.inference_mode():
        return loaded.network.logits(torch.tensor([encoded.ids]), torch.tensor([encoded.segments]))


def test_neurons_without_effect_are_left_out_first(loaded):
    for layer in loaded.network.encoder.layers:
        layer.feed_forward.narrow.weight.data[:, ::2] = 0
    before, spec = logits(loaded), loaded.spec
    sample = [(loaded.tokenizer.encode(TEXT).ids, [0] * len(loaded.tokenizer.encode(TEXT).ids))]
    smaller = make_smaller(loaded, spec.layers, spec.intermediate_size // 2, sample)
    assert torch.allclose(logits(smaller), before, atol=1e-5)
    assert (
        smaller.spec.intermediate_size
        == smaller.network.encoder.layers[0].feed_forward.wide.out_features
    )
    assert loaded.network.spec.intermediate_size == spec.intermediate_size  # the original


def test_layers_at_even_distances_stay(loaded):
    assert [kept(12, count) for count in (2, 4, 12)] == [[0, 6], [0, 3, 6, 9], [*range(12)]]
    smaller = make_smaller(loaded, 1, loaded.spec.intermediate_size, [])
    (layer,) = smaller.network.encoder.layers
    for mine, other in zip(
        layer.parameters(), loaded.network.encoder.layers[0].parameters(), strict=True
    ):
        assert torch.equal(mine, other)


def test_a_cut_vocabulary_splits_known_texts_as_before(loaded, tmp_path):
    tokenizer = loaded.tokenizer
    assert can_lose_tokens(tokenizer)
    counts = np.bincount(tokenizer.encode(TEXT).ids, minlength=tokenizer.size)
    ids = needed_tokens(tokenizer, counts)
    smaller = cut_vocabulary(loaded, ids)
    assert len(ids) < tokenizer.size == loaded.spec.vocab_size
    assert smaller.network.spec.vocab_size == smaller.tokenizer.size == len(ids)
    words = [token.text for token in smaller.tokenizer.encode(TEXT).tokens]
    assert words == [token.text for token in tokenizer.encode(TEXT).tokens]
    assert torch.equal(logits(smaller), logits(loaded))
    # a word whose token is cut becomes shorter tokens, not [UNK]
    other = smaller.tokenizer.encode("dull story")
    assert smaller.tokenizer.unknown not in other.ids
    assert len(other.ids) > len(tokenizer.encode("dull story").ids)


def test_transformers_reads_a_smaller_network(loaded, tmp_path: Path):
    ids = needed_tokens(loaded.tokenizer, np.ones(loaded.tokenizer.size, np.int64))[:-3]
    sample = [([2, 5, 3], [0, 0, 0])]
    smaller = cut_vocabulary(make_smaller(loaded, 1, 8, sample), ids)
    checkpoint.save(tmp_path / "smaller", smaller.network, smaller.tokenizer, smaller.labels)
    again = checkpoint.load(tmp_path / "smaller")
    assert again.report.missing == again.report.unexpected == ()
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "smaller").eval()
    tokens = AutoTokenizer.from_pretrained(tmp_path / "smaller")(TEXT, return_tensors="pt")
    with torch.inference_mode():
        theirs = model(**tokens).logits
    assert torch.allclose(theirs, logits(again), atol=1e-5)
    assert torch.allclose(logits(again), logits(smaller), atol=1e-6)
