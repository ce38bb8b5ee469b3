"""Labels that are described in words, without training (zero-shot).

A sentence encoder compares the vector of a text with those of the descriptions. A model for natural
language inference (NLI) scores if a hypothesis for each label follows from the text (Yin et al.
2019), as the zero-shot pipeline of transformers. Shapes: N texts, C labels, D size of a vector.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.prediction_settings import parse_settings
from engine.config.codebook import Code
from engine.config.zero_shot import Described, hypotheses, nli_outputs, require_way
from engine.data.tokenized.dataset import TokenizedDataset
from engine.errors import StudioError
from engine.evaluation.sentence_similarity import normalise
from engine.models.checkpoint import Checkpoint
from engine.progress import ProgressCallback, no_progress
from engine.tasks.evaluating import batches_by_length, for_each, uses_two_threads
from engine.tasks.inputs import max_tokens
from engine.tasks.learner import pad
from engine.tasks.similarity import BATCH, sentence_vectors
from engine.tasks.vector_cache import cached_rows, model_folder, text_key, text_vectors

SHARPNESS = 14.0
"""Of probabilities from the codebook: with MiniLM on trec-qc, subj and sst2, their mean over 800
rows is then within 6 points of the accuracy (54, 79, 65 %)."""


class LabelScorer:
    """Probabilities of described labels, by the way that a model allows."""

    def __init__(
        self,
        loaded: Checkpoint,
        described: Described,
        max_length: int | None = None,
        batch: int = BATCH,
    ) -> None:
        """Tokenize the hypotheses, or encode the descriptions.

        Raises StudioError if the model has no way, cannot give several labels, or a hypothesis is
        too long.
        """
        self._loaded, self._described = loaded, described
        self._length, self._batch = max_length, batch
        heads = loaded.network.heads
        self.way = require_way(heads.kind if heads.outputs else None, loaded.labels)
        if self.way == "vectors" and described.several:
            raise StudioError(
                "A sentence encoder finds the nearest label, so it gives each text exactly one.",
                "Choose a model for natural language inference, which scores each label alone.",
            )
        self._nli: EntailmentScorer | None = None
        if self.way == "entailment":
            self._nli = EntailmentScorer(loaded, described.hypotheses, max_length, batch)
        else:
            self._codes = code_vectors(loaded, described.codes)
        self.truncated, self.length = 0, 0  # texts so far, and the maximum of tokens

    def probabilities(
        self, texts: Sequence[str], progress: ProgressCallback = no_progress
    ) -> NDArray[np.float64]:
        """Probabilities of the labels, float64 [N, C]; equal texts are computed once."""
        if self._nli is None:
            vectors = sentence_vectors(
                *(self._loaded, texts, self._length, self._batch, progress, self._count)
            )
            return nearness(vectors, self._codes)
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        logits = self._nli.logits([*distinct], progress=progress)
        self._count(self._nli.truncated, self._nli.length)
        p = entailment_probabilities(logits, self._described.several)
        every: NDArray[np.float64] = p[[distinct[text] for text in texts]]
        return every

    def _count(self, truncated: int, length: int) -> None:
        self.truncated, self.length = self.truncated + truncated, length


# ── sentence encoders ────────────────────────────────────────────────────────────────────────


def code_probabilities(
    loaded: Checkpoint, vectors: NDArray[np.float32], codes: Sequence[Code]
) -> NDArray[np.float64]:
    """Probabilities of labels for `sentence_vectors` of rows, [N, D]; see `nearness`."""
    return nearness(vectors, code_vectors(loaded, codes))


def code_vectors(loaded: Checkpoint, codes: Sequence[Code]) -> NDArray[np.float32]:
    """The mean of the vectors of “name: definition” and of the examples of each label, [C, D]."""
    parts = [
        [f"{code.label}: {code.definition}" if code.definition else code.label, *code.examples]
        for code in codes
    ]
    encoded = normalise(sentence_vectors(loaded, [text for part in parts for text in part]))
    ends = np.cumsum([len(part) for part in parts])
    return np.stack([part.mean(axis=0) for part in np.split(encoded, ends[:-1])])


def nearness(vectors: NDArray[np.float32], codes: NDArray[np.float32]) -> NDArray[np.float64]:
    """The softmax of the cosines of [N, D] and [C, D] times `SHARPNESS`, float64 [N, C]."""
    return _softmax(SHARPNESS * (normalise(vectors) @ normalise(codes).T).astype(np.float64))


# ── models for natural language inference ────────────────────────────────────────────────────


class EntailmentScorer:
    """Scores if hypotheses follow from texts; a long text is truncated, no hypothesis is."""

    def __init__(
        self,
        loaded: Checkpoint,
        hypotheses: Sequence[str],
        max_length: int | None = None,
        batch: int = BATCH,
    ) -> None:
        """Raises StudioError if a hypothesis leaves no room for a text."""
        self._loaded, self._batch = loaded, batch
        outputs = nli_outputs(loaded.labels)
        assert outputs is not None  # the caller has chosen such a model
        self._outputs = list(outputs)
        self._temperature = np.float32(parse_settings(loaded.config).temperature)
        tokenizer = loaded.tokenizer
        self._hypotheses = tokenizer.contents(hypotheses)
        self.length = min(max_length or max_tokens(loaded), loaded.spec.max_positions)
        self.truncated = 0  # texts of the last call
        room = self.length - tokenizer.count_special(2)
        for hypothesis, ids in zip(hypotheses, self._hypotheses, strict=True):
            if len(ids) >= room:
                raise StudioError(
                    "The description “{description}” has {n:,} tokens, which leaves no room for a "
                    "text: the model reads {tokens:,} tokens.",
                    "Describe the label in fewer words.",
                    description=hypothesis[:60],
                    n=len(ids),
                    tokens=self.length,
                )

    def logits(
        self,
        texts: Sequence[str],
        places: NDArray[np.int64] | None = None,
        progress: ProgressCallback = no_progress,
    ) -> NDArray[np.float32]:
        """Logits of entailment and contradiction, float32 [N, C, 2].

        Args:
            places: int64 [P], of the hypothesis c for the text n: n · C + c. The result is then
                [P, 2], of these only.
        """
        count = len(self._hypotheses)
        chosen = np.arange(len(texts) * count) if places is None else places
        tokenized = self._join(texts, *np.divmod(chosen, count))
        network, pad_id = self._loaded.network, self._loaded.tokenizer.pad
        device = next(network.parameters()).device
        result = np.zeros((len(chosen), 2), dtype=np.float32)
        network.eval()

        def add(indices: NDArray[np.int64]) -> None:
            tokens, segments, mask = pad(tokenized, indices, pad_id)
            mask = None if mask is None else mask.to(device)
            logits = network.logits(tokens.to(device), segments.to(device), mask)
            result[indices] = logits[:, self._outputs].float().cpu().numpy()

        batches = batches_by_length(tokenized.lengths, self._batch)[::-1]
        for_each(batches, add, nullcontext, progress, uses_two_threads(device))
        if not np.isfinite(result).all():
            raise StudioError(
                "The model outputs NaN or infinite values.", "Choose another checkpoint."
            )
        result /= self._temperature
        return result if places is not None else result.reshape(len(texts), count, 2)

    def _join(
        self, texts: Sequence[str], owners: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> TokenizedDataset:
        """The inputs of texts and hypotheses with these indices; each text is tokenized once."""
        tokenizer = self._loaded.tokenizer
        used, first = np.unique(owners, return_inverse=True)
        limit = None if tokenizer.vocabulary.cuts_beginning else self.length
        premises = tokenizer.contents([texts[n] for n in used.tolist()], limit)
        pairs = [
            tokenizer.join_whole_second(premises[a], self._hypotheses[b], self.length)
            for a, b in zip(first.tolist(), labels.tolist(), strict=True)
        ]
        longest = max(map(len, self._hypotheses)) + tokenizer.count_special(2)
        self.truncated = sum(len(ids) + longest > self.length for ids in premises)
        lengths = [len(ids) for ids, _ in pairs]
        return TokenizedDataset(
            np.array([token for ids, _ in pairs for token in ids], dtype=np.uint32),
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.array([segments.count(0) for _, segments in pairs], dtype=np.int32),
        )


def entailment_probabilities(
    logits: NDArray[np.float32], several: bool = False
) -> NDArray[np.float64]:
    """Probabilities of labels, float64 [N, C].

    The softmax of entailment over the labels; with `several`, of entailment against contradiction
    for each label.

    Args:
        logits: of entailment and contradiction, [N, C, 2].
    """
    scores = logits.astype(np.float64)
    if several:
        return _softmax(scores)[:, :, 0]
    return _softmax(scores[:, :, 0])


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return p


# ── rows of data sets, whose vectors or scores are cached ────────────────────────────────────


def compare_with_codes(
    loaded: Checkpoint,
    checkpoint: Path,
    texts: Sequence[str],
    codes: Sequence[Code],
    several: bool = False,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    """Probabilities of the labels of a codebook for rows, float64 [N, C].

    `several`: rows may have several labels, which an NLI model scores one by one.
    """
    if nli_outputs(loaded.labels) is None:
        vectors = text_vectors(loaded, checkpoint, texts, progress)
        return code_probabilities(loaded, vectors, codes)
    said, distinct = hypotheses(codes), sorted(dict.fromkeys(texts), key=len)
    scorer, places = EntailmentScorer(loaded, said), {t: n for n, t in enumerate(distinct)}
    keys = (text_key(f"{hypothesis}\0{text}") for text in distinct for hypothesis in said)
    logits = cached_rows(
        model_folder(checkpoint, "entailment"),
        np.fromiter(keys, np.uint64, len(distinct) * len(said)),
        lambda places, report: scorer.logits(distinct, places, report),
        progress,
    )
    p = entailment_probabilities(logits.reshape(len(distinct), len(said), 2), several)
    every: NDArray[np.float64] = p[[places[text] for text in texts]]
    return every
