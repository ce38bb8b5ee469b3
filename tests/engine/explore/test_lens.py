"""The MLM head on every layer, compared with transformers."""

import math
from pathlib import Path

import pytest
import torch

from engine.errors import StudioError
from engine.explore.fill_mask import fill_mask
from engine.explore.token_scores import apply_lens
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.token_scores import ApplyLens
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import SPEC, folder

CLOSE = 1e-5
TEXT = "A quiet film, isn't it?"


def get_head(known):
    """The head that transformers applies after the last layer."""
    match known.family:
        case "bert" | "deberta-v2" | "nomic_bert":
            return known.model.cls
        case "roberta" | "mpnet":
            return known.model.lm_head
        case "albert":
            return known.model.predictions
        case "modernbert":
            return lambda x: known.model.decoder(known.model.head(x))
        case "electra":
            model = known.model
            return lambda x: model.generator_lm_head(model.generator_predictions(x))
        case _:
            model = known.model
            return lambda x: model.vocab_projector(
                model.vocab_layer_norm(model.activation(model.vocab_transform(x)))
            )


@torch.no_grad()
def test_every_height_is_the_head_of_transformers_on_its_vectors(known):
    given = known.encode_text(TEXT, None, 2)
    ask = ApplyLens(
        number=9, checkpoint=known.folder, text=TEXT, masked=(2,), positions=(4, 2), top=3
    )
    traced = apply_lens(known.checkpoint, ask)
    hidden = known.run(given, output_hidden_states=True).hidden_states
    assert (traced.to, traced.positions, len(traced.layers)) == (9, (2, 4), 4)
    size, piece = known.checkpoint.tokenizer.size, known.checkpoint.tokenizer.token
    for layer, vectors in zip(traced.layers, hidden, strict=True):
        logits = get_head(known)(vectors)[0]
        for guess, actual in zip(layer.predictions, layer.actual, strict=True):
            chances = logits[guess.first].softmax(-1)
            best = chances[:size].topk(3)
            assert [one.label for one in guess.ranked] == [piece(n) for n in best.indices.tolist()]
            assert [one.probability for one in guess.ranked] == pytest.approx(
                best.values.tolist(), abs=CLOSE
            )
            own = given.described[guess.first].id
            assert math.exp(actual.log_probability) == pytest.approx(float(chances[own]), abs=CLOSE)
            assert actual.rank == int((chances[:size] > chances[own]).sum()) + 1


@pytest.mark.parametrize("causal", [False, True])
def test_the_last_height_is_what_is_guessed(tmp_path, causal):
    spec = SPEC.model_copy(update={"causal": causal})
    model = load(folder(tmp_path / "model", Heads(mlm=True), spec=spec))
    ask = {"checkpoint": tmp_path, "text": "a b [MASK] c d", "masked": (2,), "top": 4}
    filled = fill_mask(model, FillMask(**ask))
    last = apply_lens(model, ApplyLens(**ask, positions=(2, 3))).layers[-1]
    for ours, theirs in zip(last.predictions, filled.predictions, strict=True):
        assert [one.label for one in ours.ranked] == [one.label for one in theirs.ranked]
        assert [one.probability for one in ours.ranked] == pytest.approx(
            [one.probability for one in theirs.ranked], abs=CLOSE
        )
    assert last.actual[1] is None
    assert math.exp(last.actual[0].log_probability) == pytest.approx(
        filled.actual[0].probability, abs=CLOSE
    )


def test_what_does_not_apply_is_refused_in_words(tiny, tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    with pytest.raises(StudioError, match="no MLM head"):
        apply_lens(bare, ApplyLens(checkpoint=Path("any"), text="a", positions=(1,)))
    for places in ((), (3,), (-1,)):
        with pytest.raises(StudioError, match="no such position"):
            apply_lens(tiny, ApplyLens(checkpoint=Path("any"), text="a", positions=places))
