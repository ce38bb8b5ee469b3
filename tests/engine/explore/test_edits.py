"""Edited texts and the faithfulness of word orders, compared with transformers."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from engine.errors import StudioError
from engine.explore import attribution
from engine.explore.attribution import FRACTIONS, check_faithfulness, random_orders
from engine.explore.edits import score, suggest
from engine.explore.fill_mask import fill_mask
from engine.messages.explore.attribution import CheckFaithfulness, Edit, ScoreEdits, SuggestWords
from engine.messages.explore.fill_mask import FillMask
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import folder

CLOSE = 1e-4
TEXT = "abc de f g h i j k l m"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    path = folder(tmp_path_factory.mktemp("edits") / "model", Heads(mlm=True, outputs=3))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()
    return load(path), model, transformers.AutoTokenizer.from_pretrained(path)


def logits(model, tokenizer, text: str) -> torch.Tensor:
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).logits[0]


def test_edits_have_the_logit_of_the_edited_text(classes):
    ours, model, tokenizer = classes
    edits = (Edit(start=0, end=4), Edit(start=0, end=6, text="de abc"), Edit(start=4, end=6,
             text="q"))  # fmt: skip
    texts = ("de f g h i j k l m", "de abc f g h i j k l m", "abc q f g h i j k l m")
    question = ScoreEdits(checkpoint=Path("any"), text=TEXT, edits=edits, label=ours.labels[2])
    answer = score(ours, question)
    assert tuple(edit.text for edit in answer.edits) == texts
    assert answer.explained.score == pytest.approx(
        float(logits(model, tokenizer, TEXT)[2]), abs=CLOSE
    )
    for edit in answer.edits:
        theirs = logits(model, tokenizer, edit.text)
        assert edit.score == pytest.approx(float(theirs[2]), abs=CLOSE)
        assert edit.predicted == ours.labels[int(theirs.argmax())]


def test_masks_move_with_their_word_and_cannot_be_edited(classes):
    ours = classes[0]
    edits = (Edit(start=0, end=4), Edit(start=4, end=6, text="q"))
    mask = next(n for n, t in enumerate(ours.tokenizer.encode(TEXT).tokens) if t.start == 4)
    question = ScoreEdits(
        checkpoint=Path("any"), text=TEXT, edits=edits, head="mlm", masked=(mask, mask + 1),
        label="b",
    )  # fmt: skip
    answer = score(ours, question)
    alone = ScoreEdits(
        checkpoint=Path("any"), text=answer.edits[0].text, edits=(), head="mlm", masked=(1, 2),
        label="b",
    )  # fmt: skip
    assert answer.edits[0].score == pytest.approx(score(ours, alone).explained.score, abs=CLOSE)
    assert "token that is explained" in answer.edits[1].problem


def test_faithfulness_matches_manual_masking(classes, monkeypatch):
    ours, model, tokenizer = classes
    monkeypatch.setattr(attribution, "FORWARD_SLICE", 100)
    inputs = tokenizer(TEXT, return_tensors="pt")
    words = np.array([-1 if word is None else word for word in inputs.word_ids(0)])
    count = words.max() + 1
    order = tuple(reversed(range(count)))

    def value(hidden: tuple[int, ...]) -> float:
        ids = inputs.input_ids.clone()
        ids[0, np.isin(words, hidden)] = tokenizer.mask_token_id
        with torch.no_grad():
            return float(model(**{**inputs, "input_ids": ids}).logits[0, 1])

    question = CheckFaithfulness(
        checkpoint=Path("any"), text=TEXT, order=order, label=ours.labels[1]
    )
    answer, parts = check_faithfulness(ours, question), 1
    while answer.next is not None:
        assert answer.own is None
        change = {"start": answer.next, "so_far": answer.scores}
        answer = check_faithfulness(ours, question.model_copy(update=change))
        parts += 1
    assert parts > 3 and len(answer.random) == 20
    for actual, ranking in ((answer.own, order), (answer.random[7], random_orders(count)[7])):
        chosen = [max(1, round(fraction * count)) for fraction in FRACTIONS]
        without = np.mean([value(()) - value(ranking[:n]) for n in chosen])
        only = np.mean([value(()) - value(ranking[n:]) for n in chosen])
        assert actual.comprehensiveness == pytest.approx(without, abs=CLOSE)
        assert actual.sufficiency == pytest.approx(only, abs=CLOSE)


def test_an_order_with_duplicates_is_refused(classes):
    with pytest.raises(StudioError, match="two words"):
        check_faithfulness(
            classes[0], CheckFaithfulness(checkpoint=Path("any"), text=TEXT, order=(0, 0))
        )


def test_words_are_suggested_by_the_mask_head(classes):
    ours = classes[0]
    question = SuggestWords(checkpoint=Path("any"), text=TEXT, start=7, end=8, top=4)
    masked = next(n for n, t in enumerate(ours.tokenizer.encode(TEXT).tokens) if t.start == 7)
    fill = FillMask(checkpoint=Path("any"), text=TEXT, masked=(masked,), top=40)
    ranked = [item.label for item in fill_mask(ours, fill).predictions[0].ranked]
    expected = [word for word in ranked if word.isalpha() and word != "f"][:4]
    assert list(suggest(ours, question).words) == expected
