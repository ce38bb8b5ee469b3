"""The limit: operations per second in the best matrix product that torch makes here.

python benchmarks/peers/gemm.py --threads 1 --precision fp32
"""

import argparse
import json
import time

import torch

SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (800, 768, 3072), (4096, 1024, 256))
SECONDS = 0.4  # for each shape


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", required=True)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[given.precision]
    print(json.dumps({"peak": max(_rate(*shape, dtype) for shape in SHAPES)}))


def _rate(m: int, k: int, n: int, dtype: torch.dtype) -> float:
    one, other = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    one @ other
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        began = time.perf_counter()
        one @ other
        best = min(best, time.perf_counter() - began)
    return 2 * m * k * n / best


if __name__ == "__main__":
    main()
