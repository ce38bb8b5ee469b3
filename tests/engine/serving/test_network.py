"""Packed weights compute what plain ones do, in every kind and family."""

import pytest
import torch
import torch.nn.functional as F

from engine.models.fast.linear import Linear
from engine.models.heads import Heads
from engine.serving import network as serving_network
from engine.serving import quantized_matmul
from engine.serving.network import SHORTLIST_SIZE, pack_network
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

TOLERANCE = {"float32": 1e-5, "float16": 5e-3, "bfloat16": 0.1, "int8": 0.3}  # of a logit
AVAILABLE = [kind for kind in KINDS if is_available(kind)]
with_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch has no MKL")


def family_network(family):
    if family in OTHERS:
        return EXAMPLES[family].spec, random_batch(family)
    spec = SPEC.model_copy(update={"causal": family == "left-to-right"})
    return spec, batch(spec)


@pytest.mark.parametrize("kind", AVAILABLE)
@pytest.mark.parametrize("family", ["bert", "left-to-right", *OTHERS])
@torch.no_grad()
def test_every_output_of_a_network_is_close(family, kind):
    spec, (ids, segments, real) = family_network(family)
    plain = network(Heads(mlm=True, outputs=3), spec)
    packed = pack_network(plain, kind)
    reference = plain.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    result = packed.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    pairs = [
        (packed.logits(ids, segments, real), plain.logits(ids, segments, real)),
        (packed.mlm(result.last), plain.mlm(reference.last)),
        *zip(result.hidden, reference.hidden, strict=True),
        *zip(result.weights, reference.weights, strict=True),
    ]
    for actual, expected in pairs:
        assert torch.allclose(actual, expected, atol=TOLERANCE[kind])


@pytest.mark.parametrize("kind", AVAILABLE)
@torch.no_grad()
def test_an_untied_decoder_is_close_too(kind):
    plain = network(Heads(mlm=True, own_decoder=True))
    packed = pack_network(plain, kind)
    assert packed.heads == plain.heads
    hidden = torch.randn(3, SPEC.hidden_size, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(packed.mlm(hidden), plain.mlm(hidden), atol=TOLERANCE[kind])


@torch.no_grad()
def test_a_float32_network_can_be_packed_again():
    plain = network()
    exact = pack_network(plain, "float32")
    ids, segments, _ = batch(SPEC, tokens=20)
    for kind in AVAILABLE:
        once, twice = pack_network(plain, kind), pack_network(exact, kind)
        few = once.encoder(ids[:1], segments[:1]).last
        assert torch.equal(twice.encoder(ids[:1], segments[:1]).last, few)
        many = once.encoder(ids, segments).last
        assert torch.allclose(twice.encoder(ids, segments).last, many, atol=1e-5)


@torch.no_grad()
def test_packing_leaves_the_network_unchanged_and_shares_its_tensors():
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
    packed = pack_network(network(), "float32")
    ids, segments, _ = batch(SPEC)
    x, searched = packed.encoder.embeddings(ids, segments), []
    layer, layout = packed.encoder.layers[0], packed.encoder.padded_layout(x, None)
    search = torch.nn.Module.__getattr__

    def record(module, name):
        searched.append(name)
        return search(module, name)

    monkeypatch.setattr(torch.nn.Module, "__getattr__", record)
    layer(x, layout)
    assert searched == []


@torch.no_grad()
def test_hooks_and_replaced_parts_of_a_packed_layer_take_effect():
    packed = pack_network(network(Heads(mlm=True)), "float32")
    ids, segments, real = batch(SPEC)
    output, calls = packed.encoder.layers[0].attention.output, []
    hooks = (
        output.register_forward_pre_hook(lambda *_: calls.append("before")),
        output.register_forward_hook(lambda *_: calls.append("after")),
    )
    before = packed.encoder(ids, segments, real).last
    for hook in hooks:
        hook.remove()
    assert calls == ["before", "after"]
    assert torch.equal(packed.encoder(ids, segments, real).last, before) and len(calls) == 2
    packed.encoder.layers[0].feed_forward.norm = torch.nn.Identity()
    assert not torch.allclose(packed.encoder(ids, segments, real).last, before)


@pytest.mark.parametrize("kind", AVAILABLE)
@torch.no_grad()
def test_the_top_tokens_are_computed_in_float32(kind):
    spec = SPEC.model_copy(update={"vocab_size": 400})
    plain = network(spec=spec)
    vectors = torch.randn((5, spec.hidden_size), generator=torch.Generator().manual_seed(3))
    reference = plain.mlm(vectors)
    head = pack_network(plain, kind).mlm
    head.dense = plain.mlm.dense
    logits = head(vectors)
    top = reference.topk(SHORTLIST_SIZE // 4).indices
    assert torch.allclose(logits.gather(1, top), reference.gather(1, top), atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, MEMORY_BOUND_ROWS, MEMORY_BOUND_ROWS + 1])
@pytest.mark.parametrize("kind", AVAILABLE)
def test_a_product_takes_any_number_of_rows(kind, rows):
    weight, bias = torch.randn(8, 16), torch.randn(8)
    x = torch.randn(1, rows, 16)
    result = matmul(kind, weight, bias)(x)
    assert result.shape == (1, rows, 8)
    assert result.dtype == torch.float32
    assert torch.allclose(result, F.linear(x, weight, bias), atol=TOLERANCE[kind])


@pytest.mark.parametrize("kind", [kind for kind in AVAILABLE if kind != "float16"])
@torch.no_grad()
def test_the_answer_to_a_text_does_not_depend_on_its_batch(kind):
    packed = pack_network(network(Heads(outputs=3)), kind)
    random = torch.Generator().manual_seed(0)
    lengths = [3, 7, 9, 12, 16, 2]
    texts = [torch.randint(5, SPEC.vocab_size, (n,), generator=random) for n in lengths]

    def answers(chosen):
        ids = torch.nn.utils.rnn.pad_sequence([texts[n] for n in chosen], batch_first=True)
        real = torch.arange(ids.size(1)) < torch.tensor([lengths[n] for n in chosen])[:, None]
        return packed.logits(ids, torch.zeros_like(ids), real)

    together = answers(range(len(texts)))
    for chosen in ([0, 3], [5, 1, 4], [2, 5], [4, 0, 1]):
        assert torch.allclose(answers(chosen), together[chosen], rtol=0, atol=1e-6)


def test_weights_that_are_too_large_for_float16_stay_in_float32():
    weight = torch.tensor([[1e6, 1.0]])
    result = matmul("float16", weight, torch.zeros(1))(torch.tensor([[1.0, 2.0]]))
    assert float(result) == 1e6 + 2


def test_zero_weights_give_zeros_in_int8():
    if not is_available("int8"):
        pytest.skip("int8 is unavailable")
    assert not matmul("int8", torch.zeros(4, 8), torch.zeros(4))(torch.randn(3, 8)).any()


@pytest.mark.parametrize("error", [AttributeError, NotImplementedError, RuntimeError, None])
def test_a_missing_or_wrong_kernel_makes_a_kind_unavailable(monkeypatch, error):
    def broken(weight, *_):
        if error is None:
            return lambda x: F.linear(x, weight)  # without the bias
        raise error("gone")

    monkeypatch.setitem(quantized_matmul.MAKERS, "float32", broken)
    is_available.cache_clear()
    try:
        assert not is_available("float32")
    finally:
        monkeypatch.undo()
        is_available.cache_clear()


@pytest.mark.parametrize("kind", AVAILABLE)
@torch.no_grad()
def test_rows_are_padded_to_few_shapes_without_changing_results(kind):
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
        reference = F.linear(x, weight, bias)
        assert product(x).shape == reference.shape
        assert torch.allclose(product(x), reference, atol=TOLERANCE[kind])
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
@pytest.mark.parametrize("is_onednn", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@torch.no_grad()
def test_packed_float32_weights_accept_any_rows_and_threads(monkeypatch, threads, is_onednn):
    monkeypatch.setattr(quantized_matmul, "onednn_is_faster", lambda: is_onednn)
    random = torch.Generator().manual_seed(0)
    weight, bias = torch.randn((200, 136), generator=random), torch.randn(200, generator=random)
    torch.set_num_threads(threads)
    product = matmul("float32", weight, bias)
    torch.set_num_threads(3 - threads)  # not as many as at packing
    for rows in (0, 1, 2, 17, PACKED_FOR - 1, PACKED_FOR, PACKED_FOR + 9, 3 * PACKED_FOR):
        x = torch.randn((136, rows), generator=random).T  # not contiguous
        assert torch.allclose(product(x), F.linear(x, weight, bias), rtol=0, atol=1e-4)
        assert torch.equal(product(x.reshape(1, rows, 136))[0], product(x))


@with_mkl
@pytest.mark.parametrize("seconds", [(2.0, 1.0), (1.2, 1.0), (1.0, 2.0)])
def test_the_clearly_faster_library_multiplies_float32(monkeypatch, seconds):
    now, used = [0.0], list[str]()

    def library(name, cost):
        def multiply(x):
            now[0] += cost
            used.append(name)
            return F.linear(x, torch.ones(8, x.size(-1)))

        return lambda *_: multiply

    monkeypatch.setattr(quantized_matmul.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(quantized_matmul, "_mkl", library("mkl", seconds[0]))
    monkeypatch.setattr(quantized_matmul, "_onednn_blocks", library("onednn", seconds[1]))
    quantized_matmul.onednn_is_faster.cache_clear()
    try:
        matmul("float32", torch.ones(8, 4), torch.zeros(8))(torch.ones(2, 4))
    finally:
        quantized_matmul.onednn_is_faster.cache_clear()
    assert used[-1] == ("onednn" if seconds == (2.0, 1.0) else "mkl")


@with_mkl
@torch.no_grad()
def test_mkl_uses_packed_weights_only(monkeypatch):
    monkeypatch.setattr(quantized_matmul, "onednn_is_faster", lambda: False)
    weight, bias = torch.ones(8, 16), torch.zeros(8)
    product = matmul("float32", weight, bias)
    weight += 1
    for rows in (3, PACKED_FOR, 1000):
        assert bool((product(torch.ones(rows, 16)) == 16).all())


def test_freed_memory_is_released_before_weights_are_packed(monkeypatch):
    """MKL's block has spare space, which would keep old memory alive."""
    calls = list[str]()

    def record(*_: torch.Tensor) -> None:
        calls.append("pack")

    monkeypatch.setattr(serving_network, "trim_memory", lambda: calls.append("trim"))
    monkeypatch.setattr(serving_network, "matmul", record)
    pack_network(network(Heads(outputs=3)), "float32")
    assert calls[:2] == ["trim", "pack"] and calls.count("trim") == 1


@pytest.mark.parametrize("kind", AVAILABLE)
@torch.no_grad()
def test_a_large_batch_equals_the_network(kind):
    plain = network(Heads(mlm=True, outputs=3))
    ids, segments, _ = batch(SPEC, tokens=20)
    times = -(-MANY_ROWS // ids.numel())
    ids, segments = ids.repeat(times, 1), segments.repeat(times, 1)
    for packed in (pack_network(plain, kind), pack_network(pack_network(plain, "float32"), kind)):
        result = packed.encoder(ids, segments, keep_weights=True)
        reference = plain.encoder(ids, segments, keep_weights=True)
        assert torch.allclose(result.last, reference.last, atol=TOLERANCE[kind])
        for actual, expected in zip(result.weights, reference.weights, strict=True):
            assert torch.allclose(actual, expected, atol=TOLERANCE[kind])
