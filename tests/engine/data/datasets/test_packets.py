"""Packets: rows to coders and back, merged without a loss; whatever happens to the file."""

import random
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.codebook import Code, Codebook
from engine.data.datasets.codebooks import codebook_of
from engine.data.datasets.coding import RowCoding, read_coding
from engine.data.datasets.decisions import dataset_codings
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.handed_out import call_back, hand_over, handed_out, reserved_rows
from engine.data.datasets.packets import (
    PacketFile,
    choose_coder,
    coder_names,
    existing_labels,
    find_opened,
    find_origin,
    hand_in,
    hand_out,
    open_packet,
    read_packet,
    share_out,
    write_packet,
)
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.datasets.taking_in import take_in
from engine.errors import BadFile, StudioError
from tests.engine.data.importing import ONLY_TRAIN, import_files, write_lines

ROWS = 40
BOOK = Codebook(codes=(Code(label="price", key="1", definition="money"), Code(label="staff")))
START = datetime(2026, 1, 1, tzinfo=UTC)
CODERS = ("Anna", "Ben")


@pytest.fixture
def data(tmp_path) -> Dataset:
    """Rows that are to be coded, in a home; two of them are alike."""
    texts = [f"answer {n}, “quoted”" for n in range(ROWS - 1)]
    file = write_lines(tmp_path / "a.csv", "text", *(f'"{text}"' for text in (*texts, texts[3])))
    old = import_files(file, tmp_path / "datasets" / "x" / "1", ONLY_TRAIN)
    return derived(old, Edits(codebooks={"topic": BOOK}, coded_column="topic"))


def derived(old: Dataset, edits: Edits) -> Dataset:
    number = old.spec.version + 1
    target = old.folder.parent / str(number)
    derive(old.folder, target, number, edits=edits)
    return open_dataset(target)


def code(
    packet: Path, folder: Path, coder: str, codes: dict[str, str], hours: int = 0, **marks: object
) -> PacketFile:
    """Open a packet, give rows these codes by their texts, and hand them in."""
    content = read_packet(packet)
    if not folder.exists():
        open_packet(packet, content, coder, folder)
    opened = open_dataset(folder)
    texts, stored = opened.column("text").to_pylist(), read_coding(folder)
    entry = {"at": START + timedelta(hours=hours), **marks}
    rows = {
        n: RowEdit(
            cells={"topic": codes[text]},
            coding={"topic": stored[n]["topic"].model_copy(update=entry)},
        )
        for n, text in enumerate(texts)
        if text in codes
    }
    return hand_in(opened, PendingEdits(fingerprint=opened.spec.fingerprint, rows=rows))


@pytest.fixture
def packet(data, tmp_path) -> Path:
    """All rows for both coders."""
    who = share_out(np.arange(ROWS), CODERS, ROWS, ROWS)
    write_packet(tmp_path / "out.packet", hand_out(data, who, CODERS))
    return tmp_path / "out.packet"


def texts_of(dataset: Dataset) -> list[str]:
    return dataset.column("text").to_pylist()


def test_rows_are_shared_out_at_random_with_an_overlap():
    who = share_out(np.arange(100), ("A", "B", "C"), rows=20, overlap=5, seed=3)
    assert len(who) == 5 + 3 * 15 and sum(len(names) == 3 for names in who.values()) == 5
    for coder in "ABC":
        assert sum(coder in names for names in who.values()) == 20
    assert [*who] != sorted(who), "who codes only a part codes a random part"
    everything = share_out(np.arange(10), ("A", "B"), overlap=2)
    assert len(everything) == 10
    assert sorted(sum(c in names for names in everything.values()) for c in "AB") == [6, 6]
    drawn = [{*share_out(np.arange(50), ("A",), 10, seed=n)} for n in range(400)]
    counts = np.bincount([row for rows in drawn for row in rows], minlength=50)
    assert abs(counts - 80).max() < 5 * np.sqrt(80 * 0.8), "each row has the same chance"
    for wrong in ({"rows": 60, "overlap": 0}, {"rows": 5, "overlap": 6}, {"overlap": 101}):
        with pytest.raises(StudioError):
            share_out(np.arange(100), ("A", "B"), **wrong)
    assert coder_names([" Anna", "", "Ben", "Anna"]) == ("Anna", "Ben")
    for names in ([], [" "], ["x" * 61]):
        with pytest.raises(StudioError):
            coder_names(names)


def test_a_packet_is_read_as_written_and_opened_once(data, packet, tmp_path):
    content = read_packet(packet)
    assert content.codebook == BOOK and {row.coders for row in content.rows} == {CODERS}
    assert sorted(row.line for row in content.rows) == sorted(data.column("_line").to_pylist())
    datasets = data.folder.parent.parent
    folder = datasets / "mine" / "1"
    assert find_opened(datasets, content.packet, "Anna") is None
    spec = open_packet(packet, content, choose_coder(content, "anna"), folder)
    assert spec.name == "x – Anna" and spec.codebooks == {"topic": BOOK}
    assert spec.packet.coder == "Anna" and sum(spec.unlabelled.values()) == ROWS
    assert find_opened(datasets, content.packet, "Anna") == folder
    assert find_opened(datasets, content.packet, "Ben") is None
    assert find_origin(datasets, content.packet) == data.folder
    opened = open_dataset(folder)
    assert sorted(texts_of(opened)) == sorted(texts_of(data))
    with pytest.raises(StudioError, match="is for Anna, Ben"):
        choose_coder(content, None)
    with pytest.raises(StudioError, match="Cem is none"):
        choose_coder(content, "Cem")
    with pytest.raises(StudioError, match="No row is coded yet"):
        hand_in(opened)
    with pytest.raises(StudioError, match="not of a packet"):
        hand_in(data)


def test_codes_of_two_coders_become_columns_an_agreed_label_and_an_agreement(
    data, packet, tmp_path
):
    rng = random.Random(1)
    one = {text: ("price", "staff")[n % 2] for n, text in enumerate(texts_of(data))}
    other = {text: ("price" if rng.random() < 0.3 else label) for text, label in one.items()}
    marks = {"note": "see “above”", "unsure": True}
    packets = [
        code(packet, tmp_path / "a" / "1", "Anna", one),
        code(packet, tmp_path / "b" / "1", "Ben", other, 1, **marks),
    ]
    for content in packets:  # through the file
        write_packet(tmp_path / "in.packet", content)
        assert read_packet(tmp_path / "in.packet") == content
    found = take_in(data, packets)
    assert [*found.new.items()] == [("Anna", ROWS), ("Ben", ROWS)] and not found.conflicts
    new = derived(data, found.edits)
    columns = {name: new.column(name).to_pylist() for name in ("text", "Anna", "Ben", "topic")}
    assert (
        new.spec.mapping.coders == CODERS
        and new.spec.changes[0] == "Codes taken in: Anna 40, Ben 40."
    )
    for text, a, b, label in zip(*columns.values(), strict=True):
        assert (a, b) == (one[text], other[text]) and label == (a if a == b else "")
    entry = read_coding(new.folder)[0]
    assert entry["Ben"].note == marks["note"] and entry["Ben"].unsure
    assert entry["Ben"].drawn == entry["topic"].drawn == "random"
    assert entry["topic"].coder == "Anna, Ben" and entry["topic"].at == entry["Ben"].at
    codings = dataset_codings(new)
    assert codings.disputed.sum() == sum(one[text] != other[text] for text in texts_of(new))
    again = take_in(new, packets)
    assert again.is_empty and again.known == {"Anna": ROWS, "Ben": ROWS}
    # in the other order, and one after another, the result is the same
    step = derived(derived(data, take_in(data, packets[1:]).edits), Edits())
    step = derived(step, take_in(step, packets[:1]).edits)
    for name, cells in columns.items():
        assert step.column(name).to_pylist() == cells, name


def test_the_later_code_of_a_coder_is_used_and_listed(data, packet, tmp_path):
    text = texts_of(data)[7]
    first = code(packet, tmp_path / "a" / "1", "Anna", {text: "price"})
    later = code(packet, tmp_path / "a" / "1", "Anna", {text: "staff"}, 2)
    for order in ([first, later], [later, first]):
        found = take_in(data, order)
        assert found.edits.cells == {7: {"Anna": "staff", "topic": "staff"}}
        assert [c.row for c in found.conflicts] == [7]
        assert "as “price” and later as “staff”, which is used" in found.conflicts[0].text
    version = derived(data, take_in(data, [first]).edits)
    found = take_in(version, [later])
    assert found.changed == {"Anna": 1} and found.edits.cells[7]["topic"] == "staff"
    version = derived(version, found.edits)
    assert take_in(version, [first]).is_empty and take_in(version, [later]).is_empty
    # a decision stays
    entry = RowCoding(coder="me", at=START)
    cells = {7: {"topic": "price"}}
    decided = derived(version, Edits(cells=cells, coding={7: {"topic": entry}}))
    latest = code(packet, tmp_path / "a" / "1", "Anna", {text: "staff"}, 9, note="sure")
    found = take_in(decided, [latest])
    assert "topic" not in found.edits.cells.get(7, {}) and "topic" not in found.edits.coding[7]
    assert "The label “price” of this row stays" in found.conflicts[0].text


def test_rows_labels_and_texts_that_changed_meanwhile_are_listed(data, packet, tmp_path):
    texts = texts_of(data)
    content = code(packet, tmp_path / "a" / "1", "Anna", dict.fromkeys(texts[:10], "price"))
    book = Codebook(codes=(Code(label="cost", key="1"), Code(label="staff")))
    edits = Edits(
        dropped={0}, cells={1: {"text": "answer one", "topic": "staff"}}, codebooks={"topic": book}
    )
    version = derived(data, edits)
    found = take_in(version, [content])
    listed = {(c.row, str(c.text)) for c in found.conflicts}
    gone = f"Not in this version: “{texts[0]}”, which Anna coded as “price”."
    edited = "The text was edited after Anna had read it."
    stays = "The label “staff” of this row stays; it was coded as “price”."
    assert {(-1, gone), (0, edited), (0, stays)} < listed and len(listed) == 4
    assert any("“price” is not in the codebook any more" in text for _, text in listed)
    new = derived(version, found.edits)
    codes = new.spec.codebooks["topic"].codes
    assert [c.label for c in codes] == ["cost", "staff", "price"] and codes[2].key == ""
    coded = [row for row, cell in enumerate(new.column("Anna").to_pylist()) if cell]
    assert coded == [*range(9), ROWS - 2], "the last row is like another one"
    assert take_in(new, [content]).is_empty


def test_packets_that_do_not_belong_here_are_refused_in_a_sentence(data, packet, tmp_path):
    out = read_packet(packet)
    content = code(packet, tmp_path / "a" / "1", "Anna", dict.fromkeys(texts_of(data), "price"))
    with pytest.raises(StudioError, match="has no codes yet"):
        take_in(data, [out])
    with pytest.raises(StudioError, match="Anna has handed this packet in already"):
        choose_coder(content, "Anna")
    file = write_lines(tmp_path / "b.csv", "text", *(f"other {n}" for n in range(ROWS)))
    other = import_files(file, tmp_path / "datasets" / "y" / "1", ONLY_TRAIN)
    with pytest.raises(StudioError, match="of another data set: “x”"):
        take_in(other, [content])
    other = derived(other, Edits(codebooks={"topic": BOOK}, coded_column="topic"))
    with pytest.raises(StudioError, match="of another data set: “x”"):
        take_in(other, [content])
    with pytest.raises(StudioError, match="codes “topic”, which is no column of labels"):
        take_in(open_dataset(data.folder.parent / "1"), [content])


def test_a_coder_named_like_a_column_gets_another_one(data, packet, tmp_path):
    who = share_out(np.arange(ROWS), ("text", "topic"), overlap=ROWS)
    write_packet(packet, hand_out(data, who, ("text", "topic")))
    codes = dict.fromkeys(texts_of(data), "price")
    packets = [code(packet, tmp_path / name / "1", name, codes) for name in ("text", "topic")]
    new = derived(data, take_in(data, packets).edits)
    assert new.spec.mapping.coders == ("topic: text", "topic: topic")
    assert take_in(new, packets).is_empty


def test_suggestions_are_seen_and_kept_unless_the_packet_is_blind(data, tmp_path):
    labelled = derived(data, Edits(cells={2: {"topic": "price"}}))
    assert existing_labels(labelled) == {2: "price"}
    who = share_out(np.arange(ROWS), ("Anna",))
    content = hand_out(labelled, who, ("Anna",), suggestions=existing_labels(labelled))
    assert [row.coding.suggestion for row in content.rows if row.coding.suggestion] == ["price"]
    write_packet(tmp_path / "p.packet", content)
    text = texts_of(data)[2]
    back = code(tmp_path / "p.packet", tmp_path / "a" / "1", "Anna", {text: "staff"})
    assert [row.coding.suggestion for row in back.rows] == ["price"]
    blind = hand_out(labelled, who, ("Anna",))
    assert not any(row.coding.suggestion or row.code for row in blind.rows)


def with_coders(dataset: Dataset) -> dict[str, int]:
    return {part.coder: len(part.rows) for part in handed_out(dataset)}


def test_rows_are_with_coders_until_they_are_taken_in_or_called_back(data, tmp_path):
    packet = tmp_path / "out.packet"
    who = share_out(np.arange(ROWS), CODERS, 15, 5)
    hand_over(data, hand_out(data, who, CODERS), packet)
    assert with_coders(data) == {"Anna": 15, "Ben": 15}
    assert reserved_rows(handed_out(data)).tolist() == sorted(who)
    # a version with other rows and an edited text has the same rows with coders
    first, second = sorted(who)[:2]
    edits = Edits(dropped={first}, cells={second: {"text": "new words"}})
    newer = derived(data, edits)
    left = [row - 1 for row in sorted(who) if row != first]  # rows after the deleted one
    assert reserved_rows(handed_out(newer)).tolist() == left
    # codes of a part of the rows free this part, in the version that has them
    mine = [
        text for n, text in enumerate(texts_of(data)) if "Anna" in who.get(n, ()) and n > second
    ]
    codes = dict.fromkeys(mine[:6], "price")
    coded = code(packet, tmp_path / "anna" / "1", "Anna", codes)
    taken = derived(data, take_in(data, [coded]).edits)
    assert with_coders(taken) == {"Anna": 9, "Ben": 15}
    assert with_coders(data) == {"Anna": 15, "Ben": 15}, "as before, if the version is undone"
    # rows that are called back are free; the packet is taken in all the same
    with pytest.raises(StudioError, match="No row is with Cem"):
        call_back(taken, ["anna", "Cem"])
    assert call_back(taken, ["anna"]) == 9 and with_coders(taken) == {"Ben": 15}
    row = texts_of(taken).index(mine[8])
    labelled = derived(taken, Edits(cells={row: {"topic": "staff"}}))
    late = code(packet, tmp_path / "anna" / "1", "Anna", dict.fromkeys(mine, "price"), hours=2)
    found = take_in(labelled, [late])
    assert found.new["Anna"] == len(mine) - 6
    assert [c.row for c in found.conflicts] == [row]
    assert "The label “staff” of this row stays" in found.conflicts[0].text
    assert call_back(taken, ["Ben"]) == 15 and handed_out(taken) == []
    assert not [*(data.folder.parent / "packets").iterdir()]
    # a packet that cannot be written leaves no row with its coders; a damaged copy is named
    with pytest.raises(FileNotFoundError):
        hand_over(data, hand_out(data, who, CODERS), tmp_path / "missing" / "out.packet")
    assert handed_out(data) == []
    hand_over(data, hand_out(data, who, CODERS), packet)
    (copy,) = (data.folder.parent / "packets").iterdir()
    copy.write_bytes(b"no packet")
    with pytest.raises(StudioError, match="Which rows are with coders cannot be read"):
        handed_out(data)


def test_each_coded_column_is_handed_out_and_taken_in_by_itself(data, tmp_path):
    tones = Codebook(kind="labels", codes=(Code(label="warm"), Code(label="short")))
    parts = Codebook(kind="spans", codes=(Code(label="WORD"),))
    version = derived(data, Edits(cells={0: {"topic": "price"}}))
    books = {"tone": tones, "parts": parts}
    for column, book in books.items():
        version = derived(version, Edits(codebooks={column: book}, coded_column=column))
    assert version.spec.coded_column == "parts" and {*version.spec.targets} == {"topic", "tone"}
    codes = {"topic": "staff", "tone": '["warm"]', "parts": '[[0,6,"WORD"]]'}
    other = {"topic": "price", "tone": '["short"]', "parts": "[]"}
    who, returned = share_out(np.arange(ROWS), CODERS, 10, 10), list[PacketFile]()
    for column in codes:
        view, file = version.with_target(column), tmp_path / f"{column}.packet"
        assert view.spec.coded_column == column
        assert len(view.unlabelled()) == ROWS - (column == "topic")
        hand_over(view, hand_out(view, who, CODERS), file)
        assert with_coders(view) == {"Anna": 10, "Ben": 10}
        for coder, cells in (("Anna", codes), ("Ben", other)):
            folder = tmp_path / coder / column / "1"
            open_packet(file, read_packet(file), coder, folder)
            opened, edits = open_dataset(folder), dict[int, RowEdit]()
            assert codebook_of(opened.spec) == codebook_of(view.spec)
            stored = read_coding(folder)
            for n in range(9):
                cell = (codes if n < 6 else cells)[column]
                entry = stored[n][column].model_copy(update={"at": START, "note": f"row {n}"})
                edits[n] = RowEdit(cells={column: cell}, coding={column: entry})
            pending = PendingEdits(fingerprint=opened.spec.fingerprint, rows=edits)
            returned.append(hand_in(opened, pending))
    found = take_in(version, returned)
    assert found.new == {"Anna": 27, "Ben": 27}
    merged = derived(version, found.edits)
    assert take_in(merged, returned).is_empty
    assert merged.spec.coded_column == "parts"
    for column, agreed in codes.items():
        view = merged.with_target(column)
        assert len(view.spec.mapping.coders) == 2 and with_coders(view) == {"Anna": 1, "Ben": 1}
        codings = dataset_codings(view)
        assert codings.disputed.sum() == 3 and (codings.coded == 2).sum() == 9
        labels = [*filter(None, view.column(column).to_pylist())]
        assert labels.count(agreed) == 6, "the rows on which they agree"
    assert merged.with_target("tone").spec.mapping.coders == ("tone: Anna", "tone: Ben")
    assert merged.with_target("parts").with_target("topic").with_target("parts").spec == merged.spec
    # a decision on a column that is not the label says who decided, too
    tone = merged.with_target("tone")
    row = int(np.flatnonzero(dataset_codings(tone).disputed)[0])
    entry = {row: {"tone": RowCoding(coder="Cem")}}
    decided = derived(merged, Edits(cells={row: {"tone": '["warm"]'}}, coding=entry))
    text = "1 row in dispute decided by Cem; with the label of: “tone: Anna” 1."
    assert text in map(str, decided.spec.changes)


def test_sets_and_numbers_are_merged(data, tmp_path):
    for kind, codes, label in (
        ("labels", ['["a","b"]', '["b","a"]'], '["a","b"]'),
        ("labels", ["[]", "[]"], "[]"),
        ("number", ["4", "4"], "4"),
        ("number", ["4", "5"], ""),
        ("spans", ['[[0, 6, "a"]]', '[[0, 6, "a"]]'], '[[0, 6, "a"]]'),
        ("spans", ['[[0, 6, "a"], [2, 4, "b"]]', '[[0, 6, "a"]]'], ""),
        ("spans", ["[]", "[]"], "[]"),
    ):
        book = Codebook(
            kind=kind, codes=() if kind == "number" else (Code(label="a"), Code(label="b"))
        )
        edits, old = Edits(codebooks={"topic": book}), data
        if kind == "spans":
            old = open_dataset(data.folder.parent / "1")
            shutil.rmtree(data.folder, ignore_errors=True)
            edits = Edits(codebooks={"topic": book}, coded_column="topic")
        version = derived(old, edits)
        who = share_out(np.arange(ROWS), CODERS, overlap=ROWS)
        file = tmp_path / f"{label}{codes}.packet"
        write_packet(file, hand_out(version, who, CODERS))
        packets = [
            code(file, tmp_path / f"{coder}{codes}" / "1", coder, {texts_of(version)[5]: cell})
            for coder, cell in zip(CODERS, codes, strict=True)
        ]
        found = take_in(version, packets)
        assert found.edits.cells[5].get("topic", "") == label and not found.conflicts
        shutil.rmtree(version.folder)


def test_spans_of_a_text_that_was_edited_move_with_its_characters(data, tmp_path):
    book = Codebook(kind="spans", codes=(Code(label="a"),))
    edits = Edits(codebooks={"spans": book}, coded_column="spans")
    version = derived(open_dataset(data.folder.parent / "1"), edits)
    who = share_out(np.arange(ROWS), ("Anna",))
    write_packet(tmp_path / "p.packet", hand_out(version, who, ("Anna",)))
    content = read_packet(tmp_path / "p.packet")
    open_packet(tmp_path / "p.packet", content, "Anna", tmp_path / "a" / "1")
    opened = open_dataset(tmp_path / "a" / "1")
    row = texts_of(opened).index("answer 5, “quoted”")
    cells = {"text": "An answer 5, “quoted”", "spans": '[[3, 9, "a"]]'}
    coding = {"spans": RowCoding(at=START)}
    rows = {row: RowEdit(cells=cells, coding=coding)}
    handed = hand_in(opened, PendingEdits(fingerprint=opened.spec.fingerprint, rows=rows))
    [line] = handed.rows
    assert line.texts[0][3:9] == "answer", "the text that was edited goes with its spans"
    found = take_in(version, [handed])
    assert found.edits.cells[5]["Anna"] == '[[0, 6, "a"]]'
    assert [c.row for c in found.conflicts] == [5] and "edited" in found.conflicts[0].text
    assert take_in(derived(version, found.edits), [handed]).is_empty


def test_damaged_and_other_files_are_refused_in_a_sentence(data, packet, tmp_path):
    whole = packet.read_bytes()
    broken = tmp_path / "broken.packet"
    for content in (b"", b"PAR1", whole[:100], whole[: len(whole) // 2], whole[:-1], b"a,b\n1,2\n"):
        broken.write_bytes(content)
        with pytest.raises(BadFile, match=r"broken.packet: the packet is damaged or not complete"):
            read_packet(broken)
    rng = random.Random(0)
    original, noticed = read_packet(packet), 0
    for _ in range(200):  # a changed byte is noticed, or changes nothing
        content = bytearray(whole)
        content[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        broken.write_bytes(content)
        try:
            assert [r._replace(coding=RowCoding()) for r in read_packet(broken).rows] == [
                r._replace(coding=RowCoding()) for r in original.rows
            ]
        except BadFile:
            noticed += 1
    assert noticed > 100
    pq.write_table(pa.table({"text": ["a"]}), broken)
    with pytest.raises(BadFile, match="not a packet of this program"):
        read_packet(broken)
    schema = pq.read_schema(packet)
    rows = pq.read_table(packet).to_pylist()
    bombs = [{**rows[0], "texts": ["x" * 100_000]}] * 300
    pq.write_table(pa.Table.from_pylist(bombs, schema), broken)  # with a dictionary, small
    assert broken.stat().st_size < 150_000
    for change in (
        *({"coders": ["Cem"]}, {"texts": ["a", "b"]}, {"texts": [None]}, {"chance": 0.0}),
        *({"code": None}, {"code": "x" * 201}),
    ):
        with pytest.raises(BadFile, match="damaged"):
            read_packet(broken)
        table = pa.Table.from_pylist([{**rows[0], **change}], schema)
        pq.write_table(table, broken, use_dictionary=False)
    with pytest.raises(BadFile, match="damaged"):
        read_packet(broken)
    with pytest.raises(FileNotFoundError):
        read_packet(tmp_path / "missing.packet")
