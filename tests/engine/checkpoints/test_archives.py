"""Only the files of a model are extracted from an archive."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from engine.checkpoints.archives import find_model_folder, is_model_archive, unpack
from engine.checkpoints.info import checkpoint_info
from engine.errors import BadCheckpoint, DiskFull, StudioError
from tests.engine.models import small

Files = dict[str, bytes]


def write_zip(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def write_tar(path: Path, files: Files) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Files:
    folder = small.folder(tmp_path / "model")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    "name, pack",
    [("m.zip", write_zip), ("m.tar.gz", write_tar), ("m.tgz", write_tar), ("m.tar", write_tar)],
)
@pytest.mark.parametrize("parent", ["", "deep/folder/"])
def test_only_the_model_is_extracted(tmp_path, model, name, pack, parent):
    other = {f"{parent}train.py": b"import os", f"{parent}sub/config.json": b"{}", "x.txt": b"x"}
    evil = {"../vocab.txt": b"x", "/vocab.txt": b"x", f"{parent}../../tokenizer.json": b"x"}
    inside = {f"{parent}{file}": content for file, content in model.items()}
    archive = pack(tmp_path / name, {**other, **inside, **evil})
    into = tmp_path / "into"
    into.mkdir()
    unpack(archive, into)
    assert checkpoint_info(into).layers == small.SPEC.layers
    actual = {file.relative_to(into).as_posix() for file in into.rglob("*") if file.is_file()}
    assert actual <= set(model) and "model.safetensors" in actual
    assert is_model_archive(archive) is (name != "m.zip")  # a zip is detected by its directory


def test_links_and_devices_are_skipped(tmp_path, model):
    path = write_tar(tmp_path / "m.tar", {n: c for n, c in model.items() if n != "vocab.txt"})
    with tarfile.open(path, "a") as archive:
        for name, kind in (("vocab.txt", tarfile.SYMTYPE), ("spiece.model", tarfile.CHRTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    into = tmp_path / "into"
    into.mkdir()
    unpack(path, into)
    assert not (into / "vocab.txt").exists() and not (into / "spiece.model").exists()


def test_a_zip_bomb_is_refused_before_extraction(tmp_path, model, monkeypatch):
    into = tmp_path / "into"
    into.mkdir()
    zeros = write_zip(tmp_path / "zeros.zip", {**model, "model.safetensors": bytes(10_000_000)})
    assert zeros.stat().st_size < 1_000_000
    free = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr("engine.files.atomic_write.shutil.disk_usage", lambda _: free)
    with pytest.raises(DiskFull):
        unpack(zeros, into)
    assert not list(into.iterdir())
    monkeypatch.setattr("engine.checkpoints.archives.MAX_MEMBERS", 50)
    many = write_tar(tmp_path / "many.tar", {f"{number}": b"" for number in range(52)})
    with pytest.raises(BadCheckpoint, match="more files than a model"):
        unpack(many, into)


@pytest.mark.parametrize("name, pack", [("m.zip", write_zip), ("m.tar.gz", write_tar)])
def test_a_damaged_archive_is_reported(tmp_path, model, name, pack):
    data = pack(tmp_path / name, model).read_bytes()
    for number, broken in enumerate(
        (b"", data[:100], data[: len(data) // 2], data[:400] + bytes(200) + data[600:])
    ):
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(broken)
        into = tmp_path / str(number)
        into.mkdir()
        with pytest.raises(StudioError):
            unpack(path, into)


def test_an_archive_without_a_model_is_reported(tmp_path):
    with pytest.raises(BadCheckpoint, match=r"no config\.json"):
        unpack(write_zip(tmp_path / "a.zip", {"a.txt": b"x"}), tmp_path)


def test_a_nested_model_folder_is_found(tmp_path):
    model = small.folder(tmp_path / "above" / "model")
    assert find_model_folder(model) == model == find_model_folder(tmp_path / "above")
    old = small.folder(tmp_path / "old" / "0_Transformer")
    assert find_model_folder(tmp_path / "old") == old
    small.folder(tmp_path / "above" / "other")
    assert find_model_folder(tmp_path / "above") is None
    assert find_model_folder(tmp_path / "nowhere") is None
