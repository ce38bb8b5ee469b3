"""Predictions of a fine-tuned checkpoint for a typed text."""

import torch

from engine.errors import StudioError
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks import learner_of
from engine.tasks.inputs import inputs


@torch.inference_mode()
def predict(checkpoint: Checkpoint, question: Predict) -> Predicted:
    """The prediction of the task head.

    Raises StudioError if the model has none.
    """
    learner = learner_of(checkpoint)
    if learner is None:
        raise StudioError(
            phrase("This model has not been fine-tuned: it has no task head."),
            phrase("Choose a fine-tuned model, or mask a word and see its predictions."),
        )
    given = inputs(checkpoint, question)
    found = learner.explain(checkpoint, given, question)
    return found.model_copy(update={"to": question.number})
