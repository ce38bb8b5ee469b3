"""Limits of the machine: FLOP/s of the best matrix product, and bytes read per second."""

import argparse
import json
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.training.dry import device_name

SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (800, 768, 3072), (4096, 1024, 256))
ON_GPU = ((8192, 8192, 8192), (16384, 4096, 4096))
DRY = ((64, 64, 64),)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SECONDS = 0.4  # for each shape
READ = (16_384, 4096)  # float32, 268 MB: more than a cache holds


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--reading", action="store_true", help="measure this too")
    parser.add_argument("--dry", action="store_true", help="one small product, once")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    dtype = DTYPES[options.precision]
    device = torch.device(device_name(options.device, options.dry))
    shapes = DRY if options.dry else SHAPES if options.device == "cpu" else ON_GPU
    seconds = 0.0 if options.dry else SECONDS
    result = {"peak": max(_rate(*shape, dtype, device, seconds) for shape in shapes)}
    if options.reading:
        result["reading"] = _reading(device)
    print(json.dumps(result))


def _rate(
    m: int, k: int, n: int, dtype: torch.dtype, device: torch.device, seconds: float
) -> float:
    a, b = (torch.randn(size, device=device).to(dtype) for size in ((m, k), (k, n)))
    return 2 * m * k * n / _best(lambda: (a @ b)[0, 0], seconds)


def _reading(device: torch.device) -> float:
    """Bytes per second of a sum or of a product with one row, whichever is faster."""
    table, row = torch.ones(READ, device=device), torch.ones(1, READ[1], device=device)
    return table.nbytes / min(_best(table.sum), _best(lambda: (row @ table.T)[0, 0]))


def _best(work: Callable[[], torch.Tensor], seconds: float = SECONDS) -> float:
    """Shortest time of repeated calls for `seconds`; `work` returns a scalar."""
    float(work())
    best, end = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        began = time.perf_counter()
        float(work())  # waits for the device
        best = min(best, time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main(sys.argv[1:])
