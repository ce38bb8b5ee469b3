"""Nearest neighbours of the vector of a word: rows of the token embedding, or words of many texts.

Shapes: T tokens, N words, D hidden size, V vocabulary, L layers.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.data.datasets.text_sets import rows_of, typed_pairs
from engine.errors import StudioError
from engine.explore.over_texts import Arrays, ArrayStore, over_texts
from engine.messages.explore.text import Token
from engine.messages.explore.word_neighbours import (
    FindTokens,
    FindWords,
    NearToken,
    NearWord,
    TokensFound,
    WordsFound,
)
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.phrases import phrase
from engine.tasks.finite import finite
from engine.tasks.inputs import typed


@torch.inference_mode()
def find_tokens(checkpoint: Checkpoint, question: FindTokens) -> TokensFound:
    """Raises StudioError if the word is missing, or the rows are narrower than the layers."""
    vector = word_vector(checkpoint, question)
    table = checkpoint.network.encoder.embeddings.token.weight[: checkpoint.tokenizer.size]
    if table.size(1) != len(vector):
        raise StudioError(
            phrase("The token embedding of this model is narrower than its layers."),
            phrase("Compare with words of the chosen texts instead."),
        )
    cosines = F.cosine_similarity(table.float(), vector.to(table.device)[None])  # [V]
    best = cosines.topk(min(question.top, len(cosines)))
    names = checkpoint.tokenizer.tokens
    return TokensFound(
        to=question.number,
        rows=len(table),
        tokens=tuple(
            NearToken(token=names[number], cosine=cosine)
            for number, cosine in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ),
    )


def find_words(
    checkpoint: Checkpoint, question: FindWords, emit: Callable[[Answer], object]
) -> WordsFound:
    """The final answer; `emit` gets the nearest ones so far.

    Raises StudioError if the word is missing.
    """
    texts = typed_pairs(rows_of(question.texts))
    wanted = F.normalize(word_vector(checkpoint, question), dim=0).numpy()  # [D]
    best, count = list[NearWord](), 0

    def compute(start: int, stop: int) -> Arrays:
        return vectors_of_words(checkpoint, texts[start:stop], question.layer)

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        nonlocal best, count
        if not first:
            best, count = [], 0
        count += len(arrays["vectors"])
        found = [*best, *_nearest(arrays, first, texts, wanted, question)]
        best = sorted(found, key=lambda one: (-one.cosine, one.row, one.start))[: question.top]
        if done < len(texts):
            emit(answer(done))

    def answer(done: int) -> WordsFound:
        return WordsFound(
            to=question.number, done=done, total=len(texts), words=tuple(best), vectors=count
        )

    over_texts(ArrayStore(question), len(texts), compute, on_part)
    return answer(len(texts))


@torch.inference_mode()
def word_vector(checkpoint: Checkpoint, question: FindTokens | FindWords) -> Tensor:
    """The mean of the vectors of the word's tokens, float [D]."""
    tokens, hidden = _at_layer(checkpoint, question.text, None, question.layer)
    inside = [
        n
        for n, token in enumerate(tokens)
        if not token.special and token.start < question.end and token.end > question.start
    ]
    if not inside:
        raise StudioError(
            phrase("The model does not read this word: its text is truncated before it."),
            phrase("Choose another place of the word."),
        )
    return hidden[inside].mean(0)


@torch.inference_mode()
def vectors_of_words(
    checkpoint: Checkpoint, texts: Sequence[tuple[str, str | None]], layer: int
) -> Arrays:
    """counts: [texts], number of words; vectors: float16 [N, D], means over their tokens; places:
    int [N, 3], index in the pair, first and last character.
    """
    counts, vectors, places = list[int](), list[Tensor](), list[tuple[int, int, int]]()
    for text, pair in texts:
        tokens, hidden = _at_layer(checkpoint, text, pair, layer)
        words: dict[tuple[int, int], list[int]] = {}
        for number, token in enumerate(tokens):
            if not token.special and token.word is not None:
                words.setdefault((token.segment, token.word), []).append(number)
        counts.append(len(words))
        for (segment, _), inside in words.items():
            vectors.append(hidden[inside].mean(0))
            places.append((segment, tokens[inside[0]].start, tokens[inside[-1]].end))
    size = checkpoint.spec.hidden_size
    stacked = torch.stack(vectors) if vectors else torch.zeros(0, size)
    return {
        "counts": np.array(counts, np.int64),
        "vectors": stacked.numpy().astype(np.float16),
        "places": np.array(places, np.int64).reshape(-1, 3),
    }


def _at_layer(
    checkpoint: Checkpoint, text: str, pair: str | None, layer: int
) -> tuple[tuple[Token, ...], Tensor]:
    """The tokens, and float [T, D]; the last layer if there is no such layer."""
    given = typed(checkpoint, text, pair)
    encoded = checkpoint.network.encoder(given.tokens, given.segments, keep_hidden=True)
    hidden = encoded.hidden[min(layer, len(encoded.hidden) - 1)][0]
    return given.described, finite(hidden).float().cpu()


def _nearest(
    arrays: Arrays,
    first: int,
    texts: Sequence[tuple[str, str | None]],
    wanted: np.ndarray,
    question: FindWords,
) -> list[NearWord]:
    """The nearest of some words; `first` is the index of their first text."""
    vectors = arrays["vectors"].astype(np.float32)
    cosines = vectors @ wanted / np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    owners = first + np.repeat(np.arange(len(arrays["counts"])), arrays["counts"])
    found = list[NearWord]()
    for number in np.argsort(-cosines, kind="stable"):
        if len(found) == question.top:
            break
        row, (segment, start, end) = int(owners[number]), arrays["places"][number].tolist()
        text = texts[row][segment] or ""
        if text != question.text or start >= question.end or end <= question.start:
            cosine = float(cosines[number])
            found.append(NearWord(row=row, text=text, start=start, end=end, cosine=cosine))
    return found
