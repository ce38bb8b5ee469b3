"""BERT agrees with transformers on the same weights to 1e-5 in float32."""

import pytest
import torch
from transformers import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from engine.models.checkpoint import load, save
from engine.models.heads import Heads
from tests.engine.models.agreement import assert_equal, reference
from tests.engine.models.small import ALL, LABELS, SPEC, batch, network, tokenizer

ASSETS = {
    "bert-tiny-splade-en": BertForMaskedLM,
    "ref-bert-tiny-sst2": BertForSequenceClassification,
    "rxnfp-bert-pretrained": BertForPreTraining,
    "minilm-l6-v2-en": BertModel,
}


@pytest.mark.parametrize("name", ASSETS)
def test_published_checkpoints_give_the_same_numbers(assets, name, tmp_path):
    """Also after saving here and loading with transformers."""
    folder = assets / "models" / name
    if not (folder / "config.json").exists():
        pytest.skip(f"{name} is not here")
    loaded = load(folder)
    assert not loaded.report.missing
    assert not loaded.report.unexpected
    assert_equal(loaded.network, reference(ASSETS[name], folder), batch(loaded.spec, 3, 70))
    save(tmp_path / "saved", loaded.network, loaded.tokenizer, loaded.labels)
    assert_equal(
        loaded.network, reference(ASSETS[name], tmp_path / "saved"), batch(loaded.spec, 2, 20)
    )


@pytest.mark.parametrize(
    "heads,kind,dtype",
    [
        (Heads(pooler=True), BertModel, torch.float32),
        (Heads(mlm=True), BertForMaskedLM, torch.float32),
        (Heads(nsp=True), BertForNextSentencePrediction, torch.float32),
        (ALL, BertForPreTraining, torch.float32),
        (ALL, BertForPreTraining, torch.float16),
        (ALL, BertForPreTraining, torch.bfloat16),
        (Heads(outputs=3), BertForSequenceClassification, torch.float32),
        (Heads(outputs=3, kind="multi_label"), BertForSequenceClassification, torch.float32),
        (Heads(outputs=1, kind="regression"), BertForSequenceClassification, torch.float32),
        (Heads(outputs=3, kind="token_classification"), BertForTokenClassification, torch.float32),
        (Heads(outputs=2, kind="question_answering"), BertForQuestionAnswering, torch.float32),
        (Heads(outputs=1, kind="multiple_choice"), BertForMultipleChoice, torch.float32),
    ],
)
def test_transformers_finds_the_right_class_and_all_tensors(tmp_path, heads, kind, dtype):
    labels = LABELS if heads.outputs == 3 else ()
    save(tmp_path / "saved", network(heads), tokenizer(tmp_path), labels, dtype)
    model = reference(kind, tmp_path / "saved")
    assert model.config.architectures == [kind.__name__]
    if labels:
        assert model.config.id2label == dict(enumerate(LABELS))
        assert model.config.num_labels == 3
    if heads.kind == "regression":
        assert model.config.num_labels == 1
    loaded = load(tmp_path / "saved")
    assert loaded.network.heads == heads
    assert_equal(loaded.network, model, batch())


def test_unusual_settings_give_the_same_numbers(tmp_path):
    spec = SPEC.model_copy(
        update={
            "activation": "gelu_new",
            "layer_norm_eps": 1e-5,
            "segments": 3,
            "hidden_size": 15,
            "heads": 5,
        }
    )
    save(tmp_path / "saved", network(ALL, spec), tokenizer(tmp_path))
    model = reference(BertForPreTraining, tmp_path / "saved")
    assert_equal(load(tmp_path / "saved").network, model, batch(spec))
