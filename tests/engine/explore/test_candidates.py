"""Words of several tokens: scores match transformers, the search matches exhaustive search."""

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


def test_candidate_scores_match_transformers(known):
    text = "A quiet film, isn't it?"
    inputs = known.encode_text(text)
    offset = text.index("film")
    index = next(n for n, t in enumerate(inputs.records) if t.start <= offset < t.end)
    word = inputs.records[index].word
    numbers = [n for n, t in enumerate(inputs.records) if t.word == word]
    first, last = numbers[0], numbers[-1]
    words = ("wonder", "quiet", "film")
    question = ScoreCandidates(
        number=4, checkpoint=ANY, text=text, first=first, last=last, candidates=words
    )
    answer = score(known.checkpoint, question)
    assert answer.to == 4
    tokenizer = known.checkpoint.tokenizer
    for item, name in zip(answer.candidates, words, strict=True):
        assert (item.text, item.problem) == (name, "")
        start = inputs.records[first].start
        typed = known.encode_text(text[:start] + name + text[inputs.records[last].end :])
        count = len(typed.records) - len(inputs.records) + len(numbers)
        ids = [t.id for t in typed.records[first : first + count]]
        assert item.tokens == tuple(tokenizer.token(number) for number in ids)
        tokens = typed.tokens.clone()
        tokens[0, first : first + count] = tokenizer.mask
        for number, (own, logarithm) in enumerate(zip(ids, item.log_probabilities, strict=True)):
            logs = known.run(typed, tokens).logits[0, first + number].log_softmax(-1)
            assert logarithm == pytest.approx(float(logs[own]), abs=CLOSE)
            tokens[0, first + number] = own
        assert item.log_probability == pytest.approx(sum(item.log_probabilities))
        assert item.probability == pytest.approx(math.exp(item.log_probability))


def test_one_token_candidates_match_fill_mask(tiny):
    filled = fill_mask(tiny, FillMask(checkpoint=ANY, text="a b c d", masked=(2, 3), top=100))
    ranked = {p.label: p.probability for p in filled.predictions[0].ranked}
    question = ScoreCandidates(
        checkpoint=ANY, text="a b c d", masked=(3,), first=2, last=2, candidates=("e", " q ")
    )
    for item in score(tiny, question).candidates:
        assert item.probability == pytest.approx(ranked[item.tokens[0]], abs=CLOSE)


def test_candidates_in_the_second_text_are_scored(tiny):
    typed, masked = (
        score(
            tiny,
            ScoreCandidates(
                checkpoint=ANY, text=text, pair=pair, first=n, last=n, candidates=("e",)
            ),
        )
        for text, pair, n in (("a b", "c d", 5), ("a b", "c [MASK]", 5))
    )
    assert typed.candidates == masked.candidates


def test_an_unscorable_candidate_has_a_reason(tiny, monkeypatch):
    words = ("", "☃", "q" + "abc" * 3, "p")
    question = ScoreCandidates(checkpoint=ANY, text="a " * 20, first=1, last=1, candidates=words)
    problems = [item.problem for item in score(tiny, question).candidates]
    assert "empty" in problems[0]
    assert "vocabulary" in problems[1]
    assert "do not fit" in problems[2]
    assert problems[3] == ""
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 3)
    with pytest.raises(StudioError, match="4 candidates"):
        score(tiny, question)


@pytest.mark.parametrize("span", [(0, 0), (1, 9), (2, 1), (2, 3)])
def test_spans_that_are_not_a_word_are_refused(tiny, span):
    question = ScoreCandidates(
        checkpoint=ANY, text="a b", pair="c", first=span[0], last=span[1], candidates=("a",)
    )
    with pytest.raises(StudioError, match="not a word of the text"):
        score(tiny, question)


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_a_wide_beam_search_equals_exhaustive_search(tmp_path, causal):
    spec = SPEC.model_copy(update={"causal": causal})
    model = load(folder(tmp_path / "model", Heads(mlm=True), spec=spec))
    size = model.tokenizer.size
    question = FindCandidates(
        number=2, checkpoint=ANY, text="a [MASK] [MASK] b", first=2, last=3, beams=size
    )
    result = find(model, question)
    gap = candidates._find_span(model, question)
    rows = torch.tensor(list(itertools.product(range(size), repeat=2)))
    sums = candidates.joint_logs(model, gap, rows).sum(1)
    best = sums.topk(10)
    assert (result.to, result.actual) == (2, None)
    assert [candidate.log_probability for candidate in result.candidates] == pytest.approx(
        best.values.tolist(), abs=CLOSE
    )
    names = [tuple(model.tokenizer.token(n) for n in row) for row in rows[best.indices].tolist()]
    assert [candidate.tokens for candidate in result.candidates] == names
    total = candidates.joint_logs(model, gap, rows).sum(1).exp().sum()
    assert float(total) <= 1 + 1e-4, "a distribution over the rows; some ids have no piece"


def test_candidates_have_the_token_pattern_of_the_original_word(tiny):
    result = find(tiny, FindCandidates(checkpoint=ANY, text="a bab c", first=2, last=4, beams=8))
    assert result.actual.tokens == ("b", "##a", "##b")
    assert len(result.candidates) == 8
    for candidate in result.candidates:
        assert [piece.startswith("##") for piece in candidate.tokens] == [False, True, True]
        own = ScoreCandidates(checkpoint=ANY, text="a bab c", first=2, last=4, candidates=("bab",))
        assert result.actual.log_probability == pytest.approx(
            score(tiny, own).candidates[0].log_probability, abs=CLOSE
        )


def test_a_model_without_an_mlm_head_is_refused(tmp_path):
    bare = load(folder(tmp_path / "bare", Heads()))
    for answer, kind in ((score, ScoreCandidates), (find, FindCandidates)):
        options = {"candidates": ("a",)} if kind is ScoreCandidates else {}
        with pytest.raises(StudioError, match="no MLM head"):
            answer(bare, kind(checkpoint=ANY, text="a", first=1, last=1, **options))
