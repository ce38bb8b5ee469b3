"""Predictions and losses of a model on many texts, and the hardest of them.

Shapes: N texts of a slice.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import MissingColumn, StudioError
from engine.explore.over_texts import Arrays, ArrayStore, compute_texts, group_size
from engine.explore.token_scores import score as score_tokens
from engine.messages.explore.text_set import LossKind, ScoreTexts, TextScore, TextSet, TextsScored
from engine.messages.explore.token_scores import ScoreTokens
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.learner import Learner
from engine.tasks.predicting import Predictor
from engine.tasks.row_predictions import RowPredictions

BATCH = 16
MAX_SCORES = 500  # texts per message
MAX_SHOWN = 200  # characters of a prediction


def score(
    serving: Serving, question: ScoreTexts, emit: Callable[[Answer], object] = lambda _: None
) -> TextsScored:
    """Prediction and loss of each text; the last answer has only the last of them.

    Without a task head, the MLM head is evaluated at each token in turn.

    Raises StudioError if the labels are not those of the model, or a column is missing.
    """
    checkpoint = serving.exact
    rows = load_rows(question.texts)
    learner = learner_for_rows(checkpoint, rows)
    loss = loss_kind(checkpoint, learner)
    last: list[TextsScored] = []

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        scores = [_text_score(arrays, index) for index in range(done - first)]
        for start in range(0, len(scores), MAX_SCORES):
            if last:
                emit(last.pop())
            chunk = scores[start : start + MAX_SCORES]
            last.append(
                TextsScored(
                    to=question.number,
                    done=first + start + len(chunk),
                    total=len(rows),
                    first=first + start,
                    scores=tuple(chunk),
                    loss=loss,
                )
            )
        if done < len(rows):
            emit(last.pop())

    def compute(start: int, stop: int) -> Arrays:
        part = rows.take(range(start, stop))
        lengths = _lengths(checkpoint, part)
        if learner is not None:
            return predict_by_task(serving, learner, part) | {"tokens": lengths}
        if loss == "pseudo":
            return _score_by_token(checkpoint, part) | {"tokens": lengths}
        return _empty(len(part)) | {"tokens": lengths}

    compute_texts(ArrayStore(question), len(rows), compute, on_part, group_size(typed_pairs(rows)))
    return last.pop()


def learner_for_rows(checkpoint: Checkpoint, rows: Rows) -> Learner | None:
    """The learner of the checkpoint's task if it applies to these rows: a sentence-embedding model
    compares two texts, and predicts nothing for single ones."""
    learner = checkpoint_learner(checkpoint)
    head = None if learner is None else learner.task.info.head
    return None if head is not None and head.pools and rows.pairs is None else learner


def labelled_texts(checkpoint: Checkpoint, texts: TextSet) -> TextSet:
    """The texts that have a label for the checkpoint's task.

    Raises StudioError if there are none.
    """
    rows = load_rows(texts)
    learner = learner_for_rows(checkpoint, rows)
    labelled = rows.labelled(() if learner is None else learner.task.labelled_by)
    if not labelled:
        raise no_labels_error()
    if len(labelled) == len(rows):
        return texts
    indices = range(len(rows)) if texts.rows is None else texts.rows
    return texts.model_copy(update={"rows": tuple(indices[row] for row in labelled)})


def no_labels_error() -> StudioError:
    return StudioError(
        "The texts have no labels, so the model has no loss.",
        "Choose a data set with labels, or type the label of each text after a tab.",
    )


def loss_kind(checkpoint: Checkpoint, learner: Learner | None) -> LossKind:
    """Definition of the loss of a text."""
    if learner is not None:
        return "task"
    return "none" if checkpoint.network.mlm is None else "pseudo"


def predict_by_task(serving: Serving, learner: Learner, rows: Rows) -> Arrays:
    """Predictions of the task head; rows without a label have no loss."""
    labelled = rows.labelled(learner.task.labelled_by)
    if not learner.can_evaluate(rows) or not labelled:
        return _row_predictions(serving, rows.without_targets())
    if len(labelled) == len(rows):
        try:
            return _row_predictions(serving, rows)
        except MissingColumn:  # labels of another kind of task
            return _row_predictions(serving, rows.without_targets())
    scores = _row_predictions(serving, rows.without_targets())
    for name, values in _row_predictions(serving, rows.take(labelled)).items():
        scores[name] = scores[name].astype(np.result_type(scores[name], values))
        scores[name][labelled] = values
    return scores


def predict_rows(serving: Serving, rows: Rows) -> RowPredictions:
    """Predictions of the task head, scored if the rows are labelled."""
    return Predictor(serving, batch=BATCH).collect(rows).row_predictions()


def _row_predictions(serving: Serving, rows: Rows) -> Arrays:
    predictions = predict_rows(serving, rows)
    count = len(predictions.predicted)
    arrays = _empty(count)
    arrays["prediction"] = np.array([text[:MAX_SHOWN] for text in predictions.predicted])
    if predictions.gold is not None:
        arrays["label"] = np.array([text[:MAX_SHOWN] for text in predictions.gold])
    for name, values in (("probability", predictions.probability), ("loss", predictions.loss)):
        if values is not None:
            arrays[name] = np.asarray(values, dtype=np.float64)
    if predictions.score is not None:
        arrays["right"] = np.asarray(predictions.score, dtype=np.float64)
    return arrays


def _empty(count: int) -> Arrays:
    """Texts without predictions."""
    return {
        "prediction": np.full(count, ""),
        "label": np.full(count, ""),
        "probability": np.full(count, np.nan),
        "loss": np.full(count, np.nan),
        "right": np.full(count, np.nan),
    }


@torch.inference_mode()
def _score_by_token(checkpoint: Checkpoint, rows: Rows) -> Arrays:
    """The mean −log P of the tokens of each text, masked in turn (Salazar et al. 2020, §2.3)."""
    scores = _empty(len(rows))
    for index, (text, pair) in enumerate(typed_pairs(rows)):
        question = ScoreTokens(checkpoint=Path(), text=text, pair=pair)
        sums, count = 0.0, 0
        while True:
            answer = score_tokens(checkpoint, question)
            sums -= sum(token.log_probability for token in answer.scores)
            count += len(answer.scores)
            if answer.next is None:
                break
            question = question.model_copy(update={"start": answer.next})
        scores["loss"][index] = sums / count if count else np.nan
    return scores


def _lengths(checkpoint: Checkpoint, rows: Rows) -> np.ndarray:
    """Tokens of each text, special ones included, before truncation, int64 [N]."""
    characters = max((len(text) + len(pair or "") for text, pair in typed_pairs(rows)), default=0)
    return np.array(
        [
            len(checkpoint.tokenizer.encode(text, pair, characters + 8).ids)
            for text, pair in typed_pairs(rows)
        ]
    )


def _text_score(arrays: Arrays, index: int) -> TextScore:
    def known(name: str) -> float | None:
        value = float(arrays[name][index])
        return value if np.isfinite(value) else None

    right = known("right")
    return TextScore(
        prediction=str(arrays["prediction"][index]),
        label=str(arrays["label"][index]),
        probability=known("probability"),
        loss=known("loss"),
        right=None if right is None else right >= 1,
        tokens=int(arrays["tokens"][index]),
    )
