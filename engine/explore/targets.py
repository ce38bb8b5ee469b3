"""One logit of a text, or the difference of two: the target of attributions and edits.

A softmax ties every probability to all logits, so a word that lowers another class would seem to
support this one; the logit of a class is independent of the others. Shapes: B inputs, T tokens, C
outputs, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from engine.config.tasks import get_head
from engine.errors import StudioError
from engine.explore.fill_mask import mlm_head, shown_tokens
from engine.messages.explore.attribution import AboutTarget, Explained
from engine.models.checkpoint import Checkpoint
from engine.models.probe import select_layers
from engine.tasks import checkpoint_learner
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs, encode_text

ANSWER_BOUNDARIES = ("start", "end")


class Target(NamedTuple):
    """An input of the network, and the selected logit."""

    inputs: Inputs
    texts: tuple[str, str]
    names: tuple[str, ...]  # of the outputs of a task; empty for a number and for tokens
    output_index: int
    contrast_index: int | None
    position: int | None  # index of the token; None: one logit for the whole input
    is_token: bool  # True for a vocabulary token at a mask
    explained: Explained


def find_target(checkpoint: Checkpoint, question: AboutTarget) -> Target:
    """The target of a question.

    Raises StudioError if the model has no such head, class, token or position.
    """
    if question.head == "mlm":
        return _token_target(checkpoint, question)
    learner = checkpoint_learner(checkpoint)
    if learner is None:
        raise StudioError(
            "This model has not been fine-tuned: it has no task head.", "Choose a fine-tuned model."
        )
    head = get_head(learner.task.kind)
    if head.pools:
        raise StudioError(
            "A sentence encoder outputs a vector, so it has no logit to explain.",
            "Compare texts by their similarity instead.",
        )
    if head.labels_spans:
        raise StudioError(
            "The score of a span depends on two words, so that there is no single logit to "
            "explain.",
            "Explain a token at a mask, or edit the text and compare its spans.",
        )
    if head.scores_choices:
        return _choice_target(checkpoint, question)
    names = ANSWER_BOUNDARIES if head.finds_spans else learner.labels
    inputs = encode_text(checkpoint, question.text, question.pair, question.masked)
    logits = outputs(checkpoint, inputs.tokens, inputs.segments)[0]  # [C], or [T, C]
    position = None
    if head.reads_tokens:
        position = _position(inputs, question, logits, names if head.finds_spans else ())
        logits = logits[position]
    output = _find_index(question.label, names) if question.label else int(logits.argmax())
    contrast = _find_index(question.against, names) if question.against else None
    label = names[output] if names else ""
    texts = question.text, question.pair or ""
    explained = _build_explained(label, question.against, position, logits, output, contrast)
    return Target(inputs, texts, names, output, contrast, position, False, explained)


def scores(checkpoint: Checkpoint, target: Target, tokens: Tensor, segments: Tensor) -> Tensor:
    """The score of the target in other inputs, float [B]; with a gradient if grad mode is on.

    Args:
        tokens: int64 [B, T], of the same length as the target's.
        segments: int64 [B, T].
    """
    if target.is_token:
        assert target.position is not None
        logits = _mlm_logits(checkpoint, tokens, segments, target.position)  # [B, V]
    else:
        logits = outputs(checkpoint, tokens, segments)  # [B, C] or [B, T, C]
        if target.position is not None:
            logits = logits[:, target.position]
    logit = logits[:, target.output_index]
    return logit if target.contrast_index is None else logit - logits[:, target.contrast_index]


def outputs(checkpoint: Checkpoint, tokens: Tensor, segments: Tensor) -> Tensor:
    """Output of the task head, float32 [B, C] or [B, T, C].

    For a probe, the encoder is run here: `Network.logits` would run it without gradients.
    """
    network = checkpoint.network
    if network.probe is None:
        return require_finite(network.logits(tokens, segments))
    encoded = network.encoder(tokens, segments, keep_hidden=True)
    return require_finite(
        network.logits(select_layers(encoded.hidden, network.probe.layers), segments)
    )


def word_token_indices(inputs: Inputs) -> list[list[int]]:
    """Token indices of each word, in input order.

    Special tokens and masked words are left out.
    """
    words: dict[tuple[int, int], list[int]] = {}
    for index, token in enumerate(inputs.records):
        if not token.special and token.word is not None and index not in inputs.masked:
            words.setdefault((token.segment, token.word), []).append(index)
    return list(words.values())


def predict_label(checkpoint: Checkpoint, target: Target, tokens: Tensor, segments: Tensor) -> str:
    """The prediction at the target's position; empty for regression and for answer spans."""
    if target.is_token:
        assert target.position is not None
        logits = _mlm_logits(checkpoint, tokens, segments, target.position)[0]
        return checkpoint.tokenizer.token(int(logits[: checkpoint.tokenizer.size].argmax()))
    if not target.names or target.names == ANSWER_BOUNDARIES:
        return ""
    logits = outputs(checkpoint, tokens, segments)[0]
    return target.names[
        int((logits if target.position is None else logits[target.position]).argmax())
    ]


def _build_explained(
    label: str, contrast: str, position: int | None, logits: Tensor, output: int, other: int | None
) -> Explained:
    """The score of logit `output`, or of its difference to `other`; `logits` float [C] or [V]."""
    score = float(logits[output]) - (0.0 if other is None else float(logits[other]))
    return Explained(label=label, against=contrast, position=position, score=score)


def _find_index(label: str, names: tuple[str, ...]) -> int:
    if label not in names:
        raise StudioError(
            "This model does not know the class “{label}”.",
            "Choose one of its classes.",
            label=label,
        )
    return names.index(label)


def _position(inputs: Inputs, question: AboutTarget, logits: Tensor, ends: tuple[str, ...]) -> int:
    """The token of the target: the most likely start or end of an answer, or the first of a word.

    Args:
        logits: [T, C].
    """
    infos = inputs.records
    if ends and question.position is None:
        passage = [n for n, token in enumerate(infos) if token.segment and not token.special]
        if not passage:
            raise StudioError(
                "There is no passage to find an answer in.", "Type the passage as the second text."
            )
        output = _find_index(question.label or ends[0], ends)
        return max(passage, key=lambda n: float(logits[n, output]))
    position = question.position
    if position is None:
        position = next((n for n, token in enumerate(infos) if not token.special), -1)
    if not 0 <= position < len(infos) or infos[position].special:
        raise StudioError("There is no word at this position.", "Select a word of the text.")
    if ends:
        return position
    word = infos[position]
    return next(n for n, t in enumerate(infos) if (t.segment, t.word) == (word.segment, word.word))


def _choice_target(checkpoint: Checkpoint, question: AboutTarget) -> Target:
    """The choice that `question.label` names, or the best-scoring one, ends the second text."""
    choices = [choice.strip() for choice in question.endings if choice.strip()]
    if len(choices) < 2:
        raise StudioError("This model picks one of several choices.", "Type at least two choices.")
    options = (
        choices if not question.label else [choices[_find_index(question.label, tuple(choices))]]
    )
    best: Target | None = None
    for choice in options:
        pair = f"{question.pair or ''} {choice}".strip()
        inputs = encode_text(checkpoint, question.text, pair)
        logits = outputs(checkpoint, inputs.tokens, inputs.segments)[0]
        explained = _build_explained(choice, question.against, None, logits, 0, None)
        if best is None or explained.score > best.explained.score:
            best = Target(inputs, (question.text, pair), (), 0, None, None, False, explained)
    assert best is not None
    return best


def _token_target(checkpoint: Checkpoint, question: AboutTarget) -> Target:
    mlm_head(checkpoint)
    inputs = encode_text(checkpoint, question.text, question.pair, question.masked)
    inputs = inputs._replace(tokens=shown_tokens(checkpoint, inputs))
    position = (
        inputs.masked[0] if question.position is None and inputs.masked else question.position
    )
    if position is None or position not in inputs.masked:
        raise StudioError("No token is masked, so none is predicted.", "Mask a word first.")
    logits = _mlm_logits(checkpoint, inputs.tokens, inputs.segments, position)[0]  # [V]
    best = int(logits[: checkpoint.tokenizer.size].argmax())
    output = _vocabulary_id(checkpoint, question.label) if question.label else best
    contrast = _vocabulary_id(checkpoint, question.against) if question.against else None
    name = checkpoint.tokenizer.token
    contrast_label = "" if contrast is None else name(contrast)
    explained = _build_explained(name(output), contrast_label, position, logits, output, contrast)
    texts = question.text, question.pair or ""
    return Target(inputs, texts, (), output, contrast, position, True, explained)


def _mlm_logits(checkpoint: Checkpoint, tokens: Tensor, segments: Tensor, position: int) -> Tensor:
    """Logits over the vocabulary at a masked token, float [B, V]."""
    network, head = checkpoint.network, mlm_head(checkpoint)
    source = position - network.spec.is_causal  # a causal model predicts the next token
    if source < 0:
        raise StudioError(
            "A left-to-right model does not predict the first token.", "Mask a later word."
        )
    positions = torch.full((len(tokens), 1), source, device=tokens.device)
    return require_finite(head(network.encode_at(tokens, segments, positions)[:, 0]))


def _vocabulary_id(checkpoint: Checkpoint, label: str) -> int:
    """The id of a token as displayed, or of a word that is one token.

    Raises StudioError if the vocabulary has none.
    """
    tokenizer = checkpoint.tokenizer
    if tokenizer.token(tokenizer.id(label)) == label:
        return tokenizer.id(label)
    for index in range(tokenizer.size):
        if tokenizer.token(index) == label:
            return index
    # some vocabularies include the space before a word
    after = tokenizer.encode_offsets(f"a {label}")[0][1:]
    if len(after) == 1 and after[0] != tokenizer.unknown:
        return after[0]
    raise StudioError(
        "The vocabulary has no token “{label}”.", "Type a word that is one token.", label=label
    )
