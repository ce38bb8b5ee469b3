"""Compressed files and archives give the rows of their content; bombs are refused."""

import bz2
import gzip
import lzma
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset
from engine.data.formats import archives
from engine.data.formats.reading import preview, read, recognise
from engine.data.formats.sources import is_data_file, list_parts
from engine.errors import BadFile, DiskFull
from engine.progress import Cancelled
from tests.engine.data.importing import import_files
from tests.engine.faults import small_disk

TABLE = "text,label\n" + "".join(f'"row {n}, a text",{n % 2}\n' for n in range(5_000))


def zstd(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(content)
    return out.getvalue().to_pybytes()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_is_read_like_its_content(tmp_path, suffix):
    plain, packed = tmp_path / "a.csv", tmp_path / f"a.csv{suffix}"
    plain.write_text(TABLE, encoding="utf-8")
    content = PACKERS[suffix](TABLE.encode())
    packed.write_bytes(content)
    assert is_data_file(packed) and recognise(packed) == recognise(plain)
    progress: list[tuple[int, int]] = []
    rows = list(read(packed, Reading(), lambda done, total: progress.append((done, total))))
    assert rows == list(read(plain, Reading()))
    assert progress == sorted(progress) and progress[-1] == (len(content),) * 2
    assert preview(packed, Reading()).rows[0].cells == ("row 0, a text", "0")
    with pytest.raises(Cancelled):
        list(read(packed, Reading(), cancelled=lambda: True))
    appended = tmp_path / f"two.csv{suffix}"  # as written by programs that append
    appended.write_bytes(content + PACKERS[suffix](b"the end,1\n"))
    assert len(list(read(appended, Reading()))) == 5_001
    for end in (len(content) // 2, len(content) - 3):
        packed.write_bytes(content[:end])
        with pytest.raises(BadFile, match="damaged or incomplete"):
            list(read(packed, Reading()))


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return path


def test_the_only_or_the_selected_file_of_an_archive_is_read(tmp_path):
    other = {"__MACOSX/._a.csv": b"x", "README.md": b"about", "data/.DS_Store": b"x"}
    file = archive(tmp_path / "one.zip", {"data/a.csv": TABLE.encode()} | other)
    assert list_parts(file) == [file] and len(list(read(file, recognise(file).reading))) == 5_000
    members = {"train.csv": TABLE.encode(), "test.csv.gz": gzip.compress(b"text,label\na,1\n")}
    several = archive(tmp_path / "two.zip", members | other | {"build.sh": b"rm"})
    assert list_parts(several) == [several / "test.csv.gz", several / "train.csv"]
    with pytest.raises(BadFile, match=r"3 files: build.sh, test.csv.gz, train.csv"):
        recognise(several)
    with pytest.raises(BadFile, match=r"no “dev\.csv” in it"):
        recognise(several / "dev.csv")
    assert [row.cells for row in read(several / "test.csv.gz", Reading())] == [("a", "1")]


def test_members_of_an_archive_are_imported_as_splits(tmp_path):
    rows = {"train.csv": TABLE.encode(), "test.csv": b"text,label\nat last,1\n"}
    file = archive(tmp_path / "a.zip", rows)
    sources = {"train": file / "train.csv", "test": file / "test.csv"}
    mapping, progress = Mapping(text="text", label="label"), []
    spec = import_dataset(
        "a",
        sources,
        Reading(),
        mapping,
        Split(validation=0),
        tmp_path / "v",
        progress=lambda done, total: progress.append((done, total)),
    )
    assert spec.rows == {"train": 5_000, "validation": 0, "test": 1}
    assert progress == sorted(progress) and max(done / total for done, total in progress) <= 1
    assert set(spec.source_sha256) == {str(path) for path in sources.values()}


def test_an_archive_with_a_password_is_refused(tmp_path):
    file = archive(tmp_path / "a.zip", {"a.csv": b"text\na\n"})
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag of an encrypted member
    content[6] |= 1
    file.write_bytes(content)
    with pytest.raises(BadFile, match="encrypted with a password"):
        recognise(file)


@pytest.mark.parametrize("suffix", [*PACKERS, ".zip"])
def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(archives, "SUSPICIOUS_BYTES", 1 << 20)
    monkeypatch.setattr(archives, "MAX_RATIO", 100)
    content, file = b"text\n" + b"a line of text\n" * 200_000, tmp_path / f"b.csv{suffix}"
    if suffix == ".zip":
        archive(file, {"b.csv": content})
    else:
        file.write_bytes(PACKERS[suffix](content))
    with pytest.raises(BadFile, match="times its size"):
        list(read(file, Reading()))


def incompressible_parquet(rows: int) -> bytes:
    """A Parquet file that hardly shrinks: its texts are random digits."""
    rng = random.Random(0)
    texts = [rng.randbytes(30).hex() for _ in range(rows)]
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": texts, "label": ["a", "b"] * (rows // 2)}), out)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize("suffix", [".gz", ".zip"])
def test_unpacking_onto_a_full_disk_is_refused_and_leaves_nothing(tmp_path, monkeypatch, suffix):
    """Formats that need seeking are unpacked into the folder of temporary files."""
    content = incompressible_parquet(20_000)
    packed = tmp_path / f"a.parquet{suffix}"
    if suffix == ".zip":
        archive(packed, {"a.parquet": content})
    else:
        packed.write_bytes(PACKERS[suffix](content))
    with small_disk(tmp_path / "small", kilobytes=512) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(DiskFull, match="The disk is full") as refused:
            list(read(packed, Reading(format="parquet")))
        assert refused.value.path == disk and str(disk) in refused.value.advice
        assert ("needs" in refused.value.problem) == (suffix == ".zip")  # its size is known before
        assert not list(disk.iterdir()) and shutil.disk_usage(disk).used == 0
        with pytest.raises(DiskFull) as refused:
            import_dataset(
                *("a", {"all": packed}, Reading(format="parquet")),
                *(Mapping(text="text", label="label"), Split(), tmp_path / "data" / "1"),
            )
        assert refused.value.path == disk and not (tmp_path / "data").exists()
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert len(list(read(packed, Reading(format="parquet")))) == 20_000


def test_an_import_onto_a_full_disk_leaves_nothing_behind(tmp_path):
    """The rows of a compressed table need more space than the file, but how much is unknown."""
    content = "text,label\n" + "".join(f"the text with number {n},{n % 2}\n" for n in range(15_000))
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    with small_disk(tmp_path / "small", kilobytes=256) as disk:
        with pytest.raises(DiskFull, match="The disk is full") as refused:
            import_files(packed, disk / "data" / "1")
        assert str(disk) in refused.value.advice
        assert not (disk / "data").exists()
    import_files(packed, tmp_path / "data" / "1")
