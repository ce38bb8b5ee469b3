"""The attention of every head of a checkpoint.

Shapes: L layers, H heads, T tokens.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from engine.explore.measures import iter_measure
from engine.files.atomic_write import disk_errors_for
from engine.messages.explore.attention import ArrayFile, Attend, Attended, Measure
from engine.messages.explore.text import Token
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite_error
from engine.tasks.inputs import Inputs, encode_question, encode_text

MAX_FILES = 2  # the newest, and the previous one, which the window may still need to map
# one map per head; the other measures have one per layer
BY_HEAD: tuple[Measure, ...] = ("weights", "norms")
REPORT_SECONDS = 0.25  # between reports of the layers that are ready


@torch.inference_mode()
def weights(
    checkpoint: Checkpoint, text: str, pair: str | None = None, measure: Measure = "weights"
) -> tuple[tuple[Token, ...], np.ndarray]:
    """The tokens of a text or pair, and the attention of all heads as float32 [L, H, T, T].

    For other values of `measure` see `Attended`.
    """
    inputs = encode_text(checkpoint, text, pair)
    return inputs.records, np.stack(list(_layers(checkpoint, inputs, measure)))


@torch.inference_mode()
def attend(
    checkpoint: Checkpoint,
    question: Attend,
    scratch: Path,
    emit: Callable[[Answer], object] = lambda _: None,
) -> Attended:
    """Write the attention of all heads into a file in `scratch`; the answer has its path.

    `emit` gets the number of layers that are ready. On failure no file is left.
    """
    inputs, spec = encode_question(checkpoint, question), checkpoint.network.spec
    count, heads = len(inputs.records), spec.heads if question.measure in BY_HEAD else 1
    path = scratch / f"attention-{question.number}.npy"
    answer = Attended(
        to=question.number,
        tokens=inputs.records,
        weights=ArrayFile(path=path, shape=(spec.layers, heads, count, count), dtype="float32"),
        measure=question.measure,
    )

    def on_part(layers: int, largest: float) -> None:
        emit(answer.model_copy(update={"layers": layers, "largest": scale(largest)}))

    def scale(largest: float) -> float:
        return largest if question.measure == "norms" else 1.0

    try:
        largest = _write(answer.weights, _layers(checkpoint, inputs, question.measure), on_part)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    remove_older(scratch, path)
    return answer.model_copy(update={"largest": scale(largest)})


def _write(
    target: ArrayFile, layers: Iterator[np.ndarray], on_part: Callable[[int, float], None]
) -> float:
    """Write layer by layer, so that a reader can map the finished ones; returns the largest value.

    Not flushed to disk: these are scratch files. `on_part` gets the number of layers that are
    ready.
    """
    reported, largest = time.perf_counter(), 0.0
    with disk_errors_for(target.path), open(target.path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": target.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for done, layer in enumerate(layers, start=1):
            file.write(layer.astype("<f4").tobytes())
            largest = max(largest, float(layer.max()))
            if time.perf_counter() - reported >= REPORT_SECONDS and done < target.shape[0]:
                reported = time.perf_counter()
                file.flush()
                on_part(done, largest)
    return largest


def _layers(checkpoint: Checkpoint, inputs: Inputs, measure: Measure) -> Iterator[np.ndarray]:
    """Yield L arrays, float32 [H, T, T]: rows are query tokens, columns key tokens."""
    for layer in iter_measure(checkpoint.network, inputs, measure):
        # a non-finite value makes the sum non-finite; one pass instead of four
        if not torch.isfinite(layer.sum()):
            raise not_finite_error()
        yield layer.float().cpu().numpy()


def remove_older(scratch: Path, newest: Path) -> None:
    """Remove all but the last few files; one that a window on Windows still maps is removed next
    time."""
    older = [p for p in scratch.glob("attention-*.npy") if p != newest]
    older.sort(key=lambda p: p.stat().st_mtime_ns)
    for file in older[: len(older) - MAX_FILES + 1]:
        try:
            file.unlink()
        except OSError:
            continue
