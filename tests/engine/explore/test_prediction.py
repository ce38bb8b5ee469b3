"""Predictions of fine-tuned models, compared with transformers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

from engine.data.columns.words import word_spans
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.explore.prediction import predict, predict_next_sentence
from engine.messages.explore.prediction import Predict, PredictNextSentence
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.tasks import checkpoint_learner
from engine.tasks.evaluating import collect_predictions
from engine.tasks.inputs import encode_text
from tests.engine.models.small import LABELS, folder

CLOSE = 1e-5


def test_classes_are_ranked_and_sum_to_one(tiny):
    ranked = (
        predict(tiny, Predict(checkpoint=Path("any"), text="a b", pair="c")).predictions[0].ranked
    )
    assert {likely.label for likely in ranked} == set(LABELS)
    assert sum(likely.probability for likely in ranked) == pytest.approx(1)
    assert list(ranked) == sorted(ranked, key=lambda likely: -likely.probability)


def test_answers_are_spans_of_the_second_text(tmp_path):
    model = load(folder(tmp_path / "asks", Heads(outputs=2, kind="question_answering")))
    passage = "a b c d e " * 30
    answer = predict(model, Predict(number=4, checkpoint=tmp_path, text="a b", pair=passage))
    assert (answer.to, answer.task, answer.truncated) == (4, "question_answering", True)
    assert len(answer.spans) == 5
    for span in answer.spans:
        assert passage[span.start : span.end] == span.text
    assert 0 < answer.value < 1
    with pytest.raises(StudioError, match="finds the answer to a question"):
        predict(model, Predict(checkpoint=tmp_path, text="a b"))


@torch.no_grad()
@pytest.mark.parametrize("pair", [None, "and a dull second half ."])
def test_classes_match_transformers(assets, pair):
    source = assets / "models" / "ref-bert-tiny-sst2"
    theirs = transformers.BertForSequenceClassification.from_pretrained(
        source, local_files_only=True
    ).eval()
    tokenizer = transformers.BertTokenizerFast.from_pretrained(source, local_files_only=True)
    text = "a warm , funny film"
    expected = theirs(**tokenizer(text, pair, return_tensors="pt")).logits.softmax(-1)[0]
    question = Predict(checkpoint=source, text=text, pair=pair)
    for likely in predict(load(source), question).predictions[0].ranked:
        probability = expected[theirs.config.label2id[likely.label]]
        assert likely.probability == pytest.approx(float(probability), abs=CLOSE)


def test_tags_are_spans_of_the_typed_text(tmp_path):
    text = "(A b) c, q zzz"
    path = folder(tmp_path / "tags", Heads(outputs=3, kind="token_classification"))
    checkpoint = load(path)
    question = Predict(checkpoint=path, text=text)
    for labels in (("O", "B-x", "I-x"), ("N", "V", "P")):
        named = replace(checkpoint, labels=labels)
        answer = predict(named, question)
        assert answer.task == "token_classification" and not answer.truncated
        learner = checkpoint_learner(named)
        words = [text[a:b] for a, b in word_spans(text)]
        assert words == ["(", "A", "b", ")", "c", ",", "q", "zzz"]
        rows = Rows([json.dumps(words)])
        (expected,) = collect_predictions(named, learner, rows, 24, 1).predictions()
        assert all(text[span.start : span.end] == span.text for span in answer.spans)
        ours = [(span.label, span.text.replace(" ", "")) for span in answer.spans]
        chances = [span.probability for span in answer.spans]
        if labels[0] == "O":
            spans = expected["spans"]
            assert ours == [(span["type"], span["text"].replace(" ", "")) for span in spans]
            assert chances == pytest.approx([span["probability"] for span in spans], abs=CLOSE)
        else:
            assert ours == list(zip(expected["tags"], words, strict=True))
            assert chances == pytest.approx(expected["probabilities"], abs=CLOSE)


@torch.no_grad()
def test_labels_regression_and_choices_match_transformers(tmp_path):
    def theirs(kind, name):
        return kind.from_pretrained(tmp_path / name).eval()

    texts = {"text": "a b c", "pair": "d e"}
    encoded = load(folder(tmp_path / "any", Heads())).tokenizer.encode("a b c", "d e", 24)
    inputs = {
        "input_ids": torch.tensor([encoded.ids]),
        "token_type_ids": torch.tensor([encoded.segments]),
    }
    labels = load(folder(tmp_path / "labels", Heads(outputs=3, kind="multi_label")))
    ranked = predict(labels, Predict(checkpoint=Path("any"), **texts)).predictions[0].ranked
    model = theirs(transformers.BertForSequenceClassification, "labels")
    expected = model(**inputs).logits.sigmoid()[0]
    for likely in ranked:
        number = model.config.label2id[likely.label]
        assert likely.probability == pytest.approx(float(expected[number]), abs=CLOSE)
    assert list(ranked) == sorted(ranked, key=lambda likely: -likely.probability)

    number = load(folder(tmp_path / "number", Heads(outputs=1, kind="regression")))
    answer = predict(number, Predict(checkpoint=Path("any"), **texts))
    model = theirs(transformers.BertForSequenceClassification, "number")
    assert answer.value == pytest.approx(float(model(**inputs).logits[0, 0]), abs=CLOSE)
    assert answer.range is None

    choices = load(folder(tmp_path / "choices", Heads(outputs=1, kind="multiple_choice")))
    question = Predict(checkpoint=Path("any"), text="a b", pair="d", endings=("e", "f f", " ", "g"))
    ranked = predict(choices, question).predictions[0].ranked
    model = theirs(transformers.BertForMultipleChoice, "choices")
    pairs = [choices.tokenizer.encode("a b", f"d {ending}", 24) for ending in ("e", "g")]
    batch = {
        "input_ids": torch.tensor([[pair.ids for pair in pairs]]),
        "token_type_ids": torch.tensor([[pair.segments for pair in pairs]]),
    }
    expected = model(**batch).logits[0]  # “e” and “g” are equally long
    actual = {likely.label: likely.probability for likely in ranked}
    assert set(actual) == {"e", "f f", "g"} and sum(actual.values()) == pytest.approx(1)
    ratio = float((expected[0] - expected[1]).exp())
    assert actual["e"] / actual["g"] == pytest.approx(ratio, rel=1e-3)
    with pytest.raises(StudioError, match="one of several choices"):
        predict(choices, question.model_copy(update={"endings": ("e", " ")}))


@torch.no_grad()
@pytest.mark.parametrize("masked", [(), (2,)])
def test_next_sentence_probability_matches_transformers(tmp_path, masked):
    path = folder(tmp_path / "pair", Heads(mlm=True, nsp=True))
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(
        path, local_files_only=True
    ).eval()
    ours = load(path)
    inputs = encode_text(ours, "a b c", "d e", masked)
    logits = theirs(inputs.tokens, token_type_ids=inputs.segments).logits
    query = PredictNextSentence(number=5, checkpoint=path, text="a b c", pair="d e", masked=masked)
    answer = predict_next_sentence(ours, query)
    assert answer.to == 5
    assert answer.probability == pytest.approx(float(logits.softmax(-1)[0, 0]), abs=CLOSE)


def test_inapplicable_questions_are_refused(tiny, tmp_path):
    with pytest.raises(StudioError, match="no next-sentence"):
        predict_next_sentence(tiny, PredictNextSentence(checkpoint=tmp_path, text="a", pair="b"))
    pair = load(folder(tmp_path / "pair"))
    with pytest.raises(StudioError, match="no second text"):
        predict_next_sentence(pair, PredictNextSentence(checkpoint=tmp_path, text="a", pair=" "))
