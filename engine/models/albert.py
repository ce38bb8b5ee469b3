"""ALBERT (Lan et al. 2020): BERT with smaller token embeddings and shared layers.

Shapes: L layers, G groups.
"""

from collections.abc import Iterator

from torch import nn

from engine.config.families.albert import AlbertSpec
from engine.models.embeddings import WidenedEmbeddings
from engine.models.encoder import Encoder


class Albert(Encoder):
    """L layers with the weights of G groups; published models have a single group."""

    embeddings_class = WidenedEmbeddings  # §3.1, factorized embedding parameterization

    def __init__(self, spec: AlbertSpec, pooler: bool = True) -> None:
        super().__init__(spec, pooler)
        self._groups = tuple(spec.group_at(index) for index in range(spec.layers))

    def iter_layers(self) -> Iterator[nn.Module]:
        return (self.layers[group] for group in self._groups)
