"""Codebooks from the tables that people write, and back; labels renamed in all rows."""

import json
from pathlib import Path

import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook

from engine.cli import main
from engine.config.codebook import Code, Codebook
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.pretraining import Pretraining
from engine.data.columns.fit import likely_task, unlabelled_rows
from engine.data.datasets.codebooks import (
    codebook_of,
    free_keys,
    read_codebook,
    recode,
    renamed_by_key,
    write_codebook,
)
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.store import open_dataset
from engine.errors import BadFile
from tests.engine.data.importing import import_files, write_lines

PRICE = Code(
    label="price",
    key="p",
    colour=3,
    definition="What it costs, “cheap, or dear”",
    examples=("far too dear", "too much"),
    counterexamples=("=SUM(1;2) alone",),
)
BOOK = Codebook(codes=(PRICE, Code(label="service", key="12"), Code(label="old", deprecated=True)))


def test_a_codebook_is_the_same_after_a_file_of_each_format(tmp_path):
    for name in ("book.csv", "book.tsv", "book.xlsx", "book.jsonl", "book.parquet"):
        write_codebook(BOOK, tmp_path / name)
        assert read_codebook(tmp_path / name) == BOOK, name
    sheet = CalamineWorkbook.from_path(tmp_path / "book.xlsx").get_sheet_by_index(0).to_python()
    assert sheet[0][:3] == ["code", "label", "definition"] and sheet[1][1] == "price"
    assert "'=SUM" in (tmp_path / "book.csv").read_text()


# header and lines as people write them, and the labels with keys, definitions and examples
WRITTEN = {
    "Code,Label,Definition,Example,Counter-example\n1,Price,cost,dear,cheap trick\n2,Staff,,,": [
        ("1", "Price", "cost", ("dear",), ("cheap trick",)),
        ("2", "Staff", "", (), ()),
    ],
    "Kategorie;Definition;Ankerbeispiele;Kodierregel\nPreis;Kosten;teuer;nur Geld": [
        ("", "Preis", "Kosten\nnur Geld", ("teuer",), ())
    ],
    "Code\tDescription\tExample 1\tExample 2\nprice\tcost\tdear\tcheap": [
        ("", "price", "cost", ("dear", "cheap"), ())
    ],
    "Nr,Code,Memo\n7,price,cost": [("7", "price", "cost", (), ())],
    "Theme,Code,Definition\nMoney,price,cost\nMoney,wage,pay\nPeople,staff,": [
        ("", "price", "Money\ncost", (), ()),
        ("", "wage", "Money\npay", (), ()),
        ("", "staff", "People", (), ()),
    ],
    "Codes,,Texts,\nCode,Label,Definition,Example\n1,price,cost,dear\n2,staff,,": [  # merged cells
        ("1", "price", "cost", ("dear",), ()),
        ("2", "staff", "", (), ()),
    ],
    "label,exclude,inclusion\nprice,a,b\n,c,d\nprice,,e": [
        ("", "price", "", ("b", "d", "e"), ("a", "c"))
    ],
}


@pytest.mark.parametrize("text", WRITTEN)
def test_the_columns_are_found_by_their_usual_names(tmp_path, text):
    (tmp_path / "codes.csv").write_text(text + "\n", encoding="utf-8")
    codes = read_codebook(tmp_path / "codes.csv").codes
    found = [(c.key, c.label, c.definition, c.examples, c.counterexamples) for c in codes]
    assert found == WRITTEN[text]


def test_deprecated_labels_are_those_with_a_mark_that_is_not_no(tmp_path):
    marks = {"yes": True, "x": True, "no": False, "0": False, "false": False, "": False}
    lines = [f"label {n},{mark}\n" for n, mark in enumerate(marks)]
    (tmp_path / "codes.csv").write_text("".join(["label,deprecated\n", *lines]))
    codes = read_codebook(tmp_path / "codes.csv").codes
    assert [code.deprecated for code in codes] == [*marks.values()]


def test_the_sheet_of_a_workbook_with_the_codebook_is_found(tmp_path):
    for name, sheet in (("a.xlsx", "Code book"), ("b.xlsx", "Sheet 2")):
        with xlsxwriter.Workbook(tmp_path / name) as book:
            answers, codes = book.add_worksheet("Answers"), book.add_worksheet(sheet)
            for n in range(20):
                answers.write_row(n, 0, ["id", "answer"] if n == 0 else [str(n), f"text {n}"])
            for n, line in enumerate((["Code", "Label"], ["1", "price"], ["2", "staff"])):
                codes.write_row(n, 0, line)
        found = read_codebook(tmp_path / name).codes
        assert [(code.key, code.label) for code in found] == [("1", "price"), ("2", "staff")], name


def test_what_is_no_codebook_is_refused_with_the_place(tmp_path):
    for text, problem in {
        "text,score\na,1": "no column has the labels",
        "label,definition\n,cost": "line 2: the line has no label",
        f"label,code\nprice,{'x' * 21}": "line 2",
        "label,code\nprice,1\nstaff,1": "“1” is in the codebook twice",
    }.items():
        (tmp_path / "codes.csv").write_text(text + "\n", encoding="utf-8")
        with pytest.raises(Exception, match=problem) as refused:
            read_codebook(tmp_path / "codes.csv")
        assert isinstance(refused.value, BadFile) or "twice" in problem


def test_keys_are_those_of_the_codebook_then_the_next_free_ones():
    codes = [Code(label="a"), Code(label="b", key="1"), Code(label="c", key="?")]
    codes.append(Code(label="d", key="77"))
    assert {key: code.label for key, code in free_keys(codes, "123").items()} == {
        "2": "a",
        "1": "b",
        "3": "c",
    }


def test_labels_are_renamed_merged_and_removed_in_stored_and_edited_rows(tmp_path):
    rows = [f"film {n},{('good', 'bad', 'fine', '')[n % 4]}" for n in range(12)]
    file = write_lines(tmp_path / "films.csv", "text,label", *rows)
    films = import_files(file, tmp_path / "films" / "1")
    edits = PendingEdits(fingerprint="", rows={0: RowEdit(cells={"label": "bad"})})
    merged = recode(films, "label", {"fine": "good", "bad": ""}, edits)
    expected = dict.fromkeys((2, 6, 10), "good") | dict.fromkeys((0, 1, 5, 9), "")
    assert merged == dict(sorted(expected.items())) and list(merged) == sorted(merged)
    sets = ['["a", "b"]', "[]", '["b", "a"]', '["c"]']
    cells = [f"film {n}\t{sets[n % 4]}" for n in range(12)]
    file = write_lines(tmp_path / "sets.tsv", "text\tlabels", *cells)
    films = import_files(file, tmp_path / "sets" / "1")
    assert codebook_of(films.spec) == Codebook(
        kind="labels", codes=tuple(Code(label=x) for x in "abc")
    )
    new = recode(films, films.spec.mapping.label, {"a": "b", "c": ""}, kind="labels")
    assert [new.get(n) for n in range(4)] == ['["b"]', None, '["b"]', "[]"]


def test_rows_not_coded_yet_are_left_out_of_training_on_sets(tmp_path):
    file = write_lines(tmp_path / "answers.txt", *[f"answer {n}" for n in range(12)])
    import_files(file, tmp_path / "answers" / "1")
    book = Codebook(kind="labels", codes=(Code(label="a"), Code(label="b")))
    edits = Edits(coded_column="topics", codebooks={"topics": book})
    derive(tmp_path / "answers" / "1", tmp_path / "answers" / "2", 2, edits=edits)
    cells = {n: {"topics": ('["a", "b"]', '["a"]', "[]")[n % 3]} for n in range(6)}
    edits = Edits(cells=cells, splits=dict.fromkeys(range(12), "train"))
    derive(tmp_path / "answers" / "2", tmp_path / "answers" / "3", 3, edits=edits)
    dataset = open_dataset(tmp_path / "answers" / "3")
    assert likely_task(dataset.spec.mapping, dataset.spec.labels).kind == "multi_label"
    assert dataset.unlabelled().tolist() == [*range(6, 12)]
    assert dataset.for_task(MultiLabel()).spec.rows["train"] == 6
    assert dataset.for_task(Pretraining()).spec.rows["train"] == 12
    assert unlabelled_rows(dataset.spec) == {"train": 6}


def test_codes_that_rows_have_as_labels_get_their_names():
    assert renamed_by_key(BOOK, ["p", "", "12"]) == {"12": "service", "p": "price"}
    assert renamed_by_key(BOOK, ["12.0", "P"]) == {"12.0": "service", "P": "price"}
    assert renamed_by_key(BOOK, ["price", "p"]) == {}
    cased = Codebook(codes=(Code(label="x", key="a"), Code(label="y", key="A")))
    assert renamed_by_key(cased, ["a", "A"]) == {"a": "x", "A": "y"}


def test_the_numbers_of_a_scale_are_codes_or_labels(tmp_path):
    scale = Codebook(kind="number")
    for text in ("label,definition\n0,never\n10.0,always", "code,label\n0,never\n10,always"):
        (tmp_path / "codes.csv").write_text(text + "\n", encoding="utf-8")
        book = read_codebook(tmp_path / "codes.csv", scale)
        assert (book.lowest, book.highest) == (0, 10) and not any(c.key for c in book.codes)
        assert [(c.label, c.definition) for c in book.codes] == [("0", "never"), ("10", "always")]
    (tmp_path / "codes.csv").write_text("label\nprice\n", encoding="utf-8")
    with pytest.raises(BadFile, match="line 2: “price” is no whole number of a scale"):
        read_codebook(tmp_path / "codes.csv", scale)


def test_the_command_reads_writes_and_prints_a_codebook(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = write_lines(
        tmp_path / "films.csv", "text,code", *[f"film {n},{n % 2}" for n in range(8)]
    )
    import_files(texts, tmp_path / "films" / "1")
    Path("book.csv").write_text("code,label,definition\n0,bad,a bad film\n1,good,\n2,fine,\n")
    assert main(["codebook", "films", "--from", "book.csv", "--to", "out.xlsx"]) == 0
    assert "relabelled: “0” → “bad” (4), “1” → “good” (4)" in capsys.readouterr().out
    assert main(["codebook", "films", "--from", "book.csv"]) == 1
    assert "already has this codebook" in capsys.readouterr().err
    new = open_dataset(tmp_path / "films" / "2").spec
    assert new.labels == {"bad": 4, "good": 4} and len(read_codebook(Path("out.xlsx")).codes) == 3
    assert main(["codebook", "films"]) == 0
    assert (
        "0  bad  (4 rows)\n    a bad film\n1  good  (4 rows)\n2  fine\n" in capsys.readouterr().out
    )
    plain = write_lines(tmp_path / "plain.txt", *[f"line {n}" for n in range(8)])
    import_files(plain, tmp_path / "plain" / "1")
    assert main(["codebook", "plain"]) == 1
    assert "no label column" in capsys.readouterr().err
    assert main(["codebook", "plain", "--from", "book.csv", "--kind", "labels"]) == 0
    coded = open_dataset(tmp_path / "plain" / "2").spec
    assert "Codebook of “label” changed: 3 labels." in capsys.readouterr().out
    assert main(["codebook", "plain", "--from", "book.csv", "--kind", "label"]) == 1
    assert "--kind is for the first codebook" in capsys.readouterr().err
    assert coded.mapping.label == "label" and coded.codebooks["label"].kind == "labels"


def test_relabelled_rows_have_labels_of_the_codebook(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = write_lines(tmp_path / "plain.txt", *[f"line {n}" for n in range(8)])
    Path("book.csv").write_text("code,label\n1,a|b\n2,c\n3,d\n")
    columns = {
        "label": (["a|b", "c", "d"], ["a|b", "c", "d"], "“C”"),
        "labels": (
            ["c|d", "a|b", '["a|b", "d"]'],
            ['["c", "d"]', '["a|b"]', '["a|b", "d"]'],
            "“C”",
        ),
        "number": (["1", "2.0", "5"], ["1", "2", "5"], "“7”"),
    }
    for kind, (cells, stored, other) in columns.items():
        import_files(plain, tmp_path / kind / "1")
        assert main(["codebook", kind, "--from", "book.csv", "--kind", kind]) == 0
        lines = [json.dumps({"row": n, "new_label": cell}) for n, cell in enumerate(cells)]
        Path("new.jsonl").write_text("\n".join([*lines, ""]))
        assert main(["relabel", kind, "new.jsonl"]) == 0, capsys.readouterr().err
        labels = open_dataset(tmp_path / kind / "3").column("label").to_pylist()
        assert labels[:3] == stored
        Path("new.csv").write_text(f"row,new_label\n4,{other[1:-1]}\n")
        assert main(["relabel", kind, "new.csv"]) == 1
        assert f"line 2: the codebook has no label {other}" in capsys.readouterr().err
