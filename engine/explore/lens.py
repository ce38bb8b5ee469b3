"""What would be guessed at a place after each layer.

Shapes: T tokens, N places, D width, L layers, V vocabulary.
"""

import time

import torch

from engine.errors import StudioError
from engine.explore.inputs import inputs
from engine.explore.predictions import logarithms, ranked, seen, word_head
from engine.explore.scores import place_score
from engine.messages.answers import Height, Traced
from engine.messages.questions import Trace
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase

MOST = 24  # places


@torch.inference_mode()
def trace(checkpoint: Checkpoint, question: Trace) -> Traced:
    """The guesses at the embeddings and after every layer; `Traced` says how.

    In a left-to-right model what is guessed at a place is read from the vector before it.

    Raises StudioError where the model has no head for masked words, or there is no such place.
    """
    began = time.perf_counter()
    head = word_head(checkpoint)
    given = inputs(checkpoint, question)
    count, causal = len(given.described), checkpoint.network.spec.causal
    places = tuple(sorted(set(question.places)))[:MOST]
    if not places or places[0] < int(causal) or places[-1] >= count:
        raise StudioError(
            phrase("There is no such place in the text."), phrase("Hide or pick one of its tokens.")
        )
    read = [place - causal for place in places]
    tokens = seen(checkpoint, given)
    encoded = checkpoint.network.encoder(tokens, given.segments, keep_hidden=True)
    heights = []
    for vectors in encoded.hidden:  # L + 1 of [1, T, D]
        logs = logarithms(head(vectors[0, read]))  # [N, V]
        actual = tuple(
            None
            if given.described[place].id == checkpoint.tokenizer.mask
            else place_score(checkpoint, row, place, given.described[place].id)
            for row, place in zip(logs, places, strict=True)
        )
        guesses = ranked(checkpoint, logs.exp(), places, question.top)
        heights.append(Height(guesses=guesses, actual=actual))
    return Traced(
        to=question.number,
        tokens=given.described,
        places=places,
        heights=tuple(heights),
        milliseconds=(time.perf_counter() - began) * 1000,
    )
