"""What is put on top of the encoder.

Shapes: B sequences, D hidden size, V vocabulary, C outputs; … any leading dimensions.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn, zeros, zeros_like

from engine.config.features import Features
from engine.config.model import EncoderSpec
from engine.config.sentence import PoolingMode, SentenceSpec
from engine.config.task import Head
from engine.config.tasks import FIRST_TASK, head_of
from engine.models.fast.dropout import Dropout
from engine.models.fast.gradient_sum import GradientBuffer
from engine.models.fast.vocabulary_loss import cross_entropy
from engine.models.feed_forward import ACTIVATIONS


@dataclass(frozen=True)
class Heads:
    """Which heads a network has: those of pre-training, and the one that fine-tuning adds.

    The added one has so many `outputs`, 0 where there is none; `kind` is their task. Heads
    that read the pooled vector bring the pooler along. With `own_decoder` the one for masked words
    has word vectors of its own, and not those of the embedding. A head that pools makes a vector of
    each text, as its `sentence` says; its outputs are the numbers of the vector, known `on` an
    encoder.
    """

    mlm: bool = False
    nsp: bool = False
    outputs: int = 0
    pooler: bool = False
    kind: str = FIRST_TASK
    own_decoder: bool = False
    features: Features | None = None  # answers in the place of one layer, from an encoder as it is
    sentence: SentenceSpec | None = None  # of a head that pools; None: of the model, or the usual

    def __post_init__(self) -> None:
        if not self.pools:
            object.__setattr__(self, "sentence", None)
        on_pooled = not self.pools and self.outputs and not self.reads_tokens
        on_pooled = on_pooled and self.features is None
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
    def pools(self) -> bool:
        """Whether the task head makes one vector of a text."""
        return self.task is not None and self.task.pools

    def on(self, spec: EncoderSpec) -> Self:
        """The same on this encoder: what pools has its settings and as many outputs as numbers."""
        if not self.pools:
            return self
        sentence = self.sentence or SentenceSpec()
        return replace(self, sentence=sentence, outputs=sentence.size(spec.hidden_size))

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


class Transform(nn.Module):
    """One more layer with its norm: [..., D] → [..., D]."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size, bias=spec.head_biases)
        self.activation = ACTIVATIONS[spec.head_activation]
        self.norm = nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps, bias=spec.head_biases)

    def forward(self, vectors: Tensor) -> Tensor:
        turned: Tensor = self.norm(self.activation(self.dense(vectors)))
        return turned


class MlmHead(nn.Module):
    """Logits over the vocabulary: [..., D] → [..., V].

    The decoder is the token embedding itself, unless it is said to be another one of that shape. It
    takes any vectors of the encoder: those at masked positions alone, [N, D], are far cheaper.
    """

    def __init__(self, spec: EncoderSpec, token: nn.Embedding, own_decoder: bool = False) -> None:
        super().__init__()
        width = token.embedding_dim  # that of word vectors, which ALBERT has smaller than D
        self.dense = nn.Linear(spec.hidden_size, width, bias=spec.head_biases)
        self.activation = ACTIVATIONS[spec.head_activation]
        self.norm = nn.LayerNorm(width, eps=spec.layer_norm_eps, bias=spec.head_biases)
        self.own_decoder = own_decoder
        self.decoder = nn.Parameter(zeros_like(token.weight)) if own_decoder else token.weight
        self.bias = nn.Parameter(zeros(spec.vocab_size))
        self._room = GradientBuffer()

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(self._transform(hidden), self.decoder, self.bias)

    def loss(self, hidden: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        """Cross-entropy of hidden [N, D] with targets int64 [N], summed and divided by `count`.

        Equal to that of the logits, which it never holds all at once: float32 scalar.
        """
        turned = self._transform(hidden)
        return cross_entropy(turned, self.decoder, self.bias, targets, count, self._room)

    def _transform(self, hidden: Tensor) -> Tensor:
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
        turns = spec.turns_tokens and head.reads_tokens
        self.turn = Transform(spec) if turns else nn.Identity()
        self.dropout = Dropout(spec.dropout_before(head))
        self.dense = nn.Linear(spec.hidden_size, outputs)

    def forward(self, vectors: Tensor) -> Tensor:
        vectors = self.turn(vectors)
        logits: Tensor = self.dense(self.dropout(vectors))
        return logits


DENSE_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "identity": nn.Identity,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
}


class DenseLayer(nn.Module):
    """A layer behind the pooling: [B, I] → [B, C]."""

    def __init__(self, inputs: int, outputs: int, bias: bool, activation: str) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=bias)
        self.activation = DENSE_ACTIVATIONS[activation]()

    def forward(self, vectors: Tensor) -> Tensor:
        activated: Tensor = self.activation(self.linear(vectors))
        return activated


class SentenceHead(nn.Module):
    """One vector of the vectors of tokens, as in Reimers and Gurevych 2019, §3: [B, T, D] → [B, C].

    Pooling, dense layers and normalisation as sentence-transformers computes them.
    """

    def __init__(self, spec: EncoderSpec, sentence: SentenceSpec) -> None:
        super().__init__()
        self.sentence = sentence
        self.outputs = sentence.size(spec.hidden_size)
        self.layers = nn.ModuleList(
            DenseLayer(dense.inputs, dense.outputs, dense.bias, dense.activation)
            for dense in sentence.dense
        )

    def forward(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor:
        """`attention_mask`: bool [B, T], False is padding; None where there is none."""
        parts = [pool(hidden, attention_mask, mode) for mode in self.sentence.pooling]
        vectors = torch.cat(parts, dim=-1)
        for layer in self.layers:
            vectors = layer(vectors)
        return F.normalize(vectors, dim=-1) if self.sentence.normalize else vectors


def pool(hidden: Tensor, attention_mask: Tensor | None, mode: PoolingMode) -> Tensor:
    """The vectors of tokens, float [B, T, D], as one: float32 [B, D]."""
    hidden = hidden.float()
    if mode == "cls":
        return hidden[:, 0]
    if attention_mask is None:
        attention_mask = hidden.new_ones(hidden.shape[:2], dtype=torch.bool)
    kept = attention_mask.unsqueeze(-1)  # [B, T, 1]
    if mode == "max":
        return hidden.masked_fill(~kept, float("-inf")).amax(dim=1)
    summed, count = (hidden * kept).sum(dim=1), kept.sum(dim=1)
    return summed / (count if mode == "mean" else count.float().sqrt())
