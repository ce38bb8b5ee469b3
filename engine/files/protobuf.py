"""Numbers and messages as protocol buffers write them (protobuf.dev, “Encoding”)."""

from engine.phrases import phrase

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WIDTHS = {FIXED64: 8, FIXED32: 4}  # bytes
LONGEST_VARINT = 10  # bytes
LONGEST_MESSAGE = 10_000  # bytes; what is said of one tensor takes fifty


class Unreadable(Exception):
    """Why a file cannot be read, as the end of a sentence; whoever knows the file says it whole."""


class Damage(Unreadable):
    """The file is not as it was written."""


class Unknown(Unreadable):
    """The file may be sound, and uses what BERT Studio does not read."""


def varint(content: bytes, at: int) -> tuple[int, int]:
    """The number (0 to 2^64 - 1) that begins at a byte, and where the next thing begins."""
    number = 0
    for place, byte in enumerate(content[at : at + LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80 and number < 1 << 64:
            return number, at + place + 1
    raise Damage(phrase("a number does not end"))


def as_varint(number: int) -> bytes:
    """A number from 0 to 2^64 - 1 in bytes of 7 bits, the lowest first."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def fields(message: bytes, longest: int = LONGEST_MESSAGE) -> dict[int, list[int | bytes]]:
    """The values of a message by the number of their field, in their order.

    Raises Damage for what is no message.
    """
    if len(message) > longest:
        raise Damage(phrase("a description is too long"))
    found: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        value: int | bytes
        if kind == VARINT:
            value, at = varint(message, at)
        elif kind == BYTES:
            size, at = varint(message, at)
            value, at = message[at : at + size], at + size
        elif kind in WIDTHS:
            value = int.from_bytes(message[at : at + WIDTHS[kind]], "little")
            at += WIDTHS[kind]
        else:
            raise Damage(phrase("a field has an unknown type"))
        if at > len(message):
            raise Damage(phrase("a field is incomplete"))
        found.setdefault(key >> 3, []).append(value)
    return found


def number(found: dict[int, list[int | bytes]], field: int) -> int:
    """The number in a field as an int64, 0 where it is absent; the last one counts."""
    value = found.get(field, [0])[-1]
    if isinstance(value, bytes):
        raise Damage(phrase("a field is not a number"))
    return value - (1 << 64) if value >> 63 else value


def messages(found: dict[int, list[int | bytes]], field: int) -> list[bytes]:
    """All messages in a field."""
    inner = [value for value in found.get(field, []) if isinstance(value, bytes)]
    if len(inner) != len(found.get(field, [])):
        raise Damage(phrase("a field is not a message"))
    return inner


def as_field(field: int, value: int | bytes) -> bytes:
    """A field with a number from 0 on, or a message; nothing for 0, which is what absence says."""
    if isinstance(value, bytes):
        return as_varint(field << 3 | BYTES) + as_varint(len(value)) + value
    return as_varint(field << 3 | VARINT) + as_varint(value) if value else b""


def as_fixed32(field: int, value: int) -> bytes:
    """A field with a number from 0 to 2^32 - 1 in four bytes."""
    return as_varint(field << 3 | FIXED32) + value.to_bytes(4, "little")
