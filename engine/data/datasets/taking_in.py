"""Take in the codes of coders from packets that were handed in: each in a column of their own."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from engine.config.codebook import Code, Codebook
from engine.config.dataset import free_column
from engine.config.packet import Packet
from engine.data.columns.coders import agreed_cells
from engine.data.columns.text_spans import format_spans, moved_spans, read_spans
from engine.data.datasets.codebooks import labels_in
from engine.data.datasets.coding import RowCoding, read_coding
from engine.data.datasets.deriving import Edits
from engine.data.datasets.handed_out import RowPlaces, coder_columns
from engine.data.datasets.packets import PacketFile, PacketRow, coded_column, fingerprints
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.phrases import Phrase, join, phrase

MIN_SHARED = 0.5  # of the rows of a packet of a version that is not there any more
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Conflict(NamedTuple):
    """Something to check; `row` is an index in the version, -1 for none."""

    row: int
    line: int  # of the row in its source file
    text: Phrase


@dataclass
class TakenIn:
    """The edits of taking in packets, and everything to check."""

    edits: Edits = field(default_factory=Edits)
    new: Counter[str] = field(default_factory=Counter)  # codes by coder
    changed: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True if the version has everything already."""
        edits = self.edits
        return not (edits.cells or edits.coding or edits.codebooks or edits.coders)

    def sentences(self) -> list[Phrase]:
        """Numbers of new, changed and known codes, a sentence for each coder."""
        return [
            phrase("{coder}: {counts}.", coder=coder, counts=join(", ", self._counts(coder)))
            for coder in dict.fromkeys((*self.new, *self.changed, *self.known))
        ]

    def _counts(self, coder: str) -> list[Phrase]:
        texts = {
            phrase("{n:,} new code(s)", n=self.new[coder]): self.new,
            phrase("{n:,} changed", n=self.changed[coder]): self.changed,
            phrase("{n:,} already taken in", n=self.known[coder]): self.known,
        }
        return [text for text, counts in texts.items() if counts[coder]]

    def change(self) -> Phrase:
        """All of this in one sentence."""
        counts = self.new + self.changed
        coders = [phrase("{coder} {n:,}", coder=c, n=n) for c, n in counts.items()]
        if checks := len(self.conflicts):
            coders.append(phrase("{n:,} conflict(s)", n=checks))
        return phrase("Codes taken in: {list}.", list=join(", ", coders))


def take_in(dataset: Dataset, packets: Sequence[PacketFile]) -> TakenIn:
    """Find the edits that add the codes of packets, one after another.

    A coder has a column for each column coded. Of two codes of a coder for a row, the later one is
    used. The label of a row is the code on which its coders agree, unless it was given or decided
    in this data set.

    Raises StudioError if a packet has no codes, or codes other rows or another column.
    """
    result, merges, names = TakenIn(), dict[str, _Merge](), [*dataset.spec.columns]
    for packet in packets:
        column = packet.packet.column
        if column not in merges:
            merges[column] = _Merge(_coded(dataset, packet), result, names)
        merges[column].add(packet)
    cells, coding = (
        defaultdict[int, dict[str, str]](dict),
        defaultdict[int, dict[str, RowCoding]](dict),
    )
    for merge in merges.values():
        merge.finish(cells, coding)
    books = {column: merge.codebook for column, merge in merges.items()}
    result.edits = Edits(
        cells=dict(cells),
        coding=dict(coding),
        codebooks={column: book for column, book in books.items() if book is not None},
        coders={column: new for column, merge in merges.items() if (new := merge.new_columns)},
        changes=(result.change(),),
    )
    return result


def _coded(dataset: Dataset, content: PacketFile) -> Dataset:
    """The version with the column of a packet as its label column."""
    packet = content.packet
    if not packet.coder:
        raise StudioError("The packet has no codes yet.", "Choose the file that a coder handed in.")
    if packet.column not in (dataset.spec.coded_column, *dataset.spec.targets):
        if not _is_of(dataset, packet):
            raise _other_data(packet)
        raise StudioError(
            "The packet codes “{other}”, which is no column of labels of this version.",
            "Open the version in which “{other}” is coded.",
            other=packet.column[:60],
        )
    return dataset.with_target(packet.column)


def _is_of(dataset: Dataset, packet: Packet) -> bool:
    """True if a packet is of some version of the data set."""
    return packet.fingerprint in fingerprints(dataset.folder.absolute().parent)


def _other_data(packet: Packet) -> StudioError:
    return StudioError(
        "The packet of {coder} is of another data set: “{name}”.",
        "Take it in there.",
        coder=packet.coder,
        name=packet.name[:60],
    )


class _Merge:
    """Codes by column and row, those stored and those of the packets."""

    def __init__(self, dataset: Dataset, result: TakenIn, names: list[str]) -> None:
        """`names` are those of all columns; the new ones are added to them."""
        self._dataset, self._spec = dataset, dataset.spec
        self._column, self._book = coded_column(dataset.spec)
        self._codes = {name: self._cells(name) for name in self._spec.mapping.coders}
        self._coding = read_coding(dataset.folder)
        self._labels = self._cells(self._column)
        self._old = {name: dict[int, str]() for name in self._codes}  # replaced cells
        self._new_coding: dict[int, dict[str, RowCoding]] = defaultdict(dict)
        self.new_columns: tuple[str, ...] = ()  # of coders
        self._result, self._names = result, names
        self._places = RowPlaces(dataset)

    def _cells(self, name: str) -> list[str]:
        return [(cell or "").strip() for cell in self._dataset.column(name).to_pylist()]

    def add(self, content: PacketFile) -> None:
        """Merge one packet."""
        coder = content.packet.coder
        rows = self._match(content)
        column = self._column_of(coder)
        for row, line in zip(rows, content.rows, strict=True):
            if row is None:
                text = phrase(
                    "Not in this version: “{text}”, which {coder} coded as “{code}”.",
                    text=" ".join(line.texts)[:80],
                    coder=coder,
                    code=line.code[:60],
                )
                self._note(-1, text)
            else:
                self._set(row, column, coder, self._placed(row, line))
        self._add_codes(content)

    def _match(self, content: PacketFile) -> list[int | None]:
        """The row of this version for each row of a packet.

        Raises StudioError if the packet is of another data set.
        """
        packet = content.packet
        rows, is_edited = self._places.find(content.rows)
        found = len(rows) - rows.count(None) - sum(is_edited)
        if found < MIN_SHARED * len(rows) and not _is_of(self._dataset, packet):
            raise _other_data(packet)
        for row, edited in zip(rows, is_edited, strict=True):
            if row is not None and edited:
                text = phrase("The text was edited after {coder} had read it.", coder=packet.coder)
                self._note(row, text)
        return rows

    def _placed(self, row: int, line: PacketRow) -> PacketRow:
        """The code of a row; spans at their places in its text, which may be edited."""
        spans = read_spans(line.code) if self._book.kind == "spans" else None
        text = self._dataset.page(row, 1)[0][self._spec.mapping.text] or "" if spans else ""
        if not spans or text == line.texts[0]:
            return line
        return line._replace(code=format_spans(moved_spans(spans, line.texts[0], text)))

    def _column_of(self, coder: str) -> str:
        """The column of a coder; a new one if there is none."""
        first, other = coder_columns(self._column, coder)
        for name in (first, other):
            if name in self._codes:
                return name
        name = first if first not in self._names else free_column(other, self._names)
        self._names.append(name)
        self.new_columns += (name,)
        self._codes[name] = [""] * len(self._dataset)
        self._old[name] = {}
        return name

    def _set(self, row: int, column: str, coder: str, line: PacketRow) -> None:
        """Use a code, unless there is a later one of the same coder."""
        old, entry = self._codes[column][row], self._entry(row, column)
        new, result = line.coding.model_copy(update={"coder": coder}), self._result
        if (line.code, new) == (old, entry):
            result.known[coder] += 1
            return
        is_later = entry is None or (new.at or LONG_AGO) > (entry.at or LONG_AGO)
        if old and line.code != old:
            used, other = (line.code, old) if is_later else (old, line.code)
            text = phrase(
                "{coder} coded this row as “{other}” and later as “{used}”, which is used.",
                coder=coder,
                other=other[:60],
                used=used[:60],
            )
            self._note(row, text)
        if not is_later:
            result.known[coder] += 1
            return
        counts = result.changed if entry is not None or old else result.new
        counts[coder] += 1
        self._old[column].setdefault(row, old)
        self._codes[column][row] = line.code
        self._new_coding[row][column] = new

    def _entry(self, row: int, column: str) -> RowCoding | None:
        return self._new_coding[row].get(column) or self._coding.get(row, {}).get(column)

    def _note(self, row: int, text: Phrase) -> None:
        line = self._places.lines[row] if row >= 0 else 0
        self._result.conflicts.append(Conflict(row, line, text))

    def _add_codes(self, content: PacketFile) -> None:
        """Add the labels that the codebook does not have, and note other definitions."""
        cells = Counter(line.code for line in content.rows if line.code)
        if self._book.kind == "number":
            return
        used = Counter[str]()
        for cell, rows in cells.items():
            used.update(dict.fromkeys(labels_in(cell, self._book.kind), rows))
        theirs = {code.label: code for code in content.codebook.codes}
        ours = {code.label: code for code in self._book.codes}
        coder = content.packet.coder
        for label, rows in used.items():
            code = theirs.get(label, Code(label=label))
            if label not in ours:
                text = phrase(
                    "“{label}” is not in the codebook any more, or new in that of {coder}: it is "
                    "added, with {n:,} code(s).",
                    label=label[:60],
                    coder=coder,
                    n=rows,
                )
                self._note(-1, text)
                self._add_code(code)
            elif code.definition != ours[label].definition:
                text = phrase(
                    "The definition of “{label}” is not the one that {coder} coded by.",
                    label=label[:60],
                    coder=coder,
                )
                self._note(-1, text)

    def _add_code(self, code: Code) -> None:
        """Add a label without the key or colour of another one."""
        codes = self._book.codes
        if code.key in {other.key for other in codes}:
            code = code.model_copy(update={"key": ""})
        self._book = self._book.model_copy(update={"codes": (*codes, code)})

    # ── result ───────────────────────────────────────────────────────────────────────────────

    @property
    def codebook(self) -> Codebook | None:
        """The codebook with the labels of all packets; None if it is that of the version."""
        _, book = coded_column(self._spec)
        return None if self._book == book else self._book

    def finish(
        self, cells: dict[int, dict[str, str]], coding: dict[int, dict[str, RowCoding]]
    ) -> None:
        """Add the new cells and the coding of all packets to those of other columns."""
        for column, old in self._old.items():
            for row, cell in old.items():
                if self._codes[column][row] != cell:
                    cells[row][column] = self._codes[column][row]
        for row, (label, entry) in self._decided().items():
            if label != self._labels[row]:
                cells[row][self._column] = label
            self._new_coding[row][self._column] = entry
        for row, columns in self._new_coding.items():
            if columns:
                coding[row] |= columns

    def _decided(self) -> "dict[int, tuple[str, RowCoding]]":
        """The label of each row with new codes, if its coders decide it, and its coding."""
        rows = sorted(row for row, columns in self._new_coding.items() if columns)
        now = [[codes[row] for row in rows] for codes in self._codes.values()]
        before = [
            [self._old[name].get(row, codes[row]) for row in rows]
            for name, codes in self._codes.items()
        ]
        decided = dict[int, tuple[str, RowCoding]]()
        if not rows:
            return decided
        agreed = (agreed_cells(codes, self._book.kind == "spans") for codes in (now, before))
        for row, new, old in zip(rows, *agreed, strict=True):
            label, stored = self._labels[row], self._coding.get(row, {})
            own = stored.get(self._column)
            derived = _join(stored[name] for name in self._codes if name in stored)
            if label in ("", old) and own in (None, derived):
                entries = (self._entry(row, name) for name in self._codes)
                joined = _join(entry for entry in entries if entry is not None)
                assert joined is not None  # the row has new coding
                decided[row] = (new, joined)
            elif not label and own is not None:  # marked, but not decided
                decided[row] = (new, own)
            elif new and new != label:
                text = phrase(
                    "The label “{label}” of this row stays; it was coded as “{code}”.",
                    label=label[:60],
                    code=new[:60],
                )
                self._note(row, text)
        return decided


def _join(entries: Iterator[RowCoding]) -> RowCoding | None:
    """The coding of a label on which coders agree; None without coders."""
    given = [*entries]
    if not given:
        return None
    names = ", ".join(dict.fromkeys(entry.coder for entry in given))
    times = [entry.at for entry in given if entry.at is not None]
    return RowCoding(
        coder=names, at=max(times, default=None), drawn=given[0].drawn, chance=given[0].chance
    )
