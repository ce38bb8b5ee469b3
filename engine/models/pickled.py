"""Read the tensors of `pytorch_model.bin` safely.

Only after its opcodes are checked does torch's weights-only loader read the file, with an explicit
argument that no environment variable overrides.
"""

import io
from pathlib import Path

import torch
from torch import Tensor

from engine.checkpoints.pickles import check_pickles, damaged_error, inner_dict
from engine.errors import BadCheckpoint
from engine.files.regular_file import open_regular
from engine.files.untrusted import AGAIN, safe_name


def read_pickled(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a `.bin` by name, on the CPU.

    Raises BadCheckpoint for anything but plain tensors in a dictionary.
    """
    with open_regular(path) as file:
        content = io.BytesIO(file.read())
    check_pickles(path, content)
    content.seek(0)
    try:
        loaded = torch.load(content, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises a dozen types for damaged files
        raise damaged_error(path) from error
    if not isinstance(loaded, dict):
        raise BadCheckpoint("{path} contains no named tensors.", AGAIN, path=path.name)
    named = inner_dict(loaded).items()
    tensors = {str(name): value for name, value in named if isinstance(value, Tensor)}
    for name, tensor in tensors.items():
        _check_size(path, name, tensor)
    return tensors


def _check_size(path: Path, name: str, tensor: Tensor) -> None:
    """Refuse tensors larger than their storage, and non-plain ones."""
    is_plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    stored = tensor.untyped_storage().nbytes() if is_plain else 0
    if tensor.numel() * tensor.element_size() > stored:
        raise BadCheckpoint(
            "{name} in {path} is not a plain tensor.", AGAIN, name=safe_name(name), path=path.name
        )
