"""Scores of every token, compared with transformers."""

import math
from pathlib import Path

import pytest
import torch
import transformers

from engine.errors import BadCheckpoint, StudioError
from engine.explore import token_scores
from engine.explore.fill_mask import fill_mask
from engine.explore.token_scores import apply_lens, score
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.token_scores import ApplyLens, ScoreTokens, perplexity
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import SPEC, folder

CLOSE = 1e-5
TEXT, PAIR = "A quiet film, isn't it?", "Nobody laughs."


def score_all(checkpoint, text, pair=None):
    """The scores of all positions, and the answers that hold them."""
    start, answers = 0, []
    while start is not None:
        question = ScoreTokens(number=3, checkpoint=Path("any"), text=text, pair=pair, start=start)
        answers.append(score(checkpoint, question))
        start = answers[-1].next
    return [entry for answer in answers for entry in answer.scores], answers


def test_masked_token_scores_match_transformers(known):
    inputs = known.encode_text(TEXT, PAIR)
    scores, answers = score_all(known.checkpoint, TEXT, PAIR)
    ordinary = [n for n, token in enumerate(inputs.records) if not token.special]
    assert [item.position for item in scores] == ordinary
    assert answers[-1].total == len(ordinary)
    size, sum_of_logs = known.checkpoint.tokenizer.size, 0.0
    for entry in scores:
        tokens = inputs.tokens.clone()
        token_id = int(tokens[0, entry.position])
        tokens[0, entry.position] = known.checkpoint.tokenizer.mask
        logits = known.run(inputs, tokens).logits[0, entry.position].double()
        logs = logits.log_softmax(-1)
        assert entry.log_probability == pytest.approx(float(logs[token_id]), abs=CLOSE)
        order = logits[:size].argsort(descending=True).tolist()
        assert entry.rank == order.index(token_id) + 1
        assert entry.top.label == known.checkpoint.tokenizer.token(order[0])
        assert entry.top.probability == pytest.approx(float(logs[order[0]].exp()), abs=CLOSE)
        sum_of_logs += float(logs[token_id])
    assert perplexity(scores) == pytest.approx(math.exp(-sum_of_logs / len(scores)), rel=CLOSE)


def test_a_long_text_is_scored_in_parts(tiny, monkeypatch):
    expected, answers = score_all(tiny, "a b c d e f g")
    assert len(answers) == 1
    monkeypatch.setattr(token_scores, "SLICE", 20)  # two rows of nine tokens
    parts, answers = score_all(tiny, "a b c d e f g")
    assert [len(answer.scores) for answer in answers] == [2, 2, 2, 1]
    assert [answer.next for answer in answers] == [3, 5, 7, None]
    assert [(p.position, p.rank) for p in parts] == [(p.position, p.rank) for p in expected]
    for ours, theirs in zip(parts, expected, strict=True):
        assert ours.log_probability == pytest.approx(theirs.log_probability, abs=CLOSE)


def test_typed_masks_have_no_score(tiny):
    scores, answers = score_all(tiny, "a [MASK] c")
    assert [entry.position for entry in scores] == [1, 3]
    assert answers[0].total == 2


def test_an_empty_text_has_no_perplexity(tiny):
    scores, answers = score_all(tiny, "")
    assert (scores, answers[0].total, answers[0].next) == ([], 0, None)
    assert math.isnan(perplexity(scores))


@torch.no_grad()
def test_causal_scores_match_transformers(tmp_path):
    spec = SPEC.model_copy(update={"causal": True})
    path = folder(tmp_path / "causal", Heads(mlm=True), spec=spec)
    ours = load(path)
    theirs = transformers.BertLMHeadModel.from_pretrained(
        path, local_files_only=True, is_decoder=True
    ).eval()
    scores, (answer,) = score_all(ours, "a b c d")
    ids = torch.tensor([ours.tokenizer.encode("a b c d").ids])
    logs = theirs(ids).logits[0].log_softmax(-1)
    assert answer.causal
    assert [p.position for p in scores] == [1, 2, 3, 4]
    for entry in scores:
        expected = float(logs[entry.position - 1, ids[0, entry.position]])
        assert entry.log_probability == pytest.approx(expected, abs=CLOSE)


def test_non_finite_weights_are_reported(tmp_path):
    broken = load(folder(tmp_path / "broken"))
    with torch.no_grad():
        broken.network.mlm.bias.fill_(float("nan"))
    with pytest.raises(BadCheckpoint, match="NaN or infinite"):
        score(broken, ScoreTokens(checkpoint=tmp_path, text="a b"))


def get_head(known):
    """The head that transformers applies after the last layer."""
    match known.family:
        case "bert" | "ernie" | "deberta-v2" | "nomic_bert":
            return known.model.cls
        case "roberta" | "mpnet" | "gte":
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
def test_the_lens_matches_the_head_of_transformers_at_each_layer(known):
    inputs = known.encode_text(TEXT, None, 2)
    question = ApplyLens(
        number=9, checkpoint=known.folder, text=TEXT, masked=(2,), positions=(4, 2), top=3
    )
    answer = apply_lens(known.checkpoint, question)
    hidden = known.run(inputs, output_hidden_states=True).hidden_states
    assert (answer.to, answer.positions, len(answer.layers)) == (9, (2, 4), 4)
    size, piece = known.checkpoint.tokenizer.size, known.checkpoint.tokenizer.token
    for layer, vectors in zip(answer.layers, hidden, strict=True):
        logits = get_head(known)(vectors)[0]
        for guess, actual in zip(layer.predictions, layer.actual, strict=True):
            probs = logits[guess.first].softmax(-1)
            best = probs[:size].topk(3)
            assert [item.label for item in guess.ranked] == [
                piece(n) for n in best.indices.tolist()
            ]
            assert [item.probability for item in guess.ranked] == pytest.approx(
                best.values.tolist(), abs=CLOSE
            )
            gold = inputs.records[guess.first].id
            assert math.exp(actual.log_probability) == pytest.approx(float(probs[gold]), abs=CLOSE)
            assert actual.rank == int((probs[:size] > probs[gold]).sum()) + 1


@pytest.mark.parametrize("causal", [False, True])
def test_the_lens_on_the_last_layer_equals_fill_mask(tmp_path, causal):
    spec = SPEC.model_copy(update={"causal": causal})
    model = load(folder(tmp_path / "model", Heads(mlm=True), spec=spec))
    fields = {"checkpoint": tmp_path, "text": "a b [MASK] c d", "masked": (2,), "top": 4}
    filled = fill_mask(model, FillMask(**fields))
    last = apply_lens(model, ApplyLens(**fields, positions=(2, 3))).layers[-1]
    for ours, theirs in zip(last.predictions, filled.predictions, strict=True):
        assert [guess.label for guess in ours.ranked] == [guess.label for guess in theirs.ranked]
        assert [guess.probability for guess in ours.ranked] == pytest.approx(
            [guess.probability for guess in theirs.ranked], abs=CLOSE
        )
    assert last.actual[1] is None
    assert math.exp(last.actual[0].log_probability) == pytest.approx(
        filled.actual[0].probability, abs=CLOSE
    )


def test_inapplicable_questions_are_refused(tiny, tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    with pytest.raises(StudioError, match="no MLM head"):
        score(bare, ScoreTokens(checkpoint=tmp_path, text="a"))
    with pytest.raises(StudioError, match="no MLM head"):
        apply_lens(bare, ApplyLens(checkpoint=Path("any"), text="a", positions=(1,)))
    for positions in ((), (3,), (-1,)):
        with pytest.raises(StudioError, match="no such position"):
            apply_lens(tiny, ApplyLens(checkpoint=Path("any"), text="a", positions=positions))
