"""Mean-pooled encoder vectors of rows.

Shapes: N rows, B sequences, T tokens, D hidden size.
"""

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import tokenize_examples
from engine.models.checkpoint import Checkpoint
from engine.progress import ProgressCallback, no_progress
from engine.tasks.evaluating import for_each, gains_by_two, in_turn
from engine.tasks.learner import pad

BATCH = 32  # rows per batch


def vectors_of(
    loaded: Checkpoint, rows: Rows, max_length: int = 128, progress: ProgressCallback = no_progress
) -> NDArray[np.float32]:
    """The mean hidden state of the last layer over all tokens of a row, float32 [N, D].

    A text and its second one are one input, truncated to `max_length` tokens.
    """
    vectors: NDArray[np.float32] = vectors_at(loaded, rows, (-1,), max_length, progress)[:, 0]
    return vectors


def some_layers(loaded: Checkpoint, count: int = 3) -> tuple[int, ...]:
    """At most `count` layers at even distances, of which the last one is -1."""
    last = loaded.spec.layers
    found = {round(last * (place + 1) / count) for place in range(count)} - {0, last}
    return (*sorted(found), -1)


def vectors_at(
    loaded: Checkpoint,
    rows: Rows,
    layers: Sequence[int],
    max_length: int = 128,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float32]:
    """The mean hidden states of these layers, float32 [N, len(layers), D].

    Args:
        layers: 0 is the output of the embeddings, 1 the first layer, -1 the last one.
    """
    network, tokenizer = loaded.network, loaded.tokenizer
    device = next(network.parameters()).device
    longest = min(max_length, loaded.spec.max_positions)
    found = np.zeros((len(rows), len(layers), loaded.spec.hidden_size), dtype=np.float32)
    keeps = tuple(layers) != (-1,)
    network.eval()
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        folder = Path(scratch) / "tokenized"
        tokenized = tokenize_examples(
            rows.texts, rows.pairs, tokenizer, longest, folder, no_progress
        )

        def add(numbers: NDArray[np.int64]) -> None:
            tokens, segments, mask = pad(tokenized, numbers, tokenizer.pad)
            mask = None if mask is None else mask.to(device)
            encoded = network.encoder(
                tokens.to(device), segments.to(device), mask, keep_hidden=keeps
            )
            hidden = encoded.hidden if keeps else (encoded.last,)
            for place, layer in enumerate(layers):
                states = hidden[layer].float()  # [B, T, D]
                if mask is None:
                    mean = states.mean(dim=1)
                else:
                    kept = mask.unsqueeze(-1)  # [B, T, 1]
                    mean = (states * kept).sum(dim=1) / kept.sum(dim=1)  # [B, D]
                found[numbers, place] = mean.cpu().numpy()

        batches = in_turn(tokenized.lengths, BATCH)[::-1]
        for_each(batches, add, nullcontext, progress, gains_by_two(device))
    return found
