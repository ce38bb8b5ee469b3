"""Hostile and broken model folders, each derived from a valid one, with the expected refusal.

`CASES` maps a name to a function that spoils a good folder and returns the folder to load, and to
a part of the error. A payload that runs creates the file `canary`.
"""

import io
import json
import os
import pickle
import re
import struct
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Spoil = Callable[[Path], Path | None]
CASES: dict[str, tuple[Spoil, str]] = {}
SAFE, BIN, CONFIG = "model.safetensors", "pytorch_model.bin", "config.json"
LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>403</body></html>\n"


def case(message: str, cases: dict[str, tuple[Spoil, str]] = CASES) -> Callable[[Spoil], Spoil]:
    def add(spoil: Spoil) -> Spoil:
        cases[spoil.__name__] = (spoil, message)
        return spoil

    return add


# ── the folder and its config.json ───────────────────────────────────────────────────────────


@case("There is no folder")
def folder_missing(folder: Path) -> Path:
    return folder / "nowhere"


@case("is a file, not the folder")
def folder_is_a_file(folder: Path) -> Path:
    return folder / SAFE


@case("has neither config.json")
def folder_empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def without(*names: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return spoil


for name, files, message in (
    ("config", (CONFIG,), "has neither config.json"),
    ("weights", (SAFE,), "has no weights"),
    ("vocabulary", ("tokenizer.json", "vocab.txt"), "has no vocabulary"),
):
    CASES[f"{name}_missing"] = (without(*files), message)


def _config(content: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / CONFIG).write_bytes(content)

    return spoil


for name, content, message in (
    ("config_empty", b"", "is empty"),
    ("config_page", PAGE, "web page"),
    ("config_pointer", LFS, "Git LFS"),
    ("config_binary", bytes(range(256)), "not valid JSON"),
    ("config_cut", b'{"vocab_size": 40,\n "hidden_', "line 2, column"),
    ("config_list", b"[1, 2]", "is not a JSON object"),
    ("config_deep", b'{"a":' * 100_000, "not valid JSON"),
    ("config_long_number", b'{"vocab_size": ' + b"9" * 5_000 + b"}", "not valid JSON"),
    ("config_nan", b'{"vocab_size": NaN}', "not valid JSON"),
    ("config_lacks_sizes", b'{"model_type": "bert", "vocab_size": 40}', "it has no hidden_size"),
):
    CASES[name] = (_config(content), message)


def _values(**values: object) -> Spoil:
    def spoil(folder: Path) -> None:
        config = json.loads((folder / CONFIG).read_bytes())
        (folder / CONFIG).write_text(json.dumps(config | values))

    return spoil


for name, values, message in (
    ("layers_many", {"num_hidden_layers": 10**9}, "num_hidden_layers: must be at most"),
    ("layers_thousand", {"num_hidden_layers": 1000}, "1000 layers, but the file has 2"),
    ("width_huge", {"hidden_size": 65536, "intermediate_size": 262144}, "according to config.json"),
    (
        "words_many",
        {"vocab_size": 10**7},
        "[40, 16] in the file, but [10000000, 16] according to config",
    ),
    ("dropout_two", {"hidden_dropout_prob": 2}, "hidden_dropout_prob: must be less"),
    (
        "activation_code",
        {"hidden_act": "__import__('os').system('x')"},
        "asks for the activation “__import__",
    ),
    ("kind_other", {"model_type": "mobilebert"}, "MobileBERT is an encoder"),
    ("kind_roberta", {"model_type": "roberta"}, "The file contains no layers of RoBERTa"),
    ("kind_distilbert", {"model_type": "distilbert"}, "it has no dim, n_layers, n_heads"),
    ("kind_albert", {"model_type": "albert"}, "The file contains no layers of ALBERT"),
    ("kind_markup", {"model_type": "<b>x</b>\n\x1b[31m"}, "“<b>x</b>\\n\\x1b[31m”"),
    ("kind_number", {"model_type": 5}, "“5” is not"),
    ("class_other", {"model_type": None, "architectures": ["T5Model"]}, "T5 is not a text encoder"),
    ("positions_relative", {"position_embedding_type": "relative_key"}, "“relative_key”"),
    ("decoder_word", {"is_decoder": "yes"}, "is_decoder: must be true or false"),
    ("decoder_of_two", {"is_decoder": True, "add_cross_attention": True}, "add_cross_attention"),
    (
        "decoder_of_classes",
        {"is_decoder": True, "architectures": ["BertForSequenceClassification"]},
        "attends only to itself",
    ),
    ("quantised", {"quantization_config": {"bits": 4}}, "quantization_config"),
    ("pruned", {"pruned_heads": {"0": [1]}}, "pruned_heads"),
    ("labels_too_many", {"id2label": {str(n): "x" for n in range(9)}}, "names 9 labels"),
    ("positions_many", {"max_position_embeddings": 512}, "[24, 16] in the file, but [512, 16]"),
):
    CASES[name] = (_values(**values), message)


# ── links and special files ──────────────────────────────────────────────────────────────────


def _outside(folder: Path, name: str) -> Path:
    """Move a good file out of the folder; reading it there would succeed."""
    (folder.parent / "outside").mkdir(exist_ok=True)
    target = folder.parent / "outside" / name
    os.rename(folder / name, target)
    return target


def link_outside(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).symlink_to(_outside(folder, name))

    return spoil


def pipe(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


def _folder(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return spoil


for name in (CONFIG, SAFE, "tokenizer.json", "tokenizer_config.json"):
    stem = name.split(".")[0]
    CASES[f"link_out_{stem}"] = (link_outside(name), "link that points outside")
    CASES[f"pipe_{stem}"] = (pipe(name), "not a plain file")
    CASES[f"folder_{stem}"] = (_folder(name), "not a plain file")


@case("cannot be read")
def link_to_nowhere(folder: Path) -> None:
    (folder / SAFE).unlink()
    (folder / SAFE).symlink_to("gone")


@case("cannot be read")
def link_to_itself(folder: Path) -> None:
    (folder / SAFE).unlink()
    (folder / SAFE).symlink_to(SAFE)


@case("not a plain file")
def link_to_endless_zeros(folder: Path) -> None:
    (folder / SAFE).unlink()
    (folder / SAFE).symlink_to("/dev/zero")


# ── safetensors ──────────────────────────────────────────────────────────────────────────────


def _bytes(change: Callable[[bytes], bytes]) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / SAFE).write_bytes(change((folder / SAFE).read_bytes()))

    return spoil


def _safetensors(header: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


for name, change, message in (
    ("safe_empty", lambda b: b"", "is empty"),
    ("safe_pointer", lambda b: LFS, "Git LFS"),
    ("safe_page", lambda b: PAGE, "web page"),
    ("safe_short", lambda b: b[:5], "not a safetensors file"),
    ("safe_cut_in_header", lambda b: b[:500], "not a safetensors file, or it is incomplete"),
    ("safe_cut_in_data", lambda b: b[:-100], "damaged or incomplete"),
    ("safe_longer", lambda b: b + b"x", "damaged or incomplete"),
    ("safe_header_endless", lambda b: struct.pack("<Q", 2**63) + b[8:], "not a safetensors file"),
    ("safe_header_large", lambda b: struct.pack("<Q", 10**8) + b[8:], "not a safetensors file"),
    ("safe_header_no_json", lambda b: b[:8] + b"[" + b[9:], "damaged"),
    ("safe_header_deep", lambda b: struct.pack("<Q", 99_999) + b'{"a":' * 20_000, "damaged"),
    ("safe_no_tensors", lambda b: _safetensors({}), "contains 0 tensors"),
    ("safe_random", lambda b: bytes(1000 * [200]), "not a safetensors file"),
    (
        "safe_overlap",
        lambda b: _safetensors(
            {
                "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            },
            b"1234",
        ),
        "damaged",
    ),
    (
        "safe_many_tensors",
        lambda b: _safetensors(
            {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(50_001)}
        ),
        "50001 tensors",
    ),
):
    CASES[name] = (_bytes(change), message)


def _tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Spoil:
    def spoil(folder: Path) -> None:
        tensors = load_file(folder / SAFE)
        change(tensors)
        save_file({name: t.contiguous() for name, t in tensors.items()}, folder / SAFE)

    return spoil


WORDS = "bert.embeddings.word_embeddings.weight"
QUERY = "bert.encoder.layer.1.attention.self.query.weight"


def _set(name: str, value: Callable[[torch.Tensor], torch.Tensor]) -> Spoil:
    return _tensors(lambda tensors: tensors.update({name: value(tensors[name])}))


def _poison(number: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def put(tensor: torch.Tensor) -> torch.Tensor:
        tensor.view(-1)[7] = number
        return tensor

    return put


def _only(start: str) -> Callable[[dict[str, torch.Tensor]], None]:
    def keep(tensors: dict[str, torch.Tensor]) -> None:
        for name in [n for n in tensors if not n.startswith(start)]:
            del tensors[name]

    return keep


def _rename(old: str, new: str) -> Callable[[dict[str, torch.Tensor]], None]:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        renamed = {name.replace(old, new): t for name, t in tensors.items()}
        tensors.clear()
        tensors.update(renamed)

    return change


for name, spoil, message in (
    ("one_missing", _tensors(lambda t: t.pop(QUERY)), "1 encoder tensors are missing"),
    ("words_missing", _tensors(lambda t: t.pop(WORDS)), "1 encoder tensors are missing"),
    ("layers_missing", _tensors(_only("bert.embeddings")), "contains no layers of BERT"),
    ("of_another_family", _tensors(_rename("bert.", "roberta.")), "contains no layers of BERT"),
    ("shape_cut", _set(QUERY, lambda t: t[:8]), "[8, 16] in the file, but [16, 16]"),
    ("shape_flat", _set(QUERY, lambda t: t.reshape(-1)), "has the shape [256] in the file"),
    ("shape_scalar", _set(QUERY, lambda t: t[0, 0].clone()), "has the shape [] in the file"),
    ("words_fewer", _set(WORDS, lambda t: t[:20].clone()), "[20, 16] in the file"),
    ("nan", _set(QUERY, _poison(float("nan"))), "NaN or infinite"),
    ("infinite", _set(QUERY, _poison(float("-inf"))), "NaN or infinite"),
    ("too_large_for_float32", _set(QUERY, lambda t: t.double() * 1e300), "NaN or infinite"),
    ("integers", _set(QUERY, lambda t: t.to(torch.int64)), "stored as I64"),
    ("bytes", _set(QUERY, lambda t: t.to(torch.int8)), "stored as I8"),
    ("eighth_precision", _set(QUERY, lambda t: t.to(torch.float8_e4m3fn)), "stored as F8_E4M3"),
):
    CASES[f"tensor_{name}"] = (spoil, message)


@case("of memory")
def sparse_file_of_petabytes(folder: Path) -> None:
    (folder / SAFE).write_bytes(
        _safetensors({"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}})
    )
    os.truncate(folder / SAFE, (folder / SAFE).stat().st_size + 4 * 10**12)


# ── shards ───────────────────────────────────────────────────────────────────────────────────


def _index(target: Callable[[Path], object]) -> Spoil:
    """Write an index that names the file `target` returns; the valid weights are moved outside."""

    def spoil(folder: Path) -> None:
        tensors = load_file(folder / SAFE)
        _outside(folder, SAFE)
        mapping = dict.fromkeys(tensors, target(folder))
        (folder / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": mapping}))

    return spoil


def _link_shard(folder: Path) -> str:
    (folder / "a.safetensors").symlink_to(folder.parent / "outside" / SAFE)
    return "a.safetensors"


for name, target, message in (
    ("up", lambda f: f"../outside/{SAFE}", "is not a file name"),
    ("absolute", lambda f: str(f.parent / "outside" / SAFE), "is not a file name"),
    ("down_and_up", lambda f: f"x/../../outside/{SAFE}", "is not a file name"),
    ("backslash", lambda f: f"..\\outside\\{SAFE}", "is not a file name"),
    ("drive", lambda f: "C:\\x.safetensors", "is not a file name"),
    ("dots", lambda f: "..", "is not"),
    ("no_name", lambda f: "", "is not"),
    ("newline", lambda f: "a\nb.safetensors", "is not a file name"),
    ("nul", lambda f: "a\0b.safetensors", "is not a file name"),
    ("endless", lambda f: "a" * 5_000, "is not a file name"),
    ("missing", lambda f: "b.safetensors", "is missing"),
    ("other_kind", lambda f: CONFIG, "which is not a .safetensors file"),
    ("number", lambda f: 5, "is missing"),
    ("link_out", _link_shard, "link that points outside"),
):
    CASES[f"shard_{name}"] = (_index(target), message)


@case("lists no files")
def index_without_a_map(folder: Path) -> None:
    (folder / SAFE).unlink()
    (folder / f"{SAFE}.index.json").write_text('{"weight_map": [1, 2]}')


@case("more than one of 2 files")
def shards_with_the_same_tensors(folder: Path) -> None:
    content = (folder / SAFE).read_bytes()
    (folder / SAFE).unlink()
    for name in ("a", "b"):
        (folder / f"{name}.safetensors").write_bytes(content)
    mapping = {"x": "a.safetensors", "y": "b.safetensors"}
    (folder / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": mapping}))


# ── pickles ──────────────────────────────────────────────────────────────────────────────────


class Payload:
    """Creates the canary when unpickled unsafely."""

    def __init__(self, canary: Path, call: Callable[..., object] = os.system) -> None:
        self.canary, self.call = canary, call

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        if self.call is os.system:
            return os.system, (f"touch '{self.canary}'",)
        return self.call, (f"open({str(self.canary)!r}, 'w').close()",)


def _with_payload(canary: Path, call: Callable[..., object] = os.system) -> dict[str, object]:
    return OrderedDict([(WORDS, torch.zeros(40, 16)), ("x", Payload(canary, call))])


def _as_pickle(make: Callable[[Path, Path], bytes | None]) -> Spoil:
    """Replace the safetensors by a `.bin`; `make` gets the canary and the path of the `.bin`."""

    def spoil(folder: Path) -> None:
        content = make(folder.parent / "canary", folder / BIN)
        (folder / SAFE).unlink()
        if content is not None:
            (folder / BIN).write_bytes(content)

    return spoil


def _dump(content: object, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, **options)
    return buffer.getvalue()


def _valid(path: Path) -> dict[str, torch.Tensor]:
    return load_file(path.parent / SAFE)


def _repack(content: bytes, compression: int, members: dict[str, bytes] | None = None) -> bytes:
    """An archive of torch.save with another compression or more members."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", compression) as new,
    ):
        for member in old.infolist():
            new.writestr(member.filename, old.read(member))
        for name, added in (members or {}).items():
            new.writestr(name, added)
    return buffer.getvalue()


def _far_offset(content: bytes) -> bytes:
    """An archive whose member list starts at an impossibly large offset."""
    index = content.rindex(b"PK\x06\x06") + 48  # zip64: offset of the central directory
    return content[:index] + b"\xff" * 8 + content[index + 8 :]


def _encrypted(content: bytes) -> bytes:
    """An archive whose members claim to be encrypted."""
    result = bytearray(content)
    for mark, flags in ((rb"PK\x01\x02", 8), (rb"PK\x03\x04", 6)):
        for item in re.finditer(mark, content):
            result[item.start() + flags] |= 1
    return bytes(result)


def _tar(canary: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        content = pickle.dumps(Payload(canary), protocol=2)
        for name in ("storages", "tensors", "pickle"):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _endless_old(path: Path) -> bytes:
    """An old file whose storage claims 2^40 numbers."""
    content = _dump({WORDS: torch.zeros(16)}, _use_new_zipfile_serialization=False)
    old = b"K\x10"  # BININT1 16: the size of the storage comes first
    index = content.index(old, content.index(b"cpu"))
    return content[:index] + b"\x8a\x06" + (2**40).to_bytes(6, "little") + content[index + 2 :]


OLD = {"_use_new_zipfile_serialization": False}
for name, make, message in (
    ("code", lambda c, p: _dump(_with_payload(c)), "contains code (“posix system”)"),
    ("code_old", lambda c, p: _dump(_with_payload(c), **OLD), "contains code (“posix system”)"),
    ("code_eval", lambda c, p: _dump(_with_payload(c, exec)), "contains code (“__builtin__ exec”)"),
    ("code_protocol_4", lambda c, p: _dump(_with_payload(c), pickle_protocol=4), "contains code"),
    ("code_raw", lambda c, p: pickle.dumps(_with_payload(c), protocol=2), "contains code"),
    ("code_raw_4", lambda c, p: pickle.dumps(_with_payload(c), protocol=4), "contains code"),
    ("code_text", lambda c, p: pickle.dumps(Payload(c), protocol=0), "not a weights file"),
    ("code_tar", lambda c, p: _tar(c), "not a weights file"),
    (
        "code_first_then_good",
        lambda c, p: pickle.dumps(Payload(c), protocol=2) + _dump(_valid(p), **OLD),
        "contains code",
    ),
    (
        "code_in_a_second_pickle",
        lambda c, p: _repack(
            _dump(_valid(p)), 0, {"archive/more.pkl": pickle.dumps(Payload(c), protocol=2)}
        ),
        "not a weights file",
    ),
    (
        "torchscript",
        lambda c, p: _repack(_dump(_valid(p)), 0, {"archive/constants.pkl": b"\x80\x02)."}),
        "contains code (a TorchScript program)",
    ),
    ("whole_module", lambda c, p: _dump(torch.nn.Linear(2, 2)), "contains code"),
    ("packed", lambda c, p: _repack(_dump(_valid(p)), zipfile.ZIP_DEFLATED), "is compressed"),
    ("packed_bomb", lambda c, p: _repack(_dump({"x": torch.zeros(10**6)}), 8), "is compressed"),
    ("far_offset", lambda c, p: _far_offset(_dump(_valid(p))), "damaged"),
    ("encrypted", lambda c, p: _encrypted(_dump(_valid(p))), "damaged"),
    ("cut", lambda c, p: _dump(_valid(p))[:-900], "damaged"),
    ("cut_old", lambda c, p: _dump(_valid(p), **OLD)[:-900], "damaged"),
    ("cut_early", lambda c, p: _dump(_valid(p), **OLD)[:99], "damaged"),
    ("empty", lambda c, p: b"", "is empty"),
    ("pointer", lambda c, p: LFS, "Git LFS"),
    ("page", lambda c, p: PAGE, "web page"),
    ("random", lambda c, p: bytes(1000 * [7]), "not a weights file"),
    ("no_dictionary", lambda c, p: _dump([torch.zeros(2)]), "contains no named tensors"),
    ("no_tensors", lambda c, p: _dump({"a": 1}), "contains 0 tensors"),
    ("stride_zero", lambda c, p: _dump({WORDS: torch.zeros(1).expand(2**17, 2**17)}), "claims"),
    (
        "stride_zero_small",
        lambda c, p: _dump({WORDS: torch.zeros(1).expand(900, 900)}),
        "not a plain tensor",
    ),
    ("endless_old", lambda c, p: _endless_old(p), "claims to hold more than its own size"),
    ("sparse", lambda c, p: _dump({WORDS: torch.zeros(3, 3).to_sparse()}), "contains code"),
    ("meta", lambda c, p: _dump({WORDS: torch.zeros(3, device="meta")}), "contains code"),
    (
        "nan",
        lambda c, p: _dump(_valid(p) | {QUERY: torch.full((16, 16), float("nan"))}),
        "NaN or infinite",
    ),
    (
        "missing",
        lambda c, p: _dump({n: t for n, t in _valid(p).items() if n != QUERY}),
        "missing in the file",
    ),
):
    CASES[f"bin_{name}"] = (_as_pickle(make), message)


# ── no weights, and vocabularies ─────────────────────────────────────────────────────────────


@case("a model for TensorFlow 2 or Keras (tf_model.h5)")
def weights_for_tensorflow(folder: Path) -> None:
    os.rename(folder / SAFE, folder / "tf_model.h5")


@case("vocabulary has 45 tokens, but the model has embeddings for 40")
def vocabulary_too_large(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    words = (folder / "vocab.txt").read_text().split()
    extra = [f"more{n}" for n in range(45 - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words + extra) + "\n")


@case("Git LFS")
def vocabulary_pointer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes(LFS)
