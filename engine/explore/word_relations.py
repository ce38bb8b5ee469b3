"""Words in a file of static vectors, in the model's embedding rows and in its layers.

Shapes: L layers, D hidden size, E width of the token embedding, V its rows.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.data.word_vectors.spaces import Searched, Vector, make_space, relate_in_file
from engine.data.word_vectors.store import TINY, WordVectors
from engine.explore.word_vectors import MAX_TEXTS, find_occurrences, hidden_states, tokens_between
from engine.messages.explore.word_relations import RelateWords, WordSpace, WordsRelated
from engine.messages.explore.word_vectors import WordPlace
from engine.models.checkpoint import Checkpoint
from engine.tasks.inputs import encode_text

MAX_SHOWN = 6  # occurrences of a single word


@torch.inference_mode()
def relate(checkpoint: Checkpoint, question: RelateWords) -> WordsRelated:
    """Cosines and neighbours of words in the file, the rows, and the layers.

    Raises StudioError if the word vectors are missing or damaged.
    """
    words, signs = question.words, question.signs
    spaces = list[WordSpace]()
    if question.vectors is not None:
        file = WordVectors(question.vectors)
        spaces.append(relate_in_file(file, words, signs, question.top))
    rows = EmbeddingRows(checkpoint)
    ids = [rows.ids(word) for word in words]
    own = [tokens[0] for tokens in ids if len(tokens) == 1]
    spaces.append(
        make_space(
            words,
            [rows.unit(tokens) for tokens in ids],
            signs,
            rows.searched,
            own,
            question.top,
            name="rows",
            read_as=tuple(" ".join(rows.names[n] for n in tokens) for tokens in ids if tokens),
        )
    )
    texts = question.texts[:MAX_TEXTS]
    found = _occurrences(checkpoint, words, texts)
    last = checkpoint.spec.layers

    def add(units: list[Vector | None], layer: int, place: WordPlace | None = None) -> None:
        is_searched = layer == min(question.layer, last) and rows.is_as_wide
        searched = rows.searched if is_searched else None
        space = make_space(
            words, units, signs, searched, own, question.top, name="layer", layer=layer, place=place
        )
        spaces.append(space)

    if len(words) == 1:
        layer = min(question.layer, last)
        for place, vectors in found[0][:MAX_SHOWN]:
            add([_unit(vectors[layer])], layer, place)
    else:
        means = [torch.stack([v for _, v in own]).mean(0) if own else None for own in found]
        for layer in range(last + 1):
            add([None if mean is None else _unit(mean[layer]) for mean in means], layer)
    return WordsRelated(
        to=question.number, words=words, signs=signs, texts=texts, spaces=tuple(spaces)
    )


class EmbeddingRows:
    """The rows of the token embedding, float32 [V, E]; a word has the mean of its rows."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        weight = checkpoint.network.encoder.embeddings.token.weight
        self._checkpoint = checkpoint
        self._table = weight[: checkpoint.tokenizer.size].detach().float()
        self.is_as_wide = self._table.size(1) == checkpoint.spec.hidden_size
        self.names = checkpoint.tokenizer.tokens
        self.searched = Searched(self._cosines_to, self.names.__getitem__)

    def ids(self, word: str) -> list[int]:
        """Ids of the tokens of a word within a text, which differ from those at its beginning in
        byte-level vocabularies; none if a part of the word is unknown."""
        text = f"a {word}"
        tokens = encode_text(self._checkpoint, text, None).records
        ids = [tokens[n].id for n in tokens_between(tokens, 2, len(text))]
        return [] if self._checkpoint.tokenizer.unknown in ids else ids

    def unit(self, ids: list[int]) -> Vector | None:
        return _unit(self._table[ids].mean(0)) if ids else None

    def _cosines_to(self, query: Vector) -> Vector:
        vector = torch.from_numpy(query).to(self._table.device)
        cosines: Vector = F.cosine_similarity(self._table, vector[None]).cpu().numpy()
        return cosines


def _occurrences(
    checkpoint: Checkpoint, words: Sequence[str], texts: Sequence[str]
) -> list[list[tuple[WordPlace, Tensor]]]:
    """For each word its occurrences, with the means of their tokens, float [L + 1, D]."""
    found: list[list[tuple[WordPlace, Tensor]]] = [[] for _ in words]
    for index, text in enumerate(texts):
        spans = [find_occurrences(word, text) for word in words]
        if not any(spans):
            continue
        tokens, hidden = hidden_states(checkpoint, text)
        for places, own in zip(found, spans, strict=True):
            for start, end in own:
                if indices := tokens_between(tokens, start, end):
                    place = WordPlace(text=index, start=start, end=end)
                    places.append((place, hidden[:, indices].mean(1)))
    return found


def _unit(vector: Tensor) -> Vector:
    values: Vector = vector.float().cpu().numpy()
    return values / max(float(np.linalg.norm(values)), TINY)
