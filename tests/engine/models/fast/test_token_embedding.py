"""The reused embedding gradient equals torch's."""

import threading
from collections.abc import Iterator

import pytest
import torch

from engine.models.fast.token_embedding import TokenEmbedding
from engine.models.heads import Heads
from engine.models.network import Network
from tests.engine.models.small import SPEC

ROWS, SIZE = 50, 16


@pytest.fixture
def tables() -> tuple[TokenEmbedding, TokenEmbedding]:
    """A table that keeps its gradient, and a copy that does not."""
    torch.manual_seed(0)
    embedding, plain = TokenEmbedding(ROWS, SIZE), TokenEmbedding(ROWS, SIZE)
    plain.load_state_dict(embedding.state_dict())
    embedding.reuse_gradient()
    return embedding, plain


def passes() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens, many of them repeated, and their gradients."""
    for shape in ((40,), (4, 9), (1,), (90,)):
        yield torch.randint(0, ROWS, shape), torch.randn(*shape, SIZE)


def test_every_step_has_the_gradient_of_torch(tables):
    ours, plain = tables
    addresses = set[int]()
    for tokens, upstream in passes():
        for table in tables:
            table(tokens).backward(upstream)
        assert torch.equal(ours.weight.grad, plain.weight.grad)
        addresses.add(ours.weight.grad.data_ptr())
        for table in tables:
            table.zero_grad(set_to_none=True)
    assert len(addresses) == 1


def test_gradients_of_passes_are_added(tables):
    ours, plain = tables
    for tokens, upstream in passes():
        for table in tables:
            table(tokens).backward(upstream)
    assert torch.equal(ours.weight.grad, plain.weight.grad)


def test_gradients_of_two_threads_are_both_added(tables):
    ours, plain = tables
    (first, upstream), *_ = passes()
    second, other = first.flip(0), torch.randn(*first.shape, SIZE)
    plain(first).backward(upstream)
    plain(second).backward(other)
    threads = [
        threading.Thread(target=lambda t=t, b=b: ours(t).backward(b))
        for t, b in ((first, upstream), (second, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(ours.weight.grad, plain.weight.grad)


def test_evaluation_and_frozen_tables_do_not_reuse_the_gradient(tables):
    ours, _ = tables
    tokens = torch.arange(4)
    ours.eval()
    ours(tokens).sum().backward()  # computed by torch
    assert torch.equal(ours.weight.grad[:4], torch.ones(4, SIZE))
    assert not ours.reused_gradient.is_current
    ours.train().requires_grad_(False)
    assert not ours(tokens).requires_grad


def test_a_tied_table_does_not_reuse_its_gradient():
    tied, own = Network(SPEC, Heads(mlm=True)), Network(SPEC, Heads(mlm=True, own_decoder=True))
    for network in (tied, own):
        network.reuse_token_gradient()
    assert tied.encoder.embeddings.token.reused_gradient is None
    assert own.encoder.embeddings.token.reused_gradient is not None
