"""Occlusion of words, compared with the feature ablation of captum on transformers."""

from pathlib import Path

import pytest
import torch
import transformers
from captum.attr import FeatureAblation

from engine.errors import StudioError
from engine.explore import occlusion
from engine.explore.occlusion import occlude
from engine.explore.prediction import predict
from engine.messages.explore.occlusion import Occlude
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import folder

CLOSE = 1e-4
TEXT, PAIR = "abc de [MASK] abcde", "b, ca"


def asked(text: str = TEXT, **more: object) -> Occlude:
    return Occlude.model_validate({"checkpoint": Path("any"), "text": text} | more)


def ablated(model, tokenizer, text: str, pair: str | None) -> tuple[list[float], int]:
    """The logit of the predicted class minus that without each word, by captum."""
    pairs = (text, pair) if pair else (text,)
    given = tokenizer(*pairs, return_tensors="pt")
    words, groups = given.word_ids(0), dict[tuple[int | None, int], list[int]]()
    for number, word in enumerate(words):
        if word is not None and given.input_ids[0, number] != tokenizer.mask_token_id:
            groups.setdefault((given.sequence_ids(0)[number], word), []).append(number)
    ids = given.input_ids
    with torch.no_grad():
        best = int(model(**given).logits[0].argmax())

        def forward(changed: torch.Tensor) -> torch.Tensor:
            same = {name: value.expand(len(changed), -1) for name, value in given.items()}
            return model(**{**same, "input_ids": changed}).logits[:, best]

        features = torch.zeros_like(ids)  # 0: never masked
        for number, numbers in enumerate(groups.values(), 1):
            features[0, numbers] = number
        masks = torch.full_like(ids, tokenizer.mask_token_id)
        found = FeatureAblation(forward).attribute(ids, baselines=masks, feature_mask=features)
    effects = [float(found[0, numbers[0]]) for numbers in groups.values()]
    return effects, best


@pytest.mark.parametrize("kind,outputs", [("text_classification", 3), ("multi_label", 3),
                                          ("regression", 1)])  # fmt: skip
@pytest.mark.parametrize("pair", [None, PAIR])
def test_effects_equal_those_of_transformers(tmp_path, monkeypatch, kind, outputs, pair) -> None:
    place = folder(tmp_path / "model", Heads(outputs=outputs, kind=kind))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    expected, best = ablated(model, tokenizer, TEXT, pair)
    ours = load(place)
    monkeypatch.setattr(occlusion, "FORWARD_SLICE", 40)
    found, start = [], 0
    while start is not None:
        answer = occlude(ours, asked(pair=pair, start=start))
        found += answer.words
        start = answer.next
    assert len(found) == answer.total > 2 and any(abs(e) > CLOSE for e in expected)
    assert [word.effect for word in found] == pytest.approx(expected, abs=CLOSE)
    texts = [(TEXT, pair or "")[word.segment][word.start : word.end] for word in found]
    assert [word.text for word in found] == texts and "[MASK]" not in texts
    if kind == "text_classification":
        said = predict(ours, Predict(checkpoint=Path("any"), text=TEXT, pair=pair))
        assert answer.label == said.predictions[0].ranked[0].label == ours.labels[best]
    else:
        assert answer.label == ("" if kind == "regression" else ours.labels[best])


def test_the_best_choice_is_explained_over_the_text_and_itself(tmp_path) -> None:
    place = folder(tmp_path / "model", Heads(outputs=1, kind="multiple_choice"))
    ours, endings = load(place), ("ca", "dd e")
    answer = occlude(ours, asked("abc de", pair="b", endings=endings))
    asks = Predict(checkpoint=Path("any"), text="abc de", pair="b", endings=endings)
    assert answer.label == predict(ours, asks).predictions[0].ranked[0].label
    assert [word.text for word in answer.words] == ["abc", "de", "b", *answer.label.split()]
    model = transformers.AutoModelForMultipleChoice.from_pretrained(place).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)

    def score(**changed: torch.Tensor) -> float:
        given = tokenizer("abc de", f"b {answer.label}", return_tensors="pt") | changed
        with torch.no_grad():
            return float(model(**{name: value[None] for name, value in given.items()}).logits[0, 0])

    ids = tokenizer("abc de", f"b {answer.label}", return_tensors="pt").input_ids
    first = [n for n, token in enumerate(answer.tokens) if (token.segment, token.word) == (0, 0)]
    ids[0, first] = tokenizer.mask_token_id
    assert answer.words[0].effect == pytest.approx(score() - score(input_ids=ids), abs=CLOSE)


@pytest.mark.parametrize("kind", ["token_classification", "question_answering"])
def test_a_model_without_one_score_says_why_there_is_nothing(tmp_path, kind) -> None:
    ours = load(folder(tmp_path / "model", Heads(outputs=2, kind=kind)))
    with pytest.raises(StudioError, match="scores every token"):
        occlude(ours, asked(pair=PAIR))


def test_an_empty_text_has_no_words(tiny) -> None:
    answer = occlude(tiny, asked(""))
    assert answer.words == () and answer.next is None and answer.total == 0


def test_another_class_than_the_predicted_one_is_explained(tmp_path) -> None:
    place = folder(tmp_path / "model", Heads(outputs=3, kind="text_classification"))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(place).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    ours = load(place)
    given = tokenizer(TEXT, return_tensors="pt")
    with torch.no_grad():
        logits = model(**given).logits[0]
        other = int(logits.argmin())
        without = given.input_ids.clone()
        first = [n for n, word in enumerate(given.word_ids(0)) if word == 0]
        without[0, first] = tokenizer.mask_token_id
        lost = float(logits[other] - model(**{**given, "input_ids": without}).logits[0, other])
    answer = occlude(ours, asked(label=ours.labels[other]))
    assert answer.label == ours.labels[other]
    assert answer.score == pytest.approx(float(logits[other]), abs=CLOSE)
    assert answer.words[0].effect == pytest.approx(lost, abs=CLOSE)
    with pytest.raises(StudioError, match="does not know the class “none of them”"):
        occlude(ours, asked(label="none of them"))
