"""The head for masked words on every height, beside transformers."""

import math
from pathlib import Path

import pytest
import torch

from engine.errors import StudioError
from engine.explore.lens import trace
from engine.explore.predictions import fill
from engine.messages.questions import Fill, Trace
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import SPEC, folder

CLOSE = 1e-5
TEXT = "A quiet film, isn't it?"


def head_of(known):
    """What transformers puts on the vectors after the last layer."""
    match known.family:
        case "bert":
            return known.model.cls
        case "roberta":
            return known.model.lm_head
        case "albert":
            return known.model.predictions
        case _:
            model = known.model
            return lambda x: model.vocab_projector(
                model.vocab_layer_norm(model.activation(model.vocab_transform(x)))
            )


@torch.no_grad()
def test_every_height_is_the_head_of_transformers_on_its_vectors(known):
    given = known.typed(TEXT, None, 2)
    ask = Trace(number=9, checkpoint=known.folder, text=TEXT, masked=(2,), places=(4, 2), top=3)
    traced = trace(known.checkpoint, ask)
    hidden = known.run(given, output_hidden_states=True).hidden_states
    assert (traced.to, traced.places, len(traced.heights)) == (9, (2, 4), 4)
    size, piece = known.checkpoint.tokenizer.size, known.checkpoint.tokenizer.piece
    for height, vectors in zip(traced.heights, hidden, strict=True):
        logits = head_of(known)(vectors)[0]
        for guess, actual in zip(height.guesses, height.actual, strict=True):
            chances = logits[guess.first].softmax(-1)
            best = chances[:size].topk(3)
            assert [one.label for one in guess.ranked] == [piece(n) for n in best.indices.tolist()]
            assert [one.probability for one in guess.ranked] == pytest.approx(
                best.values.tolist(), abs=CLOSE
            )
            own = given.described[guess.first].id
            assert math.exp(actual.logarithm) == pytest.approx(float(chances[own]), abs=CLOSE)
            assert actual.rank == int((chances[:size] > chances[own]).sum()) + 1


@pytest.mark.parametrize("causal", [False, True])
def test_the_last_height_is_what_is_guessed(tmp_path, causal):
    spec = SPEC.model_copy(update={"causal": causal})
    model = load(folder(tmp_path / "model", Heads(masked_words=True), spec=spec))
    ask = {"checkpoint": tmp_path, "text": "a b [MASK] c d", "masked": (2,), "top": 4}
    filled = fill(model, Fill(**ask))
    last = trace(model, Trace(**ask, places=(2, 3))).heights[-1]
    for ours, theirs in zip(last.guesses, filled.guesses, strict=True):
        assert [one.label for one in ours.ranked] == [one.label for one in theirs.ranked]
        assert [one.probability for one in ours.ranked] == pytest.approx(
            [one.probability for one in theirs.ranked], abs=CLOSE
        )
    assert last.actual[1] is None
    assert math.exp(last.actual[0].logarithm) == pytest.approx(
        filled.actual[0].probability, abs=CLOSE
    )


def test_what_does_not_apply_is_refused_in_words(tiny, tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    with pytest.raises(StudioError, match="no head for masked words"):
        trace(bare, Trace(checkpoint=Path("any"), text="a", places=(1,)))
    for places in ((), (3,), (-1,)):
        with pytest.raises(StudioError, match="no such place"):
            trace(tiny, Trace(checkpoint=Path("any"), text="a", places=places))
