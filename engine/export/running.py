"""Run a model on examples, in torch or ONNX. Loads torch only to run torch.

Shapes: B inputs, E endings, T tokens, C outputs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.config import Spec
from engine.config.export import Form, Output
from engine.export.examples import Example
from engine.tokenizers.tokenizer import Encoding, Tokenizer

if TYPE_CHECKING:
    from engine.models.network import Network

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
Run = Callable[[Integers, Integers, Integers], dict[str, Floats]]
"""(token ids, attention mask (0 or 1), segments), all [B, T] or [B, E, T] → outputs by name."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # arguments of a Run, in order
MAX_TOKENS = 512  # tokens of an example
FIRST_BATCHES = (1, 3)  # batch sizes to begin with, so that each export is run at several
BATCH_SIZE = 8
MAX_BATCH_TOKENS = 1_024  # per batch, padding included, unless it has only one example


class Request(Spec):
    """The export to load, and the examples to run.

    Args:
        max_length: the maximum input length of the model.
        max_tokens: maximum number of evenly spaced tokens whose outputs are stored.
    """

    form: Form
    folder: Path
    outputs: tuple[Output, ...]
    examples: tuple[Example, ...]
    max_length: int
    max_tokens: int


@dataclass
class Predictions:
    """The ids of each sequence of each example, and its predictions by output."""

    tokens: list[list[list[int]]]
    values: dict[str, list[Floats]]


def predict(run: Run, tokenizer: Tokenizer, request: Request) -> Predictions:
    """Run all examples in batches of several sizes and lengths.

    Returns:
        [C] for an input, [tokens, C] for its tokens, or [tokens] for answers; without the padding.
    """
    max_length, max_tokens = min(request.max_length, MAX_TOKENS), request.max_tokens
    encoded = [[tokenizer.encode(*text, max_length) for text in item] for item in request.examples]
    values: dict[str, list[Floats]] = {output.name: [] for output in request.outputs}
    for batch in _batches(encoded):
        ids, attention_mask, segments = _pad(batch, tokenizer.pad)
        outputs = run(ids, attention_mask, segments)
        for output in request.outputs:
            for example, value in zip(batch, outputs[output.name], strict=True):
                numbers = value
                if output.of == "token":
                    numbers = value[: len(example[0].ids)]
                    if numbers.ndim > 1 and len(numbers) > max_tokens:
                        numbers = numbers[
                            np.linspace(0, len(numbers) - 1, max_tokens).astype(np.int64)
                        ]
                values[output.name].append(numbers)
    return Predictions([[encoding.ids for encoding in example] for example in encoded], values)


def _batches(encoded: Sequence[list[Encoding]]) -> Iterator[list[list[Encoding]]]:
    """Group consecutive examples with the same number of endings."""
    sizes = iter(FIRST_BATCHES)
    batch: list[list[Encoding]] = []
    size = next(sizes)
    for example in encoded:
        candidate = [*batch, example]
        width = max(len(encoding.ids) for item in candidate for encoding in item)
        too_many = len(candidate) > size or len(candidate) * len(example) * width > MAX_BATCH_TOKENS
        if batch and (too_many or len(batch[0]) != len(example)):
            yield batch
            batch, size = [], next(sizes, BATCH_SIZE)
        batch.append(example)
    if batch:
        yield batch


def _pad(batch: list[list[Encoding]], pad: int) -> tuple[Integers, Integers, Integers]:
    """Ids, attention mask and segments, [B, T], or [B, E, T] for multiple choice."""
    width = max(len(encoding.ids) for example in batch for encoding in example)
    ids = np.full((len(batch), len(batch[0]), width), pad, dtype=np.int64)
    attention_mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for row, example in enumerate(batch):
        for index, encoding in enumerate(example):
            ids[row, index, : len(encoding.ids)] = encoding.ids
            segments[row, index, : len(encoding.ids)] = encoding.segments
            attention_mask[row, index, : len(encoding.ids)] = 1
    if len(batch[0]) == 1:
        return ids[:, 0], attention_mask[:, 0], segments[:, 0]
    return ids, attention_mask, segments


def torch_run(network: "Network") -> Run:
    import torch

    from engine.models.outputs import named_outputs

    def run(ids: Integers, attention_mask: Integers, segments: Integers) -> dict[str, Floats]:
        tensors = (
            torch.from_numpy(ids),
            torch.from_numpy(segments),
            torch.from_numpy(attention_mask) > 0,
        )
        with torch.inference_mode():
            outputs = named_outputs(network, *tensors)
        return {name: value.numpy() for name, value in outputs.items()}

    return run


def onnx_run(file: Path) -> Run:
    """Run an ONNX graph on the CPU; inputs that it does not have are left out."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # builds for Windows send telemetry
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = [node.name for node in session.get_inputs()]
    names = [node.name for node in session.get_outputs()]

    def run(ids: Integers, attention_mask: Integers, segments: Integers) -> dict[str, Floats]:
        arrays = dict(zip(INPUTS, (ids, attention_mask, segments), strict=True))
        return dict(zip(names, session.run(names, {n: arrays[n] for n in inputs}), strict=True))

    return run
