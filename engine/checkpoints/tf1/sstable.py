"""A sorted table of keys and values in one file, in LevelDB's format (its doc/table_format).

    data block … | metaindex block | index block | footer

A block is a sequence of entries, the restart points (offsets of entries with full keys), and their
number; a compression type and a checksum follow it. An entry has the length of the prefix that its
key shares with the previous one. The index block has the offset of every data block; the footer has
the offset of the index.
"""

from collections.abc import Iterable, Iterator

from engine.checkpoints.tf1.checksum import crc32c, mask_checksum
from engine.files.protobuf import Damage, UnsupportedFormat, decode_varint, encode_varint
from engine.phrases import phrase

MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
FOOTER_SIZE = 48  # bytes, including MAGIC
TRAILER_SIZE = 5  # bytes after a block: compression type and checksum
PLAIN, SNAPPY = 0, 1
RESTART_EVERY = 16  # entries
BLOCK_SIZE = 4096  # bytes, about
MAX_KEY = 1000  # bytes
MAX_ENTRIES = 50_000


def read_table(content: bytes) -> dict[bytes, bytes]:
    """Read all entries, sorted by key.

    Raises Damage for an invalid table, a wrong checksum or unsorted keys, and UnsupportedFormat for
    a compressed one; memory and time are proportional to the size of the content.
    """
    if len(content) < FOOTER_SIZE or not content.endswith(MAGIC):
        raise Damage(phrase("it does not end like a checkpoint index"))
    footer_start = len(content) - FOOTER_SIZE
    _, index_start = _decode_handle(content, footer_start)
    entries: dict[bytes, bytes] = {}
    last, end = b"", 0
    (offset, size), _ = _decode_handle(content, index_start)
    for _, handle in _entries(_block(content, offset, size, footer_start)):
        (offset, size), _ = _decode_handle(handle, 0)
        if offset < end:
            raise Damage(phrase("its blocks overlap"))
        end = offset + size
        for key, value in _entries(_block(content, offset, size, footer_start)):
            if entries and key <= last:
                raise Damage(phrase("its names are not sorted"))
            if len(entries) == MAX_ENTRIES:
                raise Damage(
                    phrase("it has more than {max_entries} entries", max_entries=MAX_ENTRIES)
                )
            entries[key] = value
            last = key
    return entries


def _decode_handle(content: bytes, position: int) -> tuple[tuple[int, int], int]:
    """Decode a block handle at `position`: (offset, size), and the offset of the next field."""
    offset, position = decode_varint(content, position)
    size, position = decode_varint(content, position)
    return (offset, size), position


def _block(content: bytes, offset: int, size: int, end: int) -> bytes:
    """Read a block and verify its checksum; it and its trailer must end by `end`."""
    if offset + size + TRAILER_SIZE > end:
        raise Damage(phrase("a block is outside the file"))
    block, compression = content[offset : offset + size], content[offset + size]
    stored = int.from_bytes(content[offset + size + 1 : offset + size + TRAILER_SIZE], "little")
    if stored != mask_checksum(crc32c(content[offset : offset + size + 1])):
        raise Damage(phrase("a checksum does not match"))
    if compression == SNAPPY:
        raise UnsupportedFormat(phrase("it is compressed with Snappy"))
    if compression != PLAIN:
        raise UnsupportedFormat(phrase("its compression is unknown"))
    return block


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block, ignoring its restart points. Raises Damage if it is empty."""
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end <= 0:
        raise Damage(phrase("a block is empty"))
    position, key = 0, b""
    while position < end:
        shared, position = decode_varint(block, position)
        unshared, position = decode_varint(block, position)
        size, position = decode_varint(block, position)
        if shared > len(key) or position + unshared + size > end:
            raise Damage(phrase("an entry is longer than its block"))
        if shared + unshared > MAX_KEY:
            raise Damage(phrase("a name is too long"))
        key = key[:shared] + block[position : position + unshared]
        position += unshared + size
        yield key, block[position - size : position]


def build_table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A table of entries in sorted order."""
    table = bytearray()
    index: list[tuple[bytes, bytes]] = []
    pending: list[tuple[bytes, bytes]] = []
    size = 0

    def append_block(block: bytes) -> bytes:
        handle = encode_varint(len(table)) + encode_varint(len(block))
        packed = block + bytes([PLAIN])
        table.extend(packed + mask_checksum(crc32c(packed)).to_bytes(4, "little"))
        return handle

    for key, value in entries:
        pending.append((key, value))
        size += len(key) + len(value)
        if size >= BLOCK_SIZE:
            index.append((key, append_block(_build_block(pending))))
            pending, size = [], 0
    if pending:
        index.append((pending[-1][0], append_block(_build_block(pending))))
    handles = append_block(_build_block([])) + append_block(_build_block(index))
    return bytes(table) + handles.ljust(FOOTER_SIZE - len(MAGIC), b"\0") + MAGIC


def _build_block(entries: list[tuple[bytes, bytes]]) -> bytes:
    block = bytearray()
    restarts = []
    last = b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % RESTART_EVERY == 0:
            restarts.append(len(block))
        else:
            shared = _common_prefix_length(last, key)
        for size in (shared, len(key) - shared, len(value)):
            block += encode_varint(size)
        block += key[shared:] + value
        last = key
    offsets = restarts or [0]
    return bytes(block) + b"".join(n.to_bytes(4, "little") for n in (*offsets, len(offsets)))


def _common_prefix_length(key: bytes, other: bytes) -> int:
    return next(
        (n for n, pair in enumerate(zip(key, other, strict=False)) if pair[0] != pair[1]),
        min(len(key), len(other)),
    )
