"""The parts of a BERT, with shapes and parameter counts, from its configuration alone.

Letters: V vocabulary, D width, F feed-forward width, P positions, S segments, C classes.
"""

from dataclasses import dataclass, field

from engine.spec.model import BertSpec


@dataclass(frozen=True)
class Part:
    """A block with parts of its own, or a leaf with the shapes of its tensors.

    Args:
        name: in English, as in the paper; the view translates it.
        shapes: of a leaf's tensors, weight before bias; numbers count from the first dimension.
        number: which of several alike, from 1; 0 where there is only one.
        tied: its weights are those of another part and are not counted again.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...] = ()
    parts: tuple["Part", ...] = field(default=())
    number: int = 0
    tied: bool = False

    @property
    def parameters(self) -> int:
        if self.parts:
            return sum(part.parameters for part in self.parts)
        return sum(_size(shape) for shape in self.shapes)


def parts_of(spec: BertSpec, heads: tuple[str, ...], classes: int) -> tuple[Part, ...]:
    """The blocks of a network from its input to its heads.

    Args:
        heads: as `CheckpointInfo.task_heads` names them.
        classes: how many classes the classifier knows.
    """
    blocks = [_embeddings(spec)]
    blocks += [_layer(spec, number) for number in range(1, spec.layers + 1)]
    if "pooler" in heads:
        blocks.append(Part("Pooler", _linear(spec.width, spec.width)))
    if "masked words" in heads:
        blocks.append(_masked_words(spec))
    if "next sentence" in heads:
        blocks.append(Part("Next sentence head", _linear(2, spec.width)))
    if "classes" in heads:
        blocks.append(Part("Classifier", _linear(classes, spec.width)))
    return tuple(blocks)


def _embeddings(spec: BertSpec) -> Part:
    return Part(
        "Embeddings",
        parts=(
            Part("Word pieces", ((spec.vocabulary, spec.width),)),
            Part("Positions", ((spec.positions, spec.width),)),
            Part("Segments", ((spec.segments, spec.width),)),
            Part("Layer norm", _norm(spec.width)),
        ),
    )


def _layer(spec: BertSpec, number: int) -> Part:
    square = _linear(spec.width, spec.width)
    attention = Part(
        "Self-attention",
        parts=(
            Part("Query", square),
            Part("Key", square),
            Part("Value", square),
            Part("Output", square),
            Part("Layer norm", _norm(spec.width)),
        ),
    )
    feed_forward = Part(
        "Feed-forward",
        parts=(
            Part("Inner", _linear(spec.inner, spec.width)),
            Part("Outer", _linear(spec.width, spec.inner)),
            Part("Layer norm", _norm(spec.width)),
        ),
    )
    return Part("Layer", parts=(attention, feed_forward), number=number)


def _masked_words(spec: BertSpec) -> Part:
    return Part(
        "Masked word head",
        parts=(
            Part("Transform", _linear(spec.width, spec.width)),
            Part("Layer norm", _norm(spec.width)),
            Part("Decoder", tied=True),
            Part("Bias", ((spec.vocabulary,),)),
        ),
    )


def _linear(out: int, into: int) -> tuple[tuple[int, ...], ...]:
    return ((out, into), (out,))


def _norm(width: int) -> tuple[tuple[int, ...], ...]:
    return ((width,), (width,))


def _size(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product
