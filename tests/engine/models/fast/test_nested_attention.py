"""Nested-tensor attention gives the vectors and gradients of attention over padded blocks.

On CPUs, PyTorch falls back to an implementation without causal masks;
`tests/simulated/test_nested_attention.py` tests the kernels of GPUs.
"""

import numpy as np
import pytest
import torch

from engine.models.fast.padded_blocks import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.models.fast.unpadded_attention import attend_nested, plan_spans
from tests.engine.models.fast.test_unpadded import (
    FAMILIES,
    POSITIONS,
    assert_close,
    build_network,
    padded_batch,
    vectors_and_gradients,
)

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
BIDIRECTIONAL = {name: spec for name, spec in FAMILIES.items() if name != "left-to-right"}


@pytest.mark.parametrize("family", BIDIRECTIONAL)
def test_vectors_and_gradients_equal_those_of_padded_blocks(family):
    network = build_network(BIDIRECTIONAL[family])
    for choice in ("all", "some", "none"):
        network.encoder.nested = False
        ours = vectors_and_gradients(network, padded_batch(), POSITIONS[choice])
        network.encoder.nested = True
        assert_close(ours, vectors_and_gradients(network, padded_batch(), POSITIONS[choice]))


def test_padded_blocks_are_planned_only_if_a_layer_needs_them():
    def make_plan(family: str, choice: str, is_nested: bool = True):
        network = build_network(FAMILIES[family])
        network.encoder.nested = is_nested
        return network.unpad(padded_batch()[2].sum(1).numpy(), 20, POSITIONS[choice])

    plan = make_plan("bert", "all")
    assert plan.layout.blocks is None and plan.layout.spans is not None
    assert make_plan("bert", "all", False).layout.spans is None
    windows = make_plan("modernbert", "all").layout
    assert windows.blocks is not None and windows.spans is not None
    distances = make_plan("deberta-v2", "all").layout
    assert distances.blocks is not None and distances.spans is None


@pytest.mark.parametrize("rows, causal, is_planned", [
    ([0, 2, 5], False, True), ([0, 2], False, False), ([0, 2, 5], True, False),
])  # fmt: skip
def test_every_sequence_needs_a_query(rows, causal, is_planned):
    result = plan_spans(np.array([1, 3, 4]), causal, np.array(rows))
    assert (result is not None) == is_planned
    if result is not None:
        assert result.queries.offsets.tolist() == [0, 1, 2, 3]
        assert result.keys.offsets.tolist() == [0, 1, 4, 8]
        assert (result.queries.max_length, result.keys.min_length, result.keys.max_length) == (
            1,
            1,
            4,
        )


def test_a_plan_of_spans_is_much_smaller_than_one_of_padded_blocks():
    def size(is_nested: bool) -> int:
        tensors = list[torch.Tensor]()
        lengths = np.linspace(4, 55, 32).astype(np.int64)
        plan = unpad(lengths, 56, AttentionShape(12, nested=is_nested), np.empty(0, int), True)
        plan.map_tensors(lambda tensor: tensors.append(tensor) or tensor)  # type: ignore[func-returns-value]
        return sum(tensor.nbytes for tensor in tensors)

    assert 10 * size(True) < size(False)


def test_attention_weights_are_dropped_at_the_given_rate():
    torch.manual_seed(3)
    spans = plan_spans(np.full(50, 16), False)
    assert spans is not None
    v = torch.eye(16).repeat(50, 1)  # so that the output is the weights themselves
    q = k = torch.zeros(800, 16)
    result = attend_nested(q, k, v, 1, spans, 0.25)
    assert result.count_nonzero() / result.numel() == pytest.approx(0.75, abs=0.02)
    assert torch.allclose(result[result != 0], torch.tensor(1 / 16 / 0.75))


@pytest.mark.parametrize("is_inference_tensor", [True, False])
def test_inference_mode_gives_the_same_output(is_inference_tensor):
    spans, x = plan_spans(np.array([3, 4]), False), torch.randn(7, 16)
    assert spans is not None
    expected = attend_nested(x, x, x, 2, spans, 0.0)
    with torch.inference_mode():
        inputs = x + 0 if is_inference_tensor else x
        assert torch.allclose(attend_nested(inputs, inputs, inputs, 2, spans, 0.0), expected)
