"""Vectors of one word in several texts, compared in every layer, and their nearest neighbours.

Shapes: T tokens, D hidden size, L layers, N occurrences of the word or words, V vocabulary.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.explore.over_texts import Arrays, ArrayStore, compute_texts
from engine.messages.explore.text import Token
from engine.messages.explore.word_vectors import (
    CompareWord,
    FindTokens,
    FindWords,
    NearToken,
    NearWord,
    TokensFound,
    WordCompared,
    WordLayer,
    WordPlace,
    WordsFound,
)
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.serving.quantization_check import TEXTS
from engine.tasks.finite import require_finite
from engine.tasks.inputs import encode_text

MAX_TEXTS, MAX_OCCURRENCES = 100, 50
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
    occurrences, vectors, static = list[WordPlace](), list[Tensor](), list[Tensor]()
    tokens_of_texts = list[Tensor]()
    embedding = checkpoint.network.encoder.embeddings.token.weight
    for index, text in enumerate(texts):
        tokens, hidden = hidden_states(checkpoint, text)
        tokens_of_texts.append(_ordinary(tokens, hidden))
        for start, end in find_occurrences(word, text):
            indices = tokens_between(tokens, start, end)
            if indices and len(occurrences) < MAX_OCCURRENCES:
                occurrences.append(WordPlace(text=index, start=start, end=end))
                vectors.append(hidden[:, indices].mean(1))  # [L + 1, D]
                ids = torch.tensor([tokens[n].id for n in indices], device=embedding.device)
                static.append(embedding[ids].mean(0))  # [E]
    if not occurrences:
        raise StudioError(
            "No text contains the word “{word}”.",
            "Select a word of the text, or type another one.",
            word=word,
        )
    for text, pair in TEXTS:
        tokens_of_texts.append(
            _ordinary(*hidden_states(checkpoint, f"{text} {pair or ''}".strip()))
        )
    shown = torch.stack(vectors, 1)  # [L + 1, N, D]
    rows = torch.stack(static) if static[0].size(-1) == shown.size(-1) else None
    random = random_cosines(tokens_of_texts)
    with_word = {occurrence.text for occurrence in occurrences}
    return WordCompared(
        to=question.number,
        word=word,
        texts=texts,
        places=tuple(occurrences),
        layers=tuple(
            _word_layer(layer, rows, mean) for layer, mean in zip(shown, random, strict=True)
        ),
        missing=tuple(index for index in range(len(texts)) if index not in with_word),
    )


def tokens_between(tokens: Sequence[Token], start: int, end: int, segment: int = 0) -> list[int]:
    """Indices of the tokens that share characters with a span of the first text or the second."""
    return [
        n
        for n, token in enumerate(tokens)
        if not token.special
        and token.segment == segment
        and token.start < end
        and token.end > start
    ]


def hidden_states(
    checkpoint: Checkpoint, text: str, pair: str | None = None, layer: int | None = None
) -> tuple[tuple[Token, ...], Tensor]:
    """The tokens, and float [L + 1, T, D], or of one layer, at most the last, [1, T, D]."""
    inputs = encode_text(checkpoint, text, pair)
    hidden = checkpoint.network.encoder(inputs.tokens, inputs.segments, keep_hidden=True).hidden
    if layer is not None:
        hidden = hidden[min(layer, len(hidden) - 1) :][:1]
    return inputs.records, require_finite(torch.cat(hidden)).cpu()


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
    usable = [text for text in texts if text.size(1)]
    if len(usable) < 2:
        return [float("nan")] * (texts[0].size(0) if texts else 0)
    counts = np.array([text.size(1) for text in usable])
    first = rng.choice(len(usable), RANDOM_PAIRS, p=counts / counts.sum())
    second = (first + rng.integers(1, len(usable), RANDOM_PAIRS)) % len(usable)
    sides = []
    for chosen in (first, second):
        tokens = rng.integers(0, counts[chosen])
        sides.append(torch.stack([usable[t][:, n] for t, n in zip(chosen, tokens, strict=True)], 1))
    means: list[float] = F.cosine_similarity(sides[0], sides[1], dim=-1).mean(1).tolist()
    return means


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


# ── nearest neighbours ───────────────────────────────────────────────────────────────────────


@torch.inference_mode()
def find_tokens(checkpoint: Checkpoint, question: FindTokens) -> TokensFound:
    """Find the nearest tokens. Raises StudioError if the word is missing or rows are narrower."""
    vector = word_vector(checkpoint, question)
    table = checkpoint.network.encoder.embeddings.token.weight[: checkpoint.tokenizer.size]
    if table.size(1) != len(vector):
        raise StudioError(
            "The token embedding of this model is narrower than its layers.",
            "Compare with words of the chosen texts instead.",
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
    """Find the words of texts nearest to a word; `emit` gets the nearest ones so far.

    Raises StudioError if the word is missing.
    """
    texts = typed_pairs(load_rows(question.texts))
    query = F.normalize(word_vector(checkpoint, question), dim=0).numpy()  # [D]
    best, count = list[NearWord](), 0

    def compute(start: int, stop: int) -> Arrays:
        return encode_words(checkpoint, texts[start:stop], question.layer)

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        nonlocal best, count
        if not first:
            best, count = [], 0
        count += len(arrays["vectors"])
        words = [*best, *_nearest(arrays, first, texts, query, question)]
        best = sorted(words, key=lambda word: (-word.cosine, word.row, word.start))[: question.top]
        if done < len(texts):
            emit(answer(done))

    def answer(done: int) -> WordsFound:
        return WordsFound(
            to=question.number, done=done, total=len(texts), words=tuple(best), vectors=count
        )

    compute_texts(ArrayStore(question), len(texts), compute, on_part)
    return answer(len(texts))


@torch.inference_mode()
def word_vector(checkpoint: Checkpoint, question: FindTokens | FindWords) -> Tensor:
    """The mean of the vectors of the word's tokens, float [D]."""
    tokens, hidden = hidden_states(checkpoint, question.text, None, question.layer)
    indices = tokens_between(tokens, question.start, question.end)
    if not indices:
        raise StudioError(
            "The model does not read this word: its text is truncated before it.",
            "Choose another occurrence of the word.",
        )
    return hidden[0, indices].mean(0)


@torch.inference_mode()
def encode_words(
    checkpoint: Checkpoint, texts: Sequence[tuple[str, str | None]], layer: int
) -> Arrays:
    """Encode all words. counts: [texts], number of words; vectors: float16 [N, D], means over their
    tokens; places: int [N, 3], index in the pair, first and last character."""
    counts, vectors, positions = list[int](), list[Tensor](), list[tuple[int, int, int]]()
    for text, pair in texts:
        tokens, hidden = hidden_states(checkpoint, text, pair, layer)
        words: dict[tuple[int, int], list[int]] = {}
        for index, token in enumerate(tokens):
            if not token.special and token.word is not None:
                words.setdefault((token.segment, token.word), []).append(index)
        counts.append(len(words))
        for (segment, _), indices in words.items():
            vectors.append(hidden[0, indices].mean(0))
            positions.append((segment, tokens[indices[0]].start, tokens[indices[-1]].end))
    size = checkpoint.spec.hidden_size
    stacked = torch.stack(vectors) if vectors else torch.zeros(0, size)
    return {
        "counts": np.array(counts, np.int64),
        "vectors": stacked.numpy().astype(np.float16),
        "places": np.array(positions, np.int64).reshape(-1, 3),
    }


def _nearest(
    arrays: Arrays,
    first: int,
    texts: Sequence[tuple[str, str | None]],
    query: np.ndarray,
    question: FindWords,
) -> list[NearWord]:
    """The nearest of some words; `first` is the index of their first text."""
    vectors = arrays["vectors"].astype(np.float32)
    cosines = vectors @ query / np.maximum(np.linalg.norm(vectors, axis=1), 1e-12)
    owners = first + np.repeat(np.arange(len(arrays["counts"])), arrays["counts"])
    words = list[NearWord]()
    for index in np.argsort(-cosines, kind="stable"):
        if len(words) == question.top:
            break
        row, (segment, start, end) = int(owners[index]), arrays["places"][index].tolist()
        text = texts[row][segment] or ""
        if text != question.text or start >= question.end or end <= question.start:
            cosine = float(cosines[index])
            words.append(NearWord(row=row, text=text, start=start, end=end, cosine=cosine))
    return words
