"""Predicted rows, stored in chunk files next to the future result.

The folder is deleted when the result is complete. Until then a stopped job can resume after the
last chunk, if file, model and settings are unchanged.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from engine.data.datasets.importing import DATA
from engine.errors import StudioError
from engine.files import atomic_write
from engine.files.regular_file import check_regular, read_json
from engine.messages.applying import Apply, FileInput

REQUEST_FILE = "asked.json"
CHUNK = re.compile(r"chunk-(\d{8})\.parquet")
# may differ on resuming
CHANGEABLE_FIELDS = {"out", "threshold", "raw", "resume", "number", "side", "batch_size"}


def chunk_folder(out: Path) -> Path:
    return atomic_write.sibling(out, f"{out.name}.part")


class Chunks:
    """Stored chunks, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = sorted(p for p in folder.iterdir() if CHUNK.fullmatch(p.name))
        try:
            self.rows = sum(pq.read_metadata(check_regular(path)).num_rows for path in self._paths)
        except (OSError, pa.ArrowException) as error:
            raise _damaged_error(folder) from error

    @classmethod
    def begin(cls, request: Apply) -> Self:
        """The chunks of an Apply to be resumed, else none.

        Raises StudioError if they were made from other inputs.
        """
        folder, content = chunk_folder(request.out), identity(request)
        if folder.is_dir() and request.resume:
            if not _matches(folder, content):
                raise StudioError(
                    "The partial result in {folder} was made from another file, model or setting.",
                    "Start again without resuming.",
                    folder=folder.name,
                )
            atomic_write.clear_leftovers(folder)
            return cls(folder)
        with atomic_write.disk_errors_for(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        atomic_write.write_file(folder / REQUEST_FILE, json.dumps(content).encode("utf-8"))
        return cls(folder)

    def add(self, chunk: pa.Table) -> None:
        path = self.folder / f"chunk-{len(self._paths):08}.parquet"
        with atomic_write.atomic_file(path) as file:
            pq.write_table(chunk, file, compression="zstd")
        self._paths.append(path)
        self.rows += chunk.num_rows

    @property
    def schema(self) -> pa.Schema:
        schemas = [pq.read_schema(check_regular(path)) for path in self._paths]
        return pa.unify_schemas(schemas, promote_options="permissive")

    def __iter__(self) -> Iterator[pa.Table]:
        """The chunks in the common schema."""
        empty = self.schema.empty_table()
        for path in self._paths:
            chunk = pq.read_table(check_regular(path))
            yield pa.concat_tables([empty, chunk], promote_options="permissive")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def stored_rows(request: Apply) -> int:
    folder = chunk_folder(request.out)
    if not folder.is_dir() or not _matches(folder, identity(request)):
        return 0
    return Chunks(folder).rows


def identity(request: Apply) -> dict[str, object]:
    """Everything that predictions depend on: the request, and size and time of all files."""
    fields: dict[str, object] = request.model_dump(mode="json", exclude=CHANGEABLE_FIELDS)
    file = given_file(request)
    entries = request.checkpoint.iterdir() if request.checkpoint.is_dir() else ()
    used = [file, *sorted(path for path in entries if path.is_file())]
    fields["files"] = [
        [path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in used if path.exists()
    ]
    return fields


def given_file(request: Apply) -> Path:
    """The file that is read."""
    given = request.given
    return given.path if isinstance(given, FileInput) else given.data.folder / DATA


def _matches(folder: Path, request: dict[str, object]) -> bool:
    try:
        return bool(read_json(folder / REQUEST_FILE) == json.loads(json.dumps(request)))
    except (OSError, ValueError):
        return False


def _damaged_error(folder: Path) -> StudioError:
    return StudioError(
        "The partial result in {folder} cannot be read.",
        "Start again without resuming.",
        folder=folder.name,
    )
