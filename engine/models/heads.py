"""What is put on top of the encoder.

Shapes: B sequences, D hidden size, V vocabulary, C outputs; … any leading dimensions.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn, zeros, zeros_like

from engine.models.fast.dropout import Dropout
from engine.models.fast.vocabulary_loss import cross_entropy
from engine.models.feed_forward import ACTIVATIONS
from engine.spec.features import Features
from engine.spec.model import EncoderSpec
from engine.spec.task import Head
from engine.spec.tasks import head_of


@dataclass(frozen=True)
class Heads:
    """Which heads a network has: those of pre-training, and the one that fine-tuning adds.

    The added one has so many `outputs`, 0 where there is none; `kind` is their task. Heads
    that read the pooled vector bring the pooler along. With `own_decoder` the one for masked words
    has word vectors of its own, and not those of the embedding.
    """

    mlm: bool = False
    nsp: bool = False
    outputs: int = 0
    pooler: bool = False
    kind: str = "text_classification"
    own_decoder: bool = False
    features: Features | None = None  # answers in the place of one layer, from an encoder as it is

    def __post_init__(self) -> None:
        on_pooled = self.outputs and not self.reads_tokens and self.features is None
        if self.nsp or on_pooled:
            object.__setattr__(self, "pooler", True)

    @property
    def task(self) -> Head | None:
        """What is known of the added one; None where there is none."""
        return head_of(self.kind) if self.outputs else None

    @property
    def reads_tokens(self) -> bool:
        """Whether the task head answers for each token, and not for the whole input."""
        return self.task is not None and self.task.reads_tokens

    @property
    def scores_choices(self) -> bool:
        """Whether each input is one of several choices that the task head compares."""
        return self.task is not None and self.task.scores_choices


class Pooler(nn.Module):
    """The vector of [CLS] after one more layer with tanh: [B, T, D] → [B, D]."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)

    def forward(self, last: Tensor) -> Tensor:
        pooled: Tensor = self.dense(last[:, 0]).tanh()
        return pooled


class MlmHead(nn.Module):
    """Logits over the vocabulary: [..., D] → [..., V].

    The decoder is the token embedding itself, unless it is said to be another one of that shape. It
    takes any vectors of the encoder: those at masked positions alone, [N, D], are far cheaper.
    """

    def __init__(self, spec: EncoderSpec, token: nn.Embedding, own_decoder: bool = False) -> None:
        super().__init__()
        width = token.embedding_dim  # that of word vectors, which ALBERT has smaller than D
        self.dense = nn.Linear(spec.hidden_size, width)
        self.activation = ACTIVATIONS[spec.head_activation]
        self.norm = nn.LayerNorm(width, eps=spec.layer_norm_eps)
        self.own_decoder = own_decoder
        self.decoder = nn.Parameter(zeros_like(token.weight)) if own_decoder else token.weight
        self.bias = nn.Parameter(zeros(spec.vocab_size))

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(self._turned(hidden), self.decoder, self.bias)

    def loss(self, hidden: Tensor, targets: Tensor, count: float) -> Tensor:
        """Cross-entropy of hidden [N, D] with targets int64 [N], summed and divided by `count`.

        Equal to that of the logits, which it never holds all at once: float32 scalar.
        """
        return cross_entropy(self._turned(hidden), self.decoder, self.bias, targets, count)

    def _turned(self, hidden: Tensor) -> Tensor:
        turned: Tensor = self.norm(self.activation(self.dense(hidden)))
        return turned  # [..., D]


class NspHead(nn.Module):
    """Does the second sentence follow the first? [B, D] → [B, 2]; class 0 means it does."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        logits: Tensor = self.dense(pooled)
        return logits


class TaskHead(nn.Module):
    """The one layer that fine-tuning adds (Devlin et al. 2019, §4): [..., D] → [..., C]."""

    def __init__(self, spec: EncoderSpec, outputs: int, head: Head) -> None:
        super().__init__()
        self.dropout = Dropout(spec.dropout_before(head))
        self.dense = nn.Linear(spec.hidden_size, outputs)

    def forward(self, vectors: Tensor) -> Tensor:
        logits: Tensor = self.dense(self.dropout(vectors))
        return logits
