"""The sparse embedding gradient equals torch's."""

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
    """A table with a sparse gradient, and a copy with a dense one."""
    torch.manual_seed(0)
    embedding, plain = TokenEmbedding(ROWS, SIZE), TokenEmbedding(ROWS, SIZE)
    plain.load_state_dict(embedding.state_dict())
    embedding.has_sparse_gradient = True
    return embedding, plain


def passes() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens, many of them repeated, and their gradients."""
    for shape in ((40,), (4, 9), (1,), (90,)):
        yield torch.randint(0, ROWS, shape), torch.randn(*shape, SIZE)


def test_a_gradient_has_only_the_rows_of_its_batch(tables):
    ours, plain = tables
    for tokens, upstream in passes():
        for table in tables:
            table.zero_grad(set_to_none=True)
            table(tokens).backward(upstream)
        assert torch.equal(ours.weight.grad.to_dense(), plain.weight.grad)
        assert ours.weight.grad.is_coalesced()
        assert torch.equal(ours.weight.grad.indices()[0], tokens.unique())


def test_gradients_of_passes_are_added(tables):
    ours, plain = tables
    for tokens, upstream in passes():
        for table in tables:
            table(tokens).backward(upstream)
    assert torch.equal(ours.weight.grad.to_dense(), plain.weight.grad)


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
    assert torch.equal(ours.weight.grad.to_dense(), plain.weight.grad)


def test_evaluation_and_frozen_tables_have_no_sparse_gradient(tables):
    ours, _ = tables
    tokens = torch.arange(4)
    ours.eval()
    ours(tokens).sum().backward()  # computed by torch
    assert torch.equal(ours.weight.grad[:4], torch.ones(4, SIZE))
    assert not ours.weight.grad.is_sparse
    ours.train().requires_grad_(False)
    assert not ours(tokens).requires_grad


def test_a_tied_table_has_a_dense_gradient():
    tied, own = Network(SPEC, Heads(mlm=True)), Network(SPEC, Heads(mlm=True, own_decoder=True))
    for network in (tied, own):
        network.use_sparse_token_gradient()
    assert not tied.encoder.embeddings.token.has_sparse_gradient
    assert own.encoder.embeddings.token.has_sparse_gradient
