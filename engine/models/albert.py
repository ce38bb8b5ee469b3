"""ALBERT (Lan et al. 2020): few parameters, from small token embeddings and shared layers.

Shapes: B sequences, T tokens in each, D hidden size, E size of token embeddings, L layers, G
groups.
"""

from collections.abc import Iterator

from torch import Tensor, nn

from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.heads import Pooler
from engine.spec.model import AlbertSpec


class AlbertEmbeddings(Embeddings):
    """BERT's, of width E, and widened to D (§3.1, factorized embedding parameterization)."""

    def __init__(self, spec: AlbertSpec) -> None:
        super().__init__(spec, spec.embedding_size, spec.segments)
        self.widen = nn.Linear(spec.embedding_size, spec.hidden_size)

    def forward(self, tokens: Tensor, segments: Tensor, positions: Tensor | None = None) -> Tensor:
        widened: Tensor = self.widen(super().forward(tokens, segments, positions))  # [..., D]
        return widened


class Albert(Encoder):
    """L layers with the weights of G: as published one layer works at every height."""

    def __init__(self, spec: AlbertSpec, pooler: bool = True) -> None:
        super().__init__(
            AlbertEmbeddings(spec),
            (Layer(spec, number) for number in range(spec.layer_groups)),
            Pooler(spec) if pooler else None,
        )
        self._groups = tuple(spec.group_at(number) for number in range(spec.layers))

    def passes(self) -> Iterator[nn.Module]:
        return (self.layers[group] for group in self._groups)
