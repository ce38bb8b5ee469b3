"""Pre-training on masked words and next sentences together."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertForPreTraining

from engine.config.tasks.pretraining import Pretraining
from engine.data.datasets.rows import Rows
from engine.models.checkpoint import save
from engine.models.network import Network
from engine.tasks.learner import Examples, special_ids, total
from engine.tasks.pretraining import PretrainingLearner, mask_tokens, predicted_logits
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train
from tests.engine.models.small import sized
from tests.engine.training.small import new_run, pretraining
from tests.often import tries

WORDS = [f"word{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(10)]
IGNORED = -100


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(WORDS * 3, 120, lowercase=True)  # many words have several tokens


@pytest.fixture(scope="module")
def rows() -> Rows:
    rng = np.random.default_rng(5)
    texts = [
        "\n".join(" ".join(rng.choice(WORDS, rng.integers(3, 8))) for _ in range(6))
        for _ in range(40)
    ]
    return Rows(texts, None, None)


def encode(learner: PretrainingLearner, rows: Rows, tokenizer: Tokenizer, folder: Path) -> Examples:
    return learner.tokenize(rows, tokenizer, 48, folder / "tokenized", lambda done, total: None)


def test_the_loss_matches_transformers(tokenizer, rows, tmp_path):
    learner = PretrainingLearner(Pretraining(nsp=True))
    network = Network(sized(tokenizer), learner.heads).eval()
    examples = encode(learner, rows, tokenizer, tmp_path)
    batch = learner.batch(examples, np.arange(12), tokenizer, np.random.default_rng(0))
    save(tmp_path / "model", network, tokenizer)
    model = BertForPreTraining.from_pretrained(tmp_path / "model").eval()
    labels = torch.full_like(batch.tokens, IGNORED)
    labels.view(-1)[batch.positions] = batch.targets
    with torch.inference_mode():
        theirs = model(
            input_ids=batch.tokens,
            token_type_ids=batch.segments,
            attention_mask=None if batch.attention_mask is None else batch.attention_mask.long(),
            labels=labels,
            next_sentence_label=batch.nsp_targets,
        ).loss
        ours = learner.losses(network, batch)
    assert set(ours) == {"mlm", "nsp"}
    assert float(total(ours)) == pytest.approx(float(theirs), abs=1e-5)


def test_metrics_over_parts_match_the_whole_batch(tokenizer, rows, tmp_path):
    learner = PretrainingLearner(Pretraining(nsp=True))
    network = Network(sized(tokenizer), learner.heads).eval()
    examples = encode(learner, rows, tokenizer, tmp_path)
    batch = learner.batch(examples, np.arange(16), tokenizer, np.random.default_rng(0))
    batch = batch._replace(indices=torch.arange(16))
    metrics = learner.make_metrics(examples)
    with torch.inference_mode():
        for part in batch.parts(5)[::-1]:
            metrics.add(network, part)
        losses = learner.losses(network, batch)
        assert network.nsp is not None and batch.nsp_targets is not None
        encoded = network.encoder(batch.tokens, batch.segments, batch.attention_mask)
        right = network.nsp(encoded.pooled).argmax(1) == batch.nsp_targets
    metrics = metrics.compute()
    assert metrics["loss"] == pytest.approx(float(total(losses)), abs=1e-5)
    for name, part in losses.items():
        assert metrics[f"loss_{name}"] == pytest.approx(float(part), abs=1e-5)
    assert metrics["nsp_accuracy"] == pytest.approx(float(right.float().mean()))


def test_whole_words_are_masked_together(tokenizer, rows, tmp_path):
    learner = PretrainingLearner(Pretraining(whole_word_masking=True))
    examples = encode(learner, rows, tokenizer, tmp_path)
    full = np.flatnonzero(examples.tokenized.lengths == 48)
    tokens = np.stack([examples.tokenized.ids(n) for n in full])
    assert tokenizer.continues[tokens].mean() > 0.2, "some words have several tokens"
    _, chosen = mask_tokens(
        tokens,
        tokenizer,
        Pretraining(whole_word_masking=True, mlm_probability=0.3),
        np.random.default_rng(0),
    )
    inside = tokenizer.continues[tokens[:, 1:]] & ~np.isin(tokens[:, :-1], special_ids(tokenizer))
    assert (chosen[:, 1:] == chosen[:, :-1])[inside].all()
    budget = np.rint(0.3 * (~np.isin(tokens, special_ids(tokenizer))).sum(1))
    assert (chosen.sum(1) <= budget).all() and chosen.sum() > 0.9 * budget.sum()


def test_static_masks_stay_and_dynamic_masks_change(tokenizer, rows, tmp_path):
    def masked_positions(masking: str, numbers: list[int], seed: int) -> dict[int, list[int]]:
        """The predicted positions of each input."""
        learner = PretrainingLearner(Pretraining.model_validate({"masking": masking, "nsp": True}))
        examples = encode(learner, rows, tokenizer, tmp_path)
        batch = learner.batch(examples, np.array(numbers), tokenizer, np.random.default_rng(seed))
        assert batch.positions is not None
        width = batch.tokens.size(1)
        return {
            number: [int(p) % width for p in batch.positions if int(p) // width == row]
            for row, number in enumerate(numbers)
        }

    for kind, same in (("static", True), ("dynamic", False)):
        first = masked_positions(kind, [0, 1, 2, 3], seed=1)
        second = masked_positions(kind, [3, 7, 2, 9, 1, 0], seed=2)
        assert ([first[n] for n in range(4)] == [second[n] for n in range(4)]) is same


def test_a_run_reports_each_part_and_learns_both(tmp_path):
    job = pretraining(tmp_path, steps=5)
    lines = [f"the {noun} was {state}." for noun in ("film", "end") for state in ("good", "bad")]
    rng = np.random.default_rng(0)
    text = "\n\n".join("\n".join(rng.permutation(lines)) for _ in range(40))
    job.data.path.write_text(text + "\n", encoding="utf-8")
    job = job.model_copy(update={"task": Pretraining(nsp=True)})
    messages: list[object] = []
    run = new_run(tmp_path / "run", job)
    train(job, run, messages.append)
    values = {
        name: {e.step: e.value for e in messages if getattr(e, "name", "") == name}
        for name in ("loss", "loss_mlm", "loss_nsp")
    }
    assert set(values["loss"]) == set(range(1, 6))
    for step, value in values["loss"].items():
        parts = values["loss_mlm"][step] + values["loss_nsp"][step]
        assert value == pytest.approx(parts, abs=1e-5)
    model = BertForPreTraining.from_pretrained(run.checkpoint_folders()[-1])
    assert model.config.vocab_size > 10


def random_ids(tokenizer: Tokenizer, count: int, width: int) -> np.ndarray:
    ids = np.random.default_rng(1).integers(5, tokenizer.size, (count, width))
    ids[:, 0], ids[:, -1] = tokenizer.cls, tokenizer.sep
    return ids


def test_fifteen_percent_are_chosen_and_most_of_them_masked(tokenizer):
    tokens = random_ids(tokenizer, 2000, 102)
    inputs, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(2))
    assert (chosen.sum(axis=1) == 15).all()
    masked = (inputs == tokenizer.mask) & chosen
    unchanged = (inputs == tokens) & chosen
    count = chosen.sum()
    assert abs(masked.sum() / count - 0.8) < 0.01
    expected = 0.1 + 0.1 / tokenizer.size  # a random token may be the original
    assert abs(unchanged.sum() / count - expected) < 0.01


def test_unselected_tokens_are_unchanged(tokenizer):
    tokens = random_ids(tokenizer, 50, 40)
    inputs, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(2))
    assert (inputs[~chosen] == tokens[~chosen]).all()
    assert not chosen[np.isin(tokens, special_ids(tokenizer))].any()


def test_every_token_is_chosen_equally_often(tokenizer):
    tokens = random_ids(tokenizer, 20_000, 22)
    _, chosen = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(5))
    ratios = chosen[:, 1:-1].mean(axis=0)
    assert ratios.min() > 0.13 and ratios.max() < 0.17


def test_masks_depend_only_on_the_seed(tokenizer):
    tokens = random_ids(tokenizer, 5, 30)
    first = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(9))
    second = mask_tokens(tokens, tokenizer, Pretraining(), np.random.default_rng(9))
    assert (first[0] == second[0]).all() and (first[1] == second[1]).all()


@tries(100)
@given(rate=st.floats(0.01, 0.99), width=st.integers(3, 60), padding=st.integers(0, 20))
def test_each_row_has_a_rounded_count_of_at_least_one(tokenizer, rate, width, padding):
    tokens = np.pad(
        random_ids(tokenizer, 4, width), ((0, 0), (0, padding)), constant_values=tokenizer.pad
    )
    _, chosen = mask_tokens(
        tokens, tokenizer, Pretraining(mlm_probability=rate), np.random.default_rng(0)
    )
    assert (chosen.sum(axis=1) == max(1, round(rate * (width - 2)))).all()


def test_a_new_network_predicts_by_frequency(tokenizer, tmp_path):
    learner = PretrainingLearner(Pretraining())
    texts = [" ".join(WORDS[:10] * 5 + WORDS[10:20])] * 20
    examples = learner.tokenize(
        Rows(texts, None, None), tokenizer, 32, tmp_path / "tokenized", lambda done, total: None
    )
    network = Network(sized(tokenizer), learner.heads).eval()
    learner.init_output_bias(network, examples, tokenizer)
    batch = learner.batch(examples, np.arange(8), tokenizer, np.random.default_rng(0))
    with torch.inference_mode():
        predicted = predicted_logits(network, batch)[0].softmax(-1).mean(0).numpy()
    counts = examples.tokenized.counts(tokenizer.size)
    counts[special_ids(tokenizer)] = 0
    assert np.abs(predicted - counts / counts.sum()).max() < 0.02
