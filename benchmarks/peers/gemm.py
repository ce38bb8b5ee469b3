"""The limit: operations per second in the best matrix product that torch makes here.

python benchmarks/peers/gemm.py --threads 1 --precision fp32
"""

import argparse
import json
import time

import torch

SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (800, 768, 3072), (4096, 1024, 256))
ON_GPU = ((8192, 8192, 8192), (16384, 4096, 4096))
SECONDS = 0.4  # for each shape


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", required=True)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[given.precision]
    shapes, device = SHAPES if given.device == "cpu" else ON_GPU, torch.device(given.device)
    print(json.dumps({"peak": max(_rate(*shape, dtype, device) for shape in shapes)}))


def _rate(m: int, k: int, n: int, dtype: torch.dtype, device: torch.device) -> float:
    one, other = (torch.randn(s, device=device).to(dtype) for s in ((m, k), (k, n)))
    float((one @ other)[0, 0])
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        began = time.perf_counter()
        float((one @ other)[0, 0])  # waits for the device
        best = min(best, time.perf_counter() - began)
    return 2 * m * k * n / best


if __name__ == "__main__":
    main()
