"""Random draws, above all new weights, are the same in every run."""

import zlib

import pytest
import torch


def first_of(name: str) -> list[float]:
    seeded = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return torch.rand(3, generator=seeded).tolist()


@pytest.fixture
def drawn() -> list[float]:
    return torch.rand(3).tolist()


@pytest.mark.parametrize("before", [5, 7])
def test_whatever_was_drawn_before(drawn, before, request):
    assert drawn == first_of("drawn")
    assert torch.rand(3).tolist() == first_of(request.node.name)
    torch.rand(before)
