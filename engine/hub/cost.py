"""Requirements of a network on this machine, from its spec: memory, and time for short texts.

The wizard measures a job exactly; this is for models that are not downloaded yet. The constants are
measurements of this engine on a CPU in fp32 (docs/PERFORMANCE.md), which a test checks.
"""

import time
from typing import Literal

import numpy as np

from engine.checkpoints.outline import outline, parameters
from engine.config.model import EncoderSpec
from engine.messages.hub import Cost
from engine.system.precision import Speeds, ThreadSpeeds

SHORT_TOKENS = 32  # of a short text
BATCH = 32  # texts per step
TEXTS = 1_000  # texts of the reported time

PROGRAM_BYTES = 320_000_000  # Python and torch without a network
TRAINER_BYTES = 100_000_000  # in addition, for training
TRAINING_BYTES = 16  # bytes per weight: itself, its gradient, and the two moments of AdamW (fp32)
EXPLORING_BYTES = 6  # bytes per weight: itself, and its part of a copy for quick answers
ACTIVATIONS = 88  # bytes per element of a hidden state that a layer saves for the backward pass
EFFICIENCY = 0.6  # speed on short texts, as a fraction of the speed of large matrix products
SIDE = 768  # size of the square matrices that are multiplied to measure the speed
TIGHT = 0.75  # fraction of the free memory above which there may be too little

Verdict = Literal["fits", "tight", "too large"]


def estimate_cost(spec: EncoderSpec, rate: float | None = None) -> Cost:
    """Requirements for fine-tuning the network, exploring it, and predicting with it.

    Args:
        rate: of large matrix products in fp32, operations per second; None: not known.
    """
    weights = parameters(outline(spec, ("pooler",)))
    activations = ACTIVATIONS * spec.hidden_size * spec.layers * BATCH * SHORT_TOKENS
    return Cost(
        training_bytes=PROGRAM_BYTES + TRAINER_BYTES + TRAINING_BYTES * weights + activations,
        exploring_bytes=PROGRAM_BYTES + EXPLORING_BYTES * weights,
        seconds=None if not rate else operations(spec) * TEXTS / (EFFICIENCY * rate),
    )


def operations(spec: EncoderSpec, tokens: int = SHORT_TOKENS) -> int:
    """Operations for one text: two per weight and token, and the attention maps."""
    matrices = 3 if spec.parts.feed_forward == "gated" else 2
    width, inner = spec.hidden_size, spec.intermediate_size
    layer = 2 * tokens * (4 * width * width + matrices * width * inner)
    return spec.layers * (layer + 4 * tokens * tokens * width)


def verdict(needed: int, free: int) -> Verdict:
    """Compare the `needed` bytes of memory with the `free` ones."""
    if needed > free:
        return "too large"
    return "tight" if needed > TIGHT * free else "fits"


def matmul_rate(pace: ThreadSpeeds | None, speeds: Speeds | None) -> float:
    """Speed of matrix products in fp32 on the CPU, operations per second.

    As measured by a training; else measured now, in a twentieth of a second, by a library that is a
    little slower than torch.
    """
    rates = list(pace.rates.values()) if pace else []
    if speeds is not None and speeds.key.startswith("cpu"):
        rates.append(speeds.fp32)
    return max(rates, default=0.0) or _measure_rate()


def _measure_rate() -> float:
    square = np.ones((SIDE, SIDE), dtype=np.float32)
    square @ square  # warm-up: starts the threads
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        square @ square
        seconds.append(time.perf_counter() - start)
    return 2 * SIDE**3 / min(seconds)
