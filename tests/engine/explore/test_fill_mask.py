"""Masked words, classes and tags."""

from pathlib import Path

import pytest
import torch
import transformers

from engine.errors import BadCheckpoint, StudioError
from engine.explore.fill_mask import fill_mask
from engine.explore.prediction import predict
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.family_folders import EXAMPLES
from tests.engine.models.small import folder


def question(text: str, **options) -> FillMask:
    return FillMask(checkpoint=Path("any"), text=text, **options)


def test_typed_and_set_masks_are_predicted_in_text_order(tiny):
    filled = fill_mask(tiny, question("a b [MASK] d", masked=(1,)))
    assert [guess.first for guess in filled.predictions] == [1, 3]
    assert [token.text for token in filled.tokens] == ["[CLS]", "a", "b", "[MASK]", "d", "[SEP]"]
    assert [likely.label for likely in filled.actual] == ["a", ""]


def test_typed_and_set_masks_give_the_same_predictions(tiny):
    typed = fill_mask(tiny, question("a [MASK] c"))
    masked = fill_mask(tiny, question("a b c", masked=(2,)))
    assert typed.predictions == masked.predictions


def test_special_and_out_of_range_positions_are_not_masked(tiny):
    filled = fill_mask(tiny, question("a b", masked=(0, 3, 99, -1)))
    assert filled.predictions == ()


def test_actual_probability_matches_the_ranking(tiny):
    filled = fill_mask(tiny, question("a b c", masked=(2,), top=100))
    ranked = {likely.label: likely.probability for likely in filled.predictions[0].ranked}
    assert filled.actual[0].label == "b"
    assert filled.actual[0].probability == pytest.approx(ranked["b"])


def test_ids_beyond_the_vocabulary_have_probability_and_no_label(tiny):
    filled = fill_mask(tiny, question("a [MASK]", top=100))
    ranked = filled.predictions[0].ranked
    assert len(ranked) == tiny.tokenizer.size < tiny.spec.vocab_size
    assert sum(likely.probability for likely in ranked) < 1
    assert list(ranked) == sorted(ranked, key=lambda likely: -likely.probability)


def test_only_masked_positions_are_projected_onto_the_vocabulary(tiny):
    rows = []
    hook = tiny.network.mlm.register_forward_hook(
        lambda module, arguments, logits: rows.append(logits.shape[0])
    )
    try:
        fill_mask(tiny, question("a b c d e f g", masked=(2, 5)))
        fill_mask(tiny, question("a b c d e f g"))
    finally:
        hook.remove()
    assert rows == [2]


def test_a_long_text_is_truncated_with_a_note(tiny):
    filled = fill_mask(tiny, question("a " * 100))
    assert filled.truncated
    assert len(filled.tokens) == tiny.spec.max_positions


def test_a_model_without_heads_is_refused(tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    with pytest.raises(StudioError, match="no MLM head"):
        fill_mask(bare, question("a [MASK]"))
    with pytest.raises(StudioError, match="not been fine-tuned"):
        predict(bare, Predict(checkpoint=tmp_path, text="a"))


def test_non_finite_weights_are_reported(tmp_path):
    broken = load(folder(tmp_path / "broken", Heads(mlm=True)))
    with torch.no_grad():
        broken.network.mlm.bias.fill_(float("nan"))
    with pytest.raises(BadCheckpoint, match="NaN or infinite"):
        fill_mask(broken, question("a [MASK]"))


def test_the_published_reaction_model_completes_a_reaction(assets):
    model = load(assets / "models" / "rxnfp-bert-pretrained")
    best = fill_mask(model, question("CCO.CC(=O)O>>CC(=O)O[MASK]C")).predictions[0].ranked[0]
    assert best.label == "C"
    assert best.probability == pytest.approx(0.994, abs=5e-4)


def test_the_original_token_is_ranked_and_requested_ones_scored(tiny):
    request = question("a b c d", masked=(2,), top=100).model_copy(
        update={"requested": ("e", "zzz")}
    )
    filled = fill_mask(tiny, request)
    labels = [p.label for p in filled.predictions[0].ranked]
    assert filled.ranks == (labels.index("b") + 1,)
    known = {p.label: p.probability for p in filled.predictions[0].ranked}
    assert [(item.label, item.probability) for item in filled.requested[0]] == [("e", known["e"])]
    assert fill_mask(tiny, question("a [MASK]")).ranks == (0,)


def test_predictions_match_transformers(known):
    family, folder, checkpoint, _ = known
    mask = checkpoint.tokenizer.token(checkpoint.tokenizer.mask)
    text, pair = f"a quiet {mask}, isn't it?", "nobody left"
    answer = fill_mask(checkpoint, FillMask(checkpoint=folder, text=text, pair=pair, top=5))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True).eval()
    extra = {"return_token_type_ids": True} if EXAMPLES[family].has_segments else {}
    encoded = tokenizer(text, pair, return_tensors="pt", **extra)
    assert [token.id for token in answer.tokens] == encoded["input_ids"][0].tolist()
    index = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        logits = model(**encoded).logits[0, index]
    best = logits.softmax(-1)[: checkpoint.tokenizer.size].topk(5)
    (guess,) = answer.predictions
    assert guess.first == guess.last == index
    ids = best.indices.tolist()
    assert [likely.label for likely in guess.ranked] == [checkpoint.tokenizer.token(i) for i in ids]
    assert [likely.probability for likely in guess.ranked] == pytest.approx(
        best.values.tolist(), abs=1e-5
    )
