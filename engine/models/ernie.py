"""ERNIE (Sun et al. 2019, 2020, 2021): BERT, with a task embedding in 3.0."""

import torch
from torch import Tensor, nn

from engine.config.families.ernie import ErnieSpec
from engine.config.model import EncoderSpec
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder


class ErnieEmbeddings(Embeddings):
    """BERT's embeddings, and the first task embedding if the spec has it."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__(spec)
        assert isinstance(spec, ErnieSpec)
        rows = spec.task_types if spec.task_embedding else 0
        self.task = nn.Embedding(rows, spec.token_size) if rows else None

    def sum_embeddings(self, tokens: Tensor, segments: Tensor, positions: Tensor) -> Tensor:
        summed = super().sum_embeddings(tokens, segments, positions)
        return summed if self.task is None else summed + self.task(torch.zeros_like(tokens))


class Ernie(Encoder):
    """Sum of token, position, segment and task embeddings, then L layers as in BERT."""

    embeddings_class = ErnieEmbeddings
