"""How large a new network is."""

from PySide6.QtCore import QCoreApplication

from app.widgets import numbers
from engine.checkpoints import outline
from engine.spec.model import BertSpec


def parameters(spec: BertSpec) -> int:
    """How many parameters a network of this size has, with the head for masked words."""
    return outline.parameters(outline.outline(spec, ("masked words",)))


def size_text(spec: BertSpec) -> str:
    """The size in a line."""
    template = QCoreApplication.translate(
        "Train", "{layers} layers, hidden size {size}, {heads} attention heads"
    )
    return template.format(
        layers=spec.layers, size=numbers.count(spec.hidden_size), heads=spec.heads
    )
