"""BERT (Devlin et al. 2019), readable beside the paper.

Shapes: B sequences, T tokens in each, D width, H heads, L layers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint as forgetting

from engine.models.attention import Attention
from engine.models.embeddings import Embeddings
from engine.models.feed_forward import FeedForward
from engine.models.heads import Heads, MaskedWordHead, NextSentenceHead, Pooler, TaskHead
from engine.spec.model import BertSpec


class Encoded(NamedTuple):
    """What the encoder makes of a batch."""

    last: Tensor  # [B, T, D]
    pooled: Tensor | None  # [B, D]
    hidden: tuple[Tensor, ...]  # L + 1 of [B, T, D], the embeddings first; or empty
    weights: tuple[Tensor, ...]  # L of [B, H, T, T]; or empty


class Layer(nn.Module):
    """Attention, then feed-forward."""

    def __init__(self, spec: BertSpec) -> None:
        super().__init__()
        self.attention = Attention(spec)
        self.feed_forward = FeedForward(spec)

    def forward(
        self, x: Tensor, bias: Tensor | None, keep_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        x, weights = self.attention(x, bias, keep_weights)
        return self.feed_forward(x), weights


class Bert(nn.Module):
    """Embeddings, a stack of layers, and the pooler where a head needs it."""

    def __init__(self, spec: BertSpec, pooler: bool = True) -> None:
        super().__init__()
        self.spec = spec
        self.embeddings = Embeddings(spec)
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.layers))
        self.pooler = Pooler(spec) if pooler else None
        self.recomputes = False  # the inside of the layers on the way back, instead of keeping it

    def forward(
        self,
        tokens: Tensor,
        segments: Tensor,
        real: Tensor | None = None,
        keep_weights: bool = False,
        keep_hidden: bool = False,
    ) -> Encoded:
        """Encode a batch.

        Args:
            tokens: int64 [B, T], ids of the tokenizer; T is at most `spec.positions`.
            segments: int64 [B, T], 0 in the first sentence and 1 in the second.
            real: bool [B, T], False on padding, True for one token of each sequence at least, and
                in a left-to-right network for the first; None where there is no padding, which is
                quicker.
            keep_weights: keep the attention of every layer.
            keep_hidden: keep the embeddings and the vectors after every layer.
        """
        x = self.embeddings(tokens, segments)
        bias = self._bias(x, real)
        hidden, weights = [x], list[Tensor]()
        for layer in self.layers:
            if self.recomputes and self.training:
                x, looked = forgetting(layer, x, bias, keep_weights, use_reentrant=False)
            else:
                x, looked = layer(x, bias, keep_weights)
            if keep_hidden:
                hidden.append(x)
            if looked is not None:
                weights.append(looked)
        pooled = None if self.pooler is None else self.pooler(self._summed_up(x, real))
        return Encoded(x, pooled, tuple(hidden) if keep_hidden else (), tuple(weights))

    def _bias(self, x: Tensor, real: Tensor | None) -> Tensor | None:
        """What is added to the scores: -inf on padding, and on all that comes later where the
        network is left-to-right.

        None, or float [1 or B, 1, 1 or T, T].
        """
        if real is None and not self.spec.causal:
            return None
        hidden = torch.zeros((1, 1, 1, x.size(1)), dtype=torch.bool, device=x.device)
        if real is not None:
            hidden = ~real[:, None, None]  # [B, 1, 1, T]
        if self.spec.causal:
            square = torch.ones((x.size(1), x.size(1)), dtype=torch.bool, device=x.device)
            hidden = hidden | square.triu(1)  # [1 or B, 1, T, T]
        bias = torch.zeros(hidden.shape, dtype=x.dtype, device=x.device)
        return bias.masked_fill(hidden, float("-inf"))

    def _summed_up(self, x: Tensor, real: Tensor | None) -> Tensor:
        """The vectors with the one that has seen the whole input in front: [CLS] has, but in a
        left-to-right network only the last token, as in Radford et al. 2018, §3.2."""
        if not self.spec.causal:
            return x
        last = x.new_full((x.size(0),), x.size(1) - 1, dtype=torch.long)
        if real is not None:
            last = real.sum(1) - 1
        return x[torch.arange(x.size(0), device=x.device), last][:, None]  # [B, 1, D]


class Network(nn.Module):
    """The encoder and its heads."""

    def __init__(self, spec: BertSpec, heads: Heads) -> None:
        """Make fresh weights, drawn from torch's present random state; see `fresh`."""
        super().__init__()
        self.spec = spec
        self.encoder = Bert(spec, heads.pooler)
        token = self.encoder.embeddings.token
        self.masked_words = MaskedWordHead(spec, token) if heads.masked_words else None
        self.next_sentence = NextSentenceHead(spec) if heads.next_sentence else None
        self.task = TaskHead(spec, heads.outputs, heads.kind) if heads.outputs else None
        for name, parameter in self.named_parameters():
            fresh(name, parameter, spec)

    @property
    def heads(self) -> Heads:
        """Which heads it has."""
        return Heads(
            masked_words=self.masked_words is not None,
            next_sentence=self.next_sentence is not None,
            outputs=0 if self.task is None else self.task.dense.out_features,
            pooler=self.encoder.pooler is not None,
            kind="classes" if self.task is None else self.task.kind,
        )

    def logits(self, tokens: Tensor, segments: Tensor, real: Tensor | None = None) -> Tensor:
        """What the task head says, as float32.

        Args:
            tokens: int64 [B, T]; segments and real as the encoder takes them.

        Returns:
            [B, C] of the pooled vectors; for tags and answers [B, T, C], of each token.
        """
        assert self.task is not None
        encoded = self.encoder(tokens, segments, real)
        vectors = encoded.last if self.heads.reads_tokens else encoded.pooled
        logits: Tensor = self.task(vectors)
        return logits.float()

    def tie(self) -> None:
        """Make the decoder of masked words the token embedding again, after that was replaced."""
        if self.masked_words is not None:
            self.masked_words.decoder = self.encoder.embeddings.token.weight


def shell(spec: BertSpec, heads: Heads) -> Network:
    """A network whose parameters have their shapes and no memory yet; nothing is drawn for it."""
    with torch.device("meta"), _Undrawn():
        return Network(spec, heads)


DRAWING = (Tensor.normal_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


class _Undrawn(TorchFunctionMode):
    """Passes over the drawing of numbers, for which torch would load its compiler first."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func in DRAWING:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@torch.no_grad()
def fresh(name: str, parameter: Tensor, spec: BertSpec) -> None:
    """Begin a parameter: weights normal with `spec.initial_spread`, biases 0, norms 1."""
    if parameter.dim() > 1:
        parameter.normal_(std=spec.initial_spread)
    else:
        parameter.fill_(1 if name.endswith("norm.weight") else 0)
