"""The wire format of protocol buffers (protobuf.dev, “Encoding”)."""

from engine.phrases import phrase

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIDTHS = {FIXED64: 8, FIXED32: 4}  # bytes
MAX_VARINT = 10  # bytes
MAX_MESSAGE = 10_000  # bytes; the description of a tensor takes fifty


class Unreadable(Exception):
    """The reason why a file cannot be read, as the end of a sentence that the caller completes."""


class Damage(Unreadable):
    """The file is damaged."""


class UnsupportedFormat(Unreadable):
    """The file may be sound, but uses features that BERT Studio does not support."""


def decode_varint(content: bytes, position: int) -> tuple[int, int]:
    """Decode the number (0 to 2^64 - 1) at a position; returns it and the next position."""
    number = 0
    for index, byte in enumerate(content[position : position + MAX_VARINT]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80 and number < 1 << 64:
            return number, position + index + 1
    raise Damage(phrase("a number does not end"))


def encode_varint(number: int) -> bytes:
    """Encode a number from 0 to 2^64 - 1 in groups of 7 bits, the lowest first."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def decode_fields(message: bytes, max_bytes: int = MAX_MESSAGE) -> dict[int, list[int | bytes]]:
    """The values of a message by field number, in order.

    Raises Damage if it is not a message.
    """
    if len(message) > max_bytes:
        raise Damage(phrase("a description is too long"))
    fields: dict[int, list[int | bytes]] = {}
    position = 0
    while position < len(message):
        key, position = decode_varint(message, position)
        kind = key & 7
        value: int | bytes
        if kind == VARINT:
            value, position = decode_varint(message, position)
        elif kind == BYTES:
            size, position = decode_varint(message, position)
            value, position = message[position : position + size], position + size
        elif kind in WIDTHS:
            value = int.from_bytes(message[position : position + WIDTHS[kind]], "little")
            position += WIDTHS[kind]
        else:
            raise Damage(phrase("a field has an unknown type"))
        if position > len(message):
            raise Damage(phrase("a field is incomplete"))
        fields.setdefault(key >> 3, []).append(value)
    return fields


def int_field(fields: dict[int, list[int | bytes]], field: int) -> int:
    """The last int64 in a field; 0 if it is absent."""
    value = fields.get(field, [0])[-1]
    if isinstance(value, bytes):
        raise Damage(phrase("a field is not a number"))
    return value - (1 << 64) if value >> 63 else value


def message_fields(fields: dict[int, list[int | bytes]], field: int) -> list[bytes]:
    """All messages in a field."""
    inner = [value for value in fields.get(field, []) if isinstance(value, bytes)]
    if len(inner) != len(fields.get(field, [])):
        raise Damage(phrase("a field is not a message"))
    return inner


def encode_field(field: int, value: int | bytes) -> bytes:
    """Encode a non-negative number or a message as a field; nothing for 0, the default."""
    if isinstance(value, bytes):
        return encode_varint(field << 3 | BYTES) + encode_varint(len(value)) + value
    return encode_varint(field << 3 | VARINT) + encode_varint(value) if value else b""


def encode_fixed32(field: int, value: int) -> bytes:
    """Encode a number from 0 to 2^32 - 1 as a four-byte field."""
    return encode_varint(field << 3 | FIXED32) + value.to_bytes(4, "little")
