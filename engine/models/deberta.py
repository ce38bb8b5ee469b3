"""DeBERTa v2 and v3 (He et al. 2021): disentangled content and position.

Shapes: B sequences, T tokens in each, R query tokens, D hidden size; … any leading dimensions.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.config.families.deberta import DebertaSpec
from engine.config.model import EncoderSpec
from engine.models.attention import Layout
from engine.models.embeddings import Embeddings
from engine.models.encoder import Encoder, Layer
from engine.models.fast.dropout import Dropout
from engine.models.feed_forward import ACTIVATIONS
from engine.models.heads import Pooler


class Convolution(nn.Module):
    """Convolution over neighbouring tokens, added to the first layer (§4.2 of v2)."""

    def __init__(self, spec: DebertaSpec) -> None:
        super().__init__()
        size = spec.hidden_size
        self.conv = nn.Conv1d(size, size, spec.convolution, padding=spec.convolution // 2)
        self.activation = ACTIVATIONS[spec.convolution_activation]
        self.norm = nn.LayerNorm(size, eps=spec.layer_norm_eps)
        self.dropout = Dropout(spec.dropout)

    def forward(self, x: Tensor, output: Tensor, layout: Layout) -> Tensor:
        """float [..., D] → [..., R, D]; x is the input of the layer, `output` its output."""
        half = self.conv.kernel_size[0] // 2
        convolved = torch.zeros_like(output)
        for index, weight in enumerate(self.conv.weight.unbind(-1)):  # [D, D] each
            neighbours = layout.take_queries(layout.shift(x, index - half))
            bias = self.conv.bias if index == half else None
            convolved = convolved + F.linear(neighbours, weight, bias)
        result: Tensor = self.norm(output + self.activation(self.dropout(convolved)))
        return result


class DebertaLayer(Layer):
    """Layer with an optional convolution, in the first layer of the larger v2 models."""

    def __init__(self, spec: EncoderSpec, index: int = 0) -> None:
        super().__init__(spec, index)
        assert isinstance(spec, DebertaSpec)
        convolves = spec.convolution > 0 and index == 0
        self.convolution = Convolution(spec) if convolves else None

    def forward(self, x: Tensor, layout: Layout) -> tuple[Tensor, Tensor | None]:
        output, weights = super().forward(x, layout)
        if self.convolution is not None:
            output = self.convolution(x, output, layout)
        return output, weights


class Deberta(Encoder):
    """Token embeddings and L layers with shared relative-position embeddings."""

    embeddings_class = Embeddings
    layer_class = DebertaLayer

    def make_pooler(self, spec: EncoderSpec) -> Pooler:
        assert isinstance(spec, DebertaSpec)
        return Pooler(spec, spec.pooler_activation, spec.pooler_dropout)
