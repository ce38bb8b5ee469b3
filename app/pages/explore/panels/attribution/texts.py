"""Sentences about the target and the method."""

from app.translation import marked, tr
from app.widgets.text.chips import painted
from app.widgets.text.numbers import decimal, percent
from engine.messages.explore.attribution import Attribute, Attributed, Baseline, Method

METHODS: dict[Method, str] = {
    "occlusion": marked("Occlusion"),
    "integrated_gradients": marked("Integrated gradients"),
    "input_x_gradient": marked("Gradient × input"),
    "rollout": marked("Attention rollout (not an explanation)"),
}
BASELINES: dict[Baseline, str] = {
    "mask": marked("Baseline: [MASK]"),
    "pad": marked("Baseline: [PAD]"),
    "zero": marked("Baseline: zero vectors"),
}


def explained_text(answer: Attributed, head: str) -> str:
    """The logit and its value: Logit of “good” rather than “bad”: 1.234."""
    shown = answer.explained
    score = decimal(shown.score, 3)
    if not shown.label:
        return tr("Predicted number: {0}").format(score)
    label = painted(shown.label)
    at = ""
    if shown.position is not None and head == "task":
        at = painted(answer.tokens[shown.position].text)
    if shown.against:
        against = painted(shown.against)
        if at:
            return tr("Logit of “{0}” rather than “{1}” at “{2}”: {3}").format(
                label, against, at, score
            )
        return tr("Logit of “{0}” rather than “{1}”: {2}").format(label, against, score)
    if at:
        return tr("Logit of “{0}” at “{1}”: {2}").format(label, at, score)
    return tr("Logit of “{0}”: {1}").format(label, score)


def note(answer: Attributed, asked: Attribute) -> str:
    """Meaning of the numbers and how reliable they are."""
    others = decimal(answer.others, 3)
    match asked.method:
        case "occlusion":
            return tr(
                "By how much the logit, or the number, falls when the word is replaced by [MASK]: "
                "above 0 the word speaks for it, below 0 against it."
            )
        case "rollout":
            return tr(
                "Attention rollout: how much of each token attention passes on, if half of every "
                "vector comes through the residual connection. Not an explanation: it has no sign, "
                "and it is the same for every class. Special tokens: {0}."
            ).format(others)
        case "input_x_gradient":
            return tr(
                "Token embedding × gradient, summed over the tokens of a word: above 0 the word "
                "speaks for the logit, below 0 against it. Special and masked tokens: {0}. It "
                "holds for very small changes only."
            ).format(others)
        case "integrated_gradients":
            return _of_path(answer)


def _of_path(answer: Attributed) -> str:
    assert answer.baseline_score is not None and answer.difference is not None
    moved = answer.explained.score - answer.baseline_score
    share = percent(abs(answer.difference / moved), 2) if moved else "–"
    return tr(
        "The effects sum to {0}. From the baseline ({1}) to the text ({2}) the logit changes by "
        "{3}: the sum differs by {4} with {5} points on the path."
    ).format(
        decimal(sum(answer.effects), 3),
        decimal(answer.baseline_score, 3),
        decimal(answer.explained.score, 3),
        decimal(moved, 3),
        share,
        answer.points,
    )
