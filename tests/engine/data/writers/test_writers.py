"""Every format that data sets are exported in is read back with nothing lost that it can hold."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Split
from engine.data.columns.label_sets import parse_flag, parse_label_sets
from engine.data.columns.tags import spans_from_tags
from engine.data.columns.text_spans import tagged_words
from engine.data.datasets.coding import RowCoding, write_coding
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.editing import RowEdit
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.data.formats.sources import split_files
from engine.data.writers import WRITERS, spacy
from engine.data.writers.examples import iter_examples
from engine.data.writers.export import Export
from engine.data.writers.writer import write_export
from engine.errors import MissingColumn, StudioError
from engine.files.table_files import BATCH_ROWS
from engine.progress import Cancelled
from tests.engine.data.importing import import_files

TEXTS = [
    *("A fine day, isn't it?", 'He said "no"; twice\tor so', "two lines\nof one text"),
    *(
        "an emoji 👩🏽‍🚒 in a text",
        "שלום עולם and more",
        "=1+1",
        "-5 degrees 'outside'",
        "日本語の文です。",
    ),
    *(
        "+1 for this",
        "@all of you",
        "back\\slash | and # signs",
        "  spaces around  ",
        '"*It is"-Ann',
    ),
    *("null", "'-- I don't know,' he said", "007"),
]
LABELS = ["good", "bad", "so, so", ""] * 4
SETS = [["a", "b"], ["b"], ["a", "c"], ["c", "b"], ["a"], ["c"], ["b", "c"], []] * 2
SCORES = [str(n * 0.25) for n in range(16)]
WORDS = [["Maria", "Keller", "lives", "in", "New", "York", "."], ["Nobody", "😀", "sees", "Rome"]]
UNTAGGED = 5  # a row without tags
TAGS = [["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"], ["O", "O", "O", "B-LOC"]]
IDS = [f"{n:03}" for n in range(16)]
SPLITS = ["train"] * 10 + ["validation"] * 3 + ["test"] * 3
SPLIT = Split(column="part", by="name")
SPANS = [  # nested, overlapping, at parts of words, over lines, after an emoji, with white space
    [[0, 10, "TIME"], [2, 6, "GOOD"], [7, 10, "TIME"], [7, 10, "UNIT"]],
    [[3, 7, "SAY"], [8, 12, "SAY"], [8, 18, "X"], [10, 18, "Y"]],
    [[4, 12, "LINES"], [0, 3, "N"]],
    [[9, 13, "WHO"], [3, 18, "X"]],
]
SPAN_CELLS = [[] if n > 3 else SPANS[n] for n in range(15)] + [None]
COLUMNS: dict[str, dict[str, list[Any]]] = {
    "classes": {"text": TEXTS, "label": LABELS},
    "sets": {"text": TEXTS, "label": ["|".join(one) for one in SETS]},
    "scores": {"text": TEXTS, "label": SCORES},
    "flags": {"text": TEXTS, **{x: [str(int(x in one)) for one in SETS] for x in "abc"}},
    "pairs": {"text": TEXTS, "other": [t.upper() for t in TEXTS], "label": ["yes", "no"] * 8},
    "spans": {"text": TEXTS, "marks": [s if s is None else json.dumps(s) for s in SPAN_CELLS]},
    "tags": {
        "words": [" ".join(w) for w in WORDS * 8],
        "tags": [" ".join(t) if n != UNTAGGED else "" for n, t in enumerate(TAGS * 8)],
    },
}
MAPPINGS = {
    "classes": Mapping(text="text", label="label"),
    "sets": Mapping(text="text", label="label"),
    "scores": Mapping(text="text", label="label"),
    "flags": Mapping(text="text", flags=("a", "b", "c")),
    "pairs": Mapping(text="text", pair="other", label="label"),
    "spans": Mapping(text="text", tags="marks"),
    "tags": Mapping(text="words", tags="tags"),
}
WITHOUT_LIBRARY = [writer for writer in WRITERS.values() if writer.name != "docbin"]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory) -> dict[str, Dataset]:
    folder = tmp_path_factory.mktemp("kinds")
    made = {}
    for kind in COLUMNS:
        file = _parquet(folder, kind)
        made[kind] = import_files(file, folder / kind / "1", SPLIT, MAPPINGS[kind])
    return made


def read_back(path: Path, into: Path, mapping: Mapping) -> Dataset:
    """Import what was written as the commands and the window do, with the splits that it has.

    Yes/no columns without other signs are chosen by the user, as at the first import.
    """
    files = split_files(path)
    guess = recognise(files.main_file)
    if mapping.flags and {*mapping.columns} <= {*guess.columns}:
        guess = guess._replace(mapping=mapping)
    assert guess.mapping is not None
    split = Split(validation=0)
    if "all" in files.sources and guess.split_column:
        split = Split(column=guess.split_column, by="name")
    import_dataset("x", files.sources, guess.reading, guess.mapping, split, into)
    return open_dataset(into)


def meaning(kind: str, dataset: Dataset, knows_untagged: bool = True) -> list[tuple[Any, ...]]:
    """Texts and annotations of all rows, sorted."""
    mapping, rows = dataset.spec.mapping, list[tuple[Any, ...]]()
    for split in ("train", "validation", "test"):
        cells = dataset.cells(split)
        if kind == "tags":
            for text, cell in zip(cells[mapping.text], cells[mapping.tags or ""], strict=True):
                words, tags, _ = tagged_words(text, cell)
                is_tagged = bool(cell) or not knows_untagged
                rows.append((split, " ".join(words), is_tagged, tuple(spans_from_tags(tags))))
            continue
        if kind == "spans":
            marks = [cell or ("" if knows_untagged else "[]") for cell in cells[mapping.tags or ""]]
            rows += zip([split] * len(marks), cells[mapping.text], marks, strict=True)
            continue
        texts = [text.strip() for text in cells[mapping.text]]
        found: list[Any] = [*cells[mapping.label or mapping.text]]
        if kind == "sets":
            found = [tuple(sorted(one)) for one in parse_label_sets(found)]
        elif kind == "scores":
            found = [float(cell) for cell in found]
        elif kind == "flags" and mapping.flags:
            flags = {name: cells[name] for name in mapping.flags}
            found = [
                tuple(name for name in flags if parse_flag(flags[name][n], name))
                for n in range(len(texts))
            ]
        elif kind == "flags":
            found = [tuple(sorted(one)) for one in parse_label_sets(found)]
        rows += zip([split] * len(texts), texts, found, strict=True)
    return sorted(rows, key=repr)


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("writer", WITHOUT_LIBRARY, ids=lambda writer: writer.name)
def test_rows_come_back_with_texts_labels_spans_splits_and_ids(writer, kind, datasets, tmp_path):
    export = Export.choose(datasets[kind])
    if problem := writer.problem(export):
        assert (
            kind not in ("tags", "spans")
            and writer.name in ("conll", "brat")
            and problem.endswith(".")
        )
        return
    note = writer.note(export)
    holds_columns = "Columns left out" not in note
    assert holds_columns or ("“row”, “line”, " in note and "“case”" in note)
    per_split = bool(writer.suffix) and not holds_columns
    path = tmp_path / f"out{'' if per_split else writer.suffix}"
    write_export(export, writer, path, per_split)
    again = read_back(path, tmp_path / "x" / "1", MAPPINGS[kind])
    stored = datasets[kind]
    if kind == "spans" and writer.name == "conll":
        assert "6 spans of this version overlap a longer one and are left out." in note
        kind = "tags"  # of words
    is_known = "Rows without tags" not in note
    assert meaning(kind, again, is_known) == meaning(kind, stored, is_known)
    if holds_columns:
        assert {"case", "row", "line"} <= {*again.spec.columns}
        assert sorted(again.column("case").to_pylist()) == IDS
    assert writer.help.endswith(".") and len(list(tmp_path.iterdir())) == 2


def test_tables_are_read_by_other_libraries(datasets, tmp_path):
    def write(kind: str, name: str) -> Path:
        path = tmp_path / f"{kind}{WRITERS[name].suffix}"
        write_export(Export.choose(datasets[kind]), WRITERS[name], path)
        return path

    table = pq.read_table(write("scores", "parquet"))
    assert table["label"].to_pylist() == [float(score) for score in SCORES]
    assert table["text"].to_pylist() == TEXTS and table["row"].to_pylist() == [*range(16)]
    tags = pq.read_table(write("tags", "parquet"))["tags"].to_pylist()
    assert tags[:UNTAGGED] == (TAGS * 8)[:UNTAGGED] and tags[UNTAGGED] is None
    lines = write("sets", "jsonl").read_text("utf-8").split("\n")
    assert [json.loads(line)["label"] or [] for line in lines if line] == SETS
    cells = CalamineWorkbook.from_path(write("classes", "excel")).get_sheet_by_index(0).to_python()
    assert [row[3] for row in cells[1:]] == TEXTS and [row[2] for row in cells[1:]] == SPLITS
    with open(write("classes", "csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"].removeprefix("'") for row in rows] == TEXTS
    assert not any(row["text"].startswith(("=", "@")) for row in rows)
    assert [*rows[0]] == ["row", "line", "split", "text", "label", "case", "part"]
    folder = tmp_path / "hf"
    write_export(Export.choose(datasets["sets"]), WRITERS["hf"], folder)
    assert json.loads((folder / "dataset_dict.json").read_text())["splits"] == [
        *dict.fromkeys(SPLITS)
    ]
    state = json.loads((folder / "test" / "state.json").read_text())
    with pa.ipc.open_stream(folder / "test" / state["_data_files"][0]["filename"]) as stream:
        part = stream.read_all()
    features = json.loads((folder / "test" / "dataset_info.json").read_text())["features"]
    assert part["label"].to_pylist() == [one or None for one in SETS[13:]]
    assert [*features] == part.schema.names and "split" not in features


def test_offsets_of_annotation_tools_hold_the_words_of_each_span(datasets, tmp_path):
    spans = [[("Maria Keller", "PER"), ("New York", "LOC")], [("Rome", "LOC")]] * 8
    spans[UNTAGGED] = []
    found: dict[str, list[list[tuple[str, str]]]] = {}
    for name in ("doccano", "prodigy", "label_studio", "spacy", "brat"):
        path = tmp_path / f"{name}{WRITERS[name].suffix}"
        write_export(Export.choose(datasets["tags"]), WRITERS[name], path)
        if path.is_dir():
            texts = sorted(path.rglob("*.txt"), key=lambda file: file.name)
            found[name] = [_brat_spans(file) for file in texts]
            continue
        content = path.read_text("utf-8")
        is_list = path.suffix == ".json"
        items = json.loads(content if is_list else f"[{','.join(content.splitlines())}]")
        found[name] = [_spans(item) for item in items]
    assert all(one == spans for one in found.values()), found


def _spans(item: dict[str, Any]) -> list[tuple[str, str]]:
    text = item.get("text") or item["data"]["text"]
    results = [one["value"] for a in item.get("annotations", ()) for one in a["result"]]
    given = item.get("spans") or item.get("ents") or results
    spans = [(s["start"], s["end"], s.get("label") or s["labels"][0]) for s in given]
    return [(text[start:end], label) for start, end, label in spans or item.get("label", ())]


def _brat_spans(file: Path) -> list[tuple[str, str]]:
    text, found = file.read_bytes().decode("utf-8"), []
    for line in file.with_suffix(".ann").read_text("utf-8").splitlines():
        _, place, words = line.split("\t")
        label, start, end = place.split()
        assert text[int(start) : int(end)] == words
        found.append((words, label))
    return found


def test_quotes_at_the_start_of_texts_come_back_from_tsv(tmp_path):
    texts = [f'"*It is {n}"-Ann' if n % 9 == 0 else f"plain words {n}" for n in range(40)]
    pq.write_table(pa.table({"text": texts, "label": ["a", "b"] * 20}), tmp_path / "t.parquet")
    dataset = import_files(tmp_path / "t.parquet", tmp_path / "x" / "1", Split(validation=0))
    write_export(Export.choose(dataset), WRITERS["tsv"], tmp_path / "out.tsv")
    again = read_back(tmp_path / "out.tsv", tmp_path / "y" / "1", MAPPINGS["classes"])
    assert again.column("text").to_pylist() == texts


def test_rows_without_a_label_differ_from_those_with_none_of_several(tmp_path):
    columns = {
        "text": TEXTS[:6],
        "a": ["1", "0", "", "1", "0", ""],
        "b": ["0", "0", "", "1", "1", ""],
    }
    columns |= {"_a": IDS[:6], "_note": IDS[:6], "label": IDS[:6]}
    pq.write_table(pa.table(columns), tmp_path / "flags.parquet")
    mapping = Mapping(text="text", flags=("a", "b"))
    dataset = import_files(
        tmp_path / "flags.parquet", tmp_path / "x" / "1", Split(validation=0), mapping
    )
    export = Export.choose(dataset, edits={5: RowEdit(cells={"a": "1"})})
    write_export(export, WRITERS["label_studio"], tmp_path / "out.json")
    tasks = json.loads((tmp_path / "out.json").read_text("utf-8"))
    found = [[r["value"]["choices"] for a in t["annotations"] for r in a["result"]] for t in tasks]
    assert found == [[["a"]], [], [], [["a", "b"]], [["b"]], [["a"]]]
    assert [len(task["annotations"]) for task in tasks] == [1, 1, 0, 1, 1, 1]
    assert [tasks[1]["data"][name] for name in ("a", "note", "label")] == ["001"] * 3


def test_a_coded_set_whose_labels_an_edit_removes_has_no_annotation(tmp_path):
    file, version = _parquet(tmp_path, "classes"), tmp_path / "x" / "1"
    first = import_files(file, version, SPLIT, MAPPINGS["classes"])
    book = Codebook(kind="labels", codes=(Code(label="a"), Code(label="b")))
    edits = Edits(coded_column="topics", codebooks={"topics": book})
    derive(first.folder, tmp_path / "x" / "2", 2, edits=edits)
    cells = {row: {"topics": cell} for row, cell in enumerate(('["a"]', '["b"]', "[]"))}
    derive(tmp_path / "x" / "2", tmp_path / "x" / "3", 3, edits=Edits(cells=cells))
    removed = {1: RowEdit(cells={"topics": ""})}
    export = Export.choose(open_dataset(tmp_path / "x" / "3"), range(4), edits=removed)
    assert [example.labels for example in iter_examples(export)] == [["a"], None, [], None]


def test_documents_of_spacy_cover_their_whole_text():
    for text in TEXTS:
        places = list(spacy._tokens(text, spacy.word_spans(text)))
        built = ""
        for start, end in places:
            built = (built if len(built) == start else f"{built} ") + text[start:end]
        assert built in (text, text.removesuffix(" "))


def test_edits_coding_and_chosen_columns_are_exported(datasets, tmp_path):
    version = tmp_path / "coded" / "1"
    coded = import_files(_parquet(tmp_path, "classes"), version, SPLIT, MAPPINGS["classes"])
    write_coding(version, {0: {"label": RowCoding(coder="Ann", note="=why?", chance=0.5)}})
    edits = {
        1: RowEdit(cells={"label": "good"}, split="test"),
        2: RowEdit(deleted=True),
        3: RowEdit(coding={"label": RowCoding(coder="Bob", flagged=True)}),
    }
    export = Export.choose(coded, [3, 2, 1, 0], ["text", "label", "split", "coder", "note"], edits)
    write_export(export, WRITERS["jsonl"], tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [row["text"] for row in rows] == [TEXTS[3], TEXTS[1], TEXTS[0]]
    assert [(row["label"], row["split"]) for row in rows][1] == ("good", "test")
    assert [(row["coder"], row["note"]) for row in rows] == [
        ("Bob", None),
        (None, None),
        ("Ann", "=why?"),
    ]
    every = Export.choose(coded, edits=edits)
    assert {"chance", "flagged", "drawn", "at"} <= {*every.columns} and len(every.rows) == 15
    with pytest.raises(MissingColumn, match="“nothing”"):
        Export.choose(coded, columns=["nothing"])
    with pytest.raises(StudioError, match="no rows to export"):
        Export.choose(coded, [2], edits=edits)


def _parquet(folder: Path, kind: str) -> Path:
    rows = {**COLUMNS[kind], "case": IDS, "part": SPLITS}
    pq.write_table(pa.table(rows), folder / f"{kind}.parquet")
    return folder / f"{kind}.parquet"


def test_columns_of_the_source_keep_their_names(tmp_path):
    rows = {"row": IDS, "text": TEXTS, "label": LABELS, "split": SPLITS, "id": IDS}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    dataset = import_files(
        tmp_path / "rows.parquet",
        tmp_path / "x" / "1",
        SPLIT.model_copy(update={"column": "split"}),
    )
    export = Export.choose(dataset)
    assert [*export.columns][:3] == ["stored_row", "line", "stored_split"]
    for name in ("csv", "doccano", "prodigy", "label_studio", "spacy"):
        path = tmp_path / f"out{WRITERS[name].suffix}"
        write_export(export, WRITERS[name], path)
        again = read_back(path, tmp_path / name / "1", MAPPINGS["classes"])
        assert again.column("row").to_pylist() == IDS and {"text", "label"} <= {*again.spec.columns}
        assert IDS in (
            again.column(column).to_pylist() for column in again.spec.columns if "id" in column
        )


@pytest.mark.parametrize("writer", WITHOUT_LIBRARY, ids=lambda writer: writer.name)
def test_what_was_there_stays_if_writing_is_stopped(writer, datasets, tmp_path):
    reads = iter([False, True])
    export = Export.choose(datasets["tags"], np.arange(16).tolist() * 300)
    assert len(export.rows) > BATCH_ROWS
    export = replace(export, cancelled=lambda: next(reads))
    path = tmp_path / "out"
    if writer.suffix:
        path.write_text("before")
    with pytest.raises(Cancelled):
        write_export(export, writer, path)
    assert path.read_text() == "before" if writer.suffix else not path.exists()
    assert len(list(tmp_path.iterdir())) == bool(writer.suffix)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(StudioError, match="already exists"):
        write_export(export, writer, tmp_path / "full", per_split=True)


def test_a_docbin_needs_spacy_and_says_so(datasets):
    problem = WRITERS["docbin"].problem(Export.choose(datasets["classes"]))
    assert "which is not installed here" in problem
