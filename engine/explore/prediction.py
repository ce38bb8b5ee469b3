"""Predictions of the task head and of the next-sentence head for a typed text."""

import torch

from engine.config.codebook import MAX_LABEL, Code
from engine.config.tasks import FIRST_TASK
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
from engine.tasks.similarity import sentence_vectors
from engine.tasks.zero_shot import code_probabilities


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
    """The label whose description has the vector nearest to that of the text.

    Probabilities are those of suggestions from a codebook. Raises StudioError if fewer than two
    different labels are described.
    """
    codes = {code.label: code for code in map(_described, question.descriptions)}
    if len(codes) < 2:
        raise StudioError(
            "There is nothing to choose from yet.",
            "Describe at least two labels, each on its own line.",
        )
    vectors = sentence_vectors(model, [question.text])
    p = code_probabilities(model, vectors, tuple(codes.values()))[0]
    inputs = encode_question(model, question)
    labels = tuple(codes)
    chosen = [int(p.argmax())]
    answer = ranked_labels(FIRST_TASK, labels, torch.from_numpy(p), inputs, chosen)
    return answer.model_copy(update={"to": question.number})


def _described(line: str) -> Code:
    """“label: description” as a code."""
    label, colon, description = line.partition(": ")
    cut = label.strip()[:MAX_LABEL]
    return Code(label=cut or "–", definition=description.strip() if colon else "")


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
