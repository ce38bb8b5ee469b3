"""Heads on top of the encoder.

Shapes: B sequences, D hidden size, V vocabulary, C outputs; … any leading dimensions.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn, zeros, zeros_like

from engine.config.features import Features
from engine.config.model import Activation, EncoderSpec
from engine.config.sentence import DenseSpec, NormSpec, PoolingMode, SentenceSpec
from engine.config.task import Head
from engine.config.tasks import FIRST_TASK, get_head
from engine.models.fast.dropout import Dropout
from engine.models.fast.gradient_sum import GradientBuffer
from engine.models.fast.vocabulary_loss import cross_entropy
from engine.models.feed_forward import ACTIVATIONS


@dataclass(frozen=True)
class Heads:
    """Heads of a network: those of pre-training, and one for a task.

    The task head has `outputs` outputs (0: no head) for the task `kind`. Heads on the pooled vector
    imply the pooler. `own_decoder`: the MLM decoder is not tied to the token embedding. A pooling
    head computes one vector per text as `sentence` describes; `resolve` sets its size. A head that
    `scores_windows` also weights the windows of a long text.
    """

    mlm: bool = False
    nsp: bool = False
    outputs: int = 0
    pooler: bool = False
    kind: str = FIRST_TASK
    own_decoder: bool = False
    features: Features | None = None  # of a probe, which replaces the task head on a frozen encoder
    # for a pooling head; None: the model's, or the default
    sentence: SentenceSpec | None = None
    scores_windows: bool = False

    def __post_init__(self) -> None:
        if not self.pools:
            object.__setattr__(self, "sentence", None)
        on_pooled = not self.pools and self.outputs and not self.reads_tokens
        on_pooled = on_pooled and self.features is None
        if self.nsp or on_pooled:
            object.__setattr__(self, "pooler", True)

    @property
    def task(self) -> Head | None:
        """Description of the task head; None without one."""
        return get_head(self.kind) if self.outputs else None

    @property
    def reads_tokens(self) -> bool:
        """True if the task head classifies tokens."""
        return self.task is not None and self.task.reads_tokens

    @property
    def pools(self) -> bool:
        """True if the task head computes one vector per text."""
        return self.task is not None and self.task.pools

    def resolve(self, spec: EncoderSpec) -> Self:
        """Resolve the settings of a pooling head on this encoder."""
        if not self.pools:
            return self
        sentence = self.sentence or SentenceSpec()
        return replace(self, sentence=sentence, outputs=sentence.size(spec.hidden_size))

    @property
    def scores_choices(self) -> bool:
        """True if the task head compares several choices."""
        return self.task is not None and self.task.scores_choices


class Pooler(nn.Module):
    """Dense layer with activation on [CLS], and dropout before it: [B, T, D] → [B, D]."""

    def __init__(
        self, spec: EncoderSpec, activation: Activation = "tanh", dropout: float | None = None
    ) -> None:
        super().__init__()
        self.dropout = nn.Identity() if dropout is None else Dropout(dropout)
        self.dense = nn.Linear(spec.hidden_size, spec.hidden_size)
        self.activation = ACTIVATIONS[activation]

    def forward(self, last: Tensor) -> Tensor:
        return self.activation(self.dense(self.dropout(last[:, 0])))


class Transform(nn.Module):
    """Dense layer with activation and norm: [..., D] → [..., `width`]; by default D."""

    def __init__(self, spec: EncoderSpec, width: int | None = None) -> None:
        super().__init__()
        width = width or spec.hidden_size
        self.dense = nn.Linear(spec.hidden_size, width, bias=spec.head_biases)
        self.activation = ACTIVATIONS[spec.head_activation]
        self.norm = nn.LayerNorm(width, eps=spec.layer_norm_eps, bias=spec.head_biases)

    def forward(self, hidden: Tensor) -> Tensor:
        transformed: Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed


class MlmHead(Transform):
    """Logits over the vocabulary: [..., D] → [..., V].

    The decoder is tied to the token embedding unless `own_decoder`. Computing masked positions
    only, [N, D], is far cheaper.
    """

    def __init__(self, spec: EncoderSpec, token: nn.Embedding, own_decoder: bool = False) -> None:
        super().__init__(spec, token.embedding_dim)  # smaller than D in ALBERT
        self.own_decoder = own_decoder
        self.decoder = nn.Parameter(zeros_like(token.weight)) if own_decoder else token.weight
        self.bias = nn.Parameter(zeros(spec.vocab_size))
        self._buffer = GradientBuffer()

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(super().forward(hidden), self.decoder, self.bias)

    def loss(self, hidden: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        """Cross-entropy of hidden [N, D] and targets int64 [N], summed and divided by `count`.

        Never holds all logits: float32 scalar.
        """
        transformed = super().forward(hidden)
        return cross_entropy(transformed, self.decoder, self.bias, targets, count, self._buffer)


class NspHead(nn.Module):
    """Next-sentence prediction: [B, D] → [B, 2]; class 0: is next."""

    def __init__(self, spec: EncoderSpec) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.hidden_size, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        logits: Tensor = self.dense(pooled)
        return logits


class TaskHead(nn.Module):
    """Classification layer (Devlin et al. 2019, §4): [..., D] → [..., C].

    `score`, if any, is the unnormalised attention of a window among those of its text, w · h: with
    the vector of the pooler, h = tanh(V x), that is the attention of Ilse et al. 2018, eq. 8.
    """

    def __init__(
        self, spec: EncoderSpec, outputs: int, head: Head, scores_windows: bool = False
    ) -> None:
        super().__init__()
        transforms = spec.transforms_tokens and head.reads_tokens
        self.turn = Transform(spec) if transforms else nn.Identity()
        self.dropout = Dropout(spec.dropout_before(head))
        self.dense = nn.Linear(spec.hidden_size, outputs)
        self.score = nn.Linear(spec.hidden_size, 1, bias=False) if scores_windows else None

    def forward(self, vectors: Tensor, with_score: bool = False) -> Tensor:
        """`with_score`: the score of each window follows its logits, [..., C + 1]."""
        vectors = self.turn(vectors)
        logits: Tensor = self.dense(self.dropout(vectors))
        if with_score and self.score is not None:
            return torch.cat([logits, self.score(vectors)], -1)
        return logits


def ordinal_logits(outputs: Tensor) -> Tensor:
    """Log-probabilities of ordered labels, float32 [..., C] (Shi, Cao and Raschka 2023, eq. 3).

    Args:
        outputs: float [..., C]; output k is the logit of P(y ≥ k | y ≥ k - 1), the first is unused.
    """
    steps = outputs[..., 1:].float()
    zero = torch.zeros_like(outputs[..., :1], dtype=torch.float32)
    reached = torch.cat([zero, F.logsigmoid(steps).cumsum(-1)], -1)  # log P(y ≥ k)
    return reached + torch.cat([F.logsigmoid(-steps), zero], -1)


DENSE_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "identity": nn.Identity,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
}


class DenseLayer(nn.Module):
    """Dense layer after pooling: [B, I] → [B, C]."""

    def __init__(self, spec: DenseSpec) -> None:
        super().__init__()
        self.linear = nn.Linear(spec.inputs, spec.outputs, bias=spec.bias)
        self.activation = DENSE_ACTIVATIONS[spec.activation]()

    def forward(self, vectors: Tensor) -> Tensor:
        activated: Tensor = self.activation(self.linear(vectors))
        return activated


class NormLayer(nn.Module):
    """Layer normalisation after pooling: [B, C] → [B, C]."""

    def __init__(self, spec: NormSpec) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(spec.outputs)

    def forward(self, vectors: Tensor) -> Tensor:
        normed: Tensor = self.norm(vectors)
        return normed


class SentenceHead(nn.Module):
    """Sentence vector (Reimers and Gurevych 2019, §3): [B, T, D] → [B, C].

    Pooling, layers, normalisation and truncation as in sentence-transformers.
    """

    def __init__(self, spec: EncoderSpec, sentence: SentenceSpec) -> None:
        super().__init__()
        self.sentence = sentence
        self.outputs = sentence.size(spec.hidden_size)
        self.layers = nn.ModuleList(
            DenseLayer(layer) if isinstance(layer, DenseSpec) else NormLayer(layer)
            for layer in sentence.dense
        )

    def forward(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor:
        """`attention_mask`: bool [B, T], False on padding; None without padding."""
        first = self.sentence.prompt_tokens
        hidden = hidden[:, first:]
        attention_mask = None if attention_mask is None else attention_mask[:, first:]
        parts = [pool(hidden, attention_mask, mode) for mode in self.sentence.pooling]
        vectors = torch.cat(parts, dim=-1)
        for layer in self.layers:
            vectors = layer(vectors)
        vectors = F.normalize(vectors, dim=-1) if self.sentence.normalize else vectors
        return vectors[:, : self.outputs]


def pool(hidden: Tensor, attention_mask: Tensor | None, mode: PoolingMode) -> Tensor:
    """Pool token vectors, float [B, T, D], to float32 [B, D]."""
    hidden = hidden.float()
    if mode == "cls":
        return hidden[:, 0]
    if attention_mask is None:
        attention_mask = hidden.new_ones(hidden.shape[:2], dtype=torch.bool)
    mask = attention_mask.unsqueeze(-1)  # [B, T, 1]
    if mode == "max":
        return hidden.masked_fill(~mask, float("-inf")).amax(dim=1)
    summed, count = (hidden * mask).sum(dim=1), mask.sum(dim=1)
    return summed / (count if mode == "mean" else count.float().sqrt())
