"""A BiLSTM probe skips padding, as packed sequences in torch do."""

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from engine.config.features import Features
from engine.models.probe import Probe, reading_order

LENGTHS = np.array([3, 7, 1, 7, 4])


def test_the_reading_order_equals_that_of_torch():
    order = reading_order(LENGTHS, 9)
    numbers = torch.arange(5 * 9).view(5, 9)
    packed = pack_padded_sequence(numbers, torch.from_numpy(LENGTHS), True, enforce_sorted=False)
    assert order.batch_sizes.tolist() == packed.batch_sizes.tolist()
    for step in order.tokens.split(order.batch_sizes.tolist()):
        column = {int(number) % 9 for number in step}
        assert len(column) == 1
    assert sorted(order.tokens.tolist()) == sorted(packed.data.tolist())


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("has_plan", [False, True])
def test_outputs_and_gradients_equal_those_of_packed_sequences(tokens, has_plan):
    torch.manual_seed(1)
    features = Features.model_validate({"vectors": "last", "probe": "bilstm", "probe_size": 6})
    probe = Probe(features, 4, 2, 3, 0.0, tokens)
    vectors = torch.randn(5, 9, 1, 4)
    mask = torch.arange(9) < torch.from_numpy(LENGTHS)[:, None]
    order = reading_order(LENGTHS, 9) if has_plan else None

    def run_packed(lstm: torch.nn.LSTM, x: torch.Tensor, *_: object) -> torch.Tensor:
        lengths = torch.from_numpy(LENGTHS)
        packed = pack_padded_sequence(x, lengths, True, enforce_sorted=False)
        return pad_packed_sequence(lstm(packed)[0], True, total_length=9)[0]

    result = []
    for run in (None, run_packed):
        if run is not None:
            probe._run_lstm = run  # type: ignore[method-assign, assignment]
        probe.zero_grad()
        output = probe.forward(vectors, mask, order)
        output.pow(2).sum().backward()
        result.append([output.detach(), *(p.grad.clone() for p in probe.parameters())])  # type: ignore[union-attr]
    for a, other in zip(*result, strict=True):
        torch.testing.assert_close(a, other)
