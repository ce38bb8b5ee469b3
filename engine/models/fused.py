"""Matrices that a file keeps one under the other in one tensor, and the network apart.

A part has the name of the whole with its number: “attn.Wqkv.0.weight”.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from engine.models.weight_files import WeightFiles

Fused = Mapping[str, int]  # within a published name, what is fused; and of how many parts


def split(weights: WeightFiles, fused: Fused) -> WeightFiles:
    """The same files, with the parts in the place of what is fused; one that has other rows than
    its parts can have stays whole."""
    places = dict[str, tuple[str, int, int]]()  # part → whole, number, count
    shapes, dtypes = dict(weights.shapes), dict(weights.dtypes)
    for whole, shape in weights.shapes.items():
        for stem, count in fused.items():
            if f".{stem}" in f".{whole}" and shape and shape[0] % count == 0:
                kind = dtypes.pop(whole)
                del shapes[whole]
                for number in range(count):
                    part = whole.replace(stem, f"{stem}{number}.")
                    places[part] = whole, number, count
                    shapes[part], dtypes[part] = (shape[0] // count, *shape[1:]), kind

    def read(name: str) -> Tensor:
        if name not in places:
            return weights.read(name)
        whole, number, count = places[name]
        return weights.read(whole).chunk(count)[number].contiguous()

    return replace(weights, shapes=shapes, dtypes=dtypes, read=read) if places else weights


def joined(tensors: dict[str, Tensor], fused: Fused) -> dict[str, Tensor]:
    """The tensors as a file keeps them."""
    found = dict(tensors)
    for stem, count in fused.items():
        for first in [name for name in found if f"{stem}0." in name]:
            names = [first.replace(f"{stem}0.", f"{stem}{n}.") for n in range(count)]
            whole = torch.cat([found.pop(name) for name in names])
            found[first.replace(f"{stem}0.", stem)] = whole
    return found
