"""A network: the encoder of its family, with heads.

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
from engine.config.tasks import get_head
from engine.models.encoder import Encoded, Encoder
from engine.models.fast.encoding import encode, encode_at, encode_pooled, plan_batch
from engine.models.fast.padded_blocks import Ints
from engine.models.fast.unpadded import UnpaddedBatch
from engine.models.heads import Heads, MlmHead, NspHead, SentenceHead, TaskHead, ordinal_logits
from engine.models.probe import Probe, ReadingOrder, reading_order, select_layers

Result = TypeVar("Result")
Plan = UnpaddedBatch | ReadingOrder  # plan of an unpadded batch, for the encoder or a probe
NO_TASK_HEAD = Heads()


class Network(nn.Module):
    """Encoder and heads."""

    def __init__(self, spec: EncoderSpec, heads: Heads) -> None:
        """Draw new weights from torch's random state; see `init_parameter`."""
        super().__init__()
        self.spec = spec
        module, _, name = FAMILIES[spec.family].network.rpartition(".")
        encoder_class: type[Encoder] = getattr(import_module(f"engine.models.{module}"), name)
        self.encoder = encoder_class(spec, heads.pooler)
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
            head = get_head(heads.kind)
            self.task = TaskHead(spec, heads.outputs, head, heads.scores_windows)
        if not token.weight.is_meta:
            for name, parameter in self.named_parameters():
                init_parameter(name, parameter, spec)

    @property
    def heads(self) -> Heads:
        """Heads of this network."""
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
            scores_windows=isinstance(head, TaskHead) and head.score is not None,
        )

    def forward(self, work: Callable[..., Result], *args: object) -> Result:
        """Call `work` with this network; gathers its weights if it is sharded."""
        return work(self, *args)

    def encode(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        query_positions: Tensor | None = None,
        unpadded: Plan | None = None,
    ) -> Encoded:
        """Encode a batch at the lowest cost; see `fast.encoding.encode`.

        `encoder` itself is the plain path, which can return hidden states and attention weights.
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
        """Last hidden states at int64 [B, R], positions in each sequence: float [B, R, D]."""
        return encode_at(self.encoder, tokens, segments, positions, attention_mask)

    def encode_pooled(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        unpadded: Plan | None = None,
    ) -> Tensor:
        """Pooler output of each sequence, float [B, D]."""
        assert not isinstance(unpadded, ReadingOrder)
        return encode_pooled(self.encoder, tokens, segments, attention_mask, unpadded)

    @property
    def uses_plan(self) -> bool:
        """True if a plan saves work: always, except for a linear probe."""
        return self.probe is None or self.probe.lstm is not None

    def unpad(self, lengths: Ints, width: int, query_positions: Tensor | None = None) -> Plan:
        """Plan an unpadded batch on the host, before it moves to a device.

        The plan is for `logits` if there is a task head or probe, otherwise for `encode`.

        Args:
            lengths: tokens of each sequence, int64 [B].
            width: T, the padded length.
            query_positions: int64 [M], as for `encode`.
        """
        if self.probe is not None:
            return reading_order(lengths, width)
        if self.task is not None:
            no_positions = torch.empty(0, dtype=torch.int64)
            reads_all = self.heads.reads_tokens or self.heads.pools
            query_positions = None if reads_all else no_positions
        return plan_batch(self.encoder, lengths, width, query_positions)

    def logits(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None = None,
        unpadded: Plan | None = None,
        with_score: bool = False,
    ) -> Tensor:
        """Logits of the task head or probe, as float32.

        Args:
            tokens: int64 [B, T]; segments and attention_mask as for the encoder; a probe
                also accepts its features, float [B, T, N, D].
            unpadded: plan of this batch, made by `unpad`; None: planned here.
            with_score: a head that scores windows returns [B, C + 1], the score last.

        Returns:
            [B, C] for inputs; [B, T, C] for tokens; [B, C] vectors of a pooling head.
        """
        if self.probe is not None:
            if not tokens.is_floating_point():
                with torch.no_grad():
                    encoded = self.encoder(tokens, segments, attention_mask, keep_hidden=True)
                    tokens = select_layers(encoded.hidden, self.probe.layers)
            order = unpadded if isinstance(unpadded, ReadingOrder) else None
            probed: Tensor = self.probe(tokens, attention_mask, order)
            return self._link(probed)
        assert self.task is not None
        if isinstance(self.task, SentenceHead):
            last = self.encode(tokens, segments, attention_mask, unpadded=unpadded).last
            sentence: Tensor = self.task(last, attention_mask)
            return sentence.float()
        if self.heads.reads_tokens:
            vectors = self.encode(tokens, segments, attention_mask, unpadded=unpadded).last
        else:
            vectors = self.encode_pooled(tokens, segments, attention_mask, unpadded)
        logits: Tensor = self.task(vectors, with_score)
        return self._link(logits.float())

    def _link(self, outputs: Tensor) -> Tensor:
        """Outputs of ordered labels as log-probabilities; others, and window scores, unchanged."""
        head, count = self.heads.task, self.heads.outputs
        if head is None or not head.is_ordinal:
            return outputs
        return torch.cat([ordinal_logits(outputs[..., :count]), outputs[..., count:]], -1)

    def use_sparse_token_gradient(self) -> None:
        """Give the token embedding sparse gradients, unless it is tied to a decoder.

        For training in one process; see `fast.token_embedding`.
        """
        if self.mlm is None or self.mlm.own_decoder:
            self.encoder.embeddings.token.has_sparse_gradient = True

    def tie(self) -> None:
        """Tie the MLM decoder to the token embedding after the latter was replaced."""
        if self.mlm is not None and not self.mlm.own_decoder:
            self.mlm.decoder = self.encoder.embeddings.token.weight


def meta_network(spec: EncoderSpec, heads: Heads) -> Network:
    """Network on the meta device: shapes without memory or random draws."""
    with _OnMeta():
        return Network(spec, heads)


def mlm_head_parameters(spec: EncoderSpec) -> list[str]:
    """Names of the parameters of an MLM head."""
    with _OnMeta():
        token = nn.Embedding(spec.vocab_size, spec.hidden_size)
        head = MlmHead(spec, token)
    return [
        f"mlm.{name}"
        for name, parameter in head.named_parameters()
        if parameter is not token.weight
    ]


FACTORIES = {torch.arange, torch.empty, torch.full, torch.ones, torch.tensor, torch.zeros}
INIT_FUNCTIONS = {Tensor.normal_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_}


class _OnMeta(TorchFunctionMode):
    """Make tensors on the meta device, and skip random initialisation, for which torch would import
    its compiler. One mode: torch calls each in Python for every operation."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        if func in INIT_FUNCTIONS:
            return args[0] if args else keywords["tensor"]
        if func in FACTORIES and keywords.get("device") is None:
            keywords = {**keywords, "device": "meta"}
        return func(*args, **keywords)


@torch.no_grad()
def init_parameter(name: str, parameter: Tensor, spec: EncoderSpec) -> None:
    """Initialise a parameter: weights normal with `spec.initializer_range`, biases 0, norms 1."""
    if parameter.dim() > 1:
        parameter.normal_(std=spec.initializer_range)
    else:
        parameter.fill_(1 if name.endswith("norm.weight") else 0)
