"""Cost of a matrix product with a new shape: batches without padding change their size every step.

The three products of a linear layer, forward and backward, over batches of one size and of ever new
sizes; medians over `COUNT` batches in µs.
"""

import statistics
import time
from collections.abc import Iterable
from functools import partial

import torch

from benchmarks import harness

LAYERS = ((256, 1024), (1024, 256), (768, 3072))  # sizes in and out
USUAL, COUNT = 831, 24  # tokens of a batch; batches
PRODUCTS = ("forward", "to the input", "to the weights")


def medians(wide: tuple[int, int], tokens: Iterable[int], dtype: torch.dtype) -> list[float]:
    """Median time of each of `PRODUCTS` in µs."""
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
    return [statistics.median(values) for values in times]


def main(threads: int) -> None:
    torch.set_num_threads(threads)
    print(f"{threads} thread(s), torch {torch.__version__}\n")
    print(harness.table_head("layer", "precision", "tokens", *PRODUCTS))
    sizes = {f"always {USUAL}": [USUAL] * COUNT, "new each time": range(USUAL - COUNT, USUAL)}
    for wide in LAYERS:
        for dtype in (torch.float32, torch.bfloat16):
            for name, tokens in sizes.items():
                cells = (f"{value:,.0f} µs" for value in medians(wide, tokens, dtype))
                precision = str(dtype).removeprefix("torch.")
                harness.print_row(f"{wide[0]} × {wide[1]}", precision, name, *cells)
