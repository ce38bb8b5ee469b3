"""What it costs that a product of matrices has a shape that did not come up before.

    python benchmarks/shapes.py                 fp32 and bf16, one thread
    python benchmarks/shapes.py --threads 2

A batch without padding has another number of tokens in every step. The three products of a linear
layer, there and back, are timed over batches of one number of tokens and of ever new ones; medians
over `COUNT` batches, in µs.
"""

import argparse
import statistics
import time
from collections.abc import Iterable
from functools import partial

import torch

LAYERS = ((256, 1024), (1024, 256), (768, 3072))  # sizes in and out
USUAL, COUNT = 831, 24  # tokens of a batch; batches
PRODUCTS = ("forward", "to the input", "to the weights")


def medians(wide: tuple[int, int], tokens: Iterable[int], dtype: torch.dtype) -> list[float]:
    """Of each of `PRODUCTS`, in µs."""
    size, out = wide
    weight, bias = torch.randn(out, size).to(dtype), torch.randn(out).to(dtype)
    times: list[list[float]] = [[], [], []]
    for count in tokens:
        x, gradient = torch.randn(count, size).to(dtype), torch.randn(count, out).to(dtype)
        products = (
            partial(torch.addmm, bias, x, weight.t()),
            partial(torch.mm, gradient, weight),
            partial(torch.mm, gradient.t(), x),
        )
        for number, product in enumerate(products):
            began = time.perf_counter()
            product()
            times[number].append((time.perf_counter() - began) * 1e6)
    return [statistics.median(one) for one in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"{given.threads} thread(s), torch {torch.__version__}\n")
    print("| layer | precision | tokens | " + " | ".join(PRODUCTS) + " |")
    print("| --- | --- | --- | --- | --- | --- |")
    for wide in LAYERS:
        for dtype in (torch.float32, torch.bfloat16):
            for said, tokens in (
                (f"always {USUAL}", [USUAL] * COUNT),
                ("new each time", range(USUAL - COUNT, USUAL)),
            ):
                found = " | ".join(f"{one:,.0f} µs" for one in medians(wide, tokens, dtype))
                name = str(dtype).removeprefix("torch.")
                print(f"| {wide[0]} × {wide[1]} | {name} | {said} | {found} |", flush=True)


if __name__ == "__main__":
    main()
