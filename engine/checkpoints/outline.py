"""Structure of a network, with shapes and parameter counts, from its configuration only.

It mirrors `engine.models` without torch; a test compares both for every family.
"""

import math
from dataclasses import dataclass

from engine.config.families.deberta import DebertaSpec
from engine.config.families.ernie import ErnieSpec
from engine.config.model import EncoderSpec
from engine.config.tasks import added_layers
from engine.phrases import phrase

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Block:
    """A block with child blocks, or a leaf with the shapes of its tensors.

    Args:
        name: as in the paper.
        shapes: of a leaf's tensors, weight before bias.
        number: index among identical blocks, from 1; 0 if there is only one.
        tied: the weights are those of another block and are not counted again.
    """

    name: str
    shapes: Shapes = ()
    blocks: tuple["Block", ...] = ()
    number: int = 0
    tied: bool = False

    @property
    def parameters(self) -> int:
        in_blocks = sum(block.parameters for block in self.blocks)
        return in_blocks + sum(math.prod(shape) for shape in self.shapes)


def outline(spec: EncoderSpec, heads: tuple[str, ...] = (), classes: int = 0) -> tuple[Block, ...]:
    """The blocks of a network from its input to its heads.

    Args:
        heads: as in `CheckpointInfo.task_heads`.
        classes: number of classes, labels or tags of the task head.
    """
    blocks = [_embeddings(spec)]
    blocks += [_layer(spec, number) for number in range(spec.stored_layers)]
    if spec.relative_buckets:
        blocks.append(_relative(spec))
    if spec.parts.norm == "pre":
        blocks.append(_norm(spec, spec.hidden_size))
    if "pooler" in heads:
        blocks.append(_pooler(spec))
    if "mlm" in heads:
        blocks.append(_mlm_head(spec, "decoder" in heads))
    if "nsp" in heads:
        blocks.append(Block(phrase("Next-sentence head"), _linear(2, spec.hidden_size)))
    for kind, head in added_layers():
        if kind in heads:
            output = _linear(head.outputs_for(classes), spec.hidden_size)
            if spec.transforms_tokens and head.reads_tokens:
                last = Block(phrase("Output"), output)
                blocks.append(Block(phrase("Task head"), blocks=(*_transform(spec), last)))
            else:
                blocks.append(Block(phrase("Task head"), output))
    return tuple(blocks)


def parameters(blocks: tuple[Block, ...]) -> int:
    """Total number of parameters."""
    return sum(block.parameters for block in blocks)


def _embeddings(spec: EncoderSpec) -> Block:
    size = spec.token_size
    blocks = [Block(phrase("Tokens"), ((spec.vocab_size, size),))]
    if spec.parts.positions == "learned":
        blocks.append(Block(phrase("Positions"), ((spec.position_rows, size),)))
    if spec.segment_rows:
        blocks.append(Block(phrase("Segments"), ((spec.segment_rows, size),)))
    if isinstance(spec, ErnieSpec) and spec.task_embedding:
        blocks.append(Block(phrase("Tasks"), ((spec.task_types, size),)))
    blocks.append(_norm(spec, size))
    if spec.projects_tokens:
        blocks.append(Block(phrase("Embedding projection"), _linear(spec.hidden_size, size)))
    return Block(phrase("Embeddings"), blocks=tuple(blocks))


def _layer(spec: EncoderSpec, index: int) -> Block:
    blocks: tuple[Block, ...] = (_attention(spec, index), _feed_forward(spec))
    if index == 0 and isinstance(spec, DebertaSpec) and spec.convolution:
        size = spec.hidden_size
        weights = Block(phrase("Weights"), ((size, size, spec.convolution), (size,)))
        blocks += (Block(phrase("Convolution"), blocks=(weights, _norm(spec, size))),)
    if not spec.shares_layers:
        return Block(phrase("Layer"), blocks=blocks, number=index + 1)
    several = spec.stored_layers > 1
    return Block(phrase("Shared layers"), blocks=blocks, number=index + 1 if several else 0)


def _relative(spec: EncoderSpec) -> Block:
    """Relative position embedding of all layers: per bucket, a scalar for each head or a vector."""
    if spec.parts.relative == "buckets":
        return Block(phrase("Distances"), ((spec.relative_buckets, spec.heads),))
    size = spec.hidden_size
    table = Block(phrase("Distances"), ((spec.relative_buckets, size),))
    return Block(phrase("Relative positions"), blocks=(table, _norm(spec, size)))


def _attention(spec: EncoderSpec, index: int) -> Block:
    square = _linear(spec.hidden_size, spec.hidden_size, spec.parts.biases)
    names = (phrase("Query"), phrase("Key"), phrase("Value"), phrase("Output"))
    leaves = [Block(name, square) for name in names]
    normalises = spec.parts.norm == "post" or index > 0 or spec.parts.first_norm
    norms = [_norm(spec, spec.hidden_size)] * normalises
    return Block(phrase("Self-attention"), blocks=(*leaves, *norms))


def _feed_forward(spec: EncoderSpec) -> Block:
    size, inner, biases = spec.hidden_size, spec.intermediate_size, spec.parts.wide_biases
    leaves = [Block(phrase("Intermediate"), _linear(inner, size, biases))]
    if spec.parts.feed_forward == "gated":
        leaves.append(Block(phrase("Gate"), _linear(inner, size, biases)))
    leaves += [Block(phrase("Output"), _linear(size, inner, spec.parts.biases)), _norm(spec, size)]
    return Block(phrase("Feed-forward"), blocks=tuple(leaves))


def _transform(spec: EncoderSpec) -> tuple[Block, ...]:
    size = spec.hidden_size
    norm = ((size,), (size,)) if spec.head_biases else ((size,),)
    return (
        Block(phrase("Transform"), _linear(size, size, spec.head_biases)),
        Block(phrase("Layer norm"), norm),
    )


def _pooler(spec: EncoderSpec) -> Block:
    if spec.transforms_tokens:
        return Block(phrase("Pooler"), blocks=_transform(spec))
    return Block(phrase("Pooler"), _linear(spec.hidden_size, spec.hidden_size))


def _mlm_head(spec: EncoderSpec, own_decoder: bool) -> Block:
    size = spec.token_size
    decoder = Block(phrase("Decoder (tied to the token embeddings)"), tied=True)
    if own_decoder:
        decoder = Block(phrase("Decoder"), ((spec.vocab_size, size),))
    return Block(
        phrase("Masked-language-model head"),
        blocks=(
            Block(phrase("Transform"), _linear(size, spec.hidden_size, spec.head_biases)),
            Block(phrase("Layer norm"), ((size,), (size,)) if spec.head_biases else ((size,),)),
            decoder,
            Block(phrase("Bias"), ((spec.vocab_size,),)),
        ),
    )


def _norm(spec: EncoderSpec, size: int) -> Block:
    return Block(phrase("Layer norm"), ((size,), (size,)) if spec.parts.norm_biases else ((size,),))


def _linear(out: int, inputs: int, bias: bool = True) -> Shapes:
    return ((out, inputs), (out,)) if bias else ((out, inputs),)
