"""The limits: operations per second in the best matrix product that torch makes here, and bytes
per second that it reads.

python benchmarks/peers/gemm.py --threads 1 --precision fp32
"""

import argparse
import json
import time
from collections.abc import Callable

import torch

from dry import place

SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (800, 768, 3072), (4096, 1024, 256))
ON_GPU = ((8192, 8192, 8192), (16384, 4096, 4096))
DRY = ((64, 64, 64),)
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SECONDS = 0.4  # for each shape
READ = (16_384, 4096)  # float32, 268 MB: more than a cache holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--reading", action="store_true", help="measure this too")
    parser.add_argument("--dry", action="store_true", help="one small product, once")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    dtype = DTYPES[given.precision]
    device = torch.device(place(given.device, given.dry))
    shapes = DRY if given.dry else SHAPES if given.device == "cpu" else ON_GPU
    seconds = 0.0 if given.dry else SECONDS
    found = {"peak": max(_rate(*shape, dtype, device, seconds) for shape in shapes)}
    if given.reading:
        found["reading"] = _reading(device)
    print(json.dumps(found))


def _rate(
    m: int, k: int, n: int, dtype: torch.dtype, device: torch.device, seconds: float
) -> float:
    one, other = (torch.randn(s, device=device).to(dtype) for s in ((m, k), (k, n)))
    return 2 * m * k * n / _best(lambda: (one @ other)[0, 0], seconds)


def _reading(device: torch.device) -> float:
    """Of a sum and of a product with one row, whichever is quicker."""
    table, row = torch.ones(READ, device=device), torch.ones(1, READ[1], device=device)
    return table.nbytes / min(_best(table.sum), _best(lambda: (row @ table.T)[0, 0]))


def _best(work: Callable[[], torch.Tensor], seconds: float = SECONDS) -> float:
    """Seconds of the quickest of as many times as there are in `seconds`, two at the least;
    `work` gives one number."""
    float(work())
    best, end = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        began = time.perf_counter()
        float(work())  # waits for the device
        best = min(best, time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main()
