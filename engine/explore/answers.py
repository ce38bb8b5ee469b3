"""What a fine-tuned checkpoint answers to a typed text.

Shapes: T tokens, C outputs.
"""

from collections.abc import Callable
from statistics import fmean

import torch

from engine.data.store import Rows
from engine.data.tags import Span, are_spans, spans
from engine.data.words import typed_words
from engine.errors import StudioError
from engine.explore.inputs import LONGEST, Inputs, inputs
from engine.explore.predictions import softmax
from engine.messages import Found, Guess, Likely, Predict, Predicted, Token
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


def _tags(checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
    """The spans of the first text, or a tag for each of its words; of those that are not cut off.

    A word's tag is that of its first piece. A span is as likely as its words are in the mean.
    """
    logits = checkpoint.network.logits(given.tokens, given.segments)  # [1, T, C]
    best = softmax(logits)[0].max(-1)  # [T]
    chances, numbers = best.values.tolist(), best.indices.tolist()
    begins = {t.start: n for n, t in reversed([*enumerate(given.described)]) if _is_text(t)}
    words = [(a, b, begins[a]) for a, b in typed_words(question.text) if a in begins]
    tags = [checkpoint.labels[numbers[piece]] for _, _, piece in words]
    if are_spans(checkpoint.labels):
        found = spans(tags)
    else:
        found = [Span(tag, n, n + 1) for n, tag in enumerate(tags)]
    return Predicted(
        head="tags",
        tokens=given.described,
        cut=given.cut,
        found=tuple(
            Found(
                text=question.text[words[span.start][0] : words[span.end - 1][1]],
                start=words[span.start][0],
                end=words[span.end - 1][1],
                probability=fmean(chances[piece] for _, _, piece in words[span.start : span.end]),
                label=span.type,
            )
            for span in found
        ),
    )


def _is_text(token: Token) -> bool:
    return not token.special and token.segment == 0 and token.start < token.end


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
ANSWERS: dict[HeadKind, Answer] = {"classes": _classes, "tags": _tags, "answer": _answer}
