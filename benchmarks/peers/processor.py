"""What this processor can do."""

import torch


def has_bf16() -> bool:
    """Whether it multiplies bfloat16 by itself, and does not only imitate it."""
    known = torch.cpu.get_capabilities()
    return bool(known.get("amx_bf16") or known.get("avx512_bf16"))
