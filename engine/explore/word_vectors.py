"""Vectors of one word in several texts, compared in every layer.

Shapes: T tokens, D hidden size, L layers, N occurrences of the word.
"""

import re

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.errors import StudioError
from engine.messages.explore.text import Token
from engine.messages.explore.word_vectors import CompareWord, WordCompared, WordLayer, WordPlace
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.serving.quantization_check import TEXTS
from engine.tasks.finite import finite
from engine.tasks.inputs import typed

MAX_TEXTS, MAX_PLACES = 100, 50
RANDOM_PAIRS = 1_000
SEED = 7


@torch.inference_mode()
def compare(checkpoint: Checkpoint, question: CompareWord) -> WordCompared:
    """Cosines between the occurrences of a word, with its static embedding, and of random pairs.

    Random pairs are tokens of different texts, of these and of some built-in ones.

    Raises StudioError if no text has the word.
    """
    word = question.word.strip()
    texts = question.texts[:MAX_TEXTS]
    places, vectors, static, every = list[WordPlace](), list[Tensor](), list[Tensor](), []
    embedding = checkpoint.network.encoder.embeddings.token.weight
    for number, text in enumerate(texts):
        tokens, hidden = _hidden(checkpoint, text)
        every.append(_ordinary(tokens, hidden))
        for start, end in find_occurrences(word, text):
            inside = [
                n for n, t in enumerate(tokens) if not t.special and t.start < end and t.end > start
            ]
            if inside and len(places) < MAX_PLACES:
                places.append(WordPlace(text=number, start=start, end=end))
                vectors.append(hidden[:, inside].mean(1))  # [L + 1, D]
                ids = torch.tensor([tokens[n].id for n in inside], device=embedding.device)
                static.append(embedding[ids].mean(0))  # [E]
    if not places:
        raise StudioError(
            phrase("No text contains the word “{word}”.", word=word),
            phrase("Select a word of the text, or type another one."),
        )
    for text, pair in TEXTS:
        every.append(_ordinary(*_hidden(checkpoint, f"{text} {pair or ''}".strip())))
    shown = torch.stack(vectors, 1)  # [L + 1, N, D]
    rows = torch.stack(static) if static[0].size(-1) == shown.size(-1) else None
    random = random_cosines(every)
    found = {place.text for place in places}
    return WordCompared(
        to=question.number,
        word=word,
        texts=texts,
        places=tuple(places),
        layers=tuple(
            _word_layer(layer, rows, mean) for layer, mean in zip(shown, random, strict=True)
        ),
        missing=tuple(number for number in range(len(texts)) if number not in found),
    )


def find_occurrences(word: str, text: str) -> list[tuple[int, int]]:
    """Occurrences of a whole word, ignoring case."""
    if not word:
        return []
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


def random_cosines(texts: list[Tensor]) -> list[float]:
    """Mean cosines of random pairs of tokens of different texts, one per layer.

    Args:
        texts: float [L + 1, T, D] each.
    """
    rng = np.random.default_rng(SEED)
    some = [text for text in texts if text.size(1)]
    if len(some) < 2:
        return [float("nan")] * (texts[0].size(0) if texts else 0)
    counts = np.array([text.size(1) for text in some])
    first = rng.choice(len(some), RANDOM_PAIRS, p=counts / counts.sum())
    second = (first + rng.integers(1, len(some), RANDOM_PAIRS)) % len(some)
    ends = []
    for chosen in (first, second):
        tokens = rng.integers(0, counts[chosen])
        ends.append(torch.stack([some[t][:, n] for t, n in zip(chosen, tokens, strict=True)], 1))
    means: list[float] = F.cosine_similarity(ends[0], ends[1], dim=-1).mean(1).tolist()
    return means


def _hidden(checkpoint: Checkpoint, text: str) -> tuple[tuple[Token, ...], Tensor]:
    """The tokens, and float [L + 1, T, D]."""
    given = typed(checkpoint, text, None)
    encoded = checkpoint.network.encoder(given.tokens, given.segments, keep_hidden=True)
    return given.described, finite(torch.cat(encoded.hidden)).cpu()


def _ordinary(tokens: tuple[Token, ...], hidden: Tensor) -> Tensor:
    return hidden[:, [n for n, token in enumerate(tokens) if not token.special]]


def _word_layer(vectors: Tensor, static: Tensor | None, random: float) -> WordLayer:
    """Cosines in one layer: float [N, D], and the static rows."""
    unit = F.normalize(vectors, dim=-1)
    cosines = (unit @ unit.T).clamp(-1, 1)
    to_static: list[float] = []
    if static is not None:
        to_static = F.cosine_similarity(vectors, static.cpu(), dim=-1).tolist()
    return WordLayer(
        cosines=tuple(tuple(row) for row in cosines.tolist()),
        static=tuple(to_static),
        random=random,
    )
