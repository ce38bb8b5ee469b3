"""Vectors of the tokens before the first layer: the addends, and their norms.

Shapes: T tokens, E width of the tables, D hidden size of the layers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from engine.messages.explore.embeddings import Addend, Embed, Embedded, TableName
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite_error
from engine.tasks.inputs import encode_question

TABLES: tuple[TableName, ...] = (
    "token",
    "position",
    "segment",
    "task",
)  # and of modules
Recorded = dict[str, tuple[Tensor, Tensor]]  # input and output of each module


@torch.inference_mode()
def embed(checkpoint: Checkpoint, question: Embed) -> Embedded:
    """The norms of the vectors of a text, with masked words as the model sees them."""
    inputs = encode_question(checkpoint, question)
    module = checkpoint.network.encoder.embeddings
    with _record_modules(module) as recorded:
        outcome = module(inputs.tokens, inputs.segments)[0]  # [T, D]
    summed, _ = recorded["norm"]  # [1, T, E]
    if not torch.isfinite(outcome).all():
        raise not_finite_error()
    count = len(inputs.records)
    return Embedded(
        to=question.number,
        tokens=inputs.records,
        addends=tuple(
            Addend(table=table, rows=_rows(rows, count), norms=_norms(vectors, count))
            for table, (rows, vectors) in (
                (name, recorded[name]) for name in TABLES if name in recorded
            )
        ),
        sums=_norms(summed, count),
        outcome=_norms(outcome, count),
    )


@contextmanager
def _record_modules(embeddings: nn.Module) -> Iterator[Recorded]:
    """Record the inputs and outputs of the parts in forward passes, for any model family."""
    recorded: Recorded = {}

    def keep(name: str) -> Any:
        def hook(_module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
            recorded[name] = args[0], output

        return hook

    hooks = [
        module.register_forward_hook(keep(name))
        for name, module in embeddings.named_children()
        if name in (*TABLES, "norm")
    ]
    try:
        yield recorded
    finally:
        for hook in hooks:
            hook.remove()


def _rows(rows: Tensor, count: int) -> tuple[int, ...]:
    return tuple(rows.reshape(-1)[:count].tolist())


def _norms(vectors: Tensor, count: int) -> tuple[float, ...]:
    """Norms of [T, E] or [1, T, E], one per token."""
    return tuple(vectors.float().reshape(count, -1).norm(dim=-1).tolist())
