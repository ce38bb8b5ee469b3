"""Check `pytorch_model.bin`, and read its names, types and shapes without torch.

A pickle can execute code. Its opcodes are checked without executing them, and everything except
plain tensors in a dictionary is refused.
"""

import io
import os
import pickle
import pickletools
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import BadCheckpoint
from engine.files.regular_file import open_regular
from engine.files.untrusted import AGAIN, safe_name
from engine.phrases import phrase

MAX_PICKLE_BYTES = 32_000_000  # opcodes; a thousand layers need a tenth
STORAGES = {  # torch's classes → names of their types
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
# fmt: off
PLAIN_OPCODES = {
    "PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "BINSTRING", "SHORT_BINSTRING", "EMPTY_TUPLE", "TUPLE",
    "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_DICT", "SETITEM",
    "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "GLOBAL", "REDUCE", "BUILD",
    "BINPERSID",
}
# fmt: on
DAMAGE_ERRORS = (  # raised by zipfile for damaged archives
    *(zipfile.BadZipFile, ValueError, EOFError, OSError, RuntimeError),
    *(OverflowError, LookupError, struct.error),
)
NESTED = ("state_dict", "model_state_dict", "model", "module", "net")  # of the weights
LEGACY_PICKLES = 5  # pickles of a legacy file: magic number, version, system, tensors, keys
TENSORS_PICKLE = 3


def check_pickles(path: Path, file: BinaryIO) -> list[bytes]:
    """The pickles of an open file, whose opcodes are those of plain tensors.

    Raises BadCheckpoint for anything else.
    """
    zipped = file.read(4) == b"PK\x03\x04"
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    pickles = []
    for instructions in _zip_pickles(path, file) if zipped else _legacy_pickles(path, file):
        _check(path, instructions, size)
        pickles.append(instructions)
    return pickles


def pickled_header(path: Path) -> dict[str, tuple[str, list[int]]]:
    """The type and shape of each tensor of a `.bin`, without torch and without the values.

    Raises BadCheckpoint for anything but plain tensors in a dictionary.
    """
    with open_regular(path) as file:
        pickles = check_pickles(path, file)
    try:
        loaded = _Header(io.BytesIO(pickles[min(TENSORS_PICKLE, len(pickles) - 1)])).load()
        named = {str(name): value for name, value in inner_dict(loaded).items()}
    except (pickle.UnpicklingError, TypeError, AttributeError, *DAMAGE_ERRORS) as error:
        raise damaged_error(path) from error
    return {name: value for name, value in named.items() if isinstance(value, tuple)}


def inner_dict(loaded: dict[str, Any]) -> dict[str, Any]:
    """The dictionary of tensors in that of a training program, which may also hold its state."""
    inner = (loaded[name] for name in NESTED if isinstance(loaded.get(name), dict))
    return next(inner, loaded)


class _Header(pickle.Unpickler):
    """Reads a type and a shape in place of each tensor; only for checked opcodes."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name of `SAFE_GLOBALS`."""
        return _STANDINS[f"{module} {name}"]

    def persistent_load(self, key: Any) -> Any:
        """The type of a storage."""
        return key[1]


def _rebuild(dtype: str, _: int, size: tuple[int, ...], *__: object) -> tuple[str, list[int]]:
    return str(dtype), [int(length) for length in size]


def _rebuild_parameter(tensor: tuple[str, list[int]], *_: object) -> tuple[str, list[int]]:
    return tensor


_STANDINS: dict[str, object] = {
    "collections OrderedDict": OrderedDict,
    "torch._utils _rebuild_tensor_v2": _rebuild,
    "torch._utils _rebuild_parameter": _rebuild_parameter,
    **{f"torch {kind}Storage": dtype for kind, dtype in STORAGES.items()},
}
SAFE_GLOBALS = _STANDINS.keys()


def _zip_pickles(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Opcodes of the current format: an uncompressed archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if any(name.endswith("/constants.pkl") or "/code/" in name for name in names):
                raise _code_error(path, phrase("a TorchScript program"))
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise BadCheckpoint(
                    "{path} is compressed in a way that PyTorch never uses.", AGAIN, path=path.name
                )
            pickles = [member for member in members if member.filename.endswith(".pkl")]
            if len(pickles) != 1 or len(set(names)) != len(names):
                raise BadCheckpoint("{path} is not a weights file.", AGAIN, path=path.name)
            if pickles[0].file_size > MAX_PICKLE_BYTES:
                raise BadCheckpoint("{path} describes far too many tensors.", AGAIN, path=path.name)
            yield archive.read(pickles[0])
    except DAMAGE_ERRORS as error:
        raise damaged_error(path) from error


def _legacy_pickles(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Opcodes of the format before 2020: five pickles, then the data."""
    if stream.read(1) != b"\x80":
        raise BadCheckpoint(
            "{path} is not a weights file, or it is incomplete.", AGAIN, path=path.name
        )
    stream.seek(0)
    for _ in range(LEGACY_PICKLES):
        start = stream.tell()
        for _ in _instructions(path, stream):
            if stream.tell() - start > MAX_PICKLE_BYTES:
                raise BadCheckpoint("{path} describes far too many tensors.", AGAIN, path=path.name)
        end = stream.tell()
        stream.seek(start)
        yield stream.read(end - start)


def _instructions(
    path: Path, stream: BinaryIO
) -> Iterator[tuple[pickletools.OpcodeInfo, object, int | None]]:
    try:
        yield from pickletools.genops(stream)
    except (ValueError, EOFError, IndexError, UnicodeDecodeError) as error:
        raise damaged_error(path) from error


def _check(path: Path, instructions: bytes, size: int) -> None:
    """Refuse opcodes that plain tensors do not need, and integers above the file `size`."""
    describes_tensors = False
    largest = 0
    for opcode, argument, _ in _instructions(path, io.BytesIO(instructions)):
        if opcode.name == "GLOBAL" and argument not in SAFE_GLOBALS:
            raise _code_error(path, f"“{safe_name(argument)}”")
        if opcode.name not in PLAIN_OPCODES:
            raise _code_error(path, phrase("the instruction {opcode}", opcode=opcode.name))
        describes_tensors |= opcode.name == "BINPERSID"
        if isinstance(argument, int):
            largest = max(largest, abs(argument))
    if describes_tensors and largest > size:
        raise BadCheckpoint("{path} claims to hold more than its own size.", AGAIN, path=path.name)


def damaged_error(path: Path) -> BadCheckpoint:
    return BadCheckpoint("{path} is damaged and cannot be read.", AGAIN, path=path.name)


def _code_error(path: Path, what: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{path} contains code ({what}), not only weights. None of it was run.",
        "Do not use this file. Look for the model in the safetensors format.",
        path=path.name,
        what=what,
    )
