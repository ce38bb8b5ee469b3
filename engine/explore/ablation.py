"""Ablation of attention heads while a question is answered.

The output of a head is replaced before the output matrix: by zero (Michel et al. 2019, §2.3), or by
its mean over texts, computed here. Shapes: B sequences, R tokens, D hidden size, H heads, K head
size, L layers; D = H * K.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.explore.over_texts import Arrays, ArrayStore, compute_texts, question_key
from engine.files.atomic_write import write_file
from engine.files.regular_file import check_regular
from engine.messages.explore.text import AblationQuestion
from engine.messages.explore.text_set import AverageHeads, HeadsAveraged
from engine.messages.question import Answer
from engine.models.attention import Attention
from engine.models.checkpoint import Checkpoint
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.tasks.finite import not_finite_error
from engine.tasks.inputs import encode_text

Head = tuple[int, int]  # layer and head, from 0


@contextmanager
def ablate(network: Network, question: AblationQuestion) -> Iterator[None]:
    """Ablate the heads named by a question.

    Raises StudioError if a head does not exist or its means are not available.
    """
    means = None
    if question.heads_off and question.head_means is not None:
        means = _read_means(network, question)
    with ablate_heads(network, question.heads_off, means):
        yield


@contextmanager
def ablate_heads(
    network: Network, heads: Sequence[Head], means: Tensor | None = None
) -> Iterator[None]:
    """Replace the output of these heads, before the output matrix, in every forward pass.

    If one module serves several layers, as in ALBERT, its calls are counted from the embeddings up.

    Args:
        means: float [L, D], replacement for each head; None: zero.

    Raises StudioError if a head does not exist.
    """
    spec = network.spec
    for layer, head in heads:
        if not (0 <= layer < spec.layers and 0 <= head < spec.heads):
            raise StudioError(
                "There is no layer {layer}, head {head} to ablate.",
                "The model has {layers} layers of {heads} heads.",
                layer=layer + 1,
                head=head + 1,
                layers=spec.layers,
                heads=spec.heads,
            )
    if not heads:
        yield
        return

    def switch(index: int, attention: Attention, gathered: Tensor) -> Tensor:
        off = [head for layer, head in heads if layer == index]
        if not off:
            return gathered
        gathered = gathered.clone()
        size = attention.head_size
        for head in off:
            columns = slice(head * size, (head + 1) * size)
            gathered[..., columns] = 0 if means is None else means[index, columns].to(gathered)
        return gathered

    with change_head_outputs(network, switch):
        yield


# (layer index from 0, its attention, head outputs as float [B, R, D] or [R, D]) → replacement
Change = Callable[[int, Attention, Tensor], Tensor]


@contextmanager
def change_head_outputs(network: Network, change: Change) -> Iterator[None]:
    """Change the output of the heads of every layer, before the output matrix, in every forward
    pass."""
    parts: dict[int, _HookedAttention] = {}
    for index, module in enumerate(network.encoder.iter_layers()):
        assert isinstance(module, Layer)
        part = parts.setdefault(id(module.attention), _HookedAttention(module.attention, change))
        part.layers.append(index)
    hooked = list(parts.values())

    def reset_calls(*_: Any) -> None:
        for part in hooked:
            part.calls = 0

    hooks = [network.encoder.embeddings.register_forward_pre_hook(reset_calls)]
    hooks += [part.attention.output.register_forward_pre_hook(part.hook) for part in hooked]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _HookedAttention:
    """The attention of one layer module, and the layer indices that it serves."""

    def __init__(self, attention: Attention, change: Change) -> None:
        self.attention, self._change = attention, change
        self.layers: list[int] = []
        self.calls = 0

    def hook(self, _: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        layer = self.layers[self.calls % len(self.layers)]
        self.calls += 1
        return (self._change(layer, self.attention, args[0]), *args[1:])


def _read_means(network: Network, question: AblationQuestion) -> Tensor:
    """Mean output of the heads, float32 [L, D]."""
    assert question.head_means is not None
    shape = (network.spec.layers, network.spec.hidden_size)
    try:
        means = np.load(check_regular(question.head_means), allow_pickle=False)
    except (OSError, ValueError):
        means = np.zeros(0)
    if means.shape != shape:
        raise StudioError(
            "The means of the heads are no longer available.",
            "Restore all heads, and choose the mean again.",
        )
    return torch.from_numpy(means)


def average_heads(
    checkpoint: Checkpoint, question: AverageHeads, scratch: Path, emit: Callable[[Answer], object]
) -> HeadsAveraged:
    """Average the output of every head over texts, into a file; `emit` gets the progress.

    Raises StudioError if the texts cannot be read.
    """
    total = len(load_rows(question.texts))

    def progress(done: int) -> None:
        if done < total:
            emit(HeadsAveraged(to=question.number, done=done, total=total))

    means = head_means(checkpoint, question, progress)
    content = io.BytesIO()
    np.save(content, means)
    file = (question.cache or scratch) / f"head-means-{question_key(question)}.npy"
    write_file(file, content.getvalue())
    return HeadsAveraged(to=question.number, done=total, total=total, file=file)


def head_means(
    checkpoint: Checkpoint,
    question: AverageHeads,
    progress: Callable[[int], object] = lambda done: None,
) -> np.ndarray:
    """Mean head outputs over all tokens of all texts, float32 [L, D]; `progress` gets the number of
    finished texts."""
    pairs = typed_pairs(load_rows(question.texts))

    def compute(start: int, stop: int) -> Arrays:
        each = [sum_outputs(checkpoint, *pairs[number]) for number in range(start, stop)]
        return {
            "sums": np.stack([sums for sums, _ in each]),
            "tokens": np.array([tokens for _, tokens in each]),
        }

    arrays = compute_texts(
        ArrayStore(question), len(pairs), compute, lambda _, __, done: progress(done)
    )
    mean = arrays["sums"].sum(0) / arrays["tokens"].sum()
    return np.asarray(mean, np.float32)


@torch.inference_mode()
def sum_outputs(checkpoint: Checkpoint, text: str, pair: str | None) -> tuple[np.ndarray, int]:
    """Sums over the tokens of a text, special ones included, float64 [L, D], and their number."""
    inputs, network = encode_text(checkpoint, text, pair), checkpoint.network
    sums = np.zeros((network.spec.layers, network.spec.hidden_size))

    def record(layer: int, _: Attention, gathered: Tensor) -> Tensor:
        sums[layer] = gathered.flatten(0, -2).cpu().double().sum(0).numpy()
        return gathered

    with change_head_outputs(network, record):
        network.encoder(inputs.tokens, inputs.segments)
    if not np.isfinite(sums).all():
        raise not_finite_error()
    return sums, inputs.tokens.size(1)
