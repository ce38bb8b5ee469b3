"""Attention by the library's kernels for any lengths: the vectors and gradients of rectangles.

The processor has no such kernels and goes the library's plain way, which does not do without
looking ahead; `tests/simulated/test_nested_attention.py` holds the way of GPUs.
"""

import numpy as np
import pytest
import torch

from engine.models.fast.padded_blocks import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.models.fast.unpadded_attention import attend_nested, plan_spans
from tests.engine.models.fast.test_unpadded import (
    FAMILIES,
    PLACES,
    assert_alike,
    learned,
    made,
    rectangle,
)

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
LOOK_AHEAD = {name: spec for name, spec in FAMILIES.items() if name != "left-to-right"}


@pytest.mark.parametrize("family", LOOK_AHEAD)
def test_vectors_and_gradients_are_those_of_rectangles(family: str) -> None:
    network = made(LOOK_AHEAD[family])
    for places in ("all", "some", "none"):
        network.encoder.nested = False
        ours = learned(network, rectangle(), PLACES[places])
        network.encoder.nested = True
        assert_alike(ours, learned(network, rectangle(), PLACES[places]))


def test_rectangles_are_made_only_where_a_layer_needs_them() -> None:
    def planned(family: str, places: str, is_nested: bool = True):
        network = made(FAMILIES[family])
        network.encoder.nested = is_nested
        return network.unpad(rectangle()[2].sum(1).numpy(), 20, PLACES[places])

    plan = planned("bert", "all")
    assert plan.layers.blocks is None and plan.layers.spans is not None
    assert planned("bert", "all", False).layers.spans is None
    windows = planned("modernbert", "all").layers
    assert windows.blocks is not None and windows.spans is not None
    distances = planned("deberta-v2", "all").layers
    assert distances.blocks is not None and distances.spans is None


@pytest.mark.parametrize("rows, causal, can", [
    ([0, 2, 5], False, True), ([0, 2], False, False), ([0, 2, 5], True, False),
])  # fmt: skip
def test_every_sequence_has_to_ask_something(rows: list[int], causal: bool, can: bool) -> None:
    found = plan_spans(np.array([1, 3, 4]), causal, np.array(rows))
    assert (found is not None) == can
    if found is not None:
        assert found.queries.offsets.tolist() == [0, 1, 2, 3]
        assert found.keys.offsets.tolist() == [0, 1, 4, 8]
        assert (found.queries.max_length, found.keys.min_length, found.keys.max_length) == (1, 1, 4)


def test_a_plan_of_spans_is_a_small_part_of_one_of_rectangles() -> None:
    def size(is_nested: bool) -> int:
        sent = list[torch.Tensor]()
        lengths = np.linspace(4, 55, 32).astype(np.int64)
        plan = unpad(lengths, 56, AttentionShape(12, nested=is_nested), np.empty(0, int), True)
        plan.map_tensors(lambda tensor: sent.append(tensor) or tensor)  # type: ignore[func-returns-value]
        return sum(tensor.nbytes for tensor in sent)

    assert 10 * size(True) < size(False)


def test_weights_are_dropped_at_their_share() -> None:
    torch.manual_seed(3)
    where = plan_spans(np.full(50, 16), False)
    assert where is not None
    v = torch.eye(16).repeat(50, 1)  # what comes out are the weights themselves
    q = k = torch.zeros(800, 16)
    found = attend_nested(q, k, v, 1, where, 0.25)
    assert found.count_nonzero() / found.numel() == pytest.approx(0.75, abs=0.02)
    assert torch.allclose(found[found != 0], torch.tensor(1 / 16 / 0.75))


@pytest.mark.parametrize("made_before", [True, False])
def test_it_goes_where_nothing_is_learned(made_before: bool) -> None:
    where, x = plan_spans(np.array([3, 4]), False), torch.randn(7, 16)
    assert where is not None
    expected = attend_nested(x, x, x, 2, where, 0.0)
    with torch.inference_mode():
        given = x if made_before else x + 0
        assert torch.allclose(attend_nested(given, given, given, 2, where, 0.0), expected)
