"""Where every head of a checkpoint looks.

Shapes: L layers, H heads, T tokens.
"""

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.durable import disk_errors_for
from engine.explore.inputs import Inputs, inputs
from engine.explore.predictions import not_finite
from engine.messages import ArrayFile, Attend, Attended, Token
from engine.models.checkpoint import Checkpoint

KEPT = 2  # files: the newest, and the one before it, which a window may be about to map


def weights(
    checkpoint: Checkpoint, text: str, pair: str | None = None
) -> tuple[tuple[Token, ...], np.ndarray]:
    """The tokens of a text or pair, and the attention of all heads as float32 [L, H, T, T]."""
    question = Attend(checkpoint=Path(), text=text, pair=pair)
    given, layers = _layers(checkpoint, question)
    return given.described, torch.cat(layers).float().cpu().numpy()


def attend(checkpoint: Checkpoint, question: Attend, scratch: Path) -> Attended:
    """Write the attention of all heads into `scratch`, whole or not at all, and say where."""
    began = time.perf_counter()
    given, layers = _layers(checkpoint, question)
    array = torch.cat([layer.half() for layer in layers]).cpu().numpy()
    path = scratch / f"attention-{question.number}.npy"
    write_array(path, array)
    remove_older(scratch, path)
    return Attended(
        to=question.number,
        tokens=given.described,
        cut=given.cut,
        weights=ArrayFile(path=path, shape=array.shape, dtype="float16"),
        milliseconds=(time.perf_counter() - began) * 1000,
    )


@torch.inference_mode()
def _layers(checkpoint: Checkpoint, question: Attend) -> tuple[Inputs, tuple[Tensor, ...]]:
    """L of [1, H, T, T]: rows are the tokens that look, columns those looked at; rows sum to 1."""
    given = inputs(checkpoint, question)
    encode = checkpoint.network.encoder
    layers = encode(given.tokens, given.segments, keep_weights=True).weights
    if not all(torch.isfinite(layer).all() for layer in layers):
        raise not_finite()
    return given, layers


def write_array(path: Path, array: np.ndarray) -> None:
    """A `.npy` file that is never seen half written; no flush to the disk, for it is scratch."""
    temporary = path.with_suffix(".tmp")
    try:
        with disk_errors_for(path):
            with open(temporary, "wb") as file:
                np.save(file, array)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_older(scratch: Path, newest: Path) -> None:
    """Keep the last few answers; a file that a window on Windows still maps goes the next time."""
    others = [p for p in scratch.glob("attention-*.npy") if p != newest]
    others.sort(key=lambda p: p.stat().st_mtime_ns)
    for old in others[: len(others) - KEPT + 1]:
        try:
            old.unlink()
        except OSError:
            continue
