"""Checksums, numbers, tables and bundles of TensorFlow, each tested against its specification."""

import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoints.tf1.bundle import WIDTHS, open_bundle, write_bundle
from engine.checkpoints.tf1.checksum import (
    CHUNK,
    MAX_STEP,
    ONES,
    STEPS,
    STRIDE,
    TABLE,
    crc32c,
    mask_checksum,
)
from engine.checkpoints.tf1.sstable import BLOCK_SIZE, MAX_KEY, build_table, read_table
from engine.files.protobuf import (
    Unreadable,
    decode_fields,
    decode_varint,
    encode_field,
    encode_varint,
    int_field,
    message_fields,
)
from tests.often import tries

KEYS = st.binary(max_size=40)


# ── checksums ────────────────────────────────────────────────────────────────────────────────


def byte_by_byte(content: bytes) -> int:
    state = ONES
    for byte in content:
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ ONES


@pytest.mark.parametrize(
    "content, checksum",  # RFC 3720, appendix B.4
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_the_checksum_matches_the_standard(content, checksum):
    assert crc32c(content) == checksum


def test_the_sum_of_powers_that_shortens_a_message_is_zero():
    """Each exponent as a 1 followed by that many zero bits."""

    def power(exponent: int) -> int:
        state = 1 << 31
        for _ in range(exponent):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
        return state

    exponents = [MAX_STEP - step for step in (0, *STEPS)]
    assert exponents == [5685, 1362, 426, 0]
    assert power(5685) == power(1362) ^ power(426) ^ power(0)


@pytest.mark.parametrize(
    "size",
    [
        *(edge + n for edge in (0, STRIDE + MAX_STEP) for n in (1, 7, 8, 9)),
        *(8 * (STRIDE + MAX_STEP) + n for n in (-9, -8, -4, -1, 0, 1, 8)),
        8 * CHUNK + 13,
    ],
)
def test_a_long_message_has_the_checksum_of_its_bytes(size):
    content = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    assert crc32c(content) == byte_by_byte(content.tobytes())


def test_a_checksum_is_masked_as_in_leveldb():
    assert mask_checksum(0) == 0xA282EAD8
    assert mask_checksum(crc32c(b"foo")) != crc32c(b"foo")
    assert len({mask_checksum(1 << bit) for bit in range(32)}) == 32


# ── numbers and messages ─────────────────────────────────────────────────────────────────────


@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=5))
@tries(100)
def test_a_number_survives_a_round_trip(value, prefix):
    content = prefix + encode_varint(value)
    assert decode_varint(content, len(prefix)) == (value, len(content))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, (1 << 63) - 1) | st.binary())))
@tries(100)
def test_a_message_survives_a_round_trip(fields):
    decoded = decode_fields(b"".join(encode_field(field, value) for field, value in fields))
    for field in range(1, 10):
        values = [value for number, value in fields if number == field]
        assert decoded.get(field, []) == values
        if values and isinstance(values[-1], int):
            assert int_field(decoded, field) == values[-1]
        if all(isinstance(value, bytes) for value in values):
            assert message_fields(decoded, field) == values


@given(st.binary(max_size=60))
@tries(100)
def test_any_bytes_are_a_message_or_refused(content):
    with suppress(Unreadable):
        decode_fields(content)


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@given(st.dictionaries(KEYS, st.binary(max_size=50), min_size=1))
@tries(100)
def test_a_table_survives_a_round_trip(entries):
    ordered = dict(sorted(entries.items()))
    assert read_table(build_table(ordered.items())) == ordered


def test_a_table_of_many_blocks_survives_a_round_trip():
    entries = {b"bert/encoder/layer_%04d" % n: bytes(n % 90) for n in range(2_000)}
    table = build_table(entries.items())
    assert len(table) > 5 * BLOCK_SIZE
    assert read_table(table) == entries
    assert len(table) < sum(len(key) + len(value) for key, value in entries.items())


@given(KEYS, st.binary(max_size=99))
@tries(200)
def test_any_bytes_before_a_footer_are_refused(before, after):
    with pytest.raises(Unreadable):
        read_table(before + after.ljust(40, b"\0") + build_table([])[-8:])


def test_a_key_of_maximum_length_is_read():
    key = b"a" * MAX_KEY
    assert read_table(build_table([(key, b"1")])) == {key: b"1"}


# ── bundles ──────────────────────────────────────────────────────────────────────────────────


@st.composite
def tensors(draw: st.DrawFn) -> dict[str, tuple[str, np.ndarray]]:
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), unique=True))
    result = {}
    for name in names:
        dtype = draw(st.sampled_from(sorted(WIDTHS)))
        shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
        stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        seed = zlib.crc32(name.encode())
        size = int(np.prod(shape)) * stored.itemsize
        raw = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
        result[f"a{name}"] = (dtype, raw.view(stored).reshape(shape))
    return result


@given(arrays=tensors().filter(bool))
@tries(100)
def test_any_tensors_survive_a_round_trip(tmp_path_factory, arrays):
    folder: Path = tmp_path_factory.mktemp("any")
    write_bundle(folder, "model.ckpt-1", arrays)
    bundle = open_bundle(folder, "model.ckpt-1.index")
    assert list(bundle.entries) == sorted(arrays, key=str.encode)
    for name, (dtype, array) in arrays.items():
        assert (bundle.entries[name].dtype, bundle.entries[name].shape) == (dtype, array.shape)
        assert bundle.read(name).tobytes() == array.tobytes()


def test_a_transposed_matrix_is_written_in_logical_order(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_bundle(tmp_path, "x", {"a": ("float32", array.T)})
    bundle = open_bundle(tmp_path, "x.index")
    assert bundle.entries["a"].shape == (3, 2)
    assert bundle.read("a").view(np.float32).tolist() == [0, 3, 1, 4, 2, 5]


def test_existing_files_are_not_overwritten(tmp_path):
    write_bundle(tmp_path, "x", {"a": ("float32", np.zeros(2, np.float32))})
    with pytest.raises(FileExistsError):
        write_bundle(tmp_path, "x", {"a": ("float32", np.ones(2, np.float32))})
