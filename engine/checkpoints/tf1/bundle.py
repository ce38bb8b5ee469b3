"""Tensor bundles, written by TensorFlow's Saver since 2016 (its tensor_bundle.proto).

`PREFIX.index` is a sorted table: the empty key has a header, each other key the dtype, shape,
offset and checksum of a tensor. The data of the tensors follow each other, little-endian, in
`PREFIX.data-00000-of-00001`, or in several such files.

Tensors are read one at a time and never mapped, so that a file that is truncated meanwhile raises
an error instead of crashing the process.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.tf1.checksum import crc32c, mask_checksum
from engine.checkpoints.tf1.sstable import build_table, read_table
from engine.errors import BadCheckpoint
from engine.files.protobuf import (
    Damage,
    Unreadable,
    UnsupportedFormat,
    decode_fields,
    encode_field,
    encode_fixed32,
    int_field,
    message_fields,
)
from engine.files.regular_file import open_regular, read_regular
from engine.files.untrusted import AGAIN, check_content, plain_file, safe_name
from engine.phrases import phrase

INDEX = ".index"
MAX_INDEX = 32_000_000  # bytes
MAX_DIMENSIONS = 8  # of a tensor
VERSION = 1  # of the format: written, and the newest that is read
OTHER_FORMAT = phrase("Choose a copy of this model in another format, ideally model.safetensors.")
OBJECTS = ".ATTRIBUTES/VARIABLE_VALUE"  # suffix of names in TensorFlow 2
SLICE = b"\0"  # prefix of names of parts of a tensor
DTYPES = {  # from types.proto
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    19: "float16",
    22: "uint32",
    23: "uint64",
}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
WIDTHS = {  # bytes per element; strings have no fixed size
    dtype: 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    for dtype in NUMBERS
    if dtype != "string"
}


@dataclass(frozen=True)
class Entry:
    """The index entry of one tensor."""

    dtype: str  # as in DTYPES, or “type 42” for an unknown one
    shape: tuple[int, ...]
    shard: int
    offset: int  # in the shard file
    size: int  # bytes
    checksum: int  # CRC-32C, masked


@dataclass(frozen=True)
class Bundle:
    """A validated index, and data files of sufficient size."""

    folder: Path
    index: str
    shards: int
    entries: dict[str, Entry]

    @property
    def files(self) -> list[str]:
        """The names of the index and of all data files."""
        used = sorted({entry.shard for entry in self.entries.values()})
        return [self.index, *(self.shard_name(number) for number in used)]

    def shard_name(self, number: int) -> str:
        return f"{self.index.removesuffix(INDEX)}.data-{number:05}-of-{self.shards:05}"

    def read(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a tensor, uint8 [size].

        Raises BadCheckpoint if the checksum is wrong.
        """
        entry = self.entries[name]
        file_name = self.shard_name(entry.shard)
        content = np.empty(entry.size, np.uint8)
        try:
            with open_regular(self.folder / file_name) as file:
                file.seek(entry.offset)
                count = file.readinto(content.data)
        except OSError as error:
            raise BadCheckpoint(
                "{file_name} cannot be read.", AGAIN, file_name=safe_name(file_name)
            ) from error
        if count != entry.size or mask_checksum(crc32c(content)) != entry.checksum:
            raise BadCheckpoint(
                "{name} in {file_name} is damaged: its checksum does not match.",
                AGAIN,
                name=safe_name(name),
                file_name=safe_name(file_name),
            )
        return content


def open_bundle(folder: Path, index: str) -> Bundle:
    """The tensors in a `.index` of `folder`; only the index is read.

    Raises BadCheckpoint for an index that is damaged or of another kind, and for data files that
    are missing or too short.
    """
    path = plain_file(folder, index)
    if path is None:
        raise BadCheckpoint(
            "{index} in {folder} is missing.",
            AGAIN,
            index=safe_name(index),
            folder=safe_name(folder.name),
        )
    check_content(path)
    if path.stat().st_size > MAX_INDEX:
        raise BadCheckpoint(
            "{index} is far too large for a checkpoint index.", AGAIN, index=safe_name(index)
        )
    try:
        shards, entries = _contents(read_regular(path, MAX_INDEX))
    except Unreadable as error:
        advice = OTHER_FORMAT if isinstance(error, UnsupportedFormat) else AGAIN
        raise BadCheckpoint(
            "{index} cannot be read: {error}.", advice, index=safe_name(index), error=error
        ) from error
    if any(name.endswith(OBJECTS) for name in entries):
        raise BadCheckpoint(
            "{index} is an object-based TensorFlow 2 checkpoint.",
            OTHER_FORMAT,
            index=safe_name(index),
        )
    bundle = Bundle(folder, index, shards, entries)
    _check_shards(bundle)
    return bundle


def _contents(content: bytes) -> tuple[int, dict[str, Entry]]:
    """The number of shards, and the entries by name."""
    table = read_table(content)
    if b"" not in table:
        raise Damage(phrase("it has no header"))
    shards = _shards(table.pop(b""))
    entries = {}
    for key, value in table.items():
        if key.startswith(SLICE):
            raise UnsupportedFormat(phrase("its tensors are stored in slices"))
        try:
            name = key.decode()
        except UnicodeDecodeError as error:
            raise Damage(phrase("a name in it is not UTF-8 text")) from error
        entries[name] = _entry(name, value)
        if not 0 <= entries[name].shard < shards:
            raise Damage(phrase("the file of {name} is missing", name=safe_name(name)))
    if not entries:
        raise Damage(phrase("it lists no tensors"))
    return shards, entries


def _shards(header: bytes) -> int:
    fields = decode_fields(header)
    if int_field(fields, 2):
        raise UnsupportedFormat(phrase("it was written on a big-endian machine"))
    for version in message_fields(fields, 3):
        if int_field(decode_fields(version), 2) > VERSION:
            raise UnsupportedFormat(phrase("it was written by a newer TensorFlow"))
    return int_field(fields, 1)


def _entry(name: str, message: bytes) -> Entry:
    fields = decode_fields(message)
    dtype = DTYPES.get(int_field(fields, 1), phrase("type {found}", found=int_field(fields, 1)))
    shape = _shape(name, message_fields(fields, 2))
    checksum = int_field(fields, 6)
    entry = Entry(
        dtype, shape, int_field(fields, 3), int_field(fields, 4), int_field(fields, 5), checksum
    )
    if entry.offset < 0 or entry.size < 0:
        raise Damage(phrase("{name} is outside its file", name=safe_name(name)))
    if dtype in WIDTHS and math.prod(shape) * WIDTHS[dtype] != entry.size:
        raise Damage(phrase("the size of {name} does not match its shape", name=safe_name(name)))
    return entry


def _shape(name: str, messages: list[bytes]) -> tuple[int, ...]:
    fields = decode_fields(messages[-1]) if messages else {}
    shape = tuple(int_field(decode_fields(dimension), 1) for dimension in message_fields(fields, 2))
    if int_field(fields, 3) or len(shape) > MAX_DIMENSIONS or min(shape, default=0) < 0:
        raise Damage(phrase("{name} has an invalid shape", name=safe_name(name)))
    return shape


def _check_shards(bundle: Bundle) -> None:
    """Raise BadCheckpoint if a data file is missing, or too short."""
    last: dict[int, tuple[int, str]] = {}  # the end and name of the last tensor in each file
    for name, entry in bundle.entries.items():
        position = (entry.offset + entry.size, name)
        last[entry.shard] = max(position, last.get(entry.shard, position))
    for shard, (end, name) in sorted(last.items()):
        file_name = bundle.shard_name(shard)
        path = plain_file(bundle.folder, file_name)
        if path is None:
            raise BadCheckpoint(
                "{file_name}, which belongs to {index}, is missing.",
                "Add it to the folder, or download the model again.",
                file_name=safe_name(file_name),
                index=safe_name(bundle.index),
            )
        size = path.stat().st_size
        if size < end:
            check_content(path)  # raises if the reason is recognisable
            raise BadCheckpoint(
                "{file_name} is incomplete: it has {size} bytes, but {name} ends at {end}.",
                AGAIN,
                file_name=safe_name(file_name),
                size=size,
                name=safe_name(name),
                end=end,
            )


def write_bundle(
    folder: Path, prefix: str, tensors: Mapping[str, tuple[str, NDArray[np.generic]]]
) -> None:
    """Write `PREFIX.index` and one data file.

    Args:
        tensors: by name, a type of `WIDTHS` and the values; bfloat16 as uint16 of the same bits.
    """
    entries: list[tuple[bytes, bytes]] = [(b"", pack_header(1))]
    with open(folder / f"{prefix}.data-00000-of-00001", "xb") as file:
        for name, (dtype, array) in sorted(tensors.items(), key=lambda item: item[0].encode()):
            ordered = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
            content = ordered.reshape(-1).view(np.uint8)
            checksum = mask_checksum(crc32c(content))
            entry = Entry(dtype, array.shape, 0, file.tell(), content.size, checksum)
            entries.append((name.encode(), pack_entry(entry)))
            file.write(content.data)
    with open(folder / f"{prefix}{INDEX}", "xb") as file:
        file.write(build_table(entries))


def pack_header(shards: int) -> bytes:
    """Encode a BundleHeaderProto."""
    return encode_field(1, shards) + encode_field(3, encode_field(1, VERSION))


def pack_entry(entry: Entry) -> bytes:
    """Encode a BundleEntryProto."""
    return (
        encode_field(1, NUMBERS[entry.dtype])
        + encode_field(
            2, b"".join(encode_field(2, encode_field(1, dimension)) for dimension in entry.shape)
        )
        + encode_field(3, entry.shard)
        + encode_field(4, entry.offset)
        + encode_field(5, entry.size)
        + encode_fixed32(6, entry.checksum)
    )
