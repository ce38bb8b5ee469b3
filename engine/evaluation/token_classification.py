"""Metrics of token classification, as in conlleval and seqeval.

A predicted span is right if its type and both ends are those of a gold span (Tjong Kim Sang and De
Meulder 2003, §2.2). If tags name no spans but classes of words, as parts of speech, every word
counts as a span whose type is its tag.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from engine.config import Spec
from engine.data.columns.tags import Span, spans_from_tags
from engine.evaluation.measures import (
    Measure,
    ScoredRows,
    label_scores,
    macro_f1,
    mean,
    micro_f1,
    ratio,
    ratio_of_sums,
    sums_measure,
)
from engine.evaluation.report import Report


class SpanFigures(Spec):
    """The spans of one type; 0 if undefined."""

    type: str = Field(description="Empty if the tags name no type.")
    precision: float
    recall: float
    f1: float
    support: int = Field(description="Number of true spans.")
    found: int = Field(0, description="Number of predicted spans.")
    correct: int = Field(0, description="Number of correct predicted spans.")


class TagReport(Report):
    """All metrics of one evaluation; 0 if undefined."""

    sentences: int
    tokens: int
    accuracy: float = Field(description="Fraction of tokens with the correct tag, O included.")
    precision: float = Field(description="Fraction of the predicted spans that are correct.")
    recall: float = Field(description="Fraction of the true spans that were predicted.")
    f1: float = Field(description="Of all spans of all types (micro).")
    f1_macro: float = Field(description="Mean F1 of the types that occur, true or predicted.")
    types: tuple[SpanFigures, ...] = Field(description="Sorted by type.")
    are_spans: bool = Field(True, description="True if the tags name spans, not classes of words.")
    loss: float = Field(0.0, description="Mean cross entropy of the words that were seen, in nats.")
    cut: int = Field(0, description="Words beyond the maximum length; counted as O.")
    empty: int = Field(0, description="Words without a token; counted as O.")

    def metrics(self) -> dict[str, float]:
        span_metrics = {"f1": self.f1, "precision": self.precision, "recall": self.recall}
        common_metrics = {
            "f1_macro": self.f1_macro,
            "accuracy": self.accuracy,
            "loss": self.loss,
            "examples": self.sentences,
        }
        return (span_metrics if self.are_spans else {}) | common_metrics

    def never_predicted(self) -> tuple[str, ...]:
        return tuple(item.type for item in self.types if item.support and not item.found)

    def lines(self) -> list[str]:
        lines = [f"{self.sentences} sentences, {self.tokens} words, loss {self.loss:.4f}"]
        if self.are_spans:
            support, predicted, correct = (
                sum(getattr(item, name) for item in self.types)
                for name in ("support", "found", "correct")
            )
            lines.append(f"{support} spans; {predicted} found; {correct} correct")
            lines.append(
                f"accuracy {self.accuracy:.2%}, precision {self.precision:.2%}, "
                f"recall {self.recall:.2%}, F1 {100 * self.f1:.2f}, macro F1 "
                f"{100 * self.f1_macro:.2f}"
            )
        else:
            lines.append(f"accuracy {self.accuracy:.2%}, macro F1 {100 * self.f1_macro:.2f}")
        lines += [
            f"{item.type or 'spans'}: precision {item.precision:.2%}, recall {item.recall:.2%}, "
            f"F1 {100 * item.f1:.2f}, {item.support} {'spans' if self.are_spans else 'words'}"
            for item in self.types
        ]
        if self.cut:
            lines.append(f"{self.cut} words are beyond the maximum length; they count as O.")
        if self.empty:
            lines.append(f"{self.empty} words have no token; they count as O.")
        return lines


def report(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], are_spans: bool = True
) -> TagReport:
    """Compute all metrics of sentences, each given as the tags of its tokens.

    Args:
        true: the gold tags.
        predicted: as many tags in every sentence.
        are_spans: tags name spans; else they are classes of words.

    Raises:
        UnknownTag: for a tag of no scheme.
        ValueError: if the numbers of sentences or tokens differ.
    """
    tokens = same = 0
    right, support, predicted_counts = Counter[str](), Counter[str](), Counter[str]()
    for gold, predicted_tags in zip(true, predicted, strict=True):
        same += sum(a == b for a, b in zip(gold, predicted_tags, strict=True))
        tokens += len(gold)
        ours, theirs = (set(_spans(tags, are_spans)) for tags in (gold, predicted_tags))
        support.update(span.type for span in ours)
        predicted_counts.update(span.type for span in theirs)
        right.update(span.type for span in ours & theirs)
    types = tuple(
        SpanFigures(
            type=type_,
            **_figures(right[type_], predicted_counts[type_], support[type_]),
            support=support[type_],
            found=predicted_counts[type_],
            correct=right[type_],
        )
        for type_ in sorted(support | predicted_counts)
    )
    return TagReport(
        sentences=len(true),
        tokens=tokens,
        accuracy=float(ratio(same, tokens)),
        **_figures(right.total(), predicted_counts.total(), support.total()),
        f1_macro=mean(np.array([item.f1 for item in types], dtype=np.float64)),
        types=types,
        are_spans=are_spans,
    )


def row_f1(true: Sequence[str], predicted: Sequence[str], are_spans: bool = True) -> float:
    """The F1 of the spans of one sentence, or of its words; 1 if both sides have none.

    Raises UnknownTag for a tag of no scheme.
    """
    ours, theirs = (set(_spans(tags, are_spans)) for tags in (true, predicted))
    if not ours and not theirs:
        return 1.0
    return float(label_scores(len(ours & theirs), len(theirs), len(ours)).f1)


def _spans(tags: Sequence[str], are_spans: bool) -> list[Span]:
    if not are_spans:
        return [Span(tag, position, position + 1) for position, tag in enumerate(tags)]
    return spans_from_tags(tags)


def _figures(right: int, predicted: int, support: int) -> dict[str, Any]:
    scores = label_scores(right, predicted, support)._asdict()
    return {name: float(score) for name, score in scores.items()}


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """F1 of the spans, if tags name spans, accuracy of the words, and macro F1 of the types."""
    words = [
        (sum(a == b for a, b in zip(row["gold"], row["predicted"], strict=True)), len(row["gold"]))
        if row.get("gold")
        else (0, 0)
        for row in rows.details
    ]
    usable = np.array([count > 0 for _, count in words], dtype=bool)
    accuracy = sums_measure("accuracy", np.reshape(words, (-1, 2)), usable, ratio_of_sums)
    counts = rows.span_counts  # [N, 3, C]
    types = counts.shape[2]
    parts = counts.reshape(len(counts), 3 * types)
    micro = sums_measure("f1", parts, usable, lambda sums: micro_f1(sums, types))
    macro = Measure("f1_macro", micro.kinds, micro.parts, lambda sums: macro_f1(sums, types))
    return (micro, macro, accuracy) if rows.are_spans else (accuracy, macro)
