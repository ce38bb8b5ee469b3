"""Split batches keep every example, with less padding."""

import pytest
import torch

from engine.tasks.learner import Batch, padded_width


@pytest.mark.parametrize("endings", [1, 3])
@pytest.mark.parametrize("most", [0, 2])
def test_parts_keep_tokens_targets_and_places(endings, most):
    lengths = torch.tensor([5, 7, 60, 61]).repeat_interleave(endings)
    width = padded_width(61)
    real = torch.arange(width) < lengths[:, None]
    tokens = torch.arange(real.numel()).reshape(real.shape) * real
    places = torch.tensor([n * width + k for n in range(len(lengths)) for k in (1, 4)])
    batch = Batch(
        tokens,
        torch.zeros_like(tokens),
        real,
        targets=tokens.flatten()[places],
        positions=places,
        inputs_per_example=endings,
    )
    many = Batch(**(batch._asdict() | {"targets": torch.arange(len(places))}))
    parts, marked = batch.parts(most), many.parts(most)
    assert [part.tokens.size(1) for part in parts] == ([8, 64] if most else [64])
    for part in parts:
        assert torch.equal(part.tokens.flatten()[part.positions], part.targets)
    assert torch.equal(torch.cat([part.targets for part in marked]), torch.arange(len(places)))
    assert sum(part.size for part in parts) == 4
    assert sum(part.token_count for part in parts) == batch.token_count
