"""Data sets are stored as versions whose files never change."""

import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from engine.config.dataset import SPLITS, DatasetSpec, FileData, Mapping, Reading, Split, StoredData
from engine.data.checks.run import run_checks
from engine.data.datasets.importing import Fingerprint, import_dataset
from engine.data.datasets.store import Dataset, open_dataset, resolve
from engine.errors import BadFile, MissingColumn, StudioError
from engine.progress import Cancelled
from tests.engine.data.importing import import_files, write_lines
from tests.often import times

MAPPING = Mapping(text="text", label="label")


def table(path: Path, rows: int = 100) -> Path:
    path.parent.mkdir(exist_ok=True)
    numbers = range(rows)
    lines = (f"text number {n} of {path.name},{'pos' if n % 4 else 'neg'}" for n in numbers)
    return write_lines(path, "text,label", *lines)


def store(tmp_path: Path, name: str = "a", **changes: Any) -> DatasetSpec:
    arguments = {
        "name": name,
        "sources": {"all": tmp_path / "a.csv"},
        "reading": Reading(),
        "mapping": MAPPING,
        "split": Split(validation=0.2, test=0.1),
        "target": tmp_path / "sets" / name,
    }
    return import_dataset(**(arguments | changes))


@pytest.fixture
def version(tmp_path: Path) -> Path:
    """The folder of an imported table of a hundred rows."""
    table(tmp_path / "a.csv")
    store(tmp_path)
    return tmp_path / "sets" / "a"


def test_an_import_writes_a_complete_version(tmp_path):
    source = table(tmp_path / "a.csv")
    spec = store(tmp_path)
    assert spec.rows == {"train": 70, "validation": 20, "test": 10}
    assert spec.labels == {"neg": 25, "pos": 75}
    assert spec.sources == {"all": (source,)} and len(spec.source_sha256[str(source)]) == 64
    files = sorted(file.name for file in (tmp_path / "sets" / "a").iterdir())
    assert files == ["data.parquet", "manifest.json", "spec.json"]
    dataset = open_dataset(tmp_path / "sets" / "a")
    assert dataset.spec == spec and len(dataset) == 100
    labels = dataset.rows("validation").labels
    assert labels is not None and labels.count("neg") == 5
    dataset.verify()


def test_the_same_files_give_the_same_fingerprint(tmp_path):
    table(tmp_path / "a.csv")
    fingerprints = {
        store(tmp_path, "a").fingerprint,
        store(tmp_path, "b").fingerprint,
        store(tmp_path, "c", split=Split(validation=0.2, test=0.1, seed=1)).fingerprint,
        store(tmp_path, "d", mapping=Mapping(text="label", label="text")).fingerprint,
    }
    assert len(fingerprints) == 3


def test_pages_hold_any_rows_of_any_split(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.datasets.row_writer.GROUP_ROWS", 7)
    table(tmp_path / "a.csv")
    store(tmp_path)
    dataset = open_dataset(tmp_path / "sets" / "a")
    assert pq.ParquetFile(dataset.folder / "data.parquet").num_row_groups == 15
    rows = dataset.page(5, 30)
    assert [row["_line"] for row in rows] == list(range(7, 37))
    first = {"text": "text number 5 of a.csv", "label": "pos", "_line": 7}
    assert rows[0] == first | {"_split": rows[0]["_split"]}
    dev = dataset.page(3, 50, "validation")
    assert len(dev) == 17 and {row["_split"] for row in dev} == {"validation"}
    texts = [row["text"] for row in dataset.page(0, 50, "validation")]
    assert texts == dataset.rows("validation").texts
    assert dataset.page(1_000, 5) == [] and dataset.page(0, 0) == []


def test_splits_can_have_separate_files(tmp_path):
    sources = {
        "train": table(tmp_path / "train.csv"),
        "validation": table(tmp_path / "dev.csv", 8),
        "test": table(tmp_path / "test.csv", 9),
    }
    spec = store(tmp_path, sources=sources)
    assert spec.rows == {"train": 100, "validation": 8, "test": 9}
    texts = open_dataset(tmp_path / "sets" / "a").rows("validation").texts
    assert texts[7] == "text number 7 of dev.csv"
    del sources["validation"]  # then drawn from train
    spec = store(tmp_path, "b", sources=sources)
    assert spec.rows == {"train": 80, "validation": 20, "test": 9}


def test_files_with_and_without_header_can_be_combined(assets, tmp_path):
    folder = assets / "datasets" / "mrpc"
    source = FileData(path=folder / "train.tsv", validation=folder / "test.tsv")
    dataset = resolve(source, tmp_path / "mrpc")
    assert dataset.spec.rows == {"train": 2576, "validation": 1725, "test": 0}
    assert dataset.spec.labels == {"0": 1401, "1": 2900}
    assert any("by position" in note for note in dataset.spec.notes)
    pairs = dataset.rows("validation").pairs
    assert pairs is not None and pairs[0].startswith("Current Chief Operating Officer")


def test_columns_of_other_files_are_matched_by_name(tmp_path):
    table(tmp_path / "train.csv")
    other = tmp_path / "dev.csv"
    other.write_text("label,more,text\npos,x,a word\nneg,y,two words\n", encoding="utf-8")
    spec = store(tmp_path, sources={"train": tmp_path / "train.csv", "validation": other})
    assert open_dataset(tmp_path / "sets" / "a").rows("validation").texts == ["a word", "two words"]
    assert any("“more”" in note for note in spec.notes)
    other.write_text("text,more\na word,x\ntwo words,y\n", encoding="utf-8")
    with pytest.raises(BadFile, match="no column “label”"):
        store(tmp_path, sources={"train": tmp_path / "train.csv", "validation": other})
    other = write_lines(tmp_path / "dev.jsonl", '{"label": "pos", "text": "a word"}')
    store(tmp_path, "b", sources={"train": tmp_path / "train.csv", "validation": other})
    assert open_dataset(tmp_path / "sets" / "b").rows("validation").texts == ["a word"]


def test_a_column_can_assign_the_splits(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "text,label,part\na b,x,train\nc d,y,validation\ne f,x,Test\n", encoding="utf-8"
    )
    split = Split(column="part")
    assert store(tmp_path, split=split).rows == {"train": 1, "validation": 1, "test": 1}
    path.write_text("text,label,part\na b,x,train\nc d,y,later\n", encoding="utf-8")
    with pytest.raises(BadFile, match=r"line 3: “later”"):
        store(tmp_path, split=split)


TICKETS = [
    f"a ticket {n % 45},{'xy'[n % 2]},{1 + n % 28:02}.0{1 + n // 28}.2024,customer {n // 4}"
    for n in range(60)
]


def test_rows_are_split_by_time_or_group_and_leakage_is_said(tmp_path):
    write_lines(tmp_path / "a.csv", "text,label,sent,customer", *TICKETS)
    by_time = Split(validation=0.1, test=0.2, column="sent", by="time")
    spec = store(tmp_path, "time", split=by_time)
    dataset = open_dataset(tmp_path / "sets" / "time")
    assert spec.split == by_time and spec.rows == {"train": 42, "validation": 6, "test": 12}
    sent = [dataset.cells(part)["sent"] for part in ("train", "validation", "test")]
    days = [[cell.split(".")[1::-1] for cell in cells] for cells in sent]
    assert max(days[0]) < min(days[1]) and max(days[1]) < min(days[2])
    assert "sent" not in spec.targets
    note = "15 validation or test rows have the text of a training row (leakage)"
    assert any(note in sentence for sentence in spec.notes)
    (leak,) = (f for f in run_checks(dataset) if f.check == "leaked_rows")
    assert [fix.name for fix in leak.fixes] == ["drop"], "a move would break the order"
    by_group = Split(validation=0.2, test=0.2, column="customer", by="group")
    spec = store(tmp_path, "group", split=by_group)
    dataset = open_dataset(tmp_path / "sets" / "group")
    groups = [{*dataset.cells(part)["customer"]} for part in ("train", "validation", "test")]
    assert [len(group) for group in groups] == [9, 3, 3] and len(set.union(*groups)) == 15
    assert any(
        "Groups for training: 9, for validation: 3, for the test: 3" in note for note in spec.notes
    )
    write_lines(tmp_path / "a.csv", "text,label,sent,customer", *TICKETS, "late,x,,", "later,y,,")
    with pytest.raises(StudioError, match="2 rows have no time in “sent”"):
        store(tmp_path, "time", split=by_time)
    spec = store(tmp_path, "alone", split=by_group)
    assert any("for training" in note and "17" not in note for note in spec.notes)
    with pytest.raises(ValidationError, match="needs a column"):
        Split(by="time")


def test_missing_cells_and_rare_labels_are_noted(tmp_path):
    (tmp_path / "a.csv").write_text(
        "text,label\na b,Pos\nc d,pos\n,neg\ne f,\ng h,Pos\ni j,neg\n", encoding="utf-8"
    )
    spec = store(tmp_path)
    notes = " ".join(spec.notes)
    assert "Row without text: once, in line 4." in notes
    assert "“Pos” and “pos”" in notes
    assert "One label has a single row" in notes and sum(spec.unlabelled.values()) == 1


@pytest.mark.parametrize("content", ["text,label\n", "text,label\ngood,1\nbad\n"])
def test_a_refused_file_leaves_no_folder(tmp_path, content):
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    with pytest.raises(BadFile):
        store(tmp_path)
    assert not (tmp_path / "sets").exists()


@pytest.mark.parametrize("after", [0, 3, 30])
def test_an_import_can_be_cancelled_at_any_time(tmp_path, after, monkeypatch):
    monkeypatch.setattr("engine.data.formats.lines.TICK_LINES", 10)
    monkeypatch.setattr("engine.data.datasets.row_writer.GROUP_ROWS", 10)
    table(tmp_path / "a.csv", 300)
    calls = iter(range(1_000))
    with pytest.raises(Cancelled):
        store(tmp_path, cancelled=lambda: next(calls) >= after)
    assert not (tmp_path / "sets").exists()


@pytest.mark.long
def test_an_import_cancelled_at_a_random_moment_leaves_no_folder(tmp_path):
    table(tmp_path / "a.csv", 20_000)
    rng = random.Random(14)
    for _ in range(200):
        end = time.monotonic() + rng.uniform(0, 0.15)
        with contextlib.suppress(Cancelled):
            store(tmp_path, cancelled=lambda end=end: time.monotonic() > end)
            shutil.rmtree(tmp_path / "sets" / "a")
        assert not [*(tmp_path / "sets").glob("*")]


def test_progress_counts_the_bytes_of_all_files(tmp_path):
    progress: list[tuple[int, int]] = []
    sources = {"train": table(tmp_path / "t.csv"), "validation": table(tmp_path / "d.csv", 9)}
    store(tmp_path, sources=sources, progress=lambda done, total: progress.append((done, total)))
    total = sum(path.stat().st_size for path in sources.values())
    assert progress == sorted(progress) and progress[-1] == (total, total)


@pytest.mark.parametrize("has_manifest", [True, False])
def test_a_modified_version_is_detected(version, tmp_path, has_manifest):
    """By its checksums, or by its fingerprint if there are none."""
    if not has_manifest:
        (version / "manifest.json").unlink()
    open_dataset(version).verify()
    content = pq.read_table(version / "data.parquet")
    labels = content.column("label").to_pylist()
    changed = content.set_column(1, "label", [["z", *labels[1:]]])
    pq.write_table(changed, version / "data.parquet")
    with pytest.raises(StudioError, match="damaged"):
        open_dataset(version).verify()
    with pytest.raises(StudioError, match="damaged"):
        resolve(StoredData(folder=version), tmp_path / "unused")


def test_every_corrupted_byte_is_detected(version):
    original = (version / "data.parquet").read_bytes()
    rng = np.random.default_rng(0)
    expected = [open_dataset(version).rows(split) for split in SPLITS]
    for index in rng.integers(0, len(original), 200):
        content = bytearray(original)
        content[index] ^= 1 << int(rng.integers(8))
        (version / "data.parquet").write_bytes(content)
        try:
            dataset = open_dataset(version)
            dataset.verify()
            rows = [dataset.rows(split) for split in SPLITS]
        except StudioError:
            continue
        assert rows == expected


@pytest.mark.parametrize("damage", ["spec.json", "data.parquet", "fields", "text"])
def test_a_folder_without_a_version_is_refused(version, damage):
    if damage == "fields":
        (version / "spec.json").write_text("{}", encoding="utf-8")
    elif damage == "text":
        (version / "data.parquet").write_text("no table", encoding="utf-8")
    else:
        (version / damage).unlink()
    with pytest.raises(StudioError) as caught:
        open_dataset(version)
    assert "sets" not in caught.value.problem and caught.value.advice


def test_a_job_on_a_stored_version_requires_that_version(version, tmp_path):
    spec = open_dataset(version).spec
    result = resolve(StoredData(folder=version, fingerprint=spec.fingerprint), tmp_path / "unused")
    assert result.spec == spec
    with pytest.raises(StudioError, match="not the one"):
        resolve(StoredData(folder=version, fingerprint="another"), tmp_path / "unused")
    with pytest.raises(StudioError, match="does not contain a data set"):
        resolve(StoredData(folder=tmp_path / "gone"), tmp_path / "unused")


def test_a_job_on_a_file_keeps_its_own_copy(tmp_path):
    path = table(tmp_path / "a.csv")
    first = resolve(FileData(path=path), tmp_path / "run" / "dataset")
    path.unlink()
    second = resolve(FileData(path=path), tmp_path / "run" / "dataset")
    assert second.spec == first.spec and second.rows("train") == first.rows("train")


def test_a_file_without_text_asks_for_a_column(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 20, encoding="utf-8")
    with pytest.raises(StudioError, match="which column"):
        resolve(FileData(path=tmp_path / "a.csv"), tmp_path / "into")
    with pytest.raises(MissingColumn, match="“words”"):
        store(tmp_path, mapping=Mapping(text="words"))


@pytest.mark.skipif(os.name != "posix", reason="other systems refuse such a name")
def test_an_undecodable_file_name_is_refused(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"))
    path.write_text("text,label\na b,x\n", encoding="utf-8")
    with pytest.raises(StudioError, match="not valid text"):
        store(tmp_path, sources={"all": path})


BIG_IMPORT = """
import re, sys
from pathlib import Path
from engine.data.datasets.store import open_dataset
from engine.data.datasets.importing import import_dataset
from engine.config.dataset import Mapping, Reading, Split
folder = Path(sys.argv[1])
mapping = Mapping(text="text", label="label")
sources = {"all": folder / "big.csv"}
spec = import_dataset("big", sources, Reading(), mapping, Split(), folder / "big")
open_dataset(folder / "big").page(1_500, 100)
peak = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]
print(sum(spec.rows.values()), peak)  # not ru_maxrss: it starts at that of the parent
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
@times(2_000, 10_000_000)
def test_a_big_file_is_imported_in_little_memory(tmp_path, count):
    filler = "some more words " * (500 if count < 1_000_000 else 8)
    with open(tmp_path / "big.csv", "w", encoding="utf-8") as file:
        file.write("text,label\n")
        file.writelines(f"this is example {n} with {filler},{n % 5}\n" for n in range(count))
    command = [sys.executable, "-c", BIG_IMPORT, str(tmp_path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert int(out[0]) == count
    max_kilobytes = 350_000 if count < 1_000_000 else 900_000  # the text alone has 16,000
    assert int(out[1]) < max_kilobytes


def test_equal_texts_are_in_the_same_split(tmp_path):
    """210 rows have 66 distinct texts; a split by row would put most of them into two splits."""
    texts = [f"The film number {n % 66} is a film." for n in range(210)]
    variants = [text.upper() if n % 5 == 0 else f" {text}" for n, text in enumerate(texts)]
    rows = (f"{text},{n % 3}" for n, text in enumerate(variants))
    file = write_lines(tmp_path / "films.csv", "text,label", *rows)
    dataset = import_files(file, tmp_path / "x", Split(test=0.1))
    spec = dataset.spec
    by_split = {
        name: {text.strip().casefold() for text in dataset.rows(name).texts} for name in SPLITS
    }
    assert not by_split["validation"] & by_split["train"]
    assert not by_split["test"] & (by_split["train"] | by_split["validation"])
    assert abs(spec.rows["validation"] - 21) <= 2 and abs(spec.rows["test"] - 21) <= 2
    assert "210 rows have equal texts; the split keeps them together." in spec.notes


def test_rows_without_text_are_not_grouped(tmp_path):
    rows = (f",{n % 2}" for n in range(100))
    file = write_lines(tmp_path / "films.csv", "text,label", *rows, "a film,1")
    spec = import_files(file, tmp_path / "x", mapping=MAPPING).spec
    assert spec.rows["validation"] == 10 and not [note for note in spec.notes if "equal" in note]


DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def test_the_fingerprint_hashes_lengths_and_cells_in_order():
    rows = [("a text", "é", "train"), ("", "日本", "test"), ("12:x", "", "train")] * 50
    mapping = Mapping(text="t")
    expected = hashlib.sha256(mapping.identity().encode())
    cells = ["t", "l", "_split", *(cell for row in rows for cell in row)]
    expected.update("".join(f"{len(cell)}:{cell}" for cell in cells).encode())
    table = pa.table(
        {name: list(column) for name, column in zip("tls", zip(*rows, strict=True), strict=True)}
    )
    table = table.rename_columns(["t", "l", "_split"])
    for encoded in (table, table.cast(pa.schema([(n, DICTIONARY) for n in table.column_names]))):
        result = Fingerprint(("t", "l"), mapping)
        for batch in encoded.to_batches(max_chunksize=37):
            result.add(batch)
        assert result.hexdigest() == expected.hexdigest()


def test_rows_of_a_split_of_several_files_name_their_file(tmp_path):
    """So that scores can be split by source."""
    files = [tmp_path / name / "reviews.csv" for name in ("shop", "forum")]
    files += [tmp_path / "letters.csv", tmp_path / "test.csv"]
    for number, file in enumerate(files):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"text,label\nfilm {number},good\nplay {number},bad\n", encoding="utf-8")
    for sources, has_column in (
        ({"train": tuple(files[:3]), "test": files[3]}, True),
        ({"train": files[2], "test": files[3]}, False),
    ):
        data = import_files(sources, tmp_path / str(has_column) / "1")
        assert data.spec.columns == ("text", "label", *(("file",) if has_column else ()))
        if has_column:
            names = ("shop/reviews.csv", "forum/reviews.csv", "letters.csv", "test.csv")
            assert data.column("file").to_pylist()[::2] == list(names)
            assert data.column("text").to_pylist()[2:4] == ["film 1", "play 1"]


# ── search ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def reviews(tmp_path: Path) -> Dataset:
    lines = [f"The {'GOOD' if n % 3 else 'bad'} film {n},{n % 2}" for n in range(100)]
    return import_files(write_lines(tmp_path / "reviews.csv", "text,label", *lines), tmp_path / "v")


def test_rows_are_selected_by_index(reviews):
    rows = reviews.take(np.array([3, 50, 99]))
    assert [row["text"][4:] for row in rows] == ["bad film 3", "GOOD film 50", "bad film 99"]
    assert [row["_line"] for row in rows] == [5, 52, 101]
    assert reviews.take(np.array([7]), ["label"]) == [{"label": "1"}]


def test_search_ignores_case_and_takes_text_literally(reviews):
    assert len(reviews.find("good")) == 66
    assert list(reviews.find("FILM 42")) == [42]
    assert not len(reviews.find("no such words")) and not len(reviews.find(".*"))
    assert list(reviews.find()) == list(range(100))
    odd = reviews.find(label="1")
    assert list(odd) == list(range(1, 100, 2))
    dev = reviews.find(split="validation")
    assert len(dev) == reviews.spec.rows["validation"]
    matches = reviews.find("good", "validation", "1")
    assert set(matches) == set(odd) & set(dev) & set(reviews.find("good"))
    with pytest.raises(Cancelled):
        reviews.find("good", cancelled=lambda: True)


@pytest.mark.parametrize("cells", [("x", ""), ("✓", ""), ("Cats", ""), ("ja", "nein"), ("1", "0")])
def test_rows_with_a_yes_in_any_spelling_are_found(tmp_path, cells):
    file = tmp_path / "rows.csv"
    rows = "".join(f"it is number {n},{cells[n % 2]},{n % 3 % 2}\n" for n in range(12))
    file.write_text(f"text,Which? – Cats,Which? – Ducks\n{rows}", encoding="utf-8")
    mapping = Mapping(text="text", flags=("Which? – Cats", "Which? – Ducks"))
    reading = Reading(format="csv")
    import_dataset("x", {"all": file}, reading, mapping, Split(validation=0), tmp_path / "v")
    found = open_dataset(tmp_path / "v").find(label="Which? – Cats")
    assert found.tolist() == [0, 2, 4, 6, 8, 10]
