"""Packets: one file with rows, the codebook and who codes which row, that comes back with codes.

A packet is a Parquet file of its own suffix, with checksums of its pages, a line for each row.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from engine.config.codebook import MAX_LABEL, Codebook, CodingKind, Drawn
from engine.config.dataset import DatasetSpec, Reading, Split
from engine.config.dataset import Mapping as ColumnMapping
from engine.config.packet import Packet
from engine.data.columns.text_spans import NO_SPANS, SpanCounts, read_spans
from engine.data.datasets.codebooks import codebook_of, labels_in
from engine.data.datasets.coding import FIELDS, RowCoding, read_coding, write_coding
from engine.data.datasets.collecting import NO_CLEANING
from engine.data.datasets.editing import NOT_EDITED, PendingEdits
from engine.data.datasets.importing import write_version
from engine.data.datasets.row_writer import RowWriter
from engine.data.datasets.store import Dataset
from engine.data.formats.batches import rows_to_batches
from engine.data.formats.rows import Remarks
from engine.errors import BadFile, StudioError
from engine.files.atomic_write import atomic_file, atomic_folder, sha256
from engine.files.home import subfolders, versions_in
from engine.files.regular_file import check_regular, read_regular
from engine.phrases import phrase

SUFFIX = ".packet"
KEY, CODEBOOK = b"bert_studio.packet", b"bert_studio.codebook"  # metadata of the file
MAX_CODERS, MAX_NAME = 100, 60
MAX_ROWS, MAX_BYTES = 5_000_000, 1 << 32  # of a file that is read
DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}  # a few bytes of them are many long texts
READ_ERRORS = (OSError, ValueError, KeyError, TypeError, pa.ArrowException)
_SCHEMA = pa.schema(
    {
        "line": pa.int64(),
        "texts": pa.list_(pa.string()),
        "coders": pa.list_(pa.string()),
        "code": pa.string(),
        **FIELDS,
    }
)


class PacketRow(NamedTuple):
    """A row, who codes it, and its code."""

    line: int  # in the source file
    texts: tuple[str, ...]
    coders: tuple[str, ...]
    code: str = ""
    coding: RowCoding = RowCoding()


class PacketFile(NamedTuple):
    """The content of a packet; in one that was handed in, the codebook is that of the coder."""

    packet: Packet
    codebook: Codebook
    rows: tuple[PacketRow, ...]

    def rows_of(self, coder: str) -> list[PacketRow]:
        return [row for row in self.rows if coder in row.coders]


# ── files ────────────────────────────────────────────────────────────────────────────────────


def is_packet(path: Path) -> bool:
    return path.suffix.lower() == SUFFIX and path.is_file()


def write_packet(path: Path, content: PacketFile) -> None:
    """Write a packet, whole or not at all."""
    metadata = {
        KEY: content.packet.model_dump_json().encode(),
        CODEBOOK: content.codebook.model_dump_json().encode(),
    }
    lines = [
        {"line": row.line, "texts": row.texts, "coders": row.coders, "code": row.code}
        | dict(row.coding)
        for row in content.rows
    ]
    table = pa.Table.from_pylist(lines, _SCHEMA.with_metadata(metadata))
    with atomic_file(path, shared=True) as temporary:
        pq.write_table(
            table, temporary, compression="zstd", use_dictionary=False, write_page_checksum=True
        )


def read_packet(path: Path) -> PacketFile:
    """Read a packet.

    Raises OSError if the file cannot be opened, BadFile if it is damaged or no packet.
    """
    try:
        with pq.ParquetFile(check_regular(path), page_checksum_verification=True) as file:
            metadata = file.schema_arrow.metadata or {}
            if KEY not in metadata:
                raise BadFile(
                    path,
                    phrase("it is not a packet of this program."),
                    phrase("Choose the file that was handed out or in."),
                )
            _check_size(file.metadata)
            lines = file.read().to_pylist()
        packet = Packet.model_validate_json(metadata[KEY])
        codebook = Codebook.model_validate_json(metadata[CODEBOOK])
        ColumnMapping.coded(packet.texts, packet.column, codebook.kind)  # checks the columns
        rows = tuple(_row(line, packet) for line in lines)
        for row in rows:
            _check_code(row, codebook.kind)
        return PacketFile(packet, codebook, rows)
    except READ_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system does not open it
        raise BadFile(
            path,
            phrase("the packet is damaged or not complete."),
            phrase("Ask for it to be sent again."),
        ) from error


def _check_size(metadata: pq.FileMetaData) -> None:
    """Raise ValueError for a small file that would be far too large in memory."""
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    chunks = [group.column(n) for group in groups for n in range(group.num_columns)]
    is_large = sum(group.total_byte_size for group in groups) > MAX_BYTES
    if metadata.num_rows > MAX_ROWS or is_large:
        raise ValueError("too large")
    if any(DICTIONARIES & {*chunk.encodings} for chunk in chunks):
        raise ValueError("encoded otherwise than packets are")


def _row(line: dict[str, Any], packet: Packet) -> PacketRow:
    coding = RowCoding.model_validate({name: line[name] for name in FIELDS})
    texts, coders, code = tuple(line["texts"]), tuple(line["coders"]), line["code"]
    if not all(isinstance(cell, str) for cell in (*texts, code)):
        raise ValueError("a row lacks its text or its code")
    if len(texts) != len(packet.texts) or not {*coders} <= {*packet.coders}:
        raise ValueError("a row does not fit the packet")
    return PacketRow(int(line["line"]), texts, coders, code, coding)


def _check_code(row: PacketRow, kind: CodingKind) -> None:
    """Raise ValueError for a code that no codebook of this kind can have."""
    if not row.code or kind == "number":
        return
    if any(not 0 < len(label) <= MAX_LABEL for label in labels_in(row.code, kind)):
        raise ValueError("a label is empty or too long")
    if kind == "spans" and row.code != NO_SPANS:
        spans = read_spans(row.code)
        if spans is None or any(span.end > len(row.texts[0]) for span in spans):
            raise ValueError("the code is no list of spans in the text")


# ── handing out ──────────────────────────────────────────────────────────────────────────────


def coded_column(spec: DatasetSpec) -> tuple[str, Codebook]:
    """The label column and its codebook.

    Raises StudioError if the rows are not coded with one label column and a codebook.
    """
    column, book = spec.coded_column, codebook_of(spec)
    if column is None or book is None:
        raise StudioError(
            "The rows of “{name}” have no codebook.",
            "Name their labels first: “Label these texts…”, or `codebook --from`.",
            name=spec.name[:60],
        )
    return column, book


def coder_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names without white space around them. Raises StudioError if they cannot be used."""
    coders = tuple(dict.fromkeys(filter(None, map(str.strip, names))))
    if not coders:
        raise StudioError("No coder is named.", "Name who codes, such as Anna, Ben.")
    if len(coders) > MAX_CODERS or any(len(name) > MAX_NAME for name in coders):
        raise StudioError(
            "There are more than {coders} coders, or a name of more than {characters} characters.",
            "Separate the names by commas.",
            coders=MAX_CODERS,
            characters=MAX_NAME,
        )
    return coders


def share_out(
    pool: NDArray[np.int64],
    coders: Sequence[str],
    rows: int | None = None,
    overlap: int = 0,
    seed: int = 0,
) -> dict[int, tuple[str, ...]]:
    """Draw rows at random, and say who codes each; in random order.

    Args:
        pool: row indices, int64 [N].
        rows: for each coder; None: all of the pool, in equal parts.
        overlap: how many of these rows every coder codes.

    Raises StudioError if the pool has too few rows.
    """
    if rows is not None and overlap > rows:
        raise StudioError(
            "{overlap:,} rows for every coder are more than {rows:,} rows for each.",
            "Choose a smaller overlap, or more rows.",
            overlap=overlap,
            rows=rows,
        )
    needed = overlap if rows is None else overlap + len(coders) * (rows - overlap)
    if not len(pool) or needed > len(pool):
        raise StudioError(
            "{needed:,} rows are needed, but there are {count:,}.",
            "Choose fewer rows for each coder, or a larger overlap.",
            needed=max(needed, 1),
            count=len(pool),
        )
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(pool)[: None if rows is None else needed]
    shares = np.array_split(drawn[overlap:], len(coders))
    who = {int(row): tuple(coders) for row in drawn[:overlap]}
    for coder, share in zip(coders, shares, strict=True):
        who |= {int(row): (coder,) for row in share}
    return {int(row): who[int(row)] for row in rng.permutation(drawn)}


def hand_out(
    dataset: Dataset,
    who: Mapping[int, tuple[str, ...]],
    coders: Sequence[str],
    drawn: Drawn = "random",
    chance: float = 1.0,
    suggestions: Mapping[int, str] | None = None,
) -> PacketFile:
    """A packet with rows of a version.

    Args:
        who: coders by row, in the order in which to code.
        drawn: how the rows came up, each with this chance.
        suggestions: labels that the coders see, by row; blind without any.

    Raises StudioError if the version has no codebook.
    """
    spec, suggested = dataset.spec, suggestions or {}
    column, codebook = coded_column(spec)
    texts = spec.mapping.texts
    packet = Packet(
        name=spec.name,
        version=spec.version,
        fingerprint=spec.fingerprint,
        id=secrets.token_hex(8),
        at=datetime.now(UTC),
        texts=texts,
        column=column,
        coders=tuple(coders),
    )
    order = sorted(who)
    records = dict(zip(order, dataset.take(np.array(order, dtype=np.int64)), strict=True))
    rows = tuple(
        PacketRow(
            int(records[row]["_line"]),
            tuple(records[row][name] or "" for name in texts),
            names,
            coding=RowCoding(drawn=drawn, chance=chance, suggestion=suggested.get(row, "")),
        )
        for row, names in who.items()
    )
    return PacketFile(packet, codebook, rows)


def existing_labels(dataset: Dataset) -> dict[int, str]:
    """The labels that rows have, by row."""
    column, _ = coded_column(dataset.spec)
    cells = (cell or "" for cell in dataset.column(column).to_pylist())
    unlabelled = {*dataset.unlabelled().tolist()}
    return {row: cell for row, cell in enumerate(cells) if cell and row not in unlabelled}


# ── the data set of a coder ──────────────────────────────────────────────────────────────────


def choose_coder(content: PacketFile, name: str | None) -> str:
    """The coder of this name, by default the only one. Raises StudioError without one."""
    packet = content.packet
    if packet.coder:
        raise StudioError(
            "{coder} has handed this packet in already.",
            "Take it in on the page of “{name}”, or with `take-in`.",
            coder=packet.coder,
            name=packet.name[:60],
        )
    known = {coder.casefold(): coder for coder in packet.coders}
    wanted = (name or (packet.coders[0] if len(packet.coders) == 1 else "")).strip()
    if wanted.casefold() in known:
        return known[wanted.casefold()]
    names = ", ".join(packet.coders)
    problem = phrase("This packet is for {names}.", names=names)
    if wanted:
        problem = phrase(
            "{wanted} is none of its coders: {names}.", wanted=wanted[:60], names=names
        )
    raise StudioError(problem, "Choose who you are; a command takes --coder.")


def find_opened(datasets: Path, packet: Packet, coder: str) -> Path | None:
    """The newest version with the rows of a coder in a folder of data sets; None if not opened."""
    for spec, folder in _newest_specs(datasets):
        opened = spec.packet
        if opened is not None and (opened.id, opened.coder) == (packet.id, coder):
            return folder
    return None


def find_origin(datasets: Path, packet: Packet) -> Path | None:
    """The newest version of the data set that a packet is of, in a folder of data sets."""
    for spec, folder in _newest_specs(datasets):
        if spec.name == packet.name and packet.fingerprint in fingerprints(folder.parent):
            return folder
    return None


def _newest_specs(datasets: Path) -> list[tuple[DatasetSpec, Path]]:
    """The newest readable versions, with their folders."""
    newest = ((f, n[-1]) for f in subfolders(datasets) if (n := versions_in(f)))
    folders = [folder / str(number) for folder, number in newest]
    return [(spec, folder) for folder in folders if (spec := _read_spec(folder)) is not None]


def fingerprints(dataset: Path) -> set[str]:
    """The fingerprints of all versions of a data set."""
    specs = (_read_spec(dataset / str(number)) for number in versions_in(dataset))
    return {spec.fingerprint for spec in specs if spec is not None}


def _read_spec(version: Path) -> DatasetSpec | None:
    try:
        return DatasetSpec.model_validate_json(read_regular(version / "spec.json"))
    except (OSError, ValidationError):
        return None


def open_packet(path: Path, content: PacketFile, coder: str, target: Path) -> DatasetSpec:
    """Write the rows of a coder as the first version of a data set to the folder `target`."""
    packet, rows = content.packet, content.rows_of(coder)
    if not rows:
        raise StudioError(
            "The packet has no rows for {coder}.", "Choose another coder.", coder=coder
        )
    columns = (*packet.texts, packet.column)
    mapping = ColumnMapping.coded(packet.texts, packet.column, content.codebook.kind)
    with atomic_folder(target) as folder:
        split = Split(validation=0)
        with RowWriter(folder / "rows.parquet", columns, mapping, split, NO_CLEANING) as writer:
            writer.begin(path, Remarks())
            for batch in rows_to_batches((row.line, (*row.texts, "")) for row in rows):
                writer.append(batch, 0)
        collected = writer.finish({str(path.absolute()): sha256(path)}, [], SpanCounts())
        write_coding(folder, {n: {packet.column: row.coding} for n, row in enumerate(rows)})
        spec = DatasetSpec(
            name=f"{packet.name} – {coder}",
            version=1,
            sources={"all": (path.absolute(),)},
            reading=Reading(format="parquet"),
            mapping=mapping,
            split=split,
            columns=columns,
            rows={},
            codebooks={packet.column: content.codebook},
            packet=packet.model_copy(update={"coder": coder}),
            fingerprint="",
        )
        return write_version(folder, spec, collected, collected.splits)


def hand_in(dataset: Dataset, edits: PendingEdits | None = None) -> PacketFile:
    """The codes of a coder with edits that are not saved yet, as a packet to send back.

    Raises StudioError if the rows are not of a packet, or none is coded.
    """
    spec, edited = dataset.spec, {} if edits is None else edits.rows
    packet, column = spec.packet, spec.coded_column
    if packet is None or column != packet.column:
        raise StudioError(
            "The rows of “{name}” are not of a packet.",
            "Open the packet that was handed out, code its rows, and hand them in.",
            name=spec.name[:60],
        )
    books = {} if edits is None else edits.codebooks
    stored, rows = read_coding(dataset.folder), list[PacketRow]()
    records = dataset.take(np.arange(len(dataset)))
    for row, record in enumerate(records):
        edit = edited.get(row, NOT_EDITED)
        coding = edit.coding.get(column) or stored.get(row, {}).get(column, RowCoding())
        code = edit.cells.get(column, record[column] or "").strip()
        if not edit.deleted and (code or coding.at is not None):
            texts = tuple(edit.cells.get(name, record[name] or "") for name in packet.texts)
            own = coding.model_copy(update={"coder": packet.coder})
            rows.append(PacketRow(int(record["_line"]), texts, (packet.coder,), code, own))
    if not rows:
        raise StudioError("No row is coded yet.", "Code some rows, then hand them in.")
    book = books.get(column) or codebook_of(spec) or Codebook()
    return PacketFile(packet, book, tuple(rows))
