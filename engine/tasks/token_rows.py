"""Row predictions of masked tokens.

Large sets are reduced to a fixed random subset with about MAX_TOKENS tokens. Shapes: N tokens.
"""

import json
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.config.dataset import Mapping
from engine.results.masked_tokens import OCCURRENCES, POSITION, TEXT
from engine.tasks.learner import Batch, Examples
from engine.tasks.row_predictions import RowPredictions
from engine.tokenizers.tokenizer import Tokenizer

MAX_TOKENS = 20_000  # standard error of accuracy: 0.35 points
CONTEXT = 24  # tokens of context on either side
SUBSET_SEED = 13
MAPPING = Mapping(text=TEXT)

TokenColumns = tuple[NDArray[np.int64], NDArray[np.float32]]
"""int64 [N, 5]: input, position, gold, predicted, gold in the top five; float32 [N, 2]: probability
of the prediction, loss."""


class TokenRows:
    """Collects predictions of the tokens of a `Pretraining` evaluation."""

    def __init__(self, examples: Examples, fraction: float) -> None:
        """`fraction` of the tokens are masked."""
        self._examples = examples
        self._collected: dict[int, TokenColumns] = {}  # by first input of the batch
        expected = max(fraction * examples.tokenized.tokens, 1)
        count = int(np.ceil(min(1, MAX_TOKENS / expected) * len(examples)))
        sampled = np.random.default_rng(SUBSET_SEED).permutation(len(examples))[:count]
        self._is_sampled = np.zeros(len(examples), dtype=bool)
        self._is_sampled[sampled] = True

    def add(self, batch: Batch, logits: Tensor) -> None:
        """Add the logits of a batch, float32 [N, V]; thread-safe."""
        assert batch.indices is not None and batch.positions is not None
        inputs, positions = np.divmod(batch.positions.cpu().numpy(), batch.tokens.size(1))
        indices = batch.indices.numpy()[inputs]
        chosen = torch.from_numpy(np.flatnonzero(self._is_sampled[indices]))
        log_p = logits[chosen.to(logits.device)].log_softmax(dim=1)
        gold = batch.targets[chosen.to(logits.device)]
        best = log_p.topk(min(5, log_p.size(1)), dim=1)
        ints = torch.stack([gold, best.indices[:, 0], (best.indices == gold[:, None]).any(1)], 1)
        loss = -log_p.gather(1, gold[:, None])[:, 0]
        floats = torch.stack([best.values[:, 0].exp(), loss], 1)
        origin = np.stack([indices[chosen], positions[chosen]], 1)
        self._collected[int(batch.indices[0])] = (
            np.concatenate([origin, ints.cpu().numpy()], 1),
            floats.cpu().numpy(),
        )

    def rows(
        self, tokenizer: Tokenizer, counts: NDArray[np.int64]
    ) -> tuple[RowPredictions, dict[str, Sequence[str]]]:
        """The predictions and cells of each token, in the order of the text.

        Args:
            counts: occurrences of each token in the training text, int64 [V].
        """
        ints = np.concatenate([tokens for tokens, _ in self._collected.values()])
        floats = np.concatenate([part for _, part in self._collected.values()])
        order = np.lexsort((ints[:, 1], ints[:, 0]))
        ints, floats = ints[order], floats[order]
        gold, predicted = (
            [tokenizer.token(token) for token in ints[:, column].tolist()] for column in (2, 3)
        )
        ordinary = counts.copy()
        ordinary[[tokenizer.pad, tokenizer.cls, tokenizer.sep]] = 0
        details = [json.dumps({"top5": bool(in_top5)}) for in_top5 in ints[:, 4]]
        rows = RowPredictions(
            predicted,
            gold,
            floats[:, 0],
            floats[:, 1],
            (ints[:, 2] == ints[:, 3]).astype(np.float32),
            details=details,
            settings={"training_tokens": int(ordinary.sum()), "vocabulary": tokenizer.size},
        )
        cells: dict[str, Sequence[str]] = {
            TEXT: self._texts(ints[:, 0], ints[:, 1], tokenizer),
            POSITION: [str(position) for position in ints[:, 1].tolist()],
            OCCURRENCES: [str(count) for count in ordinary[ints[:, 2]].tolist()],
        }
        return rows, cells

    def _texts(
        self, inputs: NDArray[np.int64], positions: NDArray[np.int64], tokenizer: Tokenizer
    ) -> list[str]:
        """The text around each token, with only this token masked."""
        skipped = (tokenizer.pad, tokenizer.cls, tokenizer.sep)
        windows = []
        for index, position in zip(inputs.tolist(), positions.tolist(), strict=True):
            ids = self._examples.tokenized.ids(index)
            ids[position] = tokenizer.mask
            window = ids[max(0, position - CONTEXT) : position + CONTEXT + 1].tolist()
            windows.append([token for token in window if token not in skipped])
        return tokenizer.decode_many(windows)
