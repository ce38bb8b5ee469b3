"""What a fine-tuned checkpoint predicts for a typed text.

Shapes: T tokens, C outputs.
"""

from collections.abc import Callable, Sequence
from statistics import fmean

import torch
from torch import Tensor

from engine.data.columns.tags import Span, are_spans, spans
from engine.data.columns.words import typed_words
from engine.data.datasets.store import Rows
from engine.errors import StudioError
from engine.explore.fill_mask import not_finite, softmax
from engine.explore.inputs import MAX_TOKENS, Inputs, inputs
from engine.messages.explore.prediction import Predict, Predicted, SpanPrediction
from engine.messages.explore.text import LabelProbability, Prediction, Token
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.spec.task import HeadKind
from engine.spec.tasks.regression import Regression
from engine.tasks import learner_of
from engine.tasks.predicting import go_through

BATCH = 8  # windows at a time


@torch.inference_mode()
def predict(checkpoint: Checkpoint, question: Predict) -> Predicted:
    """The prediction of the head that fine-tuning added.

    Raises StudioError where the model has none.
    """
    if checkpoint.network.task is None:
        raise StudioError(
            phrase("This model has not been fine-tuned: it has no task head."),
            phrase("Choose a fine-tuned model, or mask a word and look at the predictions."),
        )
    given = inputs(checkpoint, question)
    answer = ANSWERS[checkpoint.network.heads.kind]
    return answer(checkpoint, given, question).model_copy(update={"to": question.number})


def _classes(checkpoint: Checkpoint, given: Inputs, _: Predict) -> Predicted:
    """All classes, most likely first."""
    logits = checkpoint.network.logits(given.tokens, given.segments)  # [1, C]
    return _over_all("classes", checkpoint.labels, softmax(logits)[0], given)


def _labels(checkpoint: Checkpoint, given: Inputs, _: Predict) -> Predicted:
    """All labels, each with a probability of its own, most likely first."""
    logits = checkpoint.network.logits(given.tokens, given.segments)  # [1, C]
    probabilities = _finite(logits)[0].sigmoid()  # [C]
    return _over_all("labels", checkpoint.labels, probabilities, given)


def _number(checkpoint: Checkpoint, given: Inputs, _: Predict) -> Predicted:
    """The number, and between which the training rows had theirs, where that is known."""
    logits = checkpoint.network.logits(given.tokens, given.segments)  # [1, 1]
    learner = learner_of(checkpoint)
    task = None if learner is None else learner.task
    return Predicted(
        head="number",
        tokens=given.described,
        cut=given.cut,
        value=float(_finite(logits)[0, 0]),
        range=task.range if isinstance(task, Regression) else None,
    )


def _tags(checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
    """The spans of the first text, or a tag for each of its words; of those that are not cut off.

    A word's tag is that of its first token. A span is as likely as its words are in the mean.
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
        spans=tuple(
            SpanPrediction(
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


def _choices(checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
    """The endings, the one that fits best first; the second text is what each of them begins with.

    Raises StudioError where there are not two endings.
    """
    endings = tuple(ending.strip() for ending in question.endings if ending.strip())
    if len(endings) < 2:
        raise StudioError(
            phrase("This model chooses one of several endings."),
            phrase("Type at least two endings."),
        )
    learner = learner_of(checkpoint)
    assert learner is not None
    longest = min(checkpoint.spec.max_positions, MAX_TOKENS)
    begun = None if question.pair is None else [question.pair]
    rows = Rows([question.text], beginnings=begun, endings=[endings])
    said = go_through(checkpoint, learner, rows, longest, BATCH).answers()[0]
    shares = torch.tensor([said[f"p({number})"] for number in range(len(endings))])  # [E]
    return _over_all("choices", endings, _finite(shares), given)


def _over_all(
    head: HeadKind, names: Sequence[str], probabilities: Tensor, given: Inputs
) -> Predicted:
    """A prediction for the whole input with all names, most likely first."""
    order = probabilities.argsort(descending=True, stable=True).tolist()
    ranked = tuple(
        LabelProbability(label=names[n], probability=float(probabilities[n])) for n in order
    )
    whole = Prediction(first=0, last=len(given.described) - 1, ranked=ranked)
    return Predicted(head=head, tokens=given.described, cut=given.cut, predictions=(whole,))


def _finite(numbers: Tensor) -> Tensor:
    """The same as float32; damaged weights are named, not shown."""
    if not torch.isfinite(numbers).all():
        raise not_finite()
    return numbers.float()


def _answer(checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
    """The best spans of the second text, read in windows; none where no answer is preferred."""
    if not question.text.strip() or not (question.pair or "").strip():
        raise StudioError(
            phrase("This model finds the answer to a question in a passage."),
            phrase(
                "Type a question as the text, and a passage that may answer it as the second text."
            ),
        )
    assert question.pair is not None
    learner = learner_of(checkpoint)
    assert learner is not None
    longest = min(checkpoint.spec.max_positions, MAX_TOKENS)
    rows = Rows([question.text], [question.pair])
    said = go_through(checkpoint, learner, rows, longest, BATCH).answers()[0]
    return Predicted(
        head="answer",
        tokens=given.described,
        cut=given.cut,
        spans=tuple(SpanPrediction.model_validate(one) for one in said["candidates"]),
        value=said["no_answer"],
        answered=bool(said["answer"]),
    )


Answer = Callable[[Checkpoint, Inputs, Predict], Predicted]
ANSWERS: dict[HeadKind, Answer] = {
    "classes": _classes,
    "labels": _labels,
    "number": _number,
    "tags": _tags,
    "choices": _choices,
    "answer": _answer,
}
