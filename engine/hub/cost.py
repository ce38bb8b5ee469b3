"""What a network takes of this machine, from its spec alone: memory, and time for short texts.

The wizard measures a job exactly; this is for models that are not here yet. The constants are from
measurements of this engine on a CPU in fp32 (docs/PERFORMANCE.md), which a test holds them to.
"""

import time
from typing import Literal

import numpy as np

from engine.checkpoints.outline import outline, parameters
from engine.config.model import EncoderSpec
from engine.messages.hub import Cost
from engine.system.precision import Speeds, ThreadSpeeds

SHORT = 32  # tokens of a short text
BATCH = 32  # texts of a step
TEXTS = 1_000  # whose time is told

PROGRAM = 320_000_000  # bytes that Python and torch take before there is a network
TRAINER = 100_000_000  # and what a training has besides
TRAINED = 16  # bytes of a weight: itself, its gradient, and the two numbers of AdamW (fp32)
EXPLORED = 6  # bytes of a weight: itself, and its share of a copy for quick answers
ACTIVATIONS = 88  # bytes for each number of a hidden state that a layer keeps for its gradients
SHARE = 0.6  # of the speed of large matrix products that short texts reach
SIDE = 768  # rows and columns of the matrices that are multiplied to measure
TIGHT = 0.75  # of the memory that is free: what takes more may be too much

Verdict = Literal["fits", "tight", "too large"]


def cost_of(spec: EncoderSpec, rate: float | None = None) -> Cost:
    """What it takes to fine-tune the network, to explore it, and to answer with it.

    Args:
        rate: of large matrix products in fp32, operations per second; None: not known.
    """
    weights = parameters(outline(spec, ("pooler",)))
    kept = ACTIVATIONS * spec.hidden_size * spec.layers * BATCH * SHORT
    return Cost(
        training=PROGRAM + TRAINER + TRAINED * weights + kept,
        exploring=PROGRAM + EXPLORED * weights,
        seconds=None if not rate else operations(spec) * TEXTS / (SHARE * rate),
    )


def operations(spec: EncoderSpec, tokens: int = SHORT) -> int:
    """Of one text through the layers: two for each weight and token, and the attention maps."""
    matrices = 3 if spec.parts.feed_forward == "gated" else 2
    width, inside = spec.hidden_size, spec.intermediate_size
    layer = 2 * tokens * (4 * width * width + matrices * width * inside)
    return spec.layers * (layer + 4 * tokens * tokens * width)


def verdict(needed: int, free: int) -> Verdict:
    """Whether that many bytes fit where so many are free."""
    if needed > free:
        return "too large"
    return "tight" if needed > TIGHT * free else "fits"


def rate_of(pace: ThreadSpeeds | None, speeds: Speeds | None) -> float:
    """Matrix products in fp32 on the processor, operations per second.

    As a training has measured them; else measured now, in a twentieth of a second, by a library
    that is a little slower than torch.
    """
    found = list(pace.rates.values()) if pace else []
    if speeds is not None and speeds.key.startswith("cpu"):
        found.append(speeds.fp32)
    return max(found, default=0.0) or _measured()


def _measured() -> float:
    square = np.ones((SIDE, SIDE), dtype=np.float32)
    square @ square  # the first one starts threads
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        square @ square
        seconds.append(time.perf_counter() - began)
    return 2 * SIDE**3 / min(seconds)
