"""Every form of models that cannot be loaded is named by what it is, wherever a folder is read."""

import json
import tarfile

import pytest

from engine.checkpoints.archives import unpack
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.needed import select_files
from engine.checkpoints.other_forms import FORMS
from engine.errors import BadCheckpoint
from engine.models.checkpoint import load
from tests.engine.models.small import folder as small_folder

FILES = [(form, pattern) for form in FORMS for pattern in form.files]
MODULES = [(form, kind) for form in FORMS for kind in form.modules]


def names(cases):
    return [value for _, value in cases]


def assert_names(form, error: BadCheckpoint) -> None:
    assert form.title in str(error.problem) and str(error.advice) == form.advice


@pytest.mark.parametrize("has_config", [True, False], ids=["with config", "alone"])
@pytest.mark.parametrize("form, pattern", FILES, ids=names(FILES))
def test_a_folder_with_these_files_is_named(form, pattern, has_config, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    file = folder / pattern.replace("*", "x")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x")
    files = [file.relative_to(folder).as_posix()]
    if has_config:
        files += ["config.json", "vocab.txt"]
        small_folder(tmp_path / "small")
        for name in files[1:]:
            (tmp_path / "small" / name).rename(folder / name)
    reads = [checkpoint_info, lambda _: select_files(files, "model")]
    if file.name != "adapter_config.json":  # the load looks for the base, see test_adapters
        reads.append(load)
    for read in reads:
        with pytest.raises(BadCheckpoint) as raised:
            read(folder)
        assert_names(form, raised.value)
        assert file.name in str(raised.value.problem)


@pytest.mark.parametrize("form, kind", MODULES, ids=names(MODULES))
def test_a_folder_with_these_modules_is_named(form, kind, tmp_path):
    folder = small_folder(tmp_path / "model")
    types = ("sentence_transformers.models.Transformer", f"pylate.models.{kind}.{kind}")
    if kind != "pylate":
        types = (types[0], f"sentence_transformers.models.{kind}")
    entries = [{"idx": n, "path": "", "type": name} for n, name in enumerate(types)]
    (folder / "modules.json").write_text(json.dumps(entries))
    for read in (load, checkpoint_info):
        with pytest.raises(BadCheckpoint) as raised:
            read(folder)
        assert_names(form, raised.value)


def test_an_archive_is_named(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"x")
    with tarfile.open(tmp_path / "model.tar", "w") as packed:
        packed.add(tmp_path / "model.gguf", "folder/model.gguf")
    with pytest.raises(BadCheckpoint, match="GGUF"):
        unpack(tmp_path / "model.tar", tmp_path / "out")


def test_folders_that_load_are_never_named(tmp_path):
    """A folder may have other forms, too."""
    folder = small_folder(tmp_path / "model")
    for name in ("model.onnx", "tf_model.h5", "model.fp16.safetensors", "optimizer.pt"):
        (folder / name).write_bytes(b"x")
    assert load(folder).network
    assert checkpoint_info(folder).layers
