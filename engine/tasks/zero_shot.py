"""Labels that are described in words, without training (zero-shot).

Shapes: N texts, C labels, D size of a vector.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.config.codebook import Code
from engine.evaluation.sentence_similarity import normalise
from engine.models.checkpoint import Checkpoint
from engine.tasks.similarity import sentence_vectors

SHARPNESS = 14.0
"""Of probabilities from the codebook: with MiniLM on trec-qc, subj and sst2, their mean over 800
rows is then within 6 points of the accuracy (54, 79, 65 %)."""


def code_probabilities(
    loaded: Checkpoint, vectors: NDArray[np.float32], codes: Sequence[Code]
) -> NDArray[np.float64]:
    """Probabilities of labels from their names, definitions and examples, float64 [N, C].

    The softmax of the cosine between a row and the mean of the vectors of “name: definition” and
    of the examples, times `SHARPNESS`. `vectors` are `sentence_vectors` of the rows, [N, D].
    """
    parts = [
        [f"{code.label}: {code.definition}" if code.definition else code.label, *code.examples]
        for code in codes
    ]
    encoded = normalise(sentence_vectors(loaded, [text for part in parts for text in part]))
    ends = np.cumsum([len(part) for part in parts])
    means = np.stack([part.mean(axis=0) for part in np.split(encoded, ends[:-1])])  # [C, D]
    scores = SHARPNESS * (normalise(vectors) @ normalise(means).T).astype(np.float64)  # [N, C]
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    p: NDArray[np.float64] = exponentials / exponentials.sum(axis=1, keepdims=True)
    return p
