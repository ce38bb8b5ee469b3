"""Words of several tokens: joint scores compared with transformers, the search with all rows."""

import itertools
import math
from pathlib import Path

import pytest
import torch

from engine.errors import StudioError
from engine.explore import candidates
from engine.explore.candidates import find, score
from engine.explore.fill_mask import fill_mask
from engine.messages.explore.candidates import FindCandidates, ScoreCandidates
from engine.messages.explore.fill_mask import FillMask
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import SPEC, folder

CLOSE = 1e-5
ANY = Path("any")


def test_a_candidate_is_as_likely_as_the_chain_of_its_pieces_in_transformers(known):
    text = "A quiet film, isn't it?"
    inputs = known.encode_text(text)
    at = text.index("film")
    index = next(n for n, t in enumerate(inputs.described) if t.start <= at < t.end)
    word = inputs.described[index].word
    numbers = [n for n, t in enumerate(inputs.described) if t.word == word]
    first, last = numbers[0], numbers[-1]
    words = ("wonder", "quiet", "film")
    ask = ScoreCandidates(
        number=4, checkpoint=ANY, text=text, first=first, last=last, candidates=words
    )
    weighed = score(known.checkpoint, ask)
    assert weighed.to == 4
    tokenizer = known.checkpoint.tokenizer
    for item, name in zip(weighed.candidates, words, strict=True):
        assert (item.text, item.problem) == (name, "")
        start = inputs.described[first].start
        typed = known.encode_text(text[:start] + name + text[inputs.described[last].end :])
        count = len(typed.described) - len(inputs.described) + len(numbers)
        ids = [t.id for t in typed.described[first : first + count]]
        assert item.tokens == tuple(tokenizer.token(number) for number in ids)
        tokens = typed.tokens.clone()
        tokens[0, first : first + count] = tokenizer.mask
        for number, (own, logarithm) in enumerate(zip(ids, item.log_probabilities, strict=True)):
            logs = known.run(typed, tokens).logits[0, first + number].log_softmax(-1)
            assert logarithm == pytest.approx(float(logs[own]), abs=CLOSE)
            tokens[0, first + number] = own
        assert item.log_probability == pytest.approx(sum(item.log_probabilities))
        assert item.probability == pytest.approx(math.exp(item.log_probability))


def test_a_word_of_one_piece_is_as_likely_as_when_it_is_guessed(tiny):
    filled = fill_mask(tiny, FillMask(checkpoint=ANY, text="a b c d", masked=(2, 3), top=100))
    ranked = {p.label: p.probability for p in filled.predictions[0].ranked}
    ask = ScoreCandidates(
        checkpoint=ANY, text="a b c d", masked=(3,), first=2, last=2, candidates=("e", " q ")
    )
    for item in score(tiny, ask).candidates:
        assert item.probability == pytest.approx(ranked[item.tokens[0]], abs=CLOSE)


def test_the_second_text_has_places_too(tiny):
    first, two = (
        score(
            tiny,
            ScoreCandidates(
                checkpoint=ANY, text=text, pair=pair, first=n, last=n, candidates=("e",)
            ),
        )
        for text, pair, n in (("a b", "c d", 5), ("a b", "c [MASK]", 5))
    )
    assert first.candidates == two.candidates


def test_an_unscorable_candidate_has_a_reason(tiny, monkeypatch):
    words = ("", "☃", "q" + "abc" * 3, "p")
    ask = ScoreCandidates(checkpoint=ANY, text="a " * 20, first=1, last=1, candidates=words)
    problems = [item.problem for item in score(tiny, ask).candidates]
    assert "empty" in problems[0]
    assert "vocabulary" in problems[1]
    assert "do not fit" in problems[2]
    assert problems[3] == ""
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 3)
    with pytest.raises(StudioError, match="4 candidates"):
        score(tiny, ask)


@pytest.mark.parametrize("places", [(0, 0), (1, 9), (2, 1), (2, 3)])
def test_tokens_that_are_no_word_are_refused(tiny, places):
    ask = ScoreCandidates(
        checkpoint=ANY, text="a b", pair="c", first=places[0], last=places[1], candidates=("a",)
    )
    with pytest.raises(StudioError, match="not a word of the text"):
        score(tiny, ask)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_a_search_wide_enough_finds_the_best_of_all_rows(tmp_path, causal):
    spec = SPEC.model_copy(update={"causal": causal})
    model = load(folder(tmp_path / "model", Heads(mlm=True), spec=spec))
    size = model.tokenizer.size
    ask = FindCandidates(
        number=2, checkpoint=ANY, text="a [MASK] [MASK] b", first=2, last=3, beams=size
    )
    result = find(model, ask)
    gap = candidates._gap(model, ask)
    rows = torch.tensor(list(itertools.product(range(size), repeat=2)))
    sums = candidates.joint(model, gap, rows).sum(1)
    best = sums.topk(10)
    assert (result.to, result.actual) == (2, None)
    assert [candidate.log_probability for candidate in result.candidates] == pytest.approx(
        best.values.tolist(), abs=CLOSE
    )
    names = [tuple(model.tokenizer.token(n) for n in row) for row in rows[best.indices].tolist()]
    assert [candidate.tokens for candidate in result.candidates] == names
    every = candidates.joint(model, gap, rows).sum(1).exp().sum()
    assert float(every) <= 1 + 1e-4, "a distribution over the rows; some ids have no piece"


def test_the_rows_have_the_shape_of_the_word_that_stood_there(tiny):
    result = find(tiny, FindCandidates(checkpoint=ANY, text="a bab c", first=2, last=4, beams=8))
    assert result.actual.tokens == ("b", "##a", "##b")
    assert len(result.candidates) == 8
    for candidate in result.candidates:
        assert [piece.startswith("##") for piece in candidate.tokens] == [False, True, True]
        own = ScoreCandidates(checkpoint=ANY, text="a bab c", first=2, last=4, candidates=("bab",))
        assert result.actual.log_probability == pytest.approx(
            score(tiny, own).candidates[0].log_probability, abs=CLOSE
        )


def test_a_model_without_a_head_is_refused_in_words(tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    for ask, kind in ((score, ScoreCandidates), (find, FindCandidates)):
        more = {"candidates": ("a",)} if kind is ScoreCandidates else {}
        with pytest.raises(StudioError, match="no MLM head"):
            ask(bare, kind(checkpoint=ANY, text="a", first=1, last=1, **more))
