"""Read `pytorch_model.bin` safely.

A pickle can execute code. Its opcodes are checked without executing them, and everything except
plain tensors in a dictionary is refused. Only then does torch's weights-only loader read the file,
with an explicit argument that no environment variable overrides.
"""

import io
import pickletools
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from engine.errors import BadCheckpoint
from engine.files.regular_file import open_regular
from engine.files.untrusted import AGAIN, safe_name
from engine.phrases import phrase

MAX_PICKLE_BYTES = 32_000_000  # opcodes; a thousand layers need a tenth
STORAGES = ("Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
SAFE_GLOBALS = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    *(f"torch {kind}Storage" for kind in STORAGES),
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
LEGACY_PICKLES = 5  # pickles of a legacy file: magic number, version, system, tensors, keys


def read_pickled(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a `.bin` by name, on the CPU.

    Raises BadCheckpoint for anything but plain tensors in a dictionary.
    """
    with open_regular(path) as file:
        content = file.read()
    zipped = content[:4] == b"PK\x03\x04"
    for instructions in _zip_pickles(path, content) if zipped else _legacy_pickles(path, content):
        _check(path, instructions, len(content))
    try:
        loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises a dozen types for damaged files
        raise BadCheckpoint(
            "{path} is damaged and cannot be read.", AGAIN, path=path.name
        ) from error
    if isinstance(loaded, dict) and isinstance(loaded.get("state_dict"), dict):
        loaded = loaded["state_dict"]
    if not isinstance(loaded, dict):
        raise BadCheckpoint("{path} contains no named tensors.", AGAIN, path=path.name)
    tensors = {str(name): value for name, value in loaded.items() if isinstance(value, Tensor)}
    for name, tensor in tensors.items():
        _check_size(path, name, tensor)
    return tensors


def _zip_pickles(path: Path, content: bytes) -> Iterator[bytes]:
    """Opcodes of the current format: an uncompressed archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
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
        raise BadCheckpoint(
            "{path} is damaged and cannot be read.", AGAIN, path=path.name
        ) from error


def _legacy_pickles(path: Path, content: bytes) -> Iterator[bytes]:
    """Opcodes of the format before 2020: five pickles, then the data."""
    if content[:1] != b"\x80":
        raise BadCheckpoint(
            "{path} is not a weights file, or it is incomplete.", AGAIN, path=path.name
        )
    stream = io.BytesIO(content)
    for _ in range(LEGACY_PICKLES):
        start = stream.tell()
        for _ in _instructions(path, stream):
            if stream.tell() - start > MAX_PICKLE_BYTES:
                raise BadCheckpoint("{path} describes far too many tensors.", AGAIN, path=path.name)
        yield content[start : stream.tell()]


def _instructions(
    path: Path, stream: io.BytesIO
) -> Iterator[tuple[pickletools.OpcodeInfo, object, int | None]]:
    try:
        yield from pickletools.genops(stream)
    except (ValueError, EOFError, IndexError, UnicodeDecodeError) as error:
        raise BadCheckpoint(
            "{path} is damaged and cannot be read.", AGAIN, path=path.name
        ) from error


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


def _code_error(path: Path, what: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{path} contains code ({what}), not only weights. None of it was run.",
        "Do not use this file. Look for the model in the safetensors format.",
        path=path.name,
        what=what,
    )


def _check_size(path: Path, name: str, tensor: Tensor) -> None:
    """Refuse tensors larger than their storage, and non-plain ones."""
    is_plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    stored = tensor.untyped_storage().nbytes() if is_plain else 0
    if tensor.numel() * tensor.element_size() > stored:
        raise BadCheckpoint(
            "{name} in {path} is not a plain tensor.", AGAIN, name=safe_name(name), path=path.name
        )
