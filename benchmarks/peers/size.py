"""A network, as far as the cost of its work goes: what a step or an answer cannot do without.

Neither padding counts, nor logits that nobody asked for, nor what the last layer makes of tokens
that no head reads. Operations are those of matrix products, two for each weight and token (Kaplan
et al. 2020, table 1), and those of attention over the real lengths.
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
        """Operations of a training step, in which each vector of [CLS] is read, and so are those of
        `predicted` masked tokens: the way back costs twice as much as the way there.

        Args:
            frozen: how many of the lowest layers have no way back.
            adapts: small adapters learn in the place of all weights, whose gradients are not made.
            epochs: in how many of them the frozen layers work once.
        """
        asked = predicted + len(lengths)
        back = replace(self, layers=self.layers - frozen).answered(lengths, asked, predicted)
        below = self.answered(lengths, asked, predicted) - back
        return below / epochs + back + (1 if adapts else 2) * back

    def answered(self, lengths: np.ndarray, asked: int, predicted: int = 0) -> float:
        """Operations of a forward pass.

        Args:
            lengths: int [B], tokens of each sequence.
            asked: how many of the last vectors are wanted.
            predicted: for how many of them the whole vocabulary is weighed.
        """
        lower, tokens = self.layers - 1, float(lengths.sum())
        body = (12 * lower + 2) * tokens + 10 * asked  # times D²
        pairs = lower * _pairs(lengths) + asked * float(lengths.mean())
        head = predicted * (self.width**2 + self.width * self.vocabulary)
        return 2 * (body * self.width**2 + 2 * pairs * self.width + head)

    def mapped(self, lengths: np.ndarray) -> float:
        """Operations of the attention of all heads: of the last layer, queries, keys and scores."""
        lower, tokens = self.layers - 1, float(lengths.sum())
        body = (12 * lower + 2) * tokens  # times D²
        pairs = (2 * lower + 1) * _pairs(lengths)
        return 2 * (body * self.width**2 + pairs * self.width)

    def weights(self, predicts: bool) -> int:
        """How many weights an answer reads; one that `predicts` reads the vocabulary's as well."""
        head = self.width**2 + self.width * self.vocabulary
        return 12 * self.layers * self.width**2 + (head if predicts else 0)


def _pairs(lengths: np.ndarray) -> float:
    """How often a token looks at a token."""
    return float((lengths.astype(float) ** 2).sum())
