"""A network: the encoder of its family, and the heads on it.

Shapes: B sequences, T tokens in each, D hidden size, C outputs.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.config.sentence import SentenceSpec
from engine.config.tasks import head_of
from engine.models.encoder import Encoded, Encoder
from engine.models.fast.encoding import encode, encode_at, encode_pooled, plan_batch
from engine.models.fast.padded_blocks import Ints
from engine.models.fast.unpadded import UnpaddedBatch
from engine.models.heads import Heads, MlmHead, NspHead, SentenceHead, TaskHead
from engine.models.probe import Probe, ReadingOrder, reading_order, select_layers

Result = TypeVar("Result")
Plan = UnpaddedBatch | ReadingOrder  # of a batch without its padding: of the encoder, of a probe
NO_TASK_HEAD = Heads()


def encoder_for(spec: EncoderSpec, pooler: bool) -> Encoder:
    """The encoder of a spec's family, which `FAMILIES` names."""
    module, _, name = FAMILIES[spec.family].network.rpartition(".")
    network: type[Encoder] = getattr(import_module(f"engine.models.{module}"), name)
    made: Encoder = network(spec, pooler)  # type: ignore[arg-type,call-arg]
    return made


class Network(nn.Module):
    """The encoder and its heads."""

    def __init__(self, spec: EncoderSpec, heads: Heads) -> None:
        """Make fresh weights, drawn from torch's present random state; see `init_parameter`."""
        super().__init__()
        self.spec = spec
        self.encoder = encoder_for(spec, heads.pooler)
        token = self.encoder.embeddings.token
        self.mlm = MlmHead(spec, token, heads.own_decoder) if heads.mlm else None
        self.nsp = NspHead(spec) if heads.nsp else None
        self.task: TaskHead | SentenceHead | None = None
        self.probe: Probe | None = None
        self._kind = heads.kind
        if heads.features is not None:
            self.probe = Probe(
                heads.features,
                spec.hidden_size,
                spec.layers,
                heads.outputs,
                spec.dropout,
                heads.reads_tokens,
            )
        elif heads.pools:
            self.task = SentenceHead(spec, heads.sentence or SentenceSpec())
        elif heads.outputs:
            self.task = TaskHead(spec, heads.outputs, head_of(heads.kind))
        for name, parameter in self.named_parameters():
            init_parameter(name, parameter, spec)

    @property
    def heads(self) -> Heads:
        """Which heads it has."""
        head = self.probe or self.task
        outputs = 0
        if isinstance(head, SentenceHead):
            outputs = head.outputs
        elif head is not None:
            outputs = head.dense.out_features
        return Heads(
            mlm=self.mlm is not None,
            nsp=self.nsp is not None,
            outputs=outputs,
            pooler=self.encoder.pooler is not None,
            kind=NO_TASK_HEAD.kind if head is None else self._kind,
            own_decoder=self.mlm is not None and self.mlm.own_decoder,
            features=None if self.probe is None else self.probe.features,
            sentence=head.sentence if isinstance(head, SentenceHead) else None,
        )

    def forward(self, work: Callable[..., Result], *given: object) -> Result:
        """Let `work` use this network: where it is sharded, its weights are there meanwhile."""
        return work(self, *given)

    def encode(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        query_positions: Tensor | None = None,
        unpadded: Plan | None = None,
    ) -> Encoded:
        """What the encoder makes of a batch, at the least cost; see `fast.encoding.encode`.

        `encoder` itself is the plain way, which keeps hidden states and attention weights.
        """
        assert not isinstance(unpadded, ReadingOrder)
        return encode(self.encoder, tokens, segments, attention_mask, query_positions, unpadded)

    def encode_at(
        self,
        tokens: Tensor,
        segments: Tensor,
        positions: Tensor,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """The last vectors at int64 [B, R], positions in each sequence: float [B, R, D]."""
        return encode_at(self.encoder, tokens, segments, positions, attention_mask)

    def encode_pooled(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        unpadded: Plan | None = None,
    ) -> Tensor:
        """What the pooler makes of each sequence, float [B, D]."""
        assert not isinstance(unpadded, ReadingOrder)
        return encode_pooled(self.encoder, tokens, segments, attention_mask, unpadded)

    @property
    def passes_over_padding(self) -> bool:
        """Whether a plan of a batch spares it work; a linear probe needs none."""
        return self.probe is None or self.probe.lstm is not None

    def unpad(self, lengths: Ints, width: int, query_positions: Tensor | None = None) -> Plan:
        """The plan of an unpadded batch, made on the host before the batch is moved to a device.

        It is for `logits` where there is a task head or a probe, otherwise for `encode` at these
        positions.

        Args:
            lengths: tokens of each sequence, int64 [B].
            width: T, to which they are padded.
            query_positions: int64 [M], as for `encode`.
        """
        if self.probe is not None:
            return reading_order(lengths, width)
        if self.task is not None:
            none = torch.empty(0, dtype=torch.int64)
            reads_all = self.heads.reads_tokens or self.heads.pools
            query_positions = None if reads_all else none
        return plan_batch(self.encoder, lengths, width, query_positions)

    def logits(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        unpadded: Plan | None = None,
    ) -> Tensor:
        """What the task head says, as float32.

        Args:
            tokens: int64 [B, T]; segments and attention_mask as the encoder takes them. For a
                probe they may be the vectors that it reads, float [B, T, N, D].
            unpadded: the plan of this batch, made by `unpad`; None: it is made here.

        Returns:
            [B, C] of the pooled vectors; for tags and answers [B, T, C], of each token. What pools
            gives the vector of each sequence.
        """
        if self.probe is not None:
            if not tokens.is_floating_point():
                with torch.no_grad():
                    encoded = self.encoder(tokens, segments, attention_mask, keep_hidden=True)
                    tokens = select_layers(encoded.hidden, self.probe.heights)
            order = unpadded if isinstance(unpadded, ReadingOrder) else None
            answers: Tensor = self.probe(tokens, attention_mask, order)
            return answers
        assert self.task is not None
        if isinstance(self.task, SentenceHead):
            last = self.encode(tokens, segments, attention_mask, unpadded=unpadded).last
            made: Tensor = self.task(last, attention_mask)
            return made.float()
        if self.heads.reads_tokens:
            vectors = self.encode(tokens, segments, attention_mask, unpadded=unpadded).last
        else:
            vectors = self.encode_pooled(tokens, segments, attention_mask, unpadded)
        logits: Tensor = self.task(vectors)
        return logits.float()

    def reuse_token_gradient(self) -> None:
        """Let the gradient of the token embedding keep its memory, where nothing else adds to it.

        For training in one process; see `fast.token_embedding`.
        """
        if self.mlm is None or self.mlm.own_decoder:
            self.encoder.embeddings.token.keep_gradient()

    def tie(self) -> None:
        """Make the decoder of masked words the token embedding again, after that was replaced.

        One with weights of its own stays.
        """
        if self.mlm is not None and not self.mlm.own_decoder:
            self.mlm.decoder = self.encoder.embeddings.token.weight


def meta_network(spec: EncoderSpec, heads: Heads) -> Network:
    """A network whose parameters have their shapes and no memory yet; nothing is drawn for it."""
    with torch.device("meta"), _SkipInit():
        return Network(spec, heads)


def mlm_head_parameters(spec: EncoderSpec) -> list[str]:
    """The parameters that masked words add to a network."""
    with torch.device("meta"), _SkipInit():
        token = nn.Embedding(spec.vocab_size, spec.hidden_size)
        head = MlmHead(spec, token)
    return [f"mlm.{name}" for name, one in head.named_parameters() if one is not token.weight]


INIT_FUNCTIONS = (Tensor.normal_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


class _SkipInit(TorchFunctionMode):
    """Passes over the drawing of numbers, for which torch would load its compiler first."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func in INIT_FUNCTIONS:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@torch.no_grad()
def init_parameter(name: str, parameter: Tensor, spec: EncoderSpec) -> None:
    """Begin a parameter: weights normal with `spec.initial_spread`, biases 0, norms 1."""
    if parameter.dim() > 1:
        parameter.normal_(std=spec.initializer_range)
    else:
        parameter.fill_(1 if name.endswith("norm.weight") else 0)
