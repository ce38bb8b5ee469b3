"""Next-sentence prediction."""

import time

import torch

from engine.errors import StudioError
from engine.messages.explore.next_sentence import NextSentencePredicted, PredictNextSentence
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.finite import softmax
from engine.tasks.inputs import inputs


@torch.inference_mode()
def predict(checkpoint: Checkpoint, question: PredictNextSentence) -> NextSentencePredicted:
    """The probability that the second text follows the first.

    Raises StudioError without a second text, or if the model was not trained for this.
    """
    began = time.perf_counter()
    network = checkpoint.network
    if network.nsp is None:
        raise StudioError(
            phrase("This model has no next-sentence (NSP) head."),
            phrase("Choose one that was pre-trained with NSP, such as Google's BERT."),
        )
    if not (question.pair or "").strip():
        raise StudioError(
            phrase("There is no second text."),
            phrase("Add one to see whether it follows the first."),
        )
    given = inputs(checkpoint, question)
    pooled = network.encode_pooled(given.tokens, given.segments)
    return NextSentencePredicted(
        to=question.number,
        probability=float(softmax(network.nsp(pooled))[0, 0]),
        milliseconds=(time.perf_counter() - began) * 1000,
    )
