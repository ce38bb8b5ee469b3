"""Metrics of spans that may overlap.

A predicted span is right if a true one has its label and ends.
Spans are nested if they share words with another span of their side. The F1 of nested spans has as
precision the fraction of the predicted ones that are right, and as recall the fraction of the true
ones that were predicted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from pydantic import Field

from engine.data.columns.tags import Span
from engine.evaluation.measures import (
    Measure,
    ScoredRows,
    Sums,
    label_scores,
    macro_f1,
    mean,
    mean_measure,
    micro_f1,
    ratio,
    sums_measure,
)
from engine.evaluation.report import Report
from engine.evaluation.token_classification import SpanFigures


class SpanReport(Report):
    """All metrics of one evaluation; 0 if undefined."""

    rows: int
    precision: float = Field(description="Fraction of the predicted spans that are correct.")
    recall: float = Field(description="Fraction of the true spans that were predicted.")
    f1: float = Field(description="Of all spans of all labels (micro).")
    f1_macro: float = Field(description="Mean F1 of the labels that occur, true or predicted.")
    f1_nested: float = Field(description="Of the spans that share words with another one.")
    exact_match: float = Field(description="Fraction of rows whose spans are all correct.")
    types: tuple[SpanFigures, ...] = Field(description="Sorted by label.")
    nested: int = Field(description="Number of true spans that share words with another one.")
    loss: float = Field(0.0, description="Mean binary cross-entropy by word, in nats.")

    def metrics(self) -> dict[str, float]:
        return {
            "f1": self.f1,
            "f1_macro": self.f1_macro,
            "precision": self.precision,
            "recall": self.recall,
            "f1_nested": self.f1_nested,
            "exact_match": self.exact_match,
            "loss": self.loss,
            "examples": self.rows,
        }

    def never_predicted(self) -> tuple[str, ...]:
        return tuple(item.type for item in self.types if item.support and not item.found)

    def lines(self) -> list[str]:
        support, found, correct = (
            sum(getattr(item, name) for item in self.types)
            for name in ("support", "found", "correct")
        )
        return [
            f"{self.rows} rows, loss {self.loss:.4f}",
            f"{support} spans, {self.nested} of them nested; {found} found; {correct} correct",
            f"precision {self.precision:.2%}, recall {self.recall:.2%}, F1 {100 * self.f1:.2f}",
            f"macro F1 {100 * self.f1_macro:.2f}, F1 of nested spans {100 * self.f1_nested:.2f}",
            f"exact match {self.exact_match:.2%}",
            *(
                f"{item.type}: precision {item.precision:.2%}, recall {item.recall:.2%}, "
                f"F1 {100 * item.f1:.2f}, {item.support} spans"
                for item in self.types
            ),
        ]


def report(true: Sequence[Iterable[Span]], predicted: Sequence[Iterable[Span]]) -> SpanReport:
    """Compute all metrics of rows, each given as its spans; `loss` is left at 0."""
    right, support, found = Counter[str](), Counter[str](), Counter[str]()
    nested, exact = np.zeros(4), 0
    for gold, guessed in zip(map(set, true), map(set, predicted), strict=True):
        support.update(span.type for span in gold)
        found.update(span.type for span in guessed)
        right.update(span.type for span in gold & guessed)
        nested += nested_counts(gold, guessed)
        exact += gold == guessed
    types = []
    for type_ in sorted(support | found):
        scores = label_scores(right[type_], found[type_], support[type_])._asdict()
        counts = {"support": support[type_], "found": found[type_], "correct": right[type_]}
        types.append(SpanFigures(type=type_, **scores, **counts))
    micro = label_scores(right.total(), found.total(), support.total())._asdict()
    return SpanReport(
        rows=len(true),
        **{name: float(score) for name, score in micro.items()},
        f1_macro=mean(np.array([item.f1 for item in types], dtype=np.float64)),
        f1_nested=float(nested_f1(nested[None])[0]),
        exact_match=float(ratio(exact, len(true))),
        types=tuple(types),
        nested=int(nested[3]),
    )


def row_f1(true: Iterable[Span], predicted: Iterable[Span]) -> float:
    """The F1 of the spans of one row; 1 if both sides have none."""
    gold, guessed = set(true), set(predicted)
    if not gold and not guessed:
        return 1.0
    return float(label_scores(len(gold & guessed), len(guessed), len(gold)).f1)


def nested_spans(spans: Iterable[Span]) -> set[Span]:
    """The spans that share words with another one."""
    ordered, nested = sorted({*spans}, key=lambda span: (span.start, span.end)), set[Span]()
    for index, span in enumerate(ordered):
        for other in ordered[index + 1 :]:
            if other.start >= span.end:
                break
            nested |= {span, other}
    return nested


def nested_counts(gold: set[Span], predicted: set[Span]) -> tuple[int, int, int, int]:
    """Of a row: right ones of the predicted nested spans, and found ones of the true ones, each
    before the number of all."""
    ours, theirs = nested_spans(gold), nested_spans(predicted)
    return len(theirs & gold), len(theirs), len(ours & predicted), len(ours)


def nested_f1(sums: Sums) -> np.ndarray:
    """F1 from sums of `nested_counts`, float64 [B, 4], [B]; 0 if undefined."""
    precision, recall = ratio(sums[:, 0], sums[:, 1]), ratio(sums[:, 2], sums[:, 3])
    return ratio(2 * precision * recall, precision + recall)


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    """F1 of the spans, its macro mean, that of nested spans, and exact matches."""
    usable = np.array(["gold" in row for row in rows.details], dtype=bool)
    counts = rows.span_counts  # [N, 3, C]
    types = counts.shape[2]
    parts = counts.reshape(len(counts), 3 * types)
    micro = sums_measure("f1", parts, usable, lambda sums: micro_f1(sums, types))
    macro = Measure("f1_macro", micro.kinds, micro.parts, lambda sums: macro_f1(sums, types))
    sides = [
        tuple({Span(*item) for item in row.get(side, ())} for side in ("gold", "predicted"))
        for row in rows.details
    ]
    nested = np.reshape([nested_counts(*row) for row in sides], (-1, 4))
    exact = [float(gold == predicted) for gold, predicted in sides]
    return (
        micro,
        macro,
        sums_measure("f1_nested", nested, usable, nested_f1),
        mean_measure("exact_match", np.where(usable, exact, np.nan)),
    )
