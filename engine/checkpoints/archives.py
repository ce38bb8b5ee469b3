"""Models in an archive (.zip, .tar.gz, .tgz, .tar), and in a folder of folders.

Only the files of a model are extracted, under known names, so no member of an archive can escape
the folder; links are never followed, and no more is extracted than fits on the disk.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from engine.checkpoints.needed import CONFIGS, select_files
from engine.checkpoints.other_forms import other_form
from engine.errors import BadCheckpoint
from engine.files.atomic_write import check_free_space
from engine.files.untrusted import safe_name

TAR_SUFFIXES = (".tar.gz", ".tgz", ".tar")
SUFFIXES = (".zip", *TAR_SUFFIXES)
MAX_MEMBERS = 20_000
MAX_SEARCHED = 200  # members of a tar that are read to detect a model
MAX_SEARCHED_BYTES = 50_000_000  # of all bytes read to detect one
SNAPSHOTS = "snapshots"  # of a model in the hub's cache
MODULES = "0_Transformer"  # folder of the network in older sentence-transformers

Member = zipfile.ZipInfo | tarfile.TarInfo
Members = dict[str, Member]
Opener = Callable[[Member], IO[bytes]]


def is_model_archive(path: Path) -> bool:
    """True if a file is a tar with a model among its first members."""
    if not path.name.lower().endswith(TAR_SUFFIXES) or not path.is_file():
        return False
    with suppress(tarfile.TarError, OSError, EOFError, zlib.error), tarfile.open(path) as archive:
        for number, member in enumerate(archive):
            if PurePosixPath(member.name).name in CONFIGS:
                return True
            if number >= MAX_SEARCHED or archive.offset > MAX_SEARCHED_BYTES:
                break
    return False


def unpack(archive: Path, destination: Path) -> Path:
    """Extract the model of an archive into the empty folder `destination`; returns its folder.

    Raises BadCheckpoint if the archive has no model or is damaged, and DiskFull.
    """
    with _damage_errors(archive), _open(archive) as (members, content):
        folder = _folder_of_model(members, archive)
        original_names = {
            PurePosixPath(name).relative_to(folder).as_posix(): name
            for name in members
            if folder == PurePosixPath(".") or PurePosixPath(name).is_relative_to(folder)
        }
        names = select_files(original_names, archive.name)
        sizes = {name: _size(members[original_names[name]]) for name in names}
        check_free_space(destination / archive.name, sum(sizes.values()))
        for name in names:
            target = destination / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with content(members[original_names[name]]) as packed, open(target, "xb") as out:
                _copy(packed, out, sizes[name], archive)
    return destination


def model_name(source: Path) -> str:
    """Name of a folder, or of an archive without its suffix."""
    ending = next((end for end in SUFFIXES if source.name.lower().endswith(end)), "")
    return source.name[: len(source.name) - len(ending)] if source.is_file() else source.name


def find_model_folder(folder: Path) -> Path | None:
    """The folder with the config of a model: this one, or the only subfolder that has one.

    Of a model in the hub's cache it is the only snapshot.
    """
    if _has_config(folder):
        return folder
    if _has_config(older := folder / MODULES):
        return older
    for parent in (folder, folder / SNAPSHOTS):
        with suppress(OSError):
            folders = [entry for entry in parent.iterdir() if entry.is_dir() and _has_config(entry)]
            if len(folders) == 1:
                return folders[0]
    return None


def _has_config(folder: Path) -> bool:
    return any((folder / name).is_file() for name in CONFIGS)


def _folder_of_model(members: Members, archive: Path) -> PurePosixPath:
    """The topmost folder in the archive that has a config."""
    parents = [
        PurePosixPath(name).parent for name in members if PurePosixPath(name).name in CONFIGS
    ]
    if not parents:
        names = ("/".join(PurePosixPath(name).parts[-2:]) for name in members)
        raise other_form(archive.name, names) or BadCheckpoint(
            "{name} has no config.json, so no model is in it.",
            "Choose an archive of the whole folder of a model.",
            name=safe_name(archive.name),
        )
    return min(parents, key=lambda folder: (len(folder.parts), str(folder)))


@contextmanager
def _open(archive: Path) -> Iterator[tuple[Members, Opener]]:
    """The regular files of an archive by name, and a function to open each."""
    if archive.name.lower().endswith(TAR_SUFFIXES):
        with tarfile.open(archive) as tar:
            members: Members = {}
            for member in tar:
                _check_count(len(members), archive)
                if member.isreg() and _stays_inside(member.name):
                    members[member.name.removeprefix("./")] = member
            yield members, lambda member: _open_member(tar, member)
    else:
        with zipfile.ZipFile(archive) as packed:
            listed = packed.infolist()
            _check_count(len(listed), archive)
            files = {entry.filename: entry for entry in listed if _is_file(entry)}
            yield dict(files), packed.open  # type: ignore[misc]


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _is_file(member: zipfile.ZipInfo) -> bool:
    return not member.is_dir() and _stays_inside(member.filename)


def _open_member(tar: tarfile.TarFile, member: Member) -> IO[bytes]:
    assert isinstance(member, tarfile.TarInfo)
    content = tar.extractfile(member)
    assert content is not None  # it is a regular file
    return content


def _check_count(number: int, archive: Path) -> None:
    if number > MAX_MEMBERS:
        raise BadCheckpoint(
            "{name} has more files than a model.",
            "Unpack it yourself, and choose the folder of one model.",
            name=safe_name(archive.name),
        )


def _size(member: Member) -> int:
    return member.file_size if isinstance(member, zipfile.ZipInfo) else member.size


def _copy(packed: IO[bytes], out: IO[bytes], size: int, archive: Path) -> None:
    """Copy exactly the declared number of bytes; more mean a bomb, fewer mean damage."""
    remaining = size
    while remaining and (block := packed.read(min(remaining, 1 << 20))):
        out.write(block)
        remaining -= len(block)
    if remaining or packed.read(1):
        raise _damaged_error(archive)


@contextmanager
def _damage_errors(archive: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, RuntimeError) as error:
        raise _damaged_error(archive) from error
    except NotImplementedError as error:  # unsupported compression
        raise _damaged_error(archive) from error


def _damaged_error(archive: Path) -> BadCheckpoint:
    return BadCheckpoint(
        "{name} is damaged, or cannot be unpacked.",
        "Get it again, or unpack it yourself and choose the folder.",
        name=safe_name(archive.name),
    )
