"""Rows of pre-training, one per sampled masked token, and their unigram baseline."""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.tasks import TASKS
from engine.phrases import phrase
from engine.results.predictions import RECORD, Predictions
from engine.results.row_figures import cached_per_table, figure, parse_numbers

TEXT = "text"  # column of the text around the masked token
POSITION = "position"  # column of its index in the input
OCCURRENCES = "occurrences"  # column of its count in the training text


def occurrences(predictions: Predictions) -> NDArray[np.float64]:
    """Occurrences of each row's token in the training text, float64 [rows]."""
    return parse_numbers(predictions.cells(OCCURRENCES))


SMOOTHING = 0.5  # added to each count


class TokenScores(NamedTuple):
    """Scores of the masked tokens; the perplexity is exp of the mean loss."""

    accuracy: float
    perplexity: float


def token_scores(predictions: Predictions) -> TokenScores:
    loss, score = (figure(predictions, name).mean(dtype=np.float64) for name in ("loss", "score"))
    return TokenScores(float(score), float(np.exp(loss)))


@cached_per_table
def unigram_scores(predictions: Predictions) -> TokenScores:
    """The scores of the unigram baseline on the same masked tokens."""
    return token_scores(unigram(predictions))


def baseline_note(predictions: Predictions) -> str:
    """The scores next to those of the unigram baseline, in a sentence; empty for other tasks."""
    if not TASKS[predictions.info.task].info.is_pretraining:
        return ""
    ours, theirs = token_scores(predictions), unigram_scores(predictions)
    return phrase(
        "Perplexity {perplexity:,.1f}, accuracy {accuracy:.1%}. Unigram baseline (token "
        "frequencies alone): perplexity {unigram:,.1f}, accuracy {frequent:.1%}, on the same {n:,} "
        "masked token(s).",
        perplexity=ours.perplexity,
        accuracy=ours.accuracy,
        unigram=theirs.perplexity,
        frequent=theirs.accuracy,
        n=len(predictions),
    )


def unigram(predictions: Predictions) -> Predictions:
    """Predict every masked token by frequency alone: always the most frequent one.

    The probability of a token is (occurrences + ½) / (all tokens + ½ × vocabulary).
    """
    settings, counts = predictions.info.settings, occurrences(predictions)
    total = settings["training_tokens"] + SMOOTHING * settings["vocabulary"]
    probabilities = (counts + SMOOTHING) / total
    gold = np.array(predictions.table["gold"].to_pylist(), dtype=object)
    top = int(np.argmax(counts))
    right, loss = (gold == gold[top]).astype(np.float64), -np.log(probabilities)
    table = predictions.table
    for name, values in {
        "predicted": [gold[top]] * len(gold),
        "probability": np.full(len(gold), probabilities[top]),
        "loss": loss,
        "score": right,
        "details": [""] * len(gold),
    }.items():
        field = RECORD.field(name)
        table = table.set_column(
            table.column_names.index(name), field, pa.array(values, field.type)
        )
    info = predictions.info.model_copy(
        update={
            "model": phrase("Most frequent token"),
            "step": None,
            "made": datetime.now(UTC),
            "metrics": {"loss": float(loss.mean()), "accuracy": float(right.mean())},
        }
    )
    return Predictions(info, table)
