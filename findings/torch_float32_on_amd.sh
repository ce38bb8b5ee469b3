#!/usr/bin/env bash
# torch 2.13.0: on an AMD processor with AVX-512, float32 products run at half the speed that it can.
#
# The wheels of torch multiply float32 matrices with MKL, which does not use AVX-512 on processors of
# other makers. oneDNN, in the same wheel, does: with weights in its blocked layout the same product
# takes less than half of the time. On Intel processors the two are about equal.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 numpy==2.3.5 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - 2> /dev/null <<'PYTHON'
import time

import torch

capabilities = torch.cpu.get_capabilities()
if "AMD" not in str(capabilities.get("cpu_name")) or not capabilities.get("avx512_f"):
    raise SystemExit("Needs an AMD processor with AVX-512.")
torch.set_num_threads(1)
random = torch.Generator().manual_seed(0)
x, weight = (torch.randn(size, generator=random) for size in ((256, 768), (3072, 768)))
bias = torch.zeros(3072)
blocks = torch.ops.mkldnn._reorder_linear_weight(weight, None)
works = {
    "linear": lambda: torch.nn.functional.linear(x, weight, bias),
    "oneDNN": lambda: torch.ops.mkldnn._linear_pointwise(x, blocks, bias, "none", [], ""),
}
spent, results = {name: [] for name in works}, {}
for _ in range(8):
    for name, work in works.items():
        began = time.process_time()
        results[name] = work()
        spent[name].append(time.process_time() - began)
rates = {name: 2 * 256 * 768 * 3072 / min(seconds) / 1e9 for name, seconds in spent.items()}
print(", ".join(f"{name} {rate:.0f} GFLOP/s" for name, rate in rates.items()))
assert torch.allclose(*results.values(), atol=1e-3)
assert rates["oneDNN"] > 1.5 * rates["linear"]
PYTHON
# Output seen (AMD EPYC with AVX-512, two virtual cores):
# linear 96 GFLOP/s, oneDNN 224 GFLOP/s
