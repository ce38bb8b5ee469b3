"""Interchange with transformers: equal outputs, and models that only we read."""

import pytest
import torch
import transformers

from engine.config.features import Features
from engine.models.checkpoint import load, save
from engine.models.heads import Heads
from engine.models.network import Network
from tests.engine.models import small
from tests.engine.models.agreement import assert_close, reference
from tests.engine.models.small import LABELS, SPEC, batch, network, tokenizer

CAUSAL = SPEC.model_copy(update={"causal": True})


@torch.no_grad()
def test_transformers_reads_only_the_encoder_of_a_probe(tmp_path):
    heads = Heads(outputs=3, features=Features(vectors="one layer", layer=1, probe="linear"))
    net = network(heads)
    save(tmp_path / "probe", net, tokenizer(tmp_path), LABELS)
    ids, segments, real = batch()
    model = reference(transformers.AutoModel, tmp_path / "probe", complete=False)
    assert model.config.architectures == ["BertModel"]
    extra = {"token_type_ids": segments, "attention_mask": real.long()}
    hidden = model(input_ids=ids, output_hidden_states=True, **extra).hidden_states[1]
    assert_close(net.encoder(ids, segments, real, keep_hidden=True).hidden[1][real], hidden[real])
    assert_close(
        load(tmp_path / "probe").network.logits(ids, segments, real),
        net.logits(ids, segments, real),
    )


@pytest.mark.parametrize("kind", ["token_classification", "question_answering"])
@torch.no_grad()
def test_a_causal_model_with_a_token_head_agrees(tmp_path, kind):
    net = Network(CAUSAL, Heads(outputs=2, kind=kind)).eval()
    save(tmp_path / "model", net, tokenizer(tmp_path), LABELS[:2])
    suffix = kind.title().replace("_", "")
    model = reference(getattr(transformers, f"AutoModelFor{suffix}"), tmp_path / "model")
    ids, segments, real = batch()
    output = model(input_ids=ids, token_type_ids=segments, attention_mask=real.long())
    logits = net.logits(ids, segments, real)
    is_qa = kind == "question_answering"
    expected = torch.stack([output.start_logits, output.end_logits], -1) if is_qa else output.logits
    assert_close(logits[real], expected[real])


@torch.no_grad()
def test_a_causal_text_classifier_differs_from_transformers(tmp_path):
    """transformers pools [CLS], which attends only to itself in a causal model."""
    net = small.network(Heads(outputs=3), CAUSAL)
    save(tmp_path / "model", net, tokenizer(tmp_path), LABELS)
    model = reference(transformers.AutoModelForSequenceClassification, tmp_path / "model")
    ids, segments, real = batch()
    output = model(input_ids=ids, token_type_ids=segments, attention_mask=real.long()).logits
    logits = net.logits(ids, segments, real)
    assert (logits - output).abs().max() > 0.01
    assert_close(load(tmp_path / "model").network.logits(ids, segments, real), logits)
