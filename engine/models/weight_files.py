"""Tensors of a checkpoint folder: declarations first, then values.

Declared shapes are checked before anything is loaded, so that false ones cost nothing. Tensors are
read, never mapped, so that replacing a file while it is read is harmless.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import safetensors.numpy
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.checkpoints.other_forms import folder_form
from engine.checkpoints.tf1.bundle import open_bundle
from engine.checkpoints.tf1.folder import find_index
from engine.checkpoints.tf1.names import is_transposed, published_name
from engine.errors import BadCheckpoint
from engine.files.regular_file import check_regular, open_regular
from engine.files.untrusted import AGAIN, check_content, json_object, plain_file, safe_name
from engine.models.pickled import read_pickled

MAX_HEADER = 32_000_000  # bytes, as in engine.checkpoints.info
MAX_TENSORS = 50_000  # a thousand layers have 16,000
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
Fused = Mapping[str, int]  # part of a published name → number of matrices fused under it


@dataclass
class WeightFiles:
    """Stored tensors: `shapes` and `dtypes` by name, and a function to read one."""

    files: list[str]
    bytes: int
    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]  # torch's names; as in the file if not a float type
    read: Callable[[str], Tensor]
    others: list[str] = field(default_factory=list)  # other tensors, such as optimiser state
    notes: list[str] = field(default_factory=list)  # complete sentences

    @property
    def dtype(self) -> str:
        """Most frequent type of the tensors."""
        dtypes = list(self.dtypes.values())
        return max(set(dtypes), key=dtypes.count) if dtypes else "float32"


def save_tensors(
    tensors: Mapping[str, Tensor], file: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write contiguous tensors of the CPU as safetensors; as arrays, which is faster if there are
    many small ones, except bfloat16, which NumPy lacks."""
    if any(tensor.dtype == torch.bfloat16 for tensor in tensors.values()):
        safetensors.torch.save_file(dict(tensors), file, metadata)
        return
    arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    safetensors.numpy.save_file(arrays, file, metadata)


@contextmanager
def open_weight_files(
    folder: Path,
    dense: Mapping[str, Path] | None = None,
    names: tuple[str, ...] = (SAFE, PICKLED),
) -> Iterator[WeightFiles]:
    """Open the weights of a folder: safetensors, else a checked pickle, else TensorFlow's.

    Tensors of the folders `dense` are named “KEY/…”. `names` are those of the files of torch.

    Raises BadCheckpoint if there are none, or if a file is invalid.
    """
    with ExitStack() as stack:
        if found := weight_files(folder, names):
            parts = [_open(folder / name, stack) for name in found]
            for key, path in (dense or {}).items():
                dense_files = weight_files(path) if path.is_dir() else []
                if not dense_files:
                    raise _no_weights_error(path)
                parts += [_with_prefix(key, _open(path / name, stack)) for name in dense_files]
            yield _join_shards(found, parts)
        elif index := find_index(folder):
            yield _open_tf1(folder, *index)
        else:
            raise _no_weights_error(folder)


def weight_files(folder: Path, names: tuple[str, ...] = (SAFE, PICKLED)) -> list[str]:
    """Names of the weight files of torch in the folder; may be empty."""
    for name in names:
        if plain_file(folder, name) is not None:
            return [name]
        if index := json_object(folder, f"{name}.index.json"):
            return _shards(folder, f"{name}.index.json", index.get("weight_map"), Path(name).suffix)
    return []


def _no_weights_error(folder: Path) -> BadCheckpoint:
    return folder_form(folder) or BadCheckpoint(
        "{folder} has no weights: there is neither {safe} nor {pickled}.",
        "Choose the folder that contains the files of a model.",
        folder=safe_name(folder.name),
        safe=SAFE,
        pickled=PICKLED,
    )


def _shards(folder: Path, index: str, mapping: object, suffix: str) -> list[str]:
    if not isinstance(mapping, dict) or not mapping:
        raise BadCheckpoint("{index} lists no files.", AGAIN, index=index)
    names = sorted({str(name) for name in mapping.values()})
    for name in names:
        if plain_file(folder, name) is None:
            raise BadCheckpoint(
                "{name} is listed in {index}, but the file is missing.",
                AGAIN,
                name=safe_name(name),
                index=index,
            )
        if Path(name).suffix != suffix:
            raise BadCheckpoint(
                "{index} lists {name}, which is not a {suffix} file.",
                AGAIN,
                index=index,
                name=safe_name(name),
                suffix=suffix,
            )
    return names


def _open(path: Path, stack: ExitStack) -> WeightFiles:
    check_content(path)
    check_memory(path.stat().st_size, path.name)
    return _open_safe(path, stack) if path.suffix == ".safetensors" else _open_pickled(path)


def _open_safe(path: Path, stack: ExitStack) -> WeightFiles:
    size = path.stat().st_size
    with open_regular(path) as file:
        header = int.from_bytes(file.read(8), "little")
    if not 2 <= header <= min(size - 8, MAX_HEADER):
        raise BadCheckpoint(
            "{path} is not a safetensors file, or it is incomplete.", AGAIN, path=path.name
        )
    try:
        handle = stack.enter_context(safe_open(check_regular(path), "pt", backend="pread"))
        slices = {name: handle.get_slice(name) for name in handle.keys()}  # noqa: SIM118
        shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
        dtypes = {name: str(part.get_dtype()) for name, part in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise BadCheckpoint("{path} is damaged or incomplete.", AGAIN, path=path.name) from error

    def read(name: str) -> Tensor:
        try:
            tensor: Tensor = handle.get_tensor(name)
        except (SafetensorError, OSError, ValueError, RuntimeError, AttributeError) as error:
            raise BadCheckpoint(
                "{name} in {path} cannot be read.", AGAIN, name=safe_name(name), path=path.name
            ) from error
        return tensor

    torch_dtypes = {name: DTYPES.get(dtype, dtype) for name, dtype in dtypes.items()}
    return WeightFiles([path.name], size, shapes, torch_dtypes, read)


def _open_pickled(path: Path) -> WeightFiles:
    size = path.stat().st_size
    check_memory(2 * size, path.name)
    tensors = read_pickled(path)
    return WeightFiles(
        [path.name],
        size,
        {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in tensors.items()},
        tensors.__getitem__,
    )


def _open_tf1(folder: Path, index: str, note: str) -> WeightFiles:
    """Open Google's tensors under published names, transposed as in torch."""
    bundle = open_bundle(folder, index)
    google = {published: name for name in bundle.entries if (published := published_name(name))}
    entries = {published: bundle.entries[name] for published, name in google.items()}

    def read(name: str) -> Tensor:
        entry = entries[name]
        flat = torch.from_numpy(bundle.read(google[name])).view(getattr(torch, entry.dtype))
        tensor = flat.reshape(entry.shape)
        return tensor.t() if is_transposed(google[name]) else tensor

    return WeightFiles(
        bundle.files,
        sum((folder / name).stat().st_size for name in bundle.files),
        {
            name: entry.shape[::-1] if is_transposed(google[name]) else entry.shape
            for name, entry in entries.items()
        },
        {name: entry.dtype for name, entry in entries.items()},
        read,
        [name for name in bundle.entries if published_name(name) is None],
        [note] if note else [],
    )


def _with_prefix(key: str, part: WeightFiles) -> WeightFiles:
    return WeightFiles(
        part.files,
        part.bytes,
        {f"{key}/{name}": shape for name, shape in part.shapes.items()},
        {f"{key}/{name}": dtype for name, dtype in part.dtypes.items()},
        lambda name: part.read(name.removeprefix(f"{key}/")),
    )


def _join_shards(names: list[str], parts: list[WeightFiles]) -> WeightFiles:
    owner = {name: part for part in parts for name in part.shapes}
    if len(owner) != sum(len(part.shapes) for part in parts):
        raise BadCheckpoint(
            "A tensor appears in more than one of {count} files.", AGAIN, count=len(names)
        )
    if not owner or len(owner) > MAX_TENSORS:
        raise BadCheckpoint(
            "{names} contains {count} tensors, so it is not a model that BERT Studio supports.",
            AGAIN,
            names=names[0],
            count=len(owner),
        )
    return WeightFiles(
        names,
        sum(part.bytes for part in parts),
        {name: part.shapes[name] for name, part in owner.items()},
        {name: part.dtypes[name] for name, part in owner.items()},
        lambda name: owner[name].read(name),
    )


def check_memory(needed: int, what: str) -> None:
    """Raise BadCheckpoint if fewer bytes than needed are free."""
    free = psutil.virtual_memory().available
    if needed > free:
        raise BadCheckpoint(
            "{what} needs {needed:.1f} GB of memory; {free:.1f} GB are free.",
            "Close other programs, or choose a smaller model.",
            what=safe_name(what),
            needed=needed / 1e9,
            free=free / 1e9,
        )


def split_fused(weights: WeightFiles, fused: Fused) -> WeightFiles:
    """View of the files with fused matrices split into numbered parts.

    A part is named after the whole: “attn.Wqkv.0.weight”. Tensors that cannot be split stay whole.
    """
    origins = dict[str, tuple[str, int, int]]()  # part → whole, index, count
    shapes, dtypes = dict(weights.shapes), dict(weights.dtypes)
    for whole, shape in weights.shapes.items():
        for stem, count in fused.items():
            if f".{stem}" in f".{whole}" and shape and shape[0] % count == 0:
                dtype = dtypes.pop(whole)
                del shapes[whole]
                for index in range(count):
                    part = whole.replace(stem, f"{stem}{index}.")
                    origins[part] = whole, index, count
                    shapes[part], dtypes[part] = (shape[0] // count, *shape[1:]), dtype

    def read(name: str) -> Tensor:
        if name not in origins:
            return weights.read(name)
        whole, number, count = origins[name]
        return weights.read(whole).chunk(count)[number].contiguous()

    return replace(weights, shapes=shapes, dtypes=dtypes, read=read) if origins else weights


def join_fused(tensors: dict[str, Tensor], fused: Fused) -> dict[str, Tensor]:
    """Fuse the parts again, as they are stored in files."""
    joined = dict(tensors)
    for stem, count in fused.items():
        for first_name in [name for name in joined if f"{stem}0." in name]:
            names = [first_name.replace(f"{stem}0.", f"{stem}{n}.") for n in range(count)]
            fused_tensor = torch.cat([joined.pop(name) for name in names])
            joined[first_name.replace(f"{stem}0.", stem)] = fused_tensor
    return joined
