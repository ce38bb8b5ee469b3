"""Rows that are with coders: from when they are handed out until they are taken in or called back.

A copy of each packet is kept in a folder next to the versions of its data set, without the coders
who were called back. In a version, a row is with a coder until the coder's column has a code of it;
so an undone version has the rows that are with coders as it had before.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import DatasetSpec
from engine.config.packet import Packet
from engine.data.datasets.coding import read_coding
from engine.data.datasets.packets import (
    SUFFIX,
    PacketFile,
    PacketRow,
    read_packet,
    write_packet,
)
from engine.data.datasets.store import Dataset
from engine.errors import StudioError

FOLDER = "packets"


class HandedOut(NamedTuple):
    """The rows of a packet that are still with a coder, indices of a version, int64 [N]."""

    packet: Packet
    coder: str
    rows: NDArray[np.int64]


class RowPlaces:
    """Finds the rows of packets in a version, by their lines and texts."""

    def __init__(self, dataset: Dataset) -> None:
        self.lines: list[int] = dataset.column("_line").to_numpy().tolist()
        columns = ([*map(_stripped, dataset.column(n).to_pylist())] for n in _texts(dataset))
        self._places: dict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
        self._by_line: dict[int, list[int]] = defaultdict(list)
        for row, key in enumerate(zip(self.lines, zip(*columns, strict=True), strict=True)):
            self._places[key].append(row)
            self._by_line[key[0]].append(row)

    def find(self, rows: Sequence[PacketRow]) -> tuple[list[int | None], list[bool]]:
        """The row of the version for each row of a packet, and if its text is another one now."""
        used = dict[tuple[int, tuple[str, ...]], int]()

        def exact(row: PacketRow) -> int | None:
            key = row.line, tuple(map(_stripped, row.texts))
            places, used[key] = self._places.get(key, []), used.get(key, 0) + 1
            return places[used[key] - 1] if used[key] <= len(places) else None

        found = [*map(exact, rows)]
        taken, is_edited = {*found}, [False] * len(rows)
        for n, row in enumerate(rows):
            others = self._by_line.get(row.line, [])
            if found[n] is None and len(others) == 1 and others[0] not in taken:
                found[n], is_edited[n] = others[0], True
                taken.add(others[0])
        return found, is_edited


def _texts(dataset: Dataset) -> tuple[str, ...]:
    return dataset.spec.mapping.texts


def _stripped(cell: str | None) -> str:
    return (cell or "").strip()


def coder_columns(column: str, coder: str) -> tuple[str, str]:
    """The names that the column of a coder may have; the second one if the first is taken."""
    return coder, f"{column}: {coder}"


def find_coder_column(spec: DatasetSpec, column: str, coder: str) -> str | None:
    """The column with the codes of a coder in a coded column; None if there are none."""
    names = coder_columns(column, coder)
    return next((name for name in names if name in spec.mapping.coders), None)


def hand_over(dataset: Dataset, content: PacketFile, path: Path) -> None:
    """Write a packet of a version, and keep a copy, by which its rows are with its coders."""
    folder = _folder(dataset)
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / f"{content.packet.id}{SUFFIX}"
    write_packet(copy, content)  # first: no row is sent out without being known as such
    try:
        write_packet(path, content)
    except (OSError, StudioError):
        copy.unlink()
        raise


def handed_out(dataset: Dataset) -> list[HandedOut]:
    """The rows of a version that are with coders for its label column, the first packet first.

    Raises StudioError if the copy of a packet cannot be read.
    """
    kept = _kept(dataset)
    if not kept:
        return []
    places, coding, found = RowPlaces(dataset), read_coding(dataset.folder), list[HandedOut]()
    for content in kept.values():
        rows, _ = places.find(content.rows)
        for coder in content.packet.coders:
            name = find_coder_column(dataset.spec, content.packet.column, coder)
            cells = dataset.column(name).to_pylist() if name else []
            left = [
                row
                for row, line in zip(rows, content.rows, strict=True)
                if row is not None
                and coder in line.coders
                and not (name and (cells[row] or name in coding.get(row, {})))
            ]
            if left:
                indices = np.array(sorted(left), dtype=np.int64)
                found.append(HandedOut(content.packet, coder, indices))
    return found


def reserved_rows(parts: Sequence[HandedOut]) -> NDArray[np.int64]:
    """All rows that are with coders, int64 [N], ascending."""
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(part.rows for part in parts)]))


def call_back(dataset: Dataset, coders: Collection[str]) -> int:
    """Let the rows of coders be handed out again, and return how many were with them.

    Raises StudioError if no row is with one of them, or the copy of a packet cannot be read.
    """
    known = {coder.casefold(): coder for coder in coders}
    freed = [part for part in handed_out(dataset) if part.coder.casefold() in known]
    without = {*known} - {part.coder.casefold() for part in freed}
    if without:
        raise StudioError(
            "No row is with {name}.",
            "Print who has rows with `handed-out`.",
            name=known[min(without)][:60],
        )
    for file, content in _kept(dataset).items():
        packet = content.packet
        left = tuple(name for name in packet.coders if name.casefold() not in known)
        if not left:
            file.unlink()
        elif left != packet.coders:
            lines = (
                r._replace(coders=tuple(n for n in r.coders if n in left)) for r in content.rows
            )
            rows = tuple(line for line in lines if line.coders)
            packet = packet.model_copy(update={"coders": left})
            write_packet(file, content._replace(packet=packet, rows=rows))
    return len(reserved_rows(freed))


def _folder(dataset: Dataset) -> Path:
    return dataset.folder.absolute().parent / FOLDER


def _kept(dataset: Dataset) -> dict[Path, PacketFile]:
    """The copies of packets for the label column, by file; the first one handed out first."""
    contents = dict[Path, PacketFile]()
    for file in _folder(dataset).glob(f"*{SUFFIX}"):
        try:
            content = read_packet(file)
        except (OSError, StudioError) as error:
            raise StudioError(
                "Which rows are with coders cannot be read from {name}.",
                "Delete this file to hand its rows out again: {path}.",
                name=file.name,
                path=file,
            ) from error
        if content.packet.column == dataset.spec.coded_column:
            contents[file] = content
    return dict(sorted(contents.items(), key=lambda item: item[1].packet.at))
