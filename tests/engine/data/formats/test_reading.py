"""Files are recognised, and their cells are read unchanged."""

import csv
import io
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.config.dataset import Mapping, Reading, Split
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.data.columns.fit import task_problems
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import preview, read, recognise, recognise_reading
from engine.errors import BadFile, MissingColumn
from engine.progress import Cancelled
from tests.often import tries

cell = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(cell, min_size=width, max_size=width).map(tuple), min_size=1, max_size=8
    )
)


@given(tables)
@example([("\x00", "\ufeff"), ('"', "\r"), ("\x1c\u2028", ",")])
@tries(300)
def test_output_of_csv_writer_round_trips(rows):
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(out.getvalue().encode("utf-8"))
        if path.read_bytes().startswith(b"\xef\xbb\xbf"):
            return  # the first cell begins like a byte order mark
        table = read(path, Reading(header=False))
        assert [row.cells for row in table] == rows


@given(tables)
@tries(30)
def test_an_imported_table_holds_every_cell_and_line(rows):
    names = [f"column {n}" for n in range(1, len(rows[0]) + 1)]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([names, *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(out.getvalue().encode("utf-8"))
        into = Path(folder) / "imported"
        spec = import_dataset(
            "x", {"all": path}, Reading(), Mapping(text="column 1"), Split(validation=0.3), into
        )
        dataset = open_dataset(into)
        dataset.verify()
        result = dataset.page(0, 100)
    assert spec.columns == tuple(names)
    assert [tuple(row[name] for name in names) for row in result] == rows


@given(st.lists(st.dictionaries(cell, cell, min_size=1, max_size=4), min_size=1, max_size=6))
@tries(100)
def test_json_lines_round_trip(items):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.jsonl"
        path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        rows = [row.cells for row in read(path, Reading(format="jsonl"))]
    keys = list(dict.fromkeys(key for item in items for key in item))
    assert rows == [tuple(item.get(key, "") for key in keys) for item in items]


@pytest.mark.parametrize(
    "name, header, mapping, rows",
    [
        ("sst2/train.tsv", True, ("sentence", None, "label"), 60614),
        ("sst2/test.tsv", True, ("sentence", None, "label"), 872),
        ("mrpc/train.tsv", False, ("column 4", "column 5", "column 1"), 2576),
        ("mrpc/test.tsv", True, ("#1 String", "#2 String", "Quality"), 1725),
        ("subj/train.tsv", False, ("column 2", None, "column 1"), 8000),
        ("stsb/sts-train.csv", False, ("column 6", "column 7", "column 5"), 5749),
        ("trec-qc/train.txt", False, ("text", None, "label"), 5452),
        ("trec-qc/test.txt", False, ("text", None, "label"), 500),
    ],
)
def test_published_data_sets_are_recognised(assets, name, header, mapping, rows):
    path = assets / "datasets" / name
    guess = recognise(path)
    assert guess.reading.format == "tsv" and not guess.reading.quoted
    assert guess.reading.header is header
    assert guess.mapping == Mapping(text=mapping[0], pair=mapping[1], label=mapping[2])
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    table = read(path, guess.reading)
    read_rows = list(table)
    assert len(read_rows) == rows == len(lines) - header
    assert read_rows[-1].line == len(lines)


def test_cells_of_an_unquoted_table_are_split_at_tabs_only(assets):
    path = assets / "datasets" / "mrpc" / "train.tsv"
    lines = path.read_text(encoding="utf-8").split("\n")
    for row in read(path, recognise(path).reading):
        assert "\t".join(row.cells) == lines[row.line - 1]


def test_plain_text_of_books_becomes_paragraphs(assets):
    path = assets / "corpora" / "gutenberg-nltk" / "carroll-alice.txt"
    guess = recognise(path)
    rows = list(read(path, guess.reading))
    assert guess.reading.format == "text" and guess.mapping == Mapping(text="text")
    assert any("\n" in row.cells[0] for row in rows)
    joined = "".join(row.cells[0] for row in rows)
    assert "".join(joined.split()) == "".join(path.read_text(encoding="utf-8").split())


def test_a_long_line_is_split_into_rows_of_bounded_length(tmp_path):
    path = tmp_path / "one-line.txt"
    path.write_text("word " * 700_000, encoding="utf-8")
    table = read(path, recognise(path).reading)
    rows = list(table)
    assert [row.line for row in rows] == [1] * len(rows)
    assert max(len(row.cells[0]) for row in rows) <= 1_000_005
    assert "".join(row.cells[0] for row in rows) == "word " * 700_000
    assert "several rows" in table.notes[0]


def test_a_long_paragraph_is_split_at_line_ends(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("first\n\n" + ("x" * 99 + "\n") * 12_000, encoding="utf-8")
    table = read(path, recognise(path).reading)
    rows = list(table)
    assert max(len(row.cells[0]) for row in rows) <= 1_020_000
    assert sum(row.cells[0].count("x") for row in rows) == 99 * 12_000
    assert rows[2].cells[0].startswith("x" * 99 + "\n")


def test_line_numbers_count_lines_of_the_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('text,label\n"a\nb",1\n\nc,0\n', encoding="utf-8")
    assert [row.line for row in read(path, Reading())] == [2, 5]


def test_a_wrong_encoding_names_line_and_column(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"text\ngood\nso far \xe9t\xe9\n")
    with pytest.raises(BadFile) as caught:
        list(read(path, Reading()))
    assert (caught.value.line, caught.value.column) == (3, 8)
    with pytest.raises(BadFile, match="no encoding"):
        read(path, Reading(encoding="base64"))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_reported(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(BadFile, match="permission to read"):
        recognise(path)


def test_a_preview_is_truncated(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{n}" for n in range(300)]
    path.write_text(
        f"text,{','.join(names)}\n{'x' * 9_000},{','.join(names)}\n" * 300, encoding="utf-8"
    )
    table = preview(path, Reading())
    assert len(table.columns) == 200 and len(table.rows) == 200
    assert len(table.rows[0].cells) == 200
    assert len(table.rows[0].cells[0]) == 2_001
    assert "301 columns" in table.notes[-1]


def test_reading_reports_progress_and_can_be_cancelled(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("text\n" + "some text\n" * 50_000, encoding="utf-8")
    updates = []
    list(read(path, Reading(), lambda done, total: updates.append((done, total))))
    assert updates == sorted(updates) and updates[-1] == (path.stat().st_size,) * 2
    with pytest.raises(Cancelled):
        list(read(path, Reading(), cancelled=lambda: True))


COLUMNS = ("text", "label")
MAPPING = Mapping(text="text", label="label")


@pytest.mark.parametrize(
    "mapping, labels, message",
    [
        (MAPPING, {"a": 3, "b": 3}, None),
        (Mapping(text="text"), None, "needs a label"),
        (Mapping(text="words", label="label"), {"a": 3, "b": 3}, "“words”"),
        (MAPPING, {"a": 6}, "Only one class"),
        (MAPPING, {}, "no rows"),
        (MAPPING, {"": 2, "a": 3, "b": 3}, None),
        (MAPPING, {f"no {n}": 1 for n in range(500)}, "too many"),
        (MAPPING, {f"{n} kg": 1 for n in range(500)}, "with a unit or other signs"),
        (MAPPING, {"inf": 3} | {f"{n}.5": 1 for n in range(90)}, "1 label is not, such as “inf”"),
        (MAPPING, {str(n): 1 for n in range(500)}, "on a scale"),
    ],
)
def test_obstacles_to_classification_are_reported(mapping, labels, message):
    counts = labels or {}
    empty = {"label": counts[""]} if "" in counts else {}
    rows = sum(counts.values())
    problems = task_problems(COLUMNS, mapping, TextClassification(), labels, empty, rows)
    assert [message in problem.problem for problem in problems] == ([True] if message else [])


def test_labels_must_be_those_of_the_task():
    problems = task_problems(
        COLUMNS, MAPPING, TextClassification(labels=("a", "b")), {"a": 1, "c": 1}
    )
    assert "“c”" in problems[0].problem


def test_pretraining_needs_only_text():
    assert task_problems(COLUMNS, Mapping(text="text"), Pretraining(), {}) == []
    assert isinstance(task_problems(COLUMNS, Mapping(text="x"), Pretraining())[0], MissingColumn)


def test_a_preview_does_not_read_a_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.lines.HEAD_LINES", 10)
    monkeypatch.setattr("engine.data.formats.reading.MAPPED_ROWS", 20)
    path = tmp_path / "long.jsonl"
    lines = ['{"text": "some words"}\n'] * 300 + ['{"text": "more", "late": "x"}\n', "broken"]
    path.write_text("".join(lines), encoding="utf-8")
    guess = recognise(path)
    assert guess.columns == ("text",)
    assert len(preview(path, guess.reading).rows) == 200
    with pytest.raises(BadFile, match="line 302"):
        read(path, guess.reading)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    assert read(path, guess.reading).columns == ("text", "late")


def test_triplets_are_recognised_by_their_names(tmp_path):
    file = tmp_path / "triplets.csv"
    rows = [f"query number {n},a good answer {n},a bad answer {n}" for n in range(20)]
    file.write_text("\n".join(["anchor,positive,negative", *rows]), encoding="utf-8")
    guess = recognise(file)
    assert guess.mapping == Mapping(text="anchor", pair="positive", negative="negative")
    rows = [f"{('positive', 'negative')[n % 2]},anchor number {n} is here" for n in range(20)]
    file.write_text("\n".join(rows), encoding="utf-8")
    assert not recognise(file).reading.header, "a label in the first row is no header"


def test_a_file_of_two_encodings_is_noted(tmp_path):
    file = tmp_path / "a.csv"
    rows = [f"Café number {n},{'ab'[n % 2]}\n" for n in range(20)]
    file.write_bytes(
        b"text,label\n" + b"".join(r.encode(("utf-8", "cp1252")[n % 2]) for n, r in enumerate(rows))
    )
    reading, notes = recognise_reading(file)
    assert reading.encoding == "cp1252"
    assert "mixes encodings: 10 lines are UTF-8" in " ".join(notes)


def test_a_column_of_splits_is_found(tmp_path):
    file = tmp_path / "a.csv"
    splits = ("train", "dev", "test")
    file.write_text(
        "text,label,part\n"
        + "".join(f"it is {n},{'ab'[n % 2]},{splits[n % 3]}\n" for n in range(20))
    )
    assert recognise(file).split_column == "part"
