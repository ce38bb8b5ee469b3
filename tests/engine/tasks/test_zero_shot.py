"""Described labels by a model for natural language inference, as transformers scores them."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from engine.checkpoints.heads import head_kind
from engine.config.codebook import Code, Codebook
from engine.config.zero_shot import (
    Described,
    describe,
    described_line,
    nli_outputs,
    require_way,
)
from engine.errors import StudioError
from engine.explore.prediction import predict_by_descriptions
from engine.files.shipped import minilm
from engine.messages.explore.prediction import PredictByDescriptions
from engine.messages.labelling import SuggestLabels
from engine.models import checkpoint
from engine.tasks import zero_shot
from engine.tasks.next_rows import suggest_labels
from engine.tasks.zero_shot import EntailmentScorer, LabelScorer, compare_with_codes
from tests.engine.models.family_folders import published_folder
from tests.engine.tasks.nli_model import MNLI, save_nli_model
from tests.engine.tasks.test_suggesting import import_rows

TEXTS = ["the match was won late", "taxes rise again", "", "a long story " * 40, "taxes rise again"]
CODES = tuple(map(described_line, ("sport", "politics: elections and taxes", "It is about art.")))
HYPOTHESES = (
    "This text is about sport.",
    "This text is about elections and taxes.",
    "It is about art.",
)


def test_scores_are_those_of_the_pipeline_of_transformers(tmp_path):
    orders = {
        MNLI: True,
        ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"): True,
        ("contradiction", "entailment", "neutral"): True,
        ("entailment", "not_entailment"): True,
        ("Not-Entailment", "Entailment"): True,
        ("entailment", "contradiction", "neutral"): False,  # their contradiction is the last output
    }
    for number, (labels, is_same) in enumerate(orders.items()):
        folder = save_nli_model(tmp_path / str(number), labels)
        loaded = checkpoint.load(folder)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        pipeline = transformers.pipeline("zero-shot-classification", model, tokenizer=tokenizer)
        texts = [text or "[PAD]" for text in TEXTS]  # the pipeline refuses empty ones
        for several in (False, True):
            scorer = LabelScorer(loaded, Described(codes=CODES, several=several))
            ours = scorer.probabilities(texts)
            assert scorer.truncated == 1 and scorer.way == "entailment"
            found = pipeline(texts, list(HYPOTHESES), hypothesis_template="{}", multi_label=several)
            theirs = [
                [result["scores"][result["labels"].index(name)] for name in HYPOTHESES]
                for result in found
            ]
            if is_same or not several:
                assert ours == pytest.approx(np.array(theirs), abs=1e-5), (labels, several)
                continue
            entailment, contradiction = nli_outputs(labels)
            encoded = tokenizer(
                [text for text in texts for _ in HYPOTHESES],
                [*HYPOTHESES] * len(texts),
                truncation="only_first",
                padding=True,
                return_tensors="pt",
            )
            with torch.no_grad():
                logits = model(**encoded).logits.double()
            p = logits[:, [entailment, contradiction]].softmax(1)[:, 0].reshape(ours.shape)
            assert ours == pytest.approx(p.numpy(), abs=1e-5)
            assert np.abs(ours - np.array(theirs)).max() > 0.01


@pytest.mark.parametrize("family", ["roberta", "deberta-v2", "modernbert"])
def test_other_families_score_as_in_transformers(tmp_path, family):
    names = dict(enumerate(MNLI))
    folder, model = published_folder(
        *(family, "ForSequenceClassification", tmp_path / "nli"),
        num_labels=3,
        id2label=names,
        label2id={y: n for n, y in names.items()},
    )
    loaded = checkpoint.load(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = loaded.max_length
    if family == "deberta-v2":  # transformers 5 leaves the segments out
        tokenizer.model_input_names = [*tokenizer.model_input_names, "token_type_ids"]
    pipeline = transformers.pipeline("zero-shot-classification", model, tokenizer=tokenizer)
    texts, said = ["A quiet film", "Nobody laughs; 12 of us left. " * 12], ["It is a.", "It is b."]
    ours = LabelScorer(loaded, describe(said)).probabilities(texts)
    found = pipeline(texts, said, hypothesis_template="{}")
    theirs = [[row["scores"][row["labels"].index(name)] for name in said] for row in found]
    assert ours == pytest.approx(np.array(theirs), abs=1e-5)


def test_models_are_recognised_by_their_labels():
    assert nli_outputs(("neutral", "contradictory", "Entails")) == (2, 1)
    assert nli_outputs(("e", "n", "c")) == (0, 2)
    config = {"id2label": {str(index): label for index, label in enumerate(MNLI)}}
    assert head_kind(config, 3) == "pair_classification" and head_kind({}, 3) != head_kind(
        config, 3
    )
    for labels in (("entailment",), ("entailment", "neutral"), ("yes", "no"), (*MNLI, "entails")):
        assert nli_outputs(labels) is None
    for unnamed in (("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1", "2"), ("0", "1")):
        with pytest.raises(StudioError, match="have no names") as caught:
            require_way("text_classification", unnamed)
        assert "id2label" in str(caught.value.advice)
    for task, labels in (("text_classification", ("good", "bad")), (None, ()), ("regression", ())):
        with pytest.raises(StudioError, match="cannot compare texts with descriptions"):
            require_way(task, labels)
    with pytest.raises(ValueError, match="once"):
        Described(codes=CODES, template="about {} or {}")
    with pytest.raises(ValueError, match="at least two"):
        Described(codes=CODES[:1])


def test_a_typed_text_gets_labels_one_by_one_or_the_best_one(tmp_path):
    folder = save_nli_model(tmp_path / "nli")
    loaded = checkpoint.load(folder)
    for several in (False, True):
        described = Described(codes=CODES, several=several, template="It is on {}.")
        question = PredictByDescriptions(checkpoint=folder, text=TEXTS[0], described=described)
        answer = predict_by_descriptions(loaded, question)
        p = LabelScorer(loaded, described).probabilities([TEXTS[0]])[0]
        ranked = {item.label: item.probability for item in answer.predictions[0].ranked}
        assert [ranked[code.label] for code in CODES] == pytest.approx(p)
        chosen = {code.label for code, x in zip(CODES, p, strict=True) if x >= 0.5}
        assert {*answer.predicted} == (chosen if several else {CODES[p.argmax()].label})
    with pytest.raises(StudioError, match="leaves no room"):
        LabelScorer(loaded, Described(codes=(*CODES, Code(label="x", definition="so " * 60))))
    with pytest.raises(StudioError, match="exactly one"):
        LabelScorer(checkpoint.load(minilm()), Described(codes=CODES, several=True))


def test_each_text_meets_each_label_once_and_a_killed_job_goes_on(tmp_path, home, monkeypatch):
    folder = save_nli_model(tmp_path / "nli")
    loaded, seen = checkpoint.load(folder), list[int]()
    compute = EntailmentScorer.logits

    def counted(self, texts, places=None, *others):
        assert len(places) <= 4
        if len(seen) == 8:
            raise KeyboardInterrupt
        seen.extend(places.tolist())
        return compute(self, texts, places, *others)

    monkeypatch.setattr(EntailmentScorer, "logits", counted)
    monkeypatch.setattr("engine.tasks.vector_cache.CHUNK", 4)
    with pytest.raises(KeyboardInterrupt):
        compare_with_codes(loaded, folder, TEXTS, CODES)
    seen.insert(0, -1)  # no longer interrupted
    p = compare_with_codes(loaded, folder, TEXTS, CODES)
    assert sorted(seen[1:]) == list(range(4 * len(CODES))), "four texts are different"
    monkeypatch.setattr(EntailmentScorer, "logits", compute)
    assert p == pytest.approx(LabelScorer(loaded, Described(codes=CODES)).probabilities(TEXTS))
    assert len([*(home.cache / "vectors").rglob("*.npz")]) == 3


@pytest.mark.usefixtures("home")
def test_rows_are_suggested_labels_of_the_codebook_or_those_of_the_model(tmp_path):
    folder = save_nli_model(tmp_path / "nli")
    loaded = checkpoint.load(folder)
    texts = [text for text in TEXTS if text]
    data = import_rows(tmp_path, [f"{texts[n % 4]} {n}," for n in range(12)])
    for kind in ("label", "labels"):
        book = Codebook(codes=CODES, kind=kind)
        question = SuggestLabels(data=Path(), checkpoint=folder, order="file", codebook=book)
        answer = suggest_labels(data, loaded, question, lambda *_: None)
        rows = [data.page(item.row, 1)[0]["text"] for item in answer.suggestions]
        p = zero_shot.compare_with_codes(loaded, folder, rows, CODES, kind == "labels")
        assert answer.from_codebook and answer.learns
        if kind == "label":
            assert [s.label for s in answer.suggestions] == [CODES[n].label for n in p.argmax(1)]
        else:
            expected = np.where(p >= 0.5, p, 1 - p).prod(axis=1)
            assert [s.probability for s in answer.suggestions] == pytest.approx(expected)
    own = Codebook(codes=tuple(Code(label=label) for label in MNLI))
    question = SuggestLabels(data=Path(), checkpoint=folder, codebook=own)
    assert not suggest_labels(data, loaded, question, lambda *_: None).from_codebook
