"""In-place gradient sums equal torch's, in a fixed order."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from engine.models.fast import linear
from engine.models.fast.gradient_sum import GradientSum, current_half, index_weights
from engine.models.fast.linear import Linear
from engine.models.fast.token_embedding import TokenEmbedding
from engine.models.fast.vocabulary_loss import cross_entropy
from engine.models.heads import Heads, MlmHead
from engine.models.network import Network
from tests.engine.models.small import SPEC

TOKENS, SIZE, WORDS = 23, 6, 11


@pytest.fixture(autouse=True)
def all_weights_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "MIN_WEIGHTS", 0)


class Tied(nn.Module):
    """A tied embedding and two layers, the upper of which is applied twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table = TokenEmbedding(WORDS, SIZE)
        self.lower, self.upper = Linear(SIZE, SIZE, bias=False), Linear(SIZE, SIZE)
        self.offset = nn.Parameter(torch.zeros(WORDS))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.upper(self.upper(self.lower(self.table(tokens)).tanh())).flatten(0, -2)
        return cross_entropy(x, self.table.weight, self.offset, tokens.flatten(), TOKENS)


@pytest.fixture
def network() -> Tied:
    torch.manual_seed(3)
    return Tied().double()


def gradients(network: nn.Module) -> dict[str, Tensor]:
    actual = {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}
    network.zero_grad(set_to_none=True)
    return actual


def halves() -> tuple[Tensor, Tensor]:
    """Tokens [TOKENS] and [5, 4], too many for the gradient buffer."""
    return torch.randint(0, WORDS, (TOKENS,)), torch.randint(0, WORDS, (5, 4))


def assert_close(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-6, atol=1e-9, msg=name)


def summed_gradients(network: Tied, first: int) -> dict[str, Tensor]:
    """Gradients of both halves, computed one after the other."""
    torch.manual_seed(1)
    inputs, summed = halves(), GradientSum(index_weights(network.parameters()), 2)
    for number in (first, 1 - first):
        with summed.half(number):
            network(inputs[number]).backward()
    summed.finish()
    return gradients(network)


def test_the_sum_equals_that_of_torch(network):
    torch.manual_seed(1)
    for tokens in halves():
        network(tokens).backward()
    theirs = gradients(network)
    assert len(theirs) == 5
    for first in (0, 1):
        assert_close(summed_gradients(network, first), theirs)


def test_the_sum_does_not_depend_on_the_order_of_halves(network):
    network.float()
    ours, others = (summed_gradients(network, first) for first in (0, 1))
    for name, gradient in ours.items():
        assert torch.equal(others[name], gradient), name


def test_a_pass_adds_to_existing_gradients(network):
    first, second = halves()
    for summing in (True, False):
        for tokens in (first, second):
            summed = GradientSum(index_weights(network.parameters()))
            if summing:
                with summed.half():
                    network(tokens).backward()
            else:
                network(tokens).backward()
        if summing:
            ours = gradients(network)
    assert_close(ours, gradients(network))


def test_halves_may_use_different_parameters(network):
    x = torch.randn(2, TOKENS, SIZE, dtype=torch.float64)
    for first in (0, 1):
        summed = GradientSum(index_weights(network.parameters()), 2)
        for number in (first, 1 - first):
            with summed.half(number):
                for _ in range(3 * number):
                    network.upper(x[number]).sum().backward()
        summed.finish()
        ours = gradients(network)
        for _ in range(3):
            network.upper(x[1]).sum().backward()
        assert_close(ours, gradients(network))


def test_gradients_of_the_second_half_wait_for_the_first(network):
    summed = GradientSum({network.upper.weight: 0}, 2)
    x = torch.randn(4, SIZE, dtype=torch.float64)
    with summed.half(1):
        network.upper(x).sum().backward()
        assert network.upper.weight.grad is None
    with summed.half(0):
        network.upper(x).sum().backward()
        single = network.upper.weight.grad.clone()
    with summed.half(1):
        network.upper(x).sum().backward()  # adds the one that waited
    torch.testing.assert_close(network.upper.weight.grad, 2 * single)


@pytest.mark.parametrize("shape", [(7,), (2, 7)])
def test_the_gradients_of_a_layer_equal_those_of_torch(shape):
    torch.manual_seed(2)
    layer = Linear(SIZE, 4).double()
    x = torch.randn(*shape, SIZE, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(*shape, 4, dtype=torch.float64)
    result = []
    for current in (current_half, lambda: None):
        with (
            pytest.MonkeyPatch.context() as patch,
            GradientSum(index_weights(layer.parameters())).half(),
        ):
            patch.setattr(linear, "current_half", current)
            out = layer(x)
            assert (type(out.grad_fn).__name__ == "_LinearBackward") is (current is current_half)
            out.backward(upstream)
        result.append([out, x.grad, layer.weight.grad, layer.bias.grad])
        x.grad = layer.weight.grad = layer.bias.grad = None
    for ours, theirs in zip(*result, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def cases_without_gain() -> Iterator[tuple[str, Callable[[Linear], object]]]:
    yield "no pass", lambda layer: None
    yield "frozen", lambda layer: layer.requires_grad_(False)
    yield "small", lambda layer: setattr(linear, "MIN_WEIGHTS", 10**6)


def test_torch_is_used_if_a_sum_gains_nothing(monkeypatch):
    x = torch.randn(3, SIZE, requires_grad=True)
    for name, change in cases_without_gain():
        monkeypatch.setattr(linear, "MIN_WEIGHTS", 0)
        layer = Linear(SIZE, SIZE)
        change(layer)
        if name == "no pass":
            out = layer(x)
        else:
            with GradientSum(index_weights(layer.parameters())).half():
                out = layer(x)
        assert type(out.grad_fn).__name__ == "AddmmBackward0", name
    with GradientSum(index_weights(layer.parameters())).half(), torch.no_grad():
        assert current_half() is None


def test_every_linear_layer_of_an_encoder_is_ours():
    layers = Network(SPEC, Heads(outputs=2)).encoder.layers
    linears = [part for part in layers.modules() if isinstance(part, nn.Linear)]
    assert len(linears) == 6 * SPEC.layers
    assert all(isinstance(part, Linear) for part in linears)


def test_the_gradient_of_a_decoder_keeps_its_memory():
    head = MlmHead(SPEC, nn.Embedding(40, 16))
    addresses = set[int]()
    for _ in range(3):
        with GradientSum(index_weights(head.parameters())).half():
            head.loss(torch.randn(8, 16), torch.arange(8), 8).backward()
        addresses.add(head.decoder.grad.data_ptr())
        head.zero_grad(set_to_none=True)
    assert len(addresses) == 1
