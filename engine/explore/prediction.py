"""Predictions of the task head and of the next-sentence head for a typed text."""

import numpy as np
import torch

from engine.errors import StudioError
from engine.messages.explore.prediction import (
    NextSentencePredicted,
    Predict,
    PredictByDescriptions,
    Predicted,
    PredictNextSentence,
)
from engine.models.checkpoint import Checkpoint
from engine.tasks import checkpoint_learner
from engine.tasks.finite import softmax
from engine.tasks.inputs import encode_question
from engine.tasks.learner import ranked_labels
from engine.tasks.zero_shot import LabelScorer


@torch.inference_mode()
def predict(checkpoint: Checkpoint, question: Predict) -> Predicted:
    """The prediction of the task head.

    Raises StudioError if the model has none.
    """
    learner = checkpoint_learner(checkpoint)
    if learner is None:
        raise StudioError(
            "This model has not been fine-tuned: it has no task head.",
            "Choose a fine-tuned model, or mask a word and see its predictions.",
        )
    inputs = encode_question(checkpoint, question)
    prediction = learner.predict(checkpoint, inputs, question)
    below = learner.prediction.unsure_below
    return prediction.model_copy(update={"to": question.number, "unsure_below": below})


@torch.inference_mode()
def predict_by_descriptions(model: Checkpoint, question: PredictByDescriptions) -> Predicted:
    """The best label by the descriptions, or all that are likelier than not.

    Raises StudioError if the model does not allow it.
    """
    described = question.described
    p = LabelScorer(model, described).probabilities([question.text])[0]
    chosen = np.flatnonzero(p >= 0.5).tolist() if described.several else [int(p.argmax())]
    inputs = encode_question(model, question)
    answer = ranked_labels(described.task, described.labels, torch.from_numpy(p), inputs, chosen)
    return answer.model_copy(update={"to": question.number})


@torch.inference_mode()
def predict_next_sentence(
    checkpoint: Checkpoint, question: PredictNextSentence
) -> NextSentencePredicted:
    """The probability that the second text follows the first.

    Raises StudioError without a second text, or if the model was not trained for this.
    """
    network = checkpoint.network
    if network.nsp is None:
        raise StudioError(
            "This model has no next-sentence (NSP) head.",
            "Choose one that was pre-trained with NSP, such as Google's BERT.",
        )
    if not (question.pair or "").strip():
        raise StudioError(
            "There is no second text.", "Add one to see whether it follows the first."
        )
    inputs = encode_question(checkpoint, question)
    pooled = network.encode_pooled(inputs.tokens, inputs.segments)
    return NextSentencePredicted(
        to=question.number, probability=float(softmax(network.nsp(pooled))[0, 0])
    )
