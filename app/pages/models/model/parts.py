"""The parts of a network, with shapes and parameter counts, from its configuration alone."""

from dataclasses import dataclass, field

from engine.spec.model import AlbertSpec, AnySpec, DistilBertSpec


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


OUTPUTS = {"answer": 2, "number": 1, "choices": 1}  # of task heads whose outputs have no names
NAMED = ("classes", "labels", "tags")


def parts_of(spec: AnySpec, heads: tuple[str, ...], classes: int) -> tuple[Part, ...]:
    """The blocks of a network from its input to its heads.

    Args:
        heads: as `CheckpointInfo.task_heads` names them.
        classes: how many classes, labels or tags the task head knows.
    """
    blocks = [_embeddings(spec)]
    blocks += [_layer(spec, number) for number in range(spec.stored_layers)]
    if "pooler" in heads:
        blocks.append(Part("Pooler", _linear(spec.hidden_size, spec.hidden_size)))
    if "masked words" in heads:
        blocks.append(_masked_words(spec))
    if "next sentence" in heads:
        blocks.append(Part("Next-sentence head", _linear(2, spec.hidden_size)))
    for head, outputs in (OUTPUTS | dict.fromkeys(NAMED, classes)).items():
        if head in heads:
            name = "Classifier" if head == "classes" else "Task head"
            blocks.append(Part(name, _linear(outputs, spec.hidden_size)))
    return tuple(blocks)


def _embeddings(spec: AnySpec) -> Part:
    width = _word_width(spec)
    parts = [
        Part("Tokens", ((spec.vocab_size, width),)),
        Part("Positions", ((spec.position_rows, width),)),
    ]
    if not isinstance(spec, DistilBertSpec):
        parts.append(Part("Segments", ((spec.segments, width),)))
    parts.append(Part("Layer norm", _norm(width)))
    if isinstance(spec, AlbertSpec):
        parts.append(Part("Embedding projection", _linear(spec.hidden_size, width)))
    return Part("Embeddings", parts=tuple(parts))


def _word_width(spec: AnySpec) -> int:
    return spec.embedding_size if isinstance(spec, AlbertSpec) else spec.hidden_size


def _layer(spec: AnySpec, number: int) -> Part:
    square = _linear(spec.hidden_size, spec.hidden_size)
    attention = Part(
        "Self-attention",
        parts=(
            Part("Query", square),
            Part("Key", square),
            Part("Value", square),
            Part("Output", square),
            Part("Layer norm", _norm(spec.hidden_size)),
        ),
    )
    feed_forward = Part(
        "Feed-forward",
        parts=(
            Part("Intermediate", _linear(spec.intermediate_size, spec.hidden_size)),
            Part("Output", _linear(spec.hidden_size, spec.intermediate_size)),
            Part("Layer norm", _norm(spec.hidden_size)),
        ),
    )
    both = (attention, feed_forward)
    if isinstance(spec, AlbertSpec):
        return Part("Shared layers", parts=both, number=number + 1 if spec.layer_groups > 1 else 0)
    return Part("Layer", parts=both, number=number + 1)


def _masked_words(spec: AnySpec) -> Part:
    width = _word_width(spec)
    return Part(
        "Masked-language-model head",
        parts=(
            Part("Transform", _linear(width, spec.hidden_size)),
            Part("Layer norm", _norm(width)),
            Part("Decoder", tied=True),
            Part("Bias", ((spec.vocab_size,),)),
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
