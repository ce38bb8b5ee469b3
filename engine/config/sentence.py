"""Pooling of token vectors into a text vector, in the layout of sentence-transformers."""

from typing import Literal

from pydantic import Field

from engine.config import Spec

PoolingMode = Literal["cls", "max", "mean", "mean_sqrt_len_tokens"]
POOLING_MODES: tuple[PoolingMode, ...] = ("cls", "max", "mean", "mean_sqrt_len_tokens")
DenseActivation = Literal["identity", "tanh", "relu", "gelu", "sigmoid"]


class DenseSpec(Spec):
    """A linear layer after the pooling, with its activation."""

    inputs: int = Field(ge=1, le=100_000)
    outputs: int = Field(ge=1, le=100_000)
    bias: bool = True
    activation: DenseActivation = "tanh"


class SentenceSpec(Spec):
    """Pooling, dense layers and normalisation, in this order.

    Several poolings are concatenated in the order of `POOLING_MODES`.
    """

    pooling: tuple[PoolingMode, ...] = Field(("mean",), min_length=1, max_length=4)
    dense: tuple[DenseSpec, ...] = Field((), max_length=8)
    normalize: bool = False
    max_length: int | None = Field(
        None, ge=2, le=10_000_000, description="Most tokens that are read; None: all that fit."
    )
    prompt: str = Field("", max_length=10_000, description="Prefix of every text.")

    def size(self, hidden_size: int) -> int:
        """Dimensions of a vector, on an encoder of this hidden size."""
        return self.dense[-1].outputs if self.dense else len(self.pooling) * hidden_size
