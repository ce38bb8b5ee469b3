"""A small network that reads the vectors of an encoder (Devlin et al. 2019, §5.3).

Shapes: B sequences, T tokens in each, D hidden size, N vectors of each token, L layers, C outputs;
M tokens of all sequences without padding, S steps of the longest.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from engine.config.features import Features
from engine.models.fast.dropout import Dropout
from engine.models.fast.padded_blocks import Ints, Move

SUM_OF_ALL = -1  # in the place of a height: the sum of all layers


def layer_indices(features: Features, layers: int) -> tuple[int, ...]:
    """Which vectors of a token are read: 0 the embeddings, 1 to L the layers, ALL their sum.

    A model of fewer than four layers gives those it has.
    """
    last_four = tuple(range(max(1, layers - 3), layers + 1))
    match features.vectors:
        case "embeddings":
            return (0,)
        case "second-to-last":
            return (layers - 1,)
        case "sum of last four" | "concatenation of last four":
            return last_four
        case "sum of all":
            return (SUM_OF_ALL,)
        case "learned mix":
            return tuple(range(layers + 1))
        case "one layer":
            return (min(features.layer, layers),)
    return (layers,)


def select_layers(hidden: tuple[Tensor, ...], wanted: tuple[int, ...]) -> Tensor:
    """Of the vectors at all L + 1 heights, each [B, T, D], those at some: [B, T, N, D]."""
    parts = [
        sum(hidden[2:], hidden[1]) if height == SUM_OF_ALL else hidden[height] for height in wanted
    ]
    return torch.stack(parts, 2)


@dataclass(frozen=True)
class ReadingOrder:
    """In which order a recurrent network reads a batch without its padding: the first tokens of
    all sequences, those of longer ones first, then the second ones, and so on."""

    tokens: Tensor  # int64 [M], where each is in the flattened [B * T]
    batch_sizes: Tensor  # int64 [S], how many sequences have a token at each step; on the host

    def map_tensors(self, move: Move) -> "ReadingOrder":
        return ReadingOrder(move(self.tokens), self.batch_sizes)


def reading_order(lengths: Ints, width: int) -> ReadingOrder:
    """Plan a batch, on the host: `lengths` are int64 [B], 1 or more, and T is `width`."""
    order = np.argsort(-lengths, kind="stable")
    steps = np.arange(lengths.max())
    has_token = lengths[order, None] > steps  # [B, S]
    cells = order[:, None] * width + steps
    tokens, batch_sizes = cells.T[has_token.T], has_token.sum(0)
    return ReadingOrder(torch.from_numpy(tokens), torch.from_numpy(batch_sizes))


class Probe(nn.Module):
    """Mixes the vectors of a token, reads along the tokens, and answers."""

    def __init__(
        self,
        features: Features,
        width: int,
        layers: int,
        outputs: int,
        dropout: float,
        tokens: bool,
    ) -> None:
        """`tokens`: answer for each token, and not for the whole input."""
        super().__init__()
        self.features, self.reads_tokens = features, tokens
        self.heights = layer_indices(features, layers)
        count = len(self.heights)
        self.mix_bias: nn.Parameter | None = None
        if features.vectors == "learned mix":  # Peters et al. 2018, §3.2; begins as the mean
            self.mix_bias = nn.Parameter(torch.zeros(count))
            self.gain_bias = nn.Parameter(torch.zeros(1))
        if features.vectors == "concatenation of last four":
            width *= count
        self.dropout = Dropout(dropout)
        self.lstm: nn.LSTM | None = None
        if features.probe == "bilstm":
            self.lstm = nn.LSTM(
                width,
                features.probe_size // 2,
                num_layers=2,
                batch_first=True,
                bidirectional=True,
                dropout=dropout,
            )
            width = features.probe_size
        self.dense = nn.Linear(width, outputs)

    def forward(
        self, vectors: Tensor, attention_mask: Tensor | None, order: ReadingOrder | None = None
    ) -> Tensor:
        """Logits as float32: [B, C], or [B, T, C] where each token is answered for.

        Args:
            vectors: float [B, T, N, D], those at `layer_indices`.
            attention_mask: bool [B, T], False on padding; None where there is none.
            order: the plan of this batch; None: it is made here, for which a device is waited for.
        """
        x = self.dropout(self._mixed(vectors.float()))  # [B, T, D]
        if self.lstm is not None:
            x = self.dropout(self._along(self.lstm, x, attention_mask, order))
        if not self.reads_tokens:
            x = self._pooled(x, attention_mask)
        logits: Tensor = self.dense(x)
        return logits.float()

    def _mixed(self, vectors: Tensor) -> Tensor:
        """[B, T, N, D] → [B, T, D], or [B, T, N * D] where they are put side by side."""
        if self.mix_bias is not None:
            shares = self.mix_bias.softmax(0)  # [N]
            return (1 + self.gain_bias) * (vectors * shares[:, None]).sum(2)
        if self.features.vectors == "concatenation of last four":
            return vectors.flatten(2)
        return vectors.sum(2)

    def _along(
        self,
        lstm: nn.LSTM,
        x: Tensor,
        attention_mask: Tensor | None,
        order: ReadingOrder | None,
    ) -> Tensor:
        """Read from both ends; padding is not read, and 0 is said of it."""
        if attention_mask is None:
            read: Tensor = lstm(x)[0]
            return read
        if order is None:
            lengths = attention_mask.sum(1).cpu().numpy()
            order = reading_order(lengths, x.size(1)).map_tensors(lambda plan: plan.to(x.device))
        rows = x.flatten(0, 1).index_select(0, order.tokens)  # [M, D]
        read = lstm(PackedSequence(rows, order.batch_sizes))[0].data  # [M, W]
        spread = read.new_zeros(x.size(0) * x.size(1), read.size(1))
        spread = spread.index_copy(0, order.tokens, read)
        return spread.view(x.size(0), x.size(1), -1)

    def _pooled(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        """[B, T, W] → [B, W]"""
        if self.features.pooling == "first":
            return x[:, 0]
        if attention_mask is None:
            return x.mean(1)
        weights = attention_mask.to(x.dtype)[..., None]
        return (x * weights).sum(1) / weights.sum(1)
