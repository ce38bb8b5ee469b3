"""Summary of a checkpoint folder, from its config and the header of its weights; no torch.

Reads a few kilobytes, and the vocabulary only if needed to detect lowercase models, so that a page
can list many folders. `engine.models.checkpoint` checks that the weights fit the config in every
tensor.
"""

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.checkpoints.config import TIED_KEY, get_family, with_family
from engine.checkpoints.heads import (
    PROBE_OUTPUT,
    head_kind,
    kind_among,
    label_names,
    stored_task,
    stored_texts,
)
from engine.checkpoints.other_forms import folder_form
from engine.checkpoints.pickles import pickled_header
from engine.checkpoints.sentence_layout import (
    ENCODER_CONFIGS,
    MODULES,
    bounded,
    encoder_folder,
    read_sentence,
)
from engine.config.families import FAMILIES
from engine.config.families.family import Family
from engine.config.task import TaskSpec
from engine.config.tasks import POOLING, get_head
from engine.errors import BadCheckpoint
from engine.files.regular_file import open_regular, read_json
from engine.files.snapshot_folder import shared_folder
from engine.messages.reports import CheckpointInfo
from engine.phrases import phrase
from engine.tokenizers.declared import stated_length
from engine.tokenizers.folder import GOOGLE_CONFIG, read_folder

MAX_CONFIG = 4_000_000  # bytes; there may be many labels
MAX_HEADER = 32_000_000  # bytes
CONFIG = "config.json"
TOKENIZER = "tokenizer_config.json"
WEIGHTS = "model.safetensors"
FILES = (WEIGHTS, "pytorch_model.bin")  # the first one present is read
INDEX = ".index.json"  # of either, if it is in several files
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
BUFFERS = ("position_ids",)
READ_ERRORS = (  # raised by damaged files
    *(OSError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    RecursionError,
    OverflowError,
)

Tensors = dict[str, tuple[str, list[int]]]  # published name → torch's name of the dtype, and shape
Stamp = tuple[tuple[str, int, int], ...]  # name, mtime in ns, and bytes of each file

_cache: dict[Path, tuple[Stamp, CheckpointInfo]] = {}


def checkpoint_info(folder: Path) -> CheckpointInfo:
    """Describe the checkpoint in `folder`; cached until the folder changes.

    Raises BadCheckpoint if the folder is no checkpoint or damaged.
    """
    try:
        stamp = _stamp(folder)
        cached = _cache.get(folder)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        info = _read(folder)
    except OSError as error:  # also if the folder is deleted meanwhile
        raise _error(folder, phrase("it cannot be read")) from error
    _cache[folder] = (stamp, info)
    return info


def fine_tuned_task(folder: Path) -> TaskSpec | None:
    """The task that the checkpoint in `folder` was fine-tuned for, with its settings.

    Raises BadCheckpoint if the folder is no checkpoint or damaged.
    """
    info = checkpoint_info(folder)
    if info.task is None:
        return None
    folder = encoder_folder(shared_folder(folder))
    return stored_task(_object(folder, _config_name(folder)), info.task, info.labels)


def probe_pooling(folder: Path) -> str | None:
    """The pooling of a linear probe on the last layer, “mean” or “first”; “” for another probe.

    None without a probe. Raises BadCheckpoint if the folder is no checkpoint or damaged.
    """
    folder = encoder_folder(shared_folder(folder))
    probe = _object(folder, _config_name(folder)).get("probe")
    if not isinstance(probe, dict):
        return None
    is_plain = probe.get("probe") == "linear" and probe.get("vectors") == "last"
    pooling = probe.get("pooling")
    return pooling if is_plain and pooling in ("mean", "first") else ""


def _stamp(folder: Path) -> Stamp:
    """Cache key: the state of the files that are read; without torch weights, of all files."""
    if _has_torch(folder):
        weights = [name + suffix for name in FILES for suffix in ("", INDEX)]
        names = (CONFIG, GOOGLE_CONFIG, TOKENIZER, "vocab.txt", MODULES, *weights)
        files = [folder / name for name in names]
    else:
        files = sorted(folder.iterdir()) if folder.is_dir() else []
    stats = [(file.name, file.stat()) for file in files if file.exists()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def _read(folder: Path) -> CheckpointInfo:
    shared = shared_folder(folder)
    layout = read_sentence(shared)
    inner = shared if layout is None else layout.encoder
    files, stored = _weights(folder / inner.relative_to(shared))
    for path in layout.layers.values() if layout is not None else ():
        files_of_layer, tensors_of_layer = _weights(folder / path.relative_to(shared))
        files += files_of_layer
        stored |= {f"{path.name}/{name}": tensor for name, tensor in tensors_of_layer.items()}
    folder = inner
    config = with_family(_object(folder, _config_name(folder)), os.listdir(folder))
    family = get_family(config)
    config = family.normalize(config) if family.normalize else config
    names = family.current_names(stored, FAMILIES)
    tensors = {names[name]: tensor for name, tensor in stored.items()}
    sizes = {ours: _number(folder, config, theirs) for theirs, ours in family.sizes.items()}
    positions = _number(folder, config, family.get_entry("max_positions"))
    if family.positions_after_padding:
        padding = config.get("pad_token_id", 1)
        if type(padding) is not int:
            raise _error(folder, phrase("config.json has no valid “{name}”", name="pad_token_id"))
        positions -= 1 + padding
    kind, outputs = _head(family, config, tensors) if layout is None else (POOLING, 0)
    decoder, bias = family.decoder
    own_decoder = config.get(TIED_KEY) is False and decoder in tensors
    unused = (bias,) if own_decoder else (decoder, bias)
    first = family.names.get("encoder.pooler.dense.", "")
    if kind and family.own_pooler and family.pooler(get_head(kind)) != first:
        unused = (*unused, f"{first}weight", f"{first}bias")
    counted = [
        math.prod(shape)
        for name, (_, shape) in tensors.items()
        if name not in unused and not name.endswith(BUFFERS)
    ]
    head = get_head(kind) if kind else None
    labels = head.labels_of(outputs) if head is not None and head.has_labels else 0
    sentence = None if layout is None else bounded(layout.spec, positions)
    length = stated_length(_tokenizer_config(folder)) if sentence is None else sentence.max_length
    dtypes = [dtype for dtype, _ in tensors.values() if dtype in DTYPES.values()]
    return CheckpointInfo(
        family=family.name,
        **sizes,
        max_positions=positions,
        parameters=sum(counted),
        task_heads=(*_heads(family, kind, tensors, own_decoder), *([kind] if kind else [])),
        labels=label_names(config, labels),
        texts=stored_texts(config),
        lowercase=_lowercase(folder, family),
        max_length=min(positions, length or positions),
        causal=config.get("is_decoder") is True,
        dtype=max(set(dtypes), key=dtypes.count) if dtypes else "float32",
        bytes=sum(file.stat().st_size for file in files),
        sentence=sentence,
    )


def _config_name(folder: Path) -> str:
    return GOOGLE_CONFIG if _has(folder, GOOGLE_CONFIG) and not _has(folder, CONFIG) else CONFIG


def _lowercase(folder: Path, family: Family) -> bool:
    if _config_name(folder) == GOOGLE_CONFIG:
        return read_folder(folder).lowercase
    declared = [_object(folder, name) for name in ENCODER_CONFIGS if _has(folder, name)]
    if any(entries.get("do_lower_case") is True for entries in declared):
        return True
    tokenizer = _tokenizer_config(folder)
    if "do_lower_case" not in tokenizer and family.lowercase:
        with suppress(BadCheckpoint):  # without a vocabulary
            return read_folder(folder).lowercase
    return bool(tokenizer.get("do_lower_case", family.lowercase))


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    return _object(folder, TOKENIZER) if _has(folder, TOKENIZER) else {}


def _heads(family: Family, kind: str | None, tensors: Tensors, own_decoder: bool) -> list[str]:
    """The pre-training heads that have tensors, and the pooler."""
    prefixes = {"mlm": "mlm.bias", "decoder": "", "nsp": "nsp."}
    names = {
        head: tuple(theirs for ours, theirs in family.names.items() if ours.startswith(prefix))
        for head, prefix in prefixes.items()
    }
    names["decoder"] = family.decoder[:1] if own_decoder else ()
    pooler = family.pooler(get_head(kind) if kind else None)
    names["pooler"] = (pooler,) if pooler else ()
    return [head for head, known in names.items() if any(n.startswith(known) for n in tensors)]


def _head(family: Family, config: dict[str, Any], tensors: Tensors) -> tuple[str | None, int]:
    """The task of the task head, and its outputs; None if there is none."""
    if PROBE_OUTPUT in tensors:
        outputs = tensors[PROBE_OUTPUT][1][0]
        return head_kind(config, outputs), outputs
    for (weight, _), kinds in family.all_task_names().items():
        if weight in tensors and (shape := tensors[weight][1]):
            return kind_among(kinds, config, shape[0]), shape[0]
    return None, 0


def _has_torch(folder: Path) -> bool:
    return any(_has(folder, name) or _has(folder, name + INDEX) for name in FILES)


def _weights(folder: Path) -> tuple[list[Path], Tensors]:
    if not _has_torch(folder) and (weights := _tensorflow(folder)) is not None:
        return weights
    tensors: Tensors = {}
    files = weight_files(folder)
    for file in files:
        tensors |= _header(folder, file) if file.suffix != ".bin" else pickled_header(file)
    return files, tensors


def _tensorflow(folder: Path) -> tuple[list[Path], Tensors] | None:
    """The files and tensors of a TensorFlow checkpoint; None if there is none."""
    # imports NumPy, which the window starts without
    from engine.checkpoints.tf1.bundle import open_bundle
    from engine.checkpoints.tf1.folder import find_index
    from engine.checkpoints.tf1.names import published_name

    index = find_index(folder)
    if index is None:
        return None
    bundle = open_bundle(folder, index[0])
    tensors: Tensors = {}
    for name, entry in bundle.entries.items():
        if published := published_name(name):
            tensors[published] = (entry.dtype, list(entry.shape))
    return [folder / name for name in bundle.files], tensors


def weight_files(folder: Path) -> list[Path]:
    """The weight files of torch in the folder; shards must be in the folder itself."""
    for weights in FILES:
        if _has(folder, weights):
            return [folder / weights]
        if _has(folder, index := weights + INDEX):
            shards = _object(folder, index).get("weight_map")
            if not isinstance(shards, dict):
                raise _error(folder, phrase("{index} lists no files", index=index))
            names = sorted({str(name) for name in shards.values()})
            if any(Path(name).name != name or not _has(folder, name) for name in names):
                raise _error(folder, phrase("{index} lists a file that is missing", index=index))
            return [folder / name for name in names]
    raise folder_form(folder) or _error(folder, phrase("it has no {weights}", weights=WEIGHTS))


def _header(folder: Path, file: Path) -> Tensors:
    """The tensors of a safetensors file: 8 bytes of length, then JSON, then the data."""
    try:
        with open_regular(file) as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > MAX_HEADER:
                raise _error(folder, phrase("{file} is not a safetensors file", file=file.name))
            header = json.loads(opened.read(length))
        tensors = {
            name: (
                DTYPES.get(entry["dtype"], str(entry["dtype"])),
                [int(size) for size in entry["shape"]],
            )
            for name, entry in header.items()
            if name != "__metadata__"
        }
        end = max(
            (int(e["data_offsets"][1]) for n, e in header.items() if n != "__metadata__"), default=0
        )
    except READ_ERRORS as error:
        raise _error(folder, phrase("{file} is damaged", file=file.name)) from error
    if file.stat().st_size != 8 + length + end:
        raise _error(folder, phrase("{file} is incomplete", file=file.name))
    return tensors


def _object(folder: Path, name: str) -> dict[str, Any]:
    file = folder / name
    if not _has(folder, name):
        raise folder_form(folder) or _error(folder, phrase("it has no {name}", name=name))
    try:
        content = read_json(file, MAX_CONFIG)
        if not isinstance(content, dict):
            raise ValueError("no object")
    except (OSError, ValueError) as error:
        raise _error(folder, phrase("{name} is damaged", name=name)) from error
    return content


def _number(folder: Path, config: dict[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= 10_000_000:
        raise _error(folder, phrase("config.json has no valid “{name}”", name=name))
    return value


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _error(folder: Path, why: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{folder} cannot be used as a model: {why}.",
        "Import it again from the original, or choose another one.",
        folder=folder.name,
        why=why,
    )
