"""The logit lens: predictions at a position after each layer.

Shapes: T tokens, N positions, D hidden size, L layers, V vocabulary.
"""

import time

import torch

from engine.errors import StudioError
from engine.explore.fill_mask import log_probabilities, mlm_head, ranked, shown_tokens
from engine.explore.pseudo_perplexity import token_score
from engine.messages.explore.lens import ApplyLens, LensApplied, LensLayer
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.inputs import inputs

MAX_POSITIONS = 24


@torch.inference_mode()
def apply(checkpoint: Checkpoint, question: ApplyLens) -> LensApplied:
    """The predictions at the embeddings and after every layer; see `LensApplied`.

    In a left-to-right model the prediction at a position is read from the vector before it.

    Raises StudioError if the model has no MLM head, or the position does not exist.
    """
    began = time.perf_counter()
    head = mlm_head(checkpoint)
    given = inputs(checkpoint, question)
    count, causal = len(given.described), checkpoint.network.spec.is_causal
    positions = tuple(sorted(set(question.positions)))[:MAX_POSITIONS]
    if not positions or positions[0] < int(causal) or positions[-1] >= count:
        raise StudioError(
            phrase("There is no such position in the text."),
            phrase("Mask or select one of its tokens."),
        )
    read = [position - causal for position in positions]
    tokens = shown_tokens(checkpoint, given)
    encoded = checkpoint.network.encoder(tokens, given.segments, keep_hidden=True)
    layers = []
    for vectors in encoded.hidden:  # L + 1 of [1, T, D]
        logs = log_probabilities(head(vectors[0, read]))  # [N, V]
        actual = tuple(
            None
            if given.described[position].id == checkpoint.tokenizer.mask
            else token_score(checkpoint, row, position, given.described[position].id)
            for row, position in zip(logs, positions, strict=True)
        )
        predictions = ranked(checkpoint, logs.exp(), positions, question.top)
        layers.append(LensLayer(predictions=predictions, actual=actual))
    return LensApplied(
        to=question.number,
        tokens=given.described,
        positions=positions,
        layers=tuple(layers),
        milliseconds=(time.perf_counter() - began) * 1000,
    )
