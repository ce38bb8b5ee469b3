"""Pooling of token vectors into a text vector, in the layout of sentence-transformers."""

from typing import Literal

from pydantic import Field

from engine.config import Spec

PoolingMode = Literal["cls", "max", "mean", "mean_sqrt_len_tokens"]
POOLING_MODES: tuple[PoolingMode, ...] = ("cls", "max", "mean", "mean_sqrt_len_tokens")
DenseActivation = Literal["identity", "tanh", "relu", "gelu", "sigmoid"]
Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]


class DenseSpec(Spec):
    """A linear layer after the pooling, with its activation."""

    inputs: int = Field(ge=1, le=100_000)
    outputs: int = Field(ge=1, le=100_000)
    bias: bool = True
    activation: DenseActivation = "tanh"


class NormSpec(Spec):
    """A layer normalisation of this many dimensions after the pooling."""

    outputs: int = Field(ge=1, le=100_000)


class SentenceSpec(Spec):
    """Pooling, layers, normalisation and truncation, in this order.

    Several poolings are concatenated in the order of `POOLING_MODES`. `similarity` is what
    sentence-transformers compares vectors by; here it is the cosine.
    """

    pooling: tuple[PoolingMode, ...] = Field(("mean",), min_length=1, max_length=4)
    dense: tuple[DenseSpec | NormSpec, ...] = Field((), max_length=8)
    normalize: bool = False
    truncate: int | None = Field(None, ge=1, description="Dimensions that are kept; None: all.")
    max_length: int | None = Field(
        None, ge=2, le=10_000_000, description="Most tokens that are read; None: all that fit."
    )
    prompt: str = Field("", max_length=10_000, description="Prefix of every text.")
    prompts: dict[str, str] = Field({}, description="All prompts by name, which copies keep.")
    pools_prompt: bool = Field(True, description="The tokens of the prompt are pooled, too.")
    prompt_tokens: int = Field(0, description="First tokens that are not pooled.")
    similarity: Similarity = "cosine"

    def size(self, hidden_size: int) -> int:
        """Dimensions of a vector, on an encoder of this hidden size."""
        size = self.dense[-1].outputs if self.dense else len(self.pooling) * hidden_size
        return min(size, self.truncate or size)
