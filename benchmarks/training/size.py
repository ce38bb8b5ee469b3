"""Minimum FLOP of training steps and answers.

Counts matrix products, two operations per weight and token (Kaplan et al. 2020, table 1), and
attention over the real lengths. Padding, unused logits and outputs of the last layer that no head
reads do not count.
"""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Size:
    """A network of `layers` layers, `width` wide and four times as wide inside."""

    layers: int
    width: int
    vocabulary: int

    def needed(
        self,
        lengths: np.ndarray,
        predicted: int = 0,
        frozen: int = 0,
        adapts: bool = False,
        epochs: int = 1,
    ) -> float:
        """FLOP of a training step that reads [CLS] and `predicted` masked tokens.

        The backward pass costs twice the forward pass.

        Args:
            frozen: number of lowest layers without a backward pass.
            adapts: only adapters learn, so that weight gradients are not computed.
            epochs: epochs that share one pass through the frozen layers.
        """
        outputs = predicted + len(lengths)
        back = replace(self, layers=self.layers - frozen).answered(lengths, outputs, predicted)
        below = self.answered(lengths, outputs, predicted) - back
        return below / epochs + back + (1 if adapts else 2) * back

    def answered(self, lengths: np.ndarray, outputs: int, predicted: int = 0) -> float:
        """FLOP of a forward pass.

        Args:
            lengths: int [B], tokens of each sequence.
            outputs: number of output vectors read.
            predicted: number of them with logits over the vocabulary.
        """
        lower, tokens = self.layers - 1, float(lengths.sum())
        body = (12 * lower + 2) * tokens + 10 * outputs  # times D²
        pairs = lower * _pairs(lengths) + outputs * float(lengths.mean())
        head = predicted * (self.width**2 + self.width * self.vocabulary)
        return 2 * (body * self.width**2 + 2 * pairs * self.width + head)

    def mapped(self, lengths: np.ndarray) -> float:
        """FLOP of all attention weights; of the last layer only queries, keys and scores."""
        lower, tokens = self.layers - 1, float(lengths.sum())
        body = (12 * lower + 2) * tokens  # times D²
        pairs = (2 * lower + 1) * _pairs(lengths)
        return 2 * (body * self.width**2 + pairs * self.width)

    def weights(self, predicts: bool) -> int:
        """Number of weights that an answer reads; with the vocabulary if it `predicts` tokens."""
        head = self.width**2 + self.width * self.vocabulary
        return 12 * self.layers * self.width**2 + (head if predicts else 0)


def _pairs(lengths: np.ndarray) -> float:
    """Number of attention pairs."""
    return float((lengths.astype(float) ** 2).sum())
