"""Small predictions of every task."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import Mapping
from engine.data.columns.tags import Span
from engine.data.columns.text_spans import spaced_words
from engine.evaluation import question_answering
from engine.evaluation.span_classification import row_f1
from engine.results.intervals import UNKNOWN, Interval, percentiles
from engine.results.predictions import PredictionInfo, Predictions


def new_info(task: str, labels: Sequence[str] = (), **changes: Any) -> PredictionInfo:
    fields = {
        "task": task,
        "labels": tuple(labels),
        "part": "validation",
        "source": "Reviews",
        "mapping": Mapping(text="text", label="label"),
        "model": "First",
        "made": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return PredictionInfo(**(fields | changes))


def class_rows(
    gold: Sequence[str | None],
    predicted: Sequence[str],
    labels: Sequence[str] = ("bad", "good"),
    scores: Any = None,
    probability: Any = None,
    task: str = "text_classification",
    **cells: Sequence[str],
) -> Predictions:
    """Predictions of classes; without `scores`, the prediction has probability 1."""
    if scores is None:
        scores = [[float(label == item) for label in labels] for item in predicted]
    scores = np.asarray(scores, dtype=np.float32).reshape(len(gold), len(labels))
    record = {
        "row": range(len(gold)),
        "line": range(2, len(gold) + 2),
        "gold": gold,
        "predicted": predicted,
        "probability": scores.max(axis=1, initial=0) if probability is None else probability,
        "score": [None if a is None else a == b for a, b in zip(gold, predicted, strict=True)],
        "scores": list(scores),
    }
    return Predictions.from_columns(new_info(task, labels), record, cells)


def tag_rows(rows: Sequence[tuple[str, str, str]], tags: Sequence[str] = ()) -> Predictions:
    """Predictions of tags: words, gold and predicted tags of each row, separated by spaces.

    `tags` are labels of the model besides those that occur.
    """
    details = [
        json.dumps(
            {
                "words": words.split(),
                "gold": gold.split(),
                "predicted": predicted.split(),
                "probabilities": [0.9] * len(words.split()),
            }
        )
        for words, gold, predicted in rows
    ]
    record = {
        "row": range(len(rows)),
        "line": [0] * len(rows),
        "gold": [gold for _, gold, _ in rows],
        "predicted": [predicted for _, _, predicted in rows],
        "score": [float(gold == predicted) for _, gold, predicted in rows],
        "details": details,
    }
    labels = set(tags) | {
        tag for _, gold, predicted in rows for tag in (*gold.split(), *predicted.split())
    }
    return Predictions.from_columns(
        new_info("token_classification", sorted(labels), mapping=Mapping(text="text", tags="tags")),
        record,
        {"text": [words for words, _, _ in rows]},
    )


def span_rows(
    rows: Sequence[tuple[str, Sequence[tuple[str, int, int]], Sequence[tuple[str, int, int]]]],
) -> Predictions:
    """Predictions of spans: words, gold and predicted (label, first word, end) of each row."""
    spanned = [spaced_words(words.split()) for words, _, _ in rows]
    sides = [([Span(*s) for s in gold], [Span(*s) for s in said]) for _, gold, said in rows]
    details = [
        {"words": row.words, "places": row.places, "gold": gold, "predicted": said}
        for row, (gold, said) in zip(spanned, sides, strict=True)
    ]
    record = {
        "row": range(len(rows)),
        "gold": [row.cell(gold) for row, (gold, _) in zip(spanned, sides, strict=True)],
        "predicted": [row.cell(said) for row, (_, said) in zip(spanned, sides, strict=True)],
        "probability": [0.9] * len(rows),
        "score": [row_f1(*pair) for pair in sides],
        "details": [*map(json.dumps, details)],
    }
    labels = sorted({span.type for pair in sides for side in pair for span in side})
    mapping = Mapping(text="text", tags="spans")
    info = new_info("span_classification", labels, mapping=mapping)
    return Predictions.from_columns(info, record, {"text": [row.text for row in spanned]})


def label_rows(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    labels: Sequence[str],
    scores: Any = None,
) -> Predictions:
    """Multi-label predictions."""
    if scores is None:
        scores = [[float(label in row) for label in labels] for row in predicted]
    record = {
        "row": range(len(gold)),
        "line": [0] * len(gold),
        "gold": [", ".join(row) for row in gold],
        "predicted": [", ".join(row) for row in predicted],
        "score": [set(a) == set(b) for a, b in zip(gold, predicted, strict=True)],
        "scores": list(np.asarray(scores, dtype=np.float32).reshape(len(gold), len(labels))),
        "details": [
            json.dumps({"gold": list(a), "predicted": list(b)})
            for a, b in zip(gold, predicted, strict=True)
        ],
    }
    return Predictions.from_columns(
        new_info("multi_label", labels), record, {"text": ["a"] * len(gold)}
    )


def answer_rows(
    rows: Sequence[tuple[str, list[str], float | None]], threshold: float = 0.0, **cells: list[str]
) -> Predictions:
    """Rows of the best span, the gold answers, and the no-answer score."""
    answers = ["" if null is not None and null > threshold else best for best, _, null in rows]
    scored = [
        question_answering.report([text], [gold])
        for text, (_, gold, _) in zip(answers, rows, strict=True)
    ]
    record = {
        "row": range(len(rows)),
        "gold": [" | ".join(gold) for _, gold, _ in rows],
        "predicted": answers,
        "probability": [0.5] * len(rows),
        "score": [item.f1 for item in scored],
        "details": [
            json.dumps(
                {"gold": gold, "exact": item.exact_match, "null": null, "best": [[best, 0, 1, 0.5]]}
            )
            for (best, gold, null), item in zip(rows, scored, strict=True)
        ],
    }
    mapping = Mapping(text="question", pair="passage", answers="answers")
    return Predictions.from_columns(new_info("question_answering", mapping=mapping), record, cells)


def masked_tokens(rows: int = 40) -> Predictions:
    """Rows of pre-training: the frequent “the” is always right, the rare “xylem” never."""
    gold = ["the" if n % 2 else "xylem" for n in range(rows)]
    record = {
        "row": range(rows),
        "gold": gold,
        "predicted": ["the"] * rows,
        "probability": [0.5] * rows,
        "loss": [0.7 if item == "the" else 9.0 for item in gold],
        "score": [float(item == "the") for item in gold],
        "details": ['{"top5": true}' if item == "the" else '{"top5": false}' for item in gold],
    }
    cells = {
        "text": [f"here is [MASK] number {n}" for n in range(rows)],
        "position": [str(n) for n in range(rows)],
        "occurrences": ["2500" if item == "the" else "3" for item in gold],
    }
    settings = {"training_tokens": 10_000.0, "vocabulary": 100.0}
    mapping, metrics = Mapping(text="text"), {"loss": 4.85, "accuracy": 0.5, "top5": 0.5}
    result = new_info("pretraining", mapping=mapping, metrics=metrics, settings=settings)
    return Predictions.from_columns(result, record, cells)


def bootstrap_rows(
    rows: int, figure: Callable[[NDArray[np.int64]], float], draws: int = 2_000
) -> Interval:
    """The percentile interval of any function of row indices, int64 [N]."""
    if not rows:
        return UNKNOWN
    rng = np.random.default_rng(0)
    samples = [figure(rng.integers(0, rows, size=rows)) for _ in range(draws)]
    return percentiles(figure(np.arange(rows)), np.array(samples))
