"""Packed weights compute what plain ones do, in every kind and family."""

import pytest
import torch
import torch.nn.functional as F

from engine.models.fast.linear import Linear
from engine.models.heads import Heads
from engine.serving import network as network_of_packed
from engine.serving import quantized_matmul
from engine.serving.network import SHORTLIST, pack_network
from engine.serving.quantized_matmul import (
    KINDS,
    MANY_ROWS,
    MEMORY_BOUND_ROWS,
    PACKED_FOR,
    is_available,
    matmul,
)
from tests.engine.models.family_folders import EXAMPLES
from tests.engine.models.small import SPEC, batch, network
from tests.engine.models.test_families import OTHERS, random_batch

LARGEST = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 0.1, "int8": 0.3}  # difference of a logit
HERE = [kind for kind in KINDS if is_available(kind)]
with_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch has no MKL here")


def family_network(family):
    if family in OTHERS:
        return EXAMPLES[family].spec, random_batch(family)
    spec = SPEC.model_copy(update={"causal": family == "left-to-right"})
    return spec, batch(spec)


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("family", ["bert", "left-to-right", *OTHERS])
@torch.no_grad()
def test_every_output_of_a_network_is_close(family, kind):
    spec, (ids, segments, real) = family_network(family)
    plain = network(Heads(mlm=True, outputs=3), spec)
    quick = pack_network(plain, kind)
    right = plain.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    result = quick.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    pairs = [
        (quick.logits(ids, segments, real), plain.logits(ids, segments, real)),
        (quick.mlm(result.last), plain.mlm(right.last)),
        *zip(result.hidden, right.hidden, strict=True),
        *zip(result.weights, right.weights, strict=True),
    ]
    for actual, expected in pairs:
        assert torch.allclose(actual, expected, atol=LARGEST[kind])


@pytest.mark.parametrize("kind", HERE)
@torch.no_grad()
def test_an_untied_decoder_is_close_too(kind):
    plain = network(Heads(mlm=True, own_decoder=True))
    quick = pack_network(plain, kind)
    assert quick.heads == plain.heads
    hidden = torch.randn(3, SPEC.hidden_size, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(quick.mlm(hidden), plain.mlm(hidden), atol=LARGEST[kind])


@torch.no_grad()
def test_float32_can_be_the_ground_for_another_kind():
    plain = network()
    exact = pack_network(plain, "float32")
    ids, segments, _ = batch(SPEC, tokens=20)
    for kind in HERE:
        once, twice = pack_network(plain, kind), pack_network(exact, kind)
        few = once.encoder(ids[:1], segments[:1]).last
        assert torch.equal(twice.encoder(ids[:1], segments[:1]).last, few)
        many = once.encoder(ids, segments).last
        assert torch.allclose(twice.encoder(ids, segments).last, many, atol=1e-5)


@torch.no_grad()
def test_the_network_itself_stays_as_it_was_and_shares_its_tensors():
    plain = network()
    before = {name: p.clone() for name, p in plain.named_parameters()}
    exact = pack_network(plain, "float32")
    assert type(plain.encoder.layers[0].feed_forward.wide) is Linear
    assert {name: p.data_ptr() for name, p in exact.named_parameters()} == {
        name: p.data_ptr() for name, p in plain.named_parameters()
    }
    assert all(torch.equal(p, before[name]) for name, p in plain.named_parameters())


@torch.no_grad()
def test_a_packed_layer_reads_its_weights_without_a_search(monkeypatch):
    quick = pack_network(network(), "float32")
    ids, segments, _ = batch(SPEC)
    x, searched = quick.encoder.embeddings(ids, segments), []
    layer, layout = quick.encoder.layers[0], quick.encoder.padded(x, None)
    search = torch.nn.Module.__getattr__

    def noted(module, name):
        searched.append(name)
        return search(module, name)

    monkeypatch.setattr(torch.nn.Module, "__getattr__", noted)
    layer(x, layout)
    assert searched == []


@torch.no_grad()
def test_who_hooks_into_a_packed_layer_or_replaces_a_part_of_it_is_heard():
    quick = pack_network(network(Heads(mlm=True)), "float32")
    ids, segments, real = batch(SPEC)
    output, seen = quick.encoder.layers[0].attention.output, []
    hooks = (
        output.register_forward_pre_hook(lambda *_: seen.append("before")),
        output.register_forward_hook(lambda *_: seen.append("after")),
    )
    before = quick.encoder(ids, segments, real).last
    for hook in hooks:
        hook.remove()
    assert seen == ["before", "after"]
    assert torch.equal(quick.encoder(ids, segments, real).last, before) and len(seen) == 2
    quick.encoder.layers[0].feed_forward.norm = torch.nn.Identity()
    assert not torch.allclose(quick.encoder(ids, segments, real).last, before)


@pytest.mark.parametrize("kind", HERE)
@torch.no_grad()
def test_the_top_tokens_are_computed_in_float32(kind):
    spec = SPEC.model_copy(update={"vocab_size": 400})
    plain = network(spec=spec)
    vectors = torch.randn((5, spec.hidden_size), generator=torch.Generator().manual_seed(3))
    right = plain.mlm(vectors)
    head = pack_network(plain, kind).mlm
    head.dense = plain.mlm.dense
    some = head(vectors)
    first = right.topk(SHORTLIST // 4).indices
    assert torch.allclose(some.gather(1, first), right.gather(1, first), atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, MEMORY_BOUND_ROWS, MEMORY_BOUND_ROWS + 1])
@pytest.mark.parametrize("kind", HERE)
def test_a_product_takes_any_number_of_rows(kind, rows):
    weight, bias = torch.randn(8, 16), torch.randn(8)
    x = torch.randn(1, rows, 16)
    result = matmul(kind, weight, bias)(x)
    assert result.shape == (1, rows, 8)
    assert result.dtype == torch.float32
    assert torch.allclose(result, F.linear(x, weight, bias), atol=LARGEST[kind])


def test_weights_that_are_too_large_for_float16_stay_in_float32():
    weight = torch.tensor([[1e6, 1.0]])
    result = matmul("float16", weight, torch.zeros(1))(torch.tensor([[1.0, 2.0]]))
    assert float(result) == 1e6 + 2


def test_an_output_of_zeros_alone_stays_zero_in_int8():
    if not is_available("int8"):
        pytest.skip("no int8 here")
    assert not matmul("int8", torch.zeros(4, 8), torch.zeros(4))(torch.randn(3, 8)).any()


@pytest.mark.parametrize("error", [AttributeError, NotImplementedError, RuntimeError, None])
def test_a_kind_that_torch_has_no_more_or_that_computes_something_else_is_not_present(
    monkeypatch, error
):
    def gone(weight, *_):
        if error is None:
            return lambda x: F.linear(x, weight)  # without the bias
        raise error("gone")

    monkeypatch.setitem(quantized_matmul.MAKERS, "float32", gone)
    is_available.cache_clear()
    try:
        assert not is_available("float32")
    finally:
        monkeypatch.undo()
        is_available.cache_clear()


@pytest.mark.parametrize("kind", HERE)
@torch.no_grad()
def test_rows_are_filled_up_to_few_shapes_and_none_is_changed_by_it(kind):
    """oneDNN caches code per shape, which took gigabytes for a long file."""
    shapes = {quantized_matmul.padded_rows(rows) for rows in range(1, 4097)}
    assert len(shapes) < quantized_matmul.FREE_ROWS + 6 * 16 + 2
    assert all(
        rows <= quantized_matmul.padded_rows(rows) <= rows * 17 / 16 + 1 for rows in range(1, 4097)
    )
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((24, 16), generator=random), torch.randn(24, generator=random)
    product = matmul(kind, weight, bias)
    for rows in (1, 65, 131, 7 * 19):
        x = torch.randn((rows, 16), generator=random)
        right = F.linear(x, weight, bias)
        assert product(x).shape == right.shape
        assert torch.allclose(product(x), right, atol=LARGEST[kind])
        if rows % 7 == 0:
            assert torch.equal(product(x.view(7, -1, 16)).flatten(0, 1), product(x))


@torch.no_grad()
def test_without_mkl_many_rows_are_not_padded(monkeypatch):
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((24, 16), generator=random), torch.randn(24, generator=random)
    sizes = list[int]()

    def plain(x: torch.Tensor) -> torch.Tensor:
        sizes.append(len(x))
        return F.linear(x, weight, bias)

    product = matmul("float32", weight, bias, plain)
    for rows in (MANY_ROWS - 1, MANY_ROWS, MANY_ROWS + 7):
        x = torch.randn((rows, 16), generator=random)
        assert torch.allclose(product(x), F.linear(x, weight, bias), atol=1e-5)
    assert sizes == [MANY_ROWS, MANY_ROWS + 7]


@with_mkl
@pytest.mark.parametrize("threads", [1, 2])
@torch.no_grad()
def test_mkl_packed_weights_accept_any_rows_and_threads(threads):
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((200, 136), generator=random), torch.randn(200, generator=random)
    torch.set_num_threads(threads)
    product = matmul("float32", weight, bias)
    torch.set_num_threads(3 - threads)  # others than those that laid it out
    for rows in (0, 1, 2, 17, PACKED_FOR - 1, PACKED_FOR, PACKED_FOR + 9, 3 * PACKED_FOR):
        x = torch.randn((136, rows), generator=random).T  # not as it lies in memory
        assert torch.allclose(product(x), F.linear(x, weight, bias), rtol=0, atol=1e-4)
        assert torch.equal(product(x.reshape(1, rows, 136))[0], product(x))


@with_mkl
@torch.no_grad()
def test_mkl_uses_packed_weights_only():
    weight, bias = torch.ones(8, 16), torch.zeros(8)
    product = matmul("float32", weight, bias)
    weight += 1
    for rows in (3, PACKED_FOR, 1000):
        assert bool((product(torch.ones(rows, 16)) == 16).all())


def test_freed_memory_is_given_back_before_weights_are_laid_out(monkeypatch):
    """MKL's block has spare space, which would keep old memory alive."""
    done = list[str]()

    def noted(*_: torch.Tensor) -> None:
        done.append("laid out")

    monkeypatch.setattr(network_of_packed, "trim_memory", lambda: done.append("given back"))
    monkeypatch.setattr(network_of_packed, "matmul", noted)
    pack_network(network(Heads(outputs=3)), "float32")
    assert done[:2] == ["given back", "laid out"] and done.count("given back") == 1


@pytest.mark.parametrize("kind", HERE)
@torch.no_grad()
def test_a_large_batch_equals_the_network(kind):
    plain = network(Heads(mlm=True, outputs=3))
    ids, segments, _ = batch(SPEC, tokens=20)
    times = -(-MANY_ROWS // ids.numel())
    ids, segments = ids.repeat(times, 1), segments.repeat(times, 1)
    for quick in (pack_network(plain, kind), pack_network(pack_network(plain, "float32"), kind)):
        result = quick.encoder(ids, segments, keep_weights=True)
        right = plain.encoder(ids, segments, keep_weights=True)
        assert torch.allclose(result.last, right.last, atol=LARGEST[kind])
        for actual, expected in zip(result.weights, right.weights, strict=True):
            assert torch.allclose(actual, expected, atol=LARGEST[kind])
