"""Masked words, classes and tags."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

from engine.data.columns.words import typed_words
from engine.data.datasets.store import Rows
from engine.errors import BadCheckpoint, StudioError
from engine.explore.fill_mask import fill_mask
from engine.explore.prediction import predict
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.tasks import learner_of
from engine.tasks.predicting import go_through
from tests.engine.models.small import LABELS, folder

CLOSE = 1e-5


def question(text: str, **more) -> FillMask:
    return FillMask(checkpoint=Path("any"), text=text, **more)


@pytest.fixture(autouse=True)
def _quiet():
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
    transformers.logging.set_verbosity(before)


def test_typed_masks_and_masked_tokens_are_guessed_in_their_order(tiny):
    filled = fill_mask(tiny, question("a b [MASK] d", masked=(1,)))
    assert [guess.first for guess in filled.predictions] == [1, 3]
    assert [token.text for token in filled.tokens] == ["[CLS]", "a", "b", "[MASK]", "d", "[SEP]"]
    assert [likely.label for likely in filled.actual] == ["a", ""]


def test_a_masked_token_and_a_typed_mask_give_the_same_guesses(tiny):
    typed = fill_mask(tiny, question("a [MASK] c"))
    masked = fill_mask(tiny, question("a b c", masked=(2,)))
    assert typed.predictions == masked.predictions


def test_special_tokens_and_numbers_beyond_the_text_are_never_hidden(tiny):
    filled = fill_mask(tiny, question("a b", masked=(0, 3, 99, -1)))
    assert filled.predictions == ()


def test_the_probability_of_the_actual_piece_is_that_of_its_rank(tiny):
    filled = fill_mask(tiny, question("a b c", masked=(2,), top=100))
    ranked = {likely.label: likely.probability for likely in filled.predictions[0].ranked}
    assert filled.actual[0].label == "b"
    assert filled.actual[0].probability == pytest.approx(ranked["b"])


def test_ids_beyond_the_vocabulary_have_a_share_and_no_label(tiny):
    filled = fill_mask(tiny, question("a [MASK]", top=100))
    ranked = filled.predictions[0].ranked
    assert len(ranked) == tiny.tokenizer.size < tiny.spec.vocab_size
    assert sum(likely.probability for likely in ranked) < 1
    assert list(ranked) == sorted(ranked, key=lambda likely: -likely.probability)


def test_only_masked_places_are_projected_onto_the_vocabulary(tiny):
    rows = []
    hook = tiny.network.mlm.register_forward_hook(
        lambda module, given, logits: rows.append(logits.shape[0])
    )
    try:
        fill_mask(tiny, question("a b c d e f g", masked=(2, 5)))
        fill_mask(tiny, question("a b c d e f g"))
    finally:
        hook.remove()
    assert rows == [2]


def test_a_text_longer_than_the_model_is_cut_and_says_so(tiny):
    filled = fill_mask(tiny, question("a " * 100))
    assert filled.cut
    assert len(filled.tokens) == tiny.spec.max_positions


def test_a_model_without_a_head_is_refused_in_words(tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    with pytest.raises(StudioError, match="no MLM head"):
        fill_mask(bare, question("a [MASK]"))
    with pytest.raises(StudioError, match="not been fine-tuned"):
        predict(bare, Predict(checkpoint=tmp_path, text="a"))


def test_weights_that_are_not_finite_are_told_and_not_shown(tmp_path):
    broken = load(folder(tmp_path / "broken", Heads(mlm=True)))
    with torch.no_grad():
        broken.network.mlm.bias.fill_(float("nan"))
    with pytest.raises(BadCheckpoint, match="NaN or infinite"):
        fill_mask(broken, question("a [MASK]"))


def test_classes_are_ranked_and_sum_to_one(tiny):
    ranked = (
        predict(tiny, Predict(checkpoint=Path("any"), text="a b", pair="c")).predictions[0].ranked
    )
    assert {likely.label for likely in ranked} == set(LABELS)
    assert sum(likely.probability for likely in ranked) == pytest.approx(1)
    assert list(ranked) == sorted(ranked, key=lambda likely: -likely.probability)


def test_an_answer_is_a_span_of_the_second_text(tmp_path):
    asks = load(folder(tmp_path / "asks", Heads(outputs=2, kind="question_answering")))
    passage = "a b c d e " * 30
    said = predict(asks, Predict(number=4, checkpoint=tmp_path, text="a b", pair=passage))
    assert (said.to, said.head, said.cut) == (4, "answer", True)
    assert len(said.spans) == 5
    for one in said.spans:
        assert passage[one.start : one.end] == one.text
    assert 0 < said.value < 1
    with pytest.raises(StudioError, match="finds the answer to a question"):
        predict(asks, Predict(checkpoint=tmp_path, text="a b"))


def test_the_published_reaction_model_completes_a_reaction(assets):
    model = load(assets / "models" / "rxnfp-bert-pretrained")
    best = fill_mask(model, question("CCO.CC(=O)O>>CC(=O)O[MASK]C")).predictions[0].ranked[0]
    assert best.label == "C"
    assert best.probability == pytest.approx(0.994, abs=5e-4)


@torch.no_grad()
def test_words_are_those_of_transformers(assets):
    source = assets / "models" / "bert-tiny-splade-en"
    ours = load(source)
    theirs = transformers.BertForMaskedLM.from_pretrained(source, local_files_only=True).eval()
    words = transformers.BertTokenizerFast.from_pretrained(source, local_files_only=True)
    text = "The president [MASK] to the people of the [MASK] states."
    given = words(text, return_tensors="pt")
    expected = theirs(**given).logits.softmax(-1)[0]
    filled = fill_mask(ours, question(text, top=50))
    places = (given.input_ids[0] == words.mask_token_id).nonzero().flatten().tolist()
    assert [guess.first for guess in filled.predictions] == places
    for guess in filled.predictions:
        for likely in guess.ranked:
            wanted = expected[guess.first, words.convert_tokens_to_ids(likely.label)]
            assert likely.probability == pytest.approx(float(wanted), abs=CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("pair", [None, "and a dull second half ."])
def test_classes_are_those_of_transformers(assets, pair):
    source = assets / "models" / "ref-bert-tiny-sst2"
    theirs = transformers.BertForSequenceClassification.from_pretrained(
        source, local_files_only=True
    ).eval()
    words = transformers.BertTokenizerFast.from_pretrained(source, local_files_only=True)
    text = "a warm , funny film"
    expected = theirs(**words(text, pair, return_tensors="pt")).logits.softmax(-1)[0]
    asked = Predict(checkpoint=source, text=text, pair=pair)
    for likely in predict(load(source), asked).predictions[0].ranked:
        wanted = expected[theirs.config.label2id[likely.label]]
        assert likely.probability == pytest.approx(float(wanted), abs=CLOSE)


def test_tags_are_spans_of_the_typed_text(tmp_path):
    text = "(A b) c, q zzz"
    path = folder(tmp_path / "tags", Heads(outputs=3, kind="token_classification"))
    given = load(path)
    asked = Predict(checkpoint=path, text=text)
    for labels in (("O", "B-x", "I-x"), ("N", "V", "P")):
        named = replace(given, labels=labels)
        said = predict(named, asked)
        assert said.task == "token_classification" and not said.cut
        learner = learner_of(named)
        words = [text[a:b] for a, b in typed_words(text)]
        assert words == ["(", "A", "b", ")", "c", ",", "q", "zzz"]
        rows = Rows([json.dumps(words)])
        (expected,) = go_through(named, learner, rows, 24, 1).answers()
        assert all(text[one.start : one.end] == one.text for one in said.spans)
        ours = [(one.label, one.text.replace(" ", "")) for one in said.spans]
        chances = [one.probability for one in said.spans]
        if labels[0] == "O":
            spans = expected["spans"]
            assert ours == [(one["type"], one["text"].replace(" ", "")) for one in spans]
            assert chances == pytest.approx([one["probability"] for one in spans], abs=CLOSE)
        else:
            assert ours == list(zip(expected["tags"], words, strict=True))
            assert chances == pytest.approx(expected["probabilities"], abs=CLOSE)


@torch.no_grad()
def test_labels_a_number_and_choices_are_those_of_transformers(tmp_path):
    def theirs(kind, name):
        return kind.from_pretrained(tmp_path / name).eval()

    words = {"text": "a b c", "pair": "d e"}
    given = load(folder(tmp_path / "any", Heads())).tokenizer.encode("a b c", "d e", 24)
    inputs = {
        "input_ids": torch.tensor([given.ids]),
        "token_type_ids": torch.tensor([given.segments]),
    }
    labels = load(folder(tmp_path / "labels", Heads(outputs=3, kind="multi_label")))
    said = predict(labels, Predict(checkpoint=Path("any"), **words)).predictions[0].ranked
    model = theirs(transformers.BertForSequenceClassification, "labels")
    wanted = model(**inputs).logits.sigmoid()[0]
    for likely in said:
        number = model.config.label2id[likely.label]
        assert likely.probability == pytest.approx(float(wanted[number]), abs=CLOSE)
    assert list(said) == sorted(said, key=lambda likely: -likely.probability)

    number = load(folder(tmp_path / "number", Heads(outputs=1, kind="regression")))
    answer = predict(number, Predict(checkpoint=Path("any"), **words))
    model = theirs(transformers.BertForSequenceClassification, "number")
    assert answer.value == pytest.approx(float(model(**inputs).logits[0, 0]), abs=CLOSE)
    assert answer.range is None

    chooser = load(folder(tmp_path / "choices", Heads(outputs=1, kind="multiple_choice")))
    asked = Predict(checkpoint=Path("any"), text="a b", pair="d", endings=("e", "f f", " ", "g"))
    said = predict(chooser, asked).predictions[0].ranked
    model = theirs(transformers.BertForMultipleChoice, "choices")
    pairs = [chooser.tokenizer.encode("a b", f"d {ending}", 24) for ending in ("e", "g")]
    both = {
        "input_ids": torch.tensor([[pair.ids for pair in pairs]]),
        "token_type_ids": torch.tensor([[pair.segments for pair in pairs]]),
    }
    wanted = model(**both).logits[0]  # of “e” and “g”, which are equally long
    found = {likely.label: likely.probability for likely in said}
    assert set(found) == {"e", "f f", "g"} and sum(found.values()) == pytest.approx(1)
    ratio = float((wanted[0] - wanted[1]).exp())
    assert found["e"] / found["g"] == pytest.approx(ratio, rel=1e-3)
    with pytest.raises(StudioError, match="one of several endings"):
        predict(chooser, asked.model_copy(update={"endings": ("e", " ")}))
