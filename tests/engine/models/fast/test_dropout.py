"""Dropout by gaps: probability, mean and gradient equal torch's."""

import math

import numpy as np
import pytest
import torch

from engine.models.fast.dropout import MAX_DRAW, Dropout, DropoutStream, dropout_seed


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_drops_at_its_rate_and_keeps_the_mean(rate):
    torch.manual_seed(11)
    out = Dropout(rate)(torch.ones(1000, 1000))
    dropped = (out == 0).float().mean().item()
    assert dropped == pytest.approx(rate, abs=0.002)
    assert out.mean().item() == pytest.approx(1, abs=0.003)
    assert len(out.unique()) == 2
    rows = (out == 0).float().mean(1)
    assert rows.std().item() == pytest.approx(math.sqrt(rate * (1 - rate) / 1000), rel=0.1)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_dropout_drops_the_same_values_from_the_gradient(shape, dtype):
    torch.manual_seed(11)
    x = torch.ones(shape, dtype=dtype, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert out.dtype == dtype
    assert torch.equal(x.grad, out.detach())


@pytest.mark.parametrize("rate", [0.0, 1e-7, 0.999999])
def test_extreme_rates_give_finite_values(rate):
    out = Dropout(rate)(torch.ones(1000))
    assert out.isfinite().all()


def test_dropout_depends_only_on_the_seed():
    x = torch.ones(100)
    torch.manual_seed(4)
    first = Dropout(0.3)(x)
    torch.manual_seed(4)
    assert torch.equal(first, Dropout(0.3)(x))


def test_gaps_are_drawn_until_they_suffice(monkeypatch):
    """The first gaps are too short once in a billion times."""

    class Unlucky:
        def standard_exponential(self, number: int, dtype: type) -> np.ndarray:
            return np.zeros(number, dtype)  # so that every value is dropped

    draws = DropoutStream(3)
    monkeypatch.setattr(draws, "_random", Unlucky())
    for count in (5000, 800, 9000):
        assert torch.equal(draws.draw(count, 0.1), torch.arange(count))


@pytest.mark.parametrize("count, times", [(1, 4000), (90, 200), (1000, 80), (2 * MAX_DRAW, 2)])
def test_values_are_dropped_independently(count, times):
    """Also across the boundaries of drawn blocks."""
    draws, fraction = DropoutStream(7), 0.3
    rows = np.zeros((times, count), dtype=bool)
    for row in rows:
        dropped = draws.draw(count, fraction).numpy()
        assert (np.diff(dropped) > 0).all()
        row[dropped] = True
    assert rows.mean() == pytest.approx(fraction, abs=5 * math.sqrt(fraction / rows.size))
    for edge in (rows[:, 0], rows[:, -1]):
        assert edge.mean() == pytest.approx(fraction, abs=5 * math.sqrt(fraction / times))
    gaps = np.diff(np.flatnonzero(rows))  # geometric, also across rows
    for gap in range(1, 8):
        expected = fraction * (1 - fraction) ** (gap - 1)
        tolerance = 5 * math.sqrt(expected / len(gaps))
        assert (gaps == gap).mean() == pytest.approx(expected, abs=tolerance)


def test_draws_from_a_saved_state_repeat_at_every_rate():
    draws = DropoutStream(5)
    requested = [(700, 0.1), (40, 0.5), (3, 0.1), (900, 0.1), (40, 0.5), (2000, 0.1), (500, 0.5)]
    for count, fraction in requested:
        draws.draw(count, fraction)
    clone = draws.clone()
    for count, fraction in requested:
        first, second = (stream.draw(count, fraction) for stream in (draws, clone))
        assert torch.equal(first, second) and bool(len(first)) == (count > 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_fused_dropout_and_addition_equal_separate_steps(dtype):
    generator = torch.Generator().manual_seed(3)
    x, residual = (torch.randn((40, 6), generator=generator) for _ in range(2))
    weight = torch.randn((40, 6), generator=generator)

    def run(separate: bool) -> list[torch.Tensor]:
        a, b = x.to(dtype).requires_grad_(), residual.clone().requires_grad_()
        dropout = Dropout(0.4)
        with dropout_seed(5):
            result = b + dropout(a) if separate else dropout.add_to(b, a)
        (result * weight).sum().backward()
        return [result.detach(), *(item.grad for item in (a, b) if item.grad is not None)]

    for first, second in zip(run(True), run(False), strict=True):
        assert first.dtype == second.dtype and torch.equal(first, second)
    assert torch.equal(Dropout(0.4).eval().add_to(residual, x), residual + x)
