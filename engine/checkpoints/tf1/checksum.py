"""CRC-32C (RFC 3720, appendix B.4) of large arrays, with only NumPy.

Byte by byte, Python takes minutes for the weights of a BERT. But modulo the polynomial of this
checksum, x^5685 = x^1362 + x^426 + 1, and by squaring the same is true of x^8 and x^64. So a unit
of 1 or 8 bytes at the front of a long message can be removed by adding it to three later units, at
distances equal to the differences of the exponents, without changing the remainder. The units up to
the first of the three are independent of one another, so they are removed together. What remains is
short enough for the usual table. (The idea: Russell 2024, Chorba, arXiv 2412.16398.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78  # the lowest bit first, as in the checksum itself
ONES = 0xFFFFFFFF
# turns a remainder of 0 into the initial value of all ones
START = bytes.fromhex("0000000054641f64")
STEPS = (5685 - 1362, 5685 - 426, 5685)  # units; found by searching all exponents below 9000
STRIDE, MAX_STEP = STEPS[0], STEPS[-1]
CHUNK = 1 << 19  # units copied at a time
UNIT_DTYPES = ("<u8", "u1")

UnitArray = NDArray[Any]  # of one of these dtypes


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE = [_remainder(byte) for byte in range(256)]


def crc32c(content: bytes | NDArray[np.uint8]) -> int:
    """The checksum of bytes, or of a uint8 array of one dimension."""
    raw = np.frombuffer(content, np.uint8)
    prefix = np.frombuffer(START, np.uint8)
    for unit in UNIT_DTYPES:
        whole_size = raw.size - raw.size % np.dtype(unit).itemsize
        shortened = _shorten(prefix.view(unit), raw[:whole_size].view(unit))
        raw, prefix = np.concatenate((shortened.view(np.uint8), raw[whole_size:])), raw[:0]
    state = 0
    for byte in raw.tobytes():
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ ONES


def _shorten(units: UnitArray, rest: UnitArray) -> UnitArray:
    """Shorten `units` followed by `rest` to at most ten thousand units with the same remainder."""
    for start in range(0, rest.size, CHUNK):
        units = np.concatenate((units, rest[start : start + CHUNK]))
        done = 0
        while done + STRIDE + MAX_STEP <= units.size:
            removed = units[done : done + STRIDE]
            for step in STEPS:
                units[done + step : done + step + STRIDE] ^= removed
            done += STRIDE
        units = units[done:]
    return units


def mask_checksum(checksum: int) -> int:
    """A checksum as stored by LevelDB."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & ONES
