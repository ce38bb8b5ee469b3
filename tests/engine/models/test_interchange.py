"""Interchange with transformers: what agrees, and what only we read."""

import pytest
import torch
import transformers

from engine.config.features import Features
from engine.models.checkpoint import load, save
from engine.models.heads import Heads
from engine.models.network import Network
from tests.engine.models import small
from tests.engine.models.agreement import assert_close, theirs
from tests.engine.models.small import LABELS, SPEC, batch, network, tokenizer

CAUSAL = SPEC.model_copy(update={"causal": True})


@torch.no_grad()
def test_of_a_probe_transformers_reads_the_encoder_alone(tmp_path):
    heads = Heads(outputs=3, features=Features(vectors="one layer", layer=1, probe="linear"))
    made = network(heads)
    save(tmp_path / "probe", made, tokenizer(tmp_path), LABELS)
    ids, segments, real = batch()
    model = theirs(transformers.AutoModel, tmp_path / "probe", complete=False)
    assert model.config.architectures == ["BertModel"]
    told = {"token_type_ids": segments, "attention_mask": real.long()}
    there = model(input_ids=ids, output_hidden_states=True, **told).hidden_states[1]
    assert_close(made.encoder(ids, segments, real, keep_hidden=True).hidden[1][real], there[real])
    assert_close(
        load(tmp_path / "probe").network.logits(ids, segments, real),
        made.logits(ids, segments, real),
    )


@pytest.mark.parametrize("kind", ["token_classification", "question_answering"])
@torch.no_grad()
def test_a_left_to_right_model_that_answers_for_tokens_agrees(tmp_path, kind):
    made = Network(CAUSAL, Heads(outputs=2, kind=kind)).eval()
    save(tmp_path / "model", made, tokenizer(tmp_path), LABELS[:2])
    suffix = kind.title().replace("_", "")
    model = theirs(getattr(transformers, f"AutoModelFor{suffix}"), tmp_path / "model")
    ids, segments, real = batch()
    said = model(input_ids=ids, token_type_ids=segments, attention_mask=real.long())
    logits = made.logits(ids, segments, real)
    spans = kind == "question_answering"
    wanted = torch.stack([said.start_logits, said.end_logits], -1) if spans else said.logits
    assert_close(logits[real], wanted[real])


@torch.no_grad()
def test_a_left_to_right_model_that_answers_for_texts_is_read_here_alone(tmp_path):
    """transformers pools [CLS], which has seen nothing but itself: its answer is another one."""
    made = small.network(Heads(outputs=3), CAUSAL)
    save(tmp_path / "model", made, tokenizer(tmp_path), LABELS)
    model = theirs(transformers.AutoModelForSequenceClassification, tmp_path / "model")
    ids, segments, real = batch()
    said = model(input_ids=ids, token_type_ids=segments, attention_mask=real.long()).logits
    logits = made.logits(ids, segments, real)
    assert (logits - said).abs().max() > 0.01
    assert_close(load(tmp_path / "model").network.logits(ids, segments, real), logits)
