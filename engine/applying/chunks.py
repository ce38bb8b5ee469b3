"""The rows that are predicted already, in files of one chunk each, beside the result to be.

The folder goes when the result is whole. Until then whoever was cancelled, killed or refused goes
on behind the last chunk, as long as file, model and settings are the same.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import StudioError
from engine.files.atomic_write import (
    atomic_file,
    clear_leftovers,
    disk_errors_for,
    sibling,
    write_file,
)
from engine.files.regular_file import check_regular, read_json
from engine.messages.applying import Apply
from engine.phrases import phrase

ASKED = "asked.json"
CHUNK = re.compile(r"chunk-(\d{8})\.parquet")
FREE = {"out", "threshold", "raw", "resume", "number", "side", "batch_size"}  # may differ


def folder_of(out: Path) -> Path:
    """Where the chunks of a result lie until it is whole."""
    return sibling(out, f"{out.name}.part")


class Chunks:
    """The chunks in a folder, in the order of their rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = sorted(p for p in folder.iterdir() if CHUNK.fullmatch(p.name))
        try:
            self.rows = sum(pq.read_metadata(check_regular(path)).num_rows for path in self._paths)
        except (OSError, pa.ArrowException) as error:
            raise _damaged(folder) from error

    @classmethod
    def begin(cls, wanted: Apply) -> Self:
        """Those of an earlier Apply that is to be resumed, else none.

        Raises StudioError where what is to be resumed was made from something else.
        """
        folder, asked = folder_of(wanted.out), identity(wanted)
        if folder.is_dir() and wanted.resume:
            if not _is_of(folder, asked):
                raise StudioError(
                    phrase(
                        "The partial result in {folder} was made from another file, model or "
                        "setting.",
                        folder=folder.name,
                    ),
                    phrase("Start anew without resuming."),
                )
            clear_leftovers(folder)
            return cls(folder)
        with disk_errors_for(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        write_file(folder / ASKED, json.dumps(asked).encode("utf-8"))
        return cls(folder)

    def add(self, chunk: pa.Table) -> None:
        """Keep one more; it is there whole or not at all."""
        path = self.folder / f"chunk-{len(self._paths):08}.parquet"
        with atomic_file(path) as file:
            pq.write_table(chunk, file, compression="zstd")
        self._paths.append(path)
        self.rows += chunk.num_rows

    @property
    def schema(self) -> pa.Schema:
        """What holds the rows of every chunk."""
        schemas = [pq.read_schema(check_regular(path)) for path in self._paths]
        return pa.unify_schemas(schemas, promote_options="permissive")

    def __iter__(self) -> Iterator[pa.Table]:
        """Every chunk with the schema of all."""
        empty = self.schema.empty_table()
        for path in self._paths:
            chunk = pq.read_table(check_regular(path))
            yield pa.concat_tables([empty, chunk], promote_options="permissive")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def kept_rows(wanted: Apply) -> int:
    """Rows of an earlier Apply that can be resumed; 0 where there is none."""
    folder = folder_of(wanted.out)
    if not folder.is_dir() or not _is_of(folder, identity(wanted)):
        return 0
    return Chunks(folder).rows


def identity(wanted: Apply) -> dict[str, object]:
    """What predictions depend on: what was asked, and the size and time of every file."""
    asked: dict[str, object] = wanted.model_dump(mode="json", exclude=FREE)
    file = wanted.given.path
    inside = wanted.checkpoint.iterdir() if wanted.checkpoint.is_dir() else ()
    used = [file, *sorted(path for path in inside if path.is_file())]
    asked["files"] = [
        [path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in used if path.exists()
    ]
    return asked


def _is_of(folder: Path, asked: dict[str, object]) -> bool:
    try:
        return bool(read_json(folder / ASKED) == json.loads(json.dumps(asked)))
    except (OSError, ValueError):
        return False


def _damaged(folder: Path) -> StudioError:
    return StudioError(
        phrase("The partial result in {folder} cannot be read.", folder=folder.name),
        phrase("Start anew without resuming."),
    )
