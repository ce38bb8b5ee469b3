"""Scores of many texts, compared with transformers."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification

from engine.errors import StudioError
from engine.explore.text_scores import score
from engine.messages.explore.text_set import ScoreTexts, TextScore, TextSet, TypedText
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from tests.engine.models.small import LABELS, folder

TEXTS = ("a b c", "d e f g", "h", "a a a k l", "m n", "q p o n")
GOLD = ("bad", "good", "", "so-so", "good", "bad")
ALL = TextSet(
    typed=tuple(TypedText(text=t, label=g) for t, g in zip(TEXTS, GOLD, strict=True))
)  # fmt: skip


def all_scores(serving: Serving, question: ScoreTexts) -> list[TextScore]:
    """The scores of all answers, in order."""
    answers: list = []
    answers.append(score(serving, question, answers.append))
    assert [answer.is_final for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert [answer.first for answer in answers] == [0, *(answer.done for answer in answers[:-1])]
    return [text_score for answer in answers for text_score in answer.scores]


def test_loss_and_prediction_match_transformers(classifier):
    checkpoint = load(classifier)
    result = all_scores(Serving(checkpoint), ScoreTexts(checkpoint=classifier, texts=ALL))
    theirs = AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    for text, gold, item in zip(TEXTS, GOLD, result, strict=True):
        ids = checkpoint.tokenizer.encode(text).ids
        with torch.no_grad():
            probabilities = theirs(torch.tensor([ids])).logits[0].softmax(-1)
        assert item.prediction == LABELS[int(probabilities.argmax())]
        assert item.probability == pytest.approx(float(probabilities.max()), abs=1e-5)
        assert item.tokens == len(ids)
        if not gold:
            assert (item.loss, item.right, item.label) == (None, None, "")
            continue
        assert item.loss == pytest.approx(-float(probabilities[LABELS.index(gold)].log()), abs=1e-5)
        assert item.right == (item.prediction == gold) and item.label == gold


def test_a_model_without_a_task_is_scored_by_masking_each_token(tiny_folder, tmp_path):
    path = folder(tmp_path / "mlm", Heads(mlm=True))
    checkpoint = load(path)
    result = all_scores(Serving(checkpoint), ScoreTexts(checkpoint=path, texts=ALL))
    theirs = AutoModelForMaskedLM.from_pretrained(path).eval()
    ids = torch.tensor([checkpoint.tokenizer.encode(TEXTS[1]).ids])
    losses = []
    for position in range(1, ids.size(1) - 1):
        masked = ids.clone()
        masked[0, position] = checkpoint.tokenizer.mask
        with torch.no_grad():
            logits = theirs(masked).logits[0, position]
        losses.append(-float(logits.log_softmax(-1)[ids[0, position]]))
    assert result[1].loss == pytest.approx(np.mean(losses), abs=1e-5)
    assert result[1].right is None and result[1].prediction == ""


def test_a_bare_encoder_gives_token_counts_and_no_loss(tmp_path):
    path = folder(tmp_path / "bare", Heads())
    answers: list = []
    last = score(Serving(load(path)), ScoreTexts(checkpoint=path, texts=ALL), answers.append)
    assert last.loss == "none"
    assert [score.tokens for score in last.scores] == [5, 6, 3, 7, 4, 6][-len(last.scores) :]


def test_labels_that_the_model_does_not_know_are_refused(classifier):
    texts = TextSet(typed=(TypedText(text="a b", label="purple"),))
    with pytest.raises(StudioError, match="purple"):
        score(Serving(load(classifier)), ScoreTexts(checkpoint=classifier, texts=texts))
