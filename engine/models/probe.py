"""Probe: a small network on features of a frozen encoder (Devlin et al. 2019, §5.3).

Shapes: B sequences, T tokens in each, D hidden size, N vectors per token, L layers, C outputs; M
tokens without padding, S steps of the longest sequence.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from engine.config.features import Features
from engine.models.fast.dropout import Dropout
from engine.models.fast.padded_blocks import Ints, Move

SUM_OF_ALL = -1  # layer index that means the sum of all layers


def layer_indices(features: Features, layers: int) -> tuple[int, ...]:
    """Layers whose vectors are read: 0 embeddings, 1 to L layers, SUM_OF_ALL.

    With fewer than four layers, “last four” means all of them.
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


def select_layers(hidden: tuple[Tensor, ...], layers: tuple[int, ...]) -> Tensor:
    """Select layers from L + 1 hidden states, each [B, T, D]: [B, T, N, D]."""
    parts = [
        sum(hidden[2:], hidden[1]) if layer == SUM_OF_ALL else hidden[layer] for layer in layers
    ]
    return torch.stack(parts, 2)


@dataclass(frozen=True)
class ReadingOrder:
    """Time-major order of an unpadded batch for an RNN: the first tokens of all sequences, longest
    first, then the second ones, and so on."""

    tokens: Tensor  # int64 [M], index of each in the flattened [B * T]
    batch_sizes: Tensor  # int64 [S], sequences with a token at each step; on the host

    def map_tensors(self, move: Move) -> "ReadingOrder":
        return ReadingOrder(move(self.tokens), self.batch_sizes)


def reading_order(lengths: Ints, width: int) -> ReadingOrder:
    """Plan a batch on the host: `lengths` are int64 [B], at least 1, and T is `width`."""
    order = np.argsort(-lengths, kind="stable")
    steps = np.arange(lengths.max())
    has_token = lengths[order, None] > steps  # [B, S]
    cells = order[:, None] * width + steps
    tokens, batch_sizes = cells.T[has_token.T], has_token.sum(0)
    return ReadingOrder(torch.from_numpy(tokens), torch.from_numpy(batch_sizes))


class Probe(nn.Module):
    """Combines the vectors of a token, optionally runs a BiLSTM, and classifies."""

    def __init__(
        self,
        features: Features,
        width: int,
        layers: int,
        outputs: int,
        dropout: float,
        reads_tokens: bool,
    ) -> None:
        """`reads_tokens`: classify tokens instead of inputs."""
        super().__init__()
        self.features, self.reads_tokens = features, reads_tokens
        self.layers = layer_indices(features, layers)
        count = len(self.layers)
        self.mix_bias: nn.Parameter | None = None
        if features.vectors == "learned mix":  # Peters et al. 2018, §3.2; initially the mean
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
        """Logits as float32: [B, C], or [B, T, C] for tokens.

        Args:
            vectors: float [B, T, N, D] of the layers `layer_indices`.
            attention_mask: bool [B, T], False on padding; None without padding.
            order: plan of this batch; None: planned here, which synchronises.
        """
        x = self.dropout(self._mix(vectors.float()))  # [B, T, D]
        if self.lstm is not None:
            x = self.dropout(self._run_lstm(self.lstm, x, attention_mask, order))
        if not self.reads_tokens:
            x = self.pool(x, attention_mask)
        logits: Tensor = self.dense(x)
        return logits.float()

    def _mix(self, vectors: Tensor) -> Tensor:
        """[B, T, N, D] → [B, T, D], or [B, T, N * D] if concatenated."""
        if self.mix_bias is not None:
            weights = self.mix_bias.softmax(0)  # [N]
            return (1 + self.gain_bias) * (vectors * weights[:, None]).sum(2)
        if self.features.vectors == "concatenation of last four":
            return vectors.flatten(2)
        return vectors.sum(2)

    def _run_lstm(
        self, lstm: nn.LSTM, x: Tensor, attention_mask: Tensor | None, order: ReadingOrder | None
    ) -> Tensor:
        """BiLSTM over the tokens; 0 on padding."""
        if attention_mask is None:
            out: Tensor = lstm(x)[0]
            return out
        if order is None:
            lengths = attention_mask.sum(1).cpu().numpy()
            order = reading_order(lengths, x.size(1)).map_tensors(lambda plan: plan.to(x.device))
        rows = x.flatten(0, 1).index_select(0, order.tokens)  # [M, D]
        out = lstm(PackedSequence(rows, order.batch_sizes))[0].data  # [M, W]
        padded = out.new_zeros(x.size(0) * x.size(1), out.size(1))
        padded = padded.index_copy(0, order.tokens, out)
        return padded.view(x.size(0), x.size(1), -1)

    def pool(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
        """The vector of each input: [B, T, W] → [B, W]."""
        if self.features.pooling == "first":
            return x[:, 0]
        if attention_mask is None:
            return x.mean(1)
        weights = attention_mask.to(x.dtype)[..., None]
        return (x * weights).sum(1) / weights.sum(1)
