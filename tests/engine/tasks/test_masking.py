"""The masks of pre-training follow the paper."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.config.tasks.pretraining import Pretraining
from engine.data.datasets.rows import Rows
from engine.models.network import Network
from engine.tasks.learner import special_ids
from engine.tasks.pretraining import PretrainingLearner, mask_tokens, predictions
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models.small import sized
from tests.often import tries

WORDS = [f"word{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(10)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(WORDS * 3, 300, lowercase=True)


def rows(tokenizer: Tokenizer, count: int, width: int) -> np.ndarray:
    ids = np.random.default_rng(1).integers(5, tokenizer.size, (count, width))
    ids[:, 0], ids[:, -1] = tokenizer.cls, tokenizer.sep
    return ids


def test_fifteen_in_a_hundred_are_chosen_and_hidden_in_three_ways(tokenizer):
    tokens = rows(tokenizer, 2000, 102)
    shown, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(2))
    assert (chosen.sum(axis=1) == 15).all()
    masked = (shown == tokenizer.mask) & chosen
    same = (shown == tokens) & chosen
    count = chosen.sum()
    assert abs(masked.sum() / count - 0.8) < 0.01
    expected_same = 0.1 + 0.1 / tokenizer.size  # a random piece may be the same one
    assert abs(same.sum() / count - expected_same) < 0.01


def test_what_was_not_chosen_stays(tokenizer):
    tokens = rows(tokenizer, 50, 40)
    shown, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(2))
    assert (shown[~chosen] == tokens[~chosen]).all()
    assert not chosen[np.isin(tokens, special_ids(tokenizer))].any()


def test_every_token_is_chosen_equally_often(tokenizer):
    tokens = rows(tokenizer, 20_000, 22)
    _, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(5))
    shares = chosen[:, 1:-1].mean(axis=0)
    assert shares.min() > 0.13 and shares.max() < 0.17


def test_the_same_chance_gives_the_same_masks(tokenizer):
    tokens = rows(tokenizer, 5, 30)
    first = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(9))
    again = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(9))
    assert (first[0] == again[0]).all() and (first[1] == again[1]).all()


@tries(100)
@given(share=st.floats(0.01, 0.99), width=st.integers(3, 60), padding=st.integers(0, 20))
def test_each_row_gets_its_rounded_share_and_at_least_one(tokenizer, share, width, padding):
    tokens = np.pad(
        rows(tokenizer, 4, width), ((0, 0), (0, padding)), constant_values=tokenizer.pad
    )
    _, chosen = mask_tokens(
        tokens, tokenizer, Pretraining(mlm_probability=share), np.random.default_rng(0)
    )
    assert (chosen.sum(axis=1) == max(1, round(share * (width - 2)))).all()


def test_a_fresh_network_guesses_by_frequency(tokenizer, tmp_path):
    learner = PretrainingLearner(Pretraining())
    texts = [" ".join(WORDS[:10] * 5 + WORDS[10:20])] * 20
    examples = learner.tokenize(
        Rows(texts, None, None), tokenizer, 32, tmp_path / "tokenized", lambda done, total: None
    )
    network = Network(sized(tokenizer), learner.heads).eval()
    learner.init_output_bias(network, examples, tokenizer)
    batch = learner.batch(examples, np.arange(8), tokenizer, np.random.default_rng(0))
    with torch.inference_mode():
        predicted = predictions(network, batch)[0].softmax(-1).mean(0).numpy()
    counts = examples.tokenized.counts(tokenizer.size)
    counts[special_ids(tokenizer)] = 0
    assert np.abs(predicted - counts / counts.sum()).max() < 0.02
