"""What is put on top of the encoder.

Shapes: B sequences, D width, V vocabulary, C classes; … any leading dimensions.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn, zeros

from engine.models.dropout import Dropout
from engine.models.feed_forward import ACTIVATIONS
from engine.spec.model import BertSpec


@dataclass(frozen=True)
class Heads:
    """Which heads a network has; `classes` 0 means no class head.

    Next sentence and classes read the pooled vector, so they bring the pooler along.
    """

    masked_words: bool = False
    next_sentence: bool = False
    classes: int = 0
    pooler: bool = False

    def __post_init__(self) -> None:
        if self.next_sentence or self.classes:
            object.__setattr__(self, "pooler", True)


class Pooler(nn.Module):
    """The vector of [CLS] after one more layer with tanh: [B, T, D] → [B, D]."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.width, spec.width)

    def forward(self, last: Tensor) -> Tensor:
        pooled: Tensor = self.dense(last[:, 0]).tanh()
        return pooled


class MaskedWordHead(nn.Module):
    """Logits over the vocabulary: [..., D] → [..., V]. The decoder is the token embedding itself.

    It takes any vectors of the encoder: those at the chosen places alone, [N, D], are far cheaper.
    """

    def __init__(self, spec: BertSpec, token: nn.Embedding) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.width, spec.width)
        self.activation = ACTIVATIONS[spec.activation]
        self.norm = nn.LayerNorm(spec.width, eps=spec.norm_eps)
        self.decoder = token.weight  # [V, D]
        self.bias = nn.Parameter(zeros(spec.vocabulary))

    def forward(self, hidden: Tensor) -> Tensor:
        turned = self.norm(self.activation(self.dense(hidden)))  # [..., D]
        return F.linear(turned, self.decoder, self.bias)


class NextSentenceHead(nn.Module):
    """Does the second sentence follow the first? [B, D] → [B, 2]; class 0 means it does."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.width, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        logits: Tensor = self.dense(pooled)
        return logits


class ClassHead(nn.Module):
    """The one added layer of fine-tuning (Devlin 2019, §4.1): [B, D] → [B, C]."""

    def __init__(self, spec: BertSpec, classes: int) -> None:
        super().__init__()
        self.dropout = Dropout(spec.dropout)
        self.dense = nn.Linear(spec.width, classes)

    def forward(self, pooled: Tensor) -> Tensor:
        logits: Tensor = self.dense(self.dropout(pooled))
        return logits
