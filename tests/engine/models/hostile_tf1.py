"""Hostile and broken TensorFlow checkpoints, with the expected refusal.

`CASES` maps a name to a function that spoils a good folder in Google's format, and to a part of the
error. A manipulated index gets valid checksums.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.tf1.bundle import open_bundle, pack_entry, pack_header
from engine.checkpoints.tf1.checksum import crc32c, mask_checksum
from engine.checkpoints.tf1.sstable import MAGIC, build_table, read_table
from engine.files.protobuf import encode_field, encode_varint
from tests.engine.models.hostile import LFS, PAGE, Spoil, link_outside, pipe, without
from tests.engine.models.hostile import case as hostile_case

CASES: dict[str, tuple[Spoil, str]] = {}
case = partial(hostile_case, cases=CASES)
CONFIG, INDEX = "bert_config.json", "bert_model.ckpt.index"
DATA = "bert_model.ckpt.data-00000-of-00001"
WORDS = b"bert/embeddings/word_embeddings"
QUERY = b"bert/encoder/layer_0/attention/self/query/kernel"
NEGATIVE = (1 << 64) - 1  # -1 as an int64


def edit(name: str, change: Callable[[bytes], bytes]) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return spoil


# ── the files ────────────────────────────────────────────────────────────────────────────────


@case("model.ckpt-5.index is missing")
def only_a_checkpoint_file(folder: Path) -> None:
    (folder / INDEX).unlink()
    (folder / DATA).unlink()
    (folder / "checkpoint").write_text('model_checkpoint_path: "C:\\\\runs\\\\model.ckpt-5"\n')


@case("contains 2 TensorFlow checkpoints, for example bert_model.ckpt.index")
def two_checkpoints(folder: Path) -> None:
    (folder / "model.ckpt-9.index").write_bytes((folder / INDEX).read_bytes())


for name, files, message in (
    ("index", (INDEX,), "bert_model.ckpt.index is missing"),
    ("all", (INDEX, DATA), "has no weights"),
    ("data", (DATA,), f"{DATA}, which belongs to bert_model.ckpt.index, is missing"),
    ("config", (CONFIG,), "has neither config.json nor bert_config.json"),
):
    CASES[f"{name}_missing"] = (without(*files), message)

for name in (INDEX, DATA, CONFIG):
    stem = name.rsplit(".", 1)[-1][:6]
    CASES[f"{stem}_empty"] = (edit(name, lambda b: b""), f"{name} is empty")
    CASES[f"{stem}_pointer"] = (edit(name, lambda b: LFS), "Git LFS")
    CASES[f"{stem}_page"] = (edit(name, lambda b: PAGE), "web page")
    CASES[f"{stem}_link_out"] = (link_outside(name), "link that points outside")
    CASES[f"{stem}_pipe"] = (pipe(name), "not a plain file")


@case("link that points outside")
def checkpoint_file_link_out(folder: Path) -> None:
    (folder / "checkpoint").symlink_to("/etc/hostname")


@case("is far too large")
def index_large(folder: Path) -> None:
    os.truncate(folder / INDEX, 1 << 36)


@case("is incomplete: it has")
def data_cut(folder: Path) -> None:
    os.truncate(folder / DATA, (folder / DATA).stat().st_size - 1)


@case("checksum does not match")
def data_changed(folder: Path) -> None:
    content = bytearray((folder / DATA).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / DATA).write_bytes(content)


@case("NaN or infinite")
def not_finite(folder: Path) -> None:
    entry = open_bundle(folder, INDEX).entries[QUERY.decode()]
    content = np.frombuffer((folder / DATA).read_bytes(), np.uint8).copy()
    tensor = content[entry.offset : entry.offset + entry.size]
    tensor.view("<f4")[3] = np.nan
    (folder / DATA).write_bytes(content.tobytes())
    rewrite(folder, QUERY, checksum=mask_checksum(crc32c(tensor)))


def _config(**values: object) -> Spoil:
    def change(content: bytes) -> bytes:
        return json.dumps(json.loads(content) | values).encode()

    return edit(CONFIG, change)


for name, values, message in (
    ("layers_many", {"num_hidden_layers": 9}, "bert_config.json describes 9 layers, but the"),
    ("words_many", {"vocab_size": 10**7}, "but [10000000, 16] according to bert_config.json"),
    (
        "inner_other",
        {"intermediate_size": 64},
        "[32, 16] in the file, but [64, 16] according to bert",
    ),
    ("width_text", {"hidden_size": "16"}, "does not describe a valid model: hidden_size"),
    ("kind_other", {"model_type": "longformer"}, "Longformer"),
    ("labels_other", {"id2label": {"0": "a", "1": "b"}}, "bert_config.json names 2 labels"),
):
    CASES[f"config_{name}"] = (_config(**values), message)


# ── the table ────────────────────────────────────────────────────────────────────────────────


def seal(block: bytes, compression: int = 0) -> bytes:
    """A block with its compression byte and checksum."""
    content = block + bytes([compression])
    return content + mask_checksum(crc32c(content)).to_bytes(4, "little")


def make_entry(shared: int, key: bytes, value: bytes) -> bytes:
    sizes = (shared, len(key), len(value))
    return b"".join(map(encode_varint, sizes)) + key + value


def table(data: bytes, handles: list[tuple[bytes, int, int]]) -> bytes:
    """A table of one data block and an index with any offsets."""
    index = b"".join(
        make_entry(0, key, encode_varint(start) + encode_varint(n)) for key, start, n in handles
    )
    index += bytes(4) + (1).to_bytes(4, "little")
    handle = encode_varint(len(data)) + encode_varint(len(index))
    return data + seal(index) + (bytes(2) + handle).ljust(40, b"\0") + MAGIC


def one_block(block: bytes, compression: int = 0) -> bytes:
    return table(seal(block, compression), [(b"z", 0, len(block))])


RESTART = bytes(4) + (1).to_bytes(4, "little")
for name, content, message in (
    ("no_table", bytes(1000), "it does not end like a checkpoint index"),
    ("short", MAGIC, "it does not end like a checkpoint index"),
    ("endless_number", b"\xff" * 40 + MAGIC, "a number does not end"),
    ("index_elsewhere", (bytes(2) + b"\x90\x90\x03\x05").ljust(40, b"\0") + MAGIC, "is outside"),
    ("huge_block", table(b"", [(b"z", 0, 1 << 60)]), "is outside"),
    ("packed", one_block(b"\0" + RESTART, 1), "compressed with Snappy"),
    ("packed_unknown", one_block(b"\0" + RESTART, 7), "compression is unknown"),
    ("empty_block", one_block(RESTART), "a block is empty"),
    ("tiny_block", one_block(b""), "a block is empty"),
    ("many_restarts", one_block(b"abc" + b"\xff" * 4), "a block is empty"),
    ("shares_too_much", one_block(make_entry(3, b"a", b"") + RESTART), "longer than its block"),
    ("claims_too_much", one_block(b"\0\1\x90\x90\x03a" + RESTART), "longer than its block"),
    ("long_name", one_block(make_entry(0, b"a" * 1001, b"") + RESTART), "a name is too long"),
    (
        "out_of_order",
        one_block(make_entry(0, b"b", b"") + make_entry(0, b"a", b"") + RESTART),
        "its names are not sorted",
    ),
    ("named_twice", one_block(2 * make_entry(0, b"b", b"") + RESTART), "its names are not sorted"),
    (
        "block_twice",
        table(seal(make_entry(0, b"b", b"") + RESTART), 2 * [(b"z", 0, 12)]),
        "its blocks overlap",
    ),
    ("no_header", build_table([(b"a", b"")]), "it has no header"),
    ("no_tensors", build_table([(b"", pack_header(1))]), "it lists no tensors"),
    ("no_message", build_table([(b"", b"\x0b")]), "a field has an unknown type"),
    ("cut_message", build_table([(b"", b"\x0a\x05a")]), "a field is incomplete"),
    ("text_for_number", build_table([(b"", encode_field(1, b"a"))]), "a field is not a number"),
    ("number_for_text", build_table([(b"", encode_field(3, 5))]), "a field is not a message"),
    ("long_message", build_table([(b"", encode_field(3, bytes(10_001)))]), "is too long"),
    ("highest_byte_first", build_table([(b"", encode_field(2, 1))]), "big-endian"),
    (
        "newer",
        build_table([(b"", encode_field(3, encode_field(2, 2)))]),
        "written by a newer TensorFlow",
    ),
):
    CASES[f"table_{name}"] = (edit(INDEX, lambda b, content=content: content), message)


@case("more than 50000 entries")
def table_endless(folder: Path) -> None:
    (folder / INDEX).write_bytes(build_table((b"%06d" % n, b"") for n in range(50_001)))


@case("a checksum does not match")
def table_changed(folder: Path) -> None:
    content = bytearray((folder / INDEX).read_bytes())
    content[9] ^= 1
    (folder / INDEX).write_bytes(content)


# ── index entries ────────────────────────────────────────────────────────────────────────────


def rebuild_index(
    folder: Path, change: Callable[[dict[bytes, bytes]], dict[bytes, bytes] | None]
) -> None:
    """Replace the index entries by `change` of them."""
    path = folder / INDEX
    entries = read_table(path.read_bytes())
    path.write_bytes(build_table(sorted((change(entries) or entries).items())))


def rewrite(folder: Path, name: bytes, **values: Any) -> None:
    """Change the index entry of one tensor."""
    entry = replace(open_bundle(folder, INDEX).entries[name.decode()], **values)
    rebuild_index(folder, lambda entries: entries.update({name: pack_entry(entry)}))


def _entry(name: bytes, **values: Any) -> Spoil:
    return lambda folder: rewrite(folder, name, **values)


def _entries(change: Callable[[dict[bytes, bytes]], dict[bytes, bytes] | None]) -> Spoil:
    return lambda folder: rebuild_index(folder, change)


def shape_field(*sides: int) -> bytes:
    return b"".join(encode_field(2, encode_field(1, side)) for side in sides)


def _rename(entries: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {name and b"electra" + name: value for name, value in entries.items()}


FLOAT = encode_field(1, 1)
for name, spoil, message in (
    ("elsewhere", _entry(WORDS, shard=1), "the file of bert/embeddings/word_embeddings is missing"),
    ("before", _entry(WORDS, offset=NEGATIVE), "word_embeddings is outside its file"),
    ("far", _entry(WORDS, offset=1 << 62), "is incomplete: it has"),
    ("large", _entry(WORDS, size=1 << 62), "does not match its shape"),
    ("claims_much", _entry(WORDS, shape=(1 << 40, 16), size=1 << 46), "is incomplete: it has"),
    ("below_zero", _entry(WORDS, shape=(NEGATIVE, 16)), "has an invalid shape"),
    ("many_sides", _entry(WORDS, shape=(1,) * 9), "has an invalid shape"),
    (
        "transposed",
        _entry(WORDS, shape=(16, 40)),
        "[16, 40] in the file, but [40, 16] according to bert_",
    ),
    ("scalar", _entry(QUERY, shape=(), size=4), "has the shape [] in the file"),
    ("whole_numbers", _entry(WORDS, dtype="int32"), "is stored as int32"),
    ("text", _entry(WORDS, dtype="string"), "is stored as string"),
    ("another_place", _entry(QUERY, offset=0), "checksum does not match"),
    (
        "no_rank",
        _entries(lambda e: e.update({WORDS: FLOAT + encode_field(2, encode_field(3, 1))})),
        "has an invalid shape",
    ),
    (
        "unknown_type",
        _entries(
            lambda e: e.update({WORDS: encode_field(1, 99) + encode_field(2, shape_field(40, 16))})
        ),
        "is stored as type 99",
    ),
    ("slices", _entries(lambda e: e.update({b"\0\1abc": b""})), "stored in slices"),
    ("no_text", _entries(lambda e: e.update({b"\xff\xfe": b""})), "is not UTF-8 text"),
    (
        "lacks_one",
        _entries(lambda e: {k: v for k, v in e.items() if k != QUERY}),
        "1 encoder tensors are missing",
    ),
    (
        "another_network",
        _entries(_rename),
        "contains no layers of BERT; it contains, for example, electrabert",
    ),
    (
        "objects",
        _entries(lambda e: e.update({b"model/a/.ATTRIBUTES/VARIABLE_VALUE": e[WORDS]})),
        "TensorFlow 2",
    ),
    (
        "markup",
        _entries(lambda e: e.update({b"<b>\n\x1b" + b"x" * 900: encode_field(4, NEGATIVE)})),
        r"<b>\n\x1bxxx",
    ),
):
    CASES[f"entry_{name}"] = (spoil, message)
