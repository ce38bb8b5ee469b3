"""Change of a logit under edits of the text, one edit at a time."""

import torch

from engine.errors import StudioError
from engine.explore.fill_mask import fill_mask
from engine.explore.targets import Target, find_target, predict_label, scores
from engine.messages.explore.attribution import (
    Edit,
    EditScored,
    EditsScored,
    ScoreEdits,
    SuggestWords,
    WordsSuggested,
)
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.text import Token
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.inputs import encode_text

MAX_EDITS = 100
EXTRA_PREDICTIONS = 10  # since many predictions are not words


@torch.inference_mode()
def score(checkpoint: Checkpoint, question: ScoreEdits) -> EditsScored:
    """The score of the explained logit in every edited text.

    Masked words and the token of the logit move with their characters; an edit that touches that
    token has a problem instead of a score. Raises StudioError if there is no such logit.
    """
    if len(question.edits) > MAX_EDITS:
        raise StudioError(
            "There are {count} edits.",
            "Score at most {limit} at a time.",
            count=len(question.edits),
            limit=MAX_EDITS,
        )
    target = find_target(checkpoint, question)
    inputs = target.inputs
    return EditsScored(
        to=question.number,
        explained=target.explained,
        predicted=predict_label(checkpoint, target, inputs.tokens, inputs.segments),
        edits=tuple(_score_edit(checkpoint, question, target, edit) for edit in question.edits),
    )


def suggest(checkpoint: Checkpoint, question: SuggestWords) -> WordsSuggested:
    """The top predictions of the MLM head with the characters replaced by one mask.

    Raises StudioError if the model has no MLM head.
    """
    tokenizer = checkpoint.tokenizer
    texts = [question.text, question.pair]
    original = (texts[question.segment] or "")[question.start : question.end].casefold()
    mask = Edit(start=question.start, end=question.end, text=tokenizer.token(tokenizer.mask))
    texts[question.segment] = apply_edit(texts[question.segment] or "", mask)
    count = 4 * question.top + EXTRA_PREDICTIONS
    masked = FillMask(checkpoint=question.checkpoint, text=texts[0] or "", pair=texts[1], top=count)
    filled = fill_mask(checkpoint, masked).predictions
    words = [prediction.label.strip() for prediction in filled[0].ranked] if filled else []
    suggestions = [word for word in words if word.isalpha() and word.casefold() != original]
    return WordsSuggested(to=question.number, words=tuple(suggestions[: question.top]))


def _score_edit(
    checkpoint: Checkpoint, question: ScoreEdits, target: Target, edit: Edit
) -> EditScored:
    texts = [question.text, question.pair]
    texts[edit.segment] = apply_edit(texts[edit.segment] or "", edit)
    text, pair = texts[0] or "", texts[1]
    answer = EditScored(text=text, pair=pair)
    new_texts = list(target.texts)
    new_texts[edit.segment] = apply_edit(new_texts[edit.segment], edit)
    plain = encode_text(checkpoint, new_texts[0], new_texts[1] or None)
    positions = (
        token_index_after(target.inputs.records[n], plain.records, edit) for n in question.masked
    )
    masked = tuple(n for n in positions if n >= 0)
    inputs = encode_text(checkpoint, new_texts[0], new_texts[1] or None, masked)
    position = target.position
    if position is not None:
        position = token_index_after(target.inputs.records[position], inputs.records, edit)
        if position < 0 or (target.is_token and position not in inputs.masked):
            problem = phrase("This edit changes the token that is explained.")
            return answer.model_copy(update={"problem": problem})
    edited = target._replace(inputs=inputs, position=position)
    score_after = float(scores(checkpoint, edited, inputs.tokens, inputs.segments))
    return answer.model_copy(
        update={
            "score": score_after,
            "predicted": predict_label(checkpoint, edited, inputs.tokens, inputs.segments),
        }
    )


def apply_edit(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def token_index_after(token: Token, tokens: tuple[Token, ...], edit: Edit) -> int:
    """Index of the same token after an edit, by its characters; -1 if the edit changed it."""
    start, end = token.start, token.end
    if token.segment == edit.segment:
        if start < edit.end and end > edit.start:
            return -1
        if start >= edit.end:
            shift = len(edit.text) - (edit.end - edit.start)
            start, end = start + shift, end + shift
    span = token.segment, start, end
    return next(
        (
            index
            for index, other in enumerate(tokens)
            if not other.special and (other.segment, other.start, other.end) == span
        ),
        -1,
    )
