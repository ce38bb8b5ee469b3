"""How large a new network is."""

from PySide6.QtCore import QCoreApplication

from app.widgets import numbers
from engine.spec.model import BertSpec


def parameters(spec: BertSpec) -> int:
    """How many weights a network of this size has, with the head for masked words."""
    width, inner = spec.hidden_size, spec.intermediate_size
    embeddings = (spec.vocab_size + spec.max_positions + spec.segments) * width + 2 * width
    attention = 4 * (width * width + width) + 2 * width
    feed_forward = (width * inner + inner) + (inner * width + width) + 2 * width
    head = (width * width + width) + 2 * width + spec.vocab_size  # its decoder is the embeddings
    return embeddings + spec.layers * (attention + feed_forward) + head


def size_text(spec: BertSpec) -> str:
    """The size in a line."""
    template = QCoreApplication.translate(
        "Train", "{layers} layers, hidden size {size}, {heads} attention heads"
    )
    return template.format(
        layers=spec.layers, size=numbers.count(spec.hidden_size), heads=spec.heads
    )
