"""What a fine-tuned checkpoint answers to a typed text.

Shapes: T tokens, C outputs.
"""

from collections.abc import Callable

import torch

from engine.data.store import Rows
from engine.errors import StudioError
from engine.explore.inputs import LONGEST, Inputs, inputs
from engine.explore.predictions import softmax
from engine.messages import Found, Guess, Likely, Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.spec.task import HeadKind
from engine.tasks import learner_of
from engine.tasks.predicting import go_through

BATCH = 8  # windows at a time


@torch.inference_mode()
def predict(checkpoint: Checkpoint, question: Predict) -> Predicted:
    """The answer of the head that fine-tuning added.

    Raises StudioError where the model has none.
    """
    if checkpoint.network.task is None:
        raise StudioError(
            "This model was not fine-tuned: it has no head that answers.",
            "Choose one that was fine-tuned, or look at its masked words.",
        )
    given = inputs(checkpoint, question)
    answer = ANSWERS[checkpoint.network.heads.kind]
    return answer(checkpoint, given, question).model_copy(update={"to": question.number})


def _classes(checkpoint: Checkpoint, given: Inputs, _: Predict) -> Predicted:
    """All classes, most likely first."""
    logits = checkpoint.network.logits(given.tokens, given.segments)  # [1, C]
    probabilities = softmax(logits)[0]  # [C]
    order = probabilities.argsort(descending=True, stable=True).tolist()
    labels = checkpoint.labels
    ranked = tuple(Likely(label=labels[n], probability=float(probabilities[n])) for n in order)
    return Predicted(
        head="classes",
        tokens=given.described,
        cut=given.cut,
        guesses=(Guess(first=0, last=len(given.described) - 1, ranked=ranked),),
    )


def _answer(checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
    """The best spans of the second text, read in windows; none where no answer is preferred."""
    if not question.text.strip() or not (question.pair or "").strip():
        raise StudioError(
            "This model finds the answer to a question in a passage.",
            "Type a question as the text, and a passage that may answer it as the second text.",
        )
    assert question.pair is not None
    learner = learner_of(checkpoint)
    assert learner is not None
    longest = min(checkpoint.spec.positions, LONGEST)
    rows = Rows([question.text], [question.pair])
    said = go_through(checkpoint, learner, rows, longest, BATCH).answers()[0]
    return Predicted(
        head="answer",
        tokens=given.described,
        cut=given.cut,
        found=tuple(Found.model_validate(one) for one in said["candidates"]),
        value=said["no_answer"],
        answered=bool(said["answer"]),
    )


Answer = Callable[[Checkpoint, Inputs, Predict], Predicted]
ANSWERS: dict[HeadKind, Answer] = {"classes": _classes, "answer": _answer}
