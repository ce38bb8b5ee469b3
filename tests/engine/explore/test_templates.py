"""Scores of targets in templates, compared with transformers."""

from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.explore.templates import MAX_ROWS, fill_template, score
from engine.messages.explore.templates import ScoreTemplates
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import folder

CLOSE = 1e-5
ANY = Path("any")
TEMPLATES = ("[TARGET] is a [FILLER].", "The [filler] said that [Target] laughs.")


def joint_score(known, text: str, target: str, masked: str = "") -> float:
    """Joint log-probability of a target from left to right, with the word `masked` masked."""
    tokenizer = known.checkpoint.tokenizer
    inputs = known.encode_text(text.replace("@", target))
    start, tokens = text.index("@"), inputs.tokens.clone()
    ordinary = [(n, t) for n, t in enumerate(inputs.records) if not t.special]
    inside = tokens_within(ordinary, start, start + len(target))
    if masked:
        offset = text.replace("@", target).index(masked)
        tokens[0, tokens_within(ordinary, offset, offset + len(masked))] = tokenizer.mask
    tokens[0, inside] = tokenizer.mask
    total = 0.0
    for n in inside:
        logs = known.run(inputs, tokens).logits[0, n].log_softmax(-1)
        total += float(logs[inputs.records[n].id])
        tokens[0, n] = inputs.records[n].id
    return total


def tokens_within(tokens, first: int, last: int) -> list[int]:
    """A “▁” before a word has no characters but belongs to the word."""
    return [n for n, t in tokens if (t.start < last and t.end > first) or t.start == t.end == first]


def test_scores_match_transformers(known):
    """Targets and fillers of one token and of several."""
    fillers, targets = ("film", "a dog"), ("quiet", "he")
    question = ScoreTemplates(
        number=3, checkpoint=ANY, templates=TEMPLATES, fillers=fillers, targets=targets
    )
    answer = score(known.checkpoint, question)
    assert (answer.to, answer.total, answer.next) == (3, 4, None)
    assert [(row.template, row.filler) for row in answer.rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    formats = ("@ is a {0}.", "The {0} said that @ laughs.")
    assert any(len(item.tokens) > 1 for row in answer.rows for item in row.targets)
    for row in answer.rows:
        text, filler = formats[row.template].format(fillers[row.filler]), fillers[row.filler]
        assert row.tokens
        for target, actual in zip(targets, row.targets, strict=True):
            given, prior = (joint_score(known, text, target, word) for word in ("", filler))
            assert actual.given == pytest.approx(given, abs=CLOSE * len(actual.tokens))
            assert actual.prior == pytest.approx(prior, abs=CLOSE * len(actual.tokens))
            assert actual.association == actual.given - actual.prior


def test_slots_are_filled_in_any_order_and_case():
    result = fill_template("The [filler] and [TARGET].", "big dog", "[MASK]")
    assert result.text == "The big dog and [MASK]."
    assert result.text[slice(*result.filler)] == "big dog"
    assert result.text[result.target :].startswith("[MASK]")
    result = fill_template("[TARGET], a [FILLER]", "dog", "<mask>")
    assert result == ("<mask>, a dog", (10, 13), 0)


def test_answers_are_streamed_in_slices(tiny):
    question = ScoreTemplates(
        checkpoint=ANY,
        templates=("[TARGET] a [FILLER]", "[FILLER] b [TARGET]"),
        fillers=tuple("abcdefg"),
        targets=("h", "i j"),
    )
    result, start = [], 0
    while start is not None:
        answer = score(tiny, question.model_copy(update={"start": start}))
        assert 0 < len(answer.rows) <= MAX_ROWS and answer.total == 14
        result += answer.rows
        start = answer.next
    assert [(row.template, row.filler) for row in result] == [
        (template, filler) for template in range(2) for filler in range(7)
    ]


def test_unscorable_words_have_a_reason(tiny):
    question = ScoreTemplates(
        checkpoint=ANY,
        templates=("[TARGET] a [FILLER]",),
        fillers=("b", "zebra", " "),
        targets=("c", "zebra"),
    )
    good, unknown, empty = score(tiny, question).rows
    assert good.targets[0].association is not None and not good.targets[0].problem
    assert good.targets[1].association is None and "vocabulary" in good.targets[1].problem
    assert {target.problem for target in unknown.targets} == {
        "The filler is not in the vocabulary."
    }
    assert {target.problem for target in empty.targets} == {"The filler is empty."}
    long = question.model_copy(update={"templates": ("[FILLER]" + " a" * 60 + " [TARGET]",)})
    assert "maximum length" in score(tiny, long).rows[0].targets[0].problem


def test_unusable_templates_and_models_are_refused(tiny, tmp_path):
    for template in ("[TARGET] alone", "[FILLER] alone", "[TARGET] [FILLER] [TARGET]"):
        question = ScoreTemplates(
            checkpoint=ANY,
            templates=("[TARGET] [FILLER]", template),
            fillers=("a",),
            targets=("b",),
        )
        with pytest.raises(StudioError, match="Template 2 must contain"):
            score(tiny, question)
    bare = load(folder(tmp_path / "bare", Heads(outputs=3)))
    with pytest.raises(StudioError, match="no MLM head"):
        score(bare, question)
