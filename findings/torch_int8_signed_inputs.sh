#!/usr/bin/env bash
# torch 2.13.0: on a processor with VNNI but without AMX, int8 products of signed inputs are not accelerated.
#
# torch.ops.onednn.qlinear_pointwise takes inputs as uint8 or int8, with weights in int8. Unsigned ones
# use the byte instructions; the same numbers as signed ones fall back to plain loops of the library,
# thousands of times as slow, silently. torch._int_mm multiplies two signed matrices fast.
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
if not capabilities.get("avx512_vnni") or capabilities.get("amx_int8"):
    raise SystemExit("Needs a processor with AVX-512 VNNI and without AMX.")
torch.set_num_threads(1)
random = torch.Generator().manual_seed(0)
signed = torch.randint(-127, 128, (64, 768), generator=random).to(torch.int8)
unsigned = (signed.int() + 128).to(torch.uint8)
weight = torch.randint(-127, 128, (768, 768), generator=random).to(torch.int8)
packed = torch.ops.onednn.qlinear_prepack(weight, None)
scales, zeros = torch.ones(768), torch.zeros(768, dtype=torch.int32)


def product(x, zero):
    options = (None, 1.0, 0, torch.float32, "none", [], "")
    return torch.ops.onednn.qlinear_pointwise(x, 1.0, zero, packed, scales, zeros, *options)


works = {
    "unsigned inputs": lambda: product(unsigned, 128),
    "signed inputs": lambda: product(signed, 0),
    "torch._int_mm, signed": lambda: torch._int_mm(signed, weight.T).float(),
}
spent, results = {}, {}
for name, work in works.items():
    work()
    began = time.process_time()
    results[name] = work()
    spent[name] = time.process_time() - began
    print(f"{name}: {1000 * spent[name]:.2f} ms")
fast, slow, own = spent.values()
assert all(torch.equal(y, results["torch._int_mm, signed"]) for y in results.values())
assert slow > 100 * fast and slow > 100 * own
PYTHON
# Output seen (AMD EPYC with AVX-512 VNNI):
# unsigned inputs: 0.14 ms
# signed inputs: 622.81 ms
# torch._int_mm, signed: 0.18 ms
