"""`bert-studio agreement` on data with a column for each coder."""

import csv
import getpass
import json

import numpy as np
import pytest
from sklearn.metrics import f1_score

from engine.cli import main
from engine.cli.agreement import SCHEMA
from engine.data.datasets.coding import read_coding
from engine.data.datasets.store import open_dataset
from tests.engine.data.importing import write_lines


@pytest.fixture
def answers(tmp_path, home):
    file = tmp_path / "answers.csv"
    rows = [("text", "Anna", "Ben")]
    for n in range(60):
        label = ("happy", "sad", "angry")[n % 3]
        rows.append((f"answer {n} with words of its own", label, "sad" if n % 10 == 0 else label))
    with open(file, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([*rows, ("an answer that Ben did not see", "happy", "")])
    return file


def test_agreement_of_imported_coders(answers, output, json_output, capsys, tmp_path):
    assert main(["import", str(answers), "--name", "asked"]) == 0
    assert "`import --coders Anna,Ben` reads them as such" in capsys.readouterr().err
    output("import", answers, "--name", "answers", "--coders", "Anna,Ben")
    report = json_output("agreement", "answers")
    assert report["coders"] == ["Anna", "Ben"] and report["kind"] == "classes"
    assert report["overall"]["rows"] == 60 and report["overall"]["disputed"] == 4
    assert report["overall"]["agreement"]["value"] == pytest.approx(56 / 60)
    assert list(report["labels"]) == ["angry", "happy", "sad"] and report["pairs"] == []
    table, rows = tmp_path / "figures.csv", tmp_path / "rows.csv"
    text = output("agreement", "answers", "--out", table, "--disputed", rows)
    assert "Anna, Ben: 60 rows, 4 disputed" in text and "Krippendorff's alpha: 0.9" in text
    with open(table, encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == SCHEMA.names and {line["part"] for line in lines} == {
        "overall",
        "label",
    }
    with open(rows, encoding="utf-8") as file:
        disputed = list(csv.DictReader(file))
    assert [line["row"] for line in disputed] == ["0", "20", "30", "50"]
    assert disputed[0]["Anna"] == "happy" and disputed[0]["Ben"] == "sad"


def test_the_label_is_what_coders_agree_on(answers, output, refusal, home):
    output("import", answers, "--name", "answers", "--coders", "Anna,Ben")
    dataset = open_dataset(home.datasets / "answers" / "1")
    spec = dataset.spec
    assert spec.mapping.label == "label" and spec.mapping.coders == ("Anna", "Ben")
    assert spec.columns == ("text", "Anna", "Ben", "label") and [*spec.targets] == ["Anna", "Ben"]
    labels = dataset.column("label").to_pylist()
    assert labels[0] == "" and labels[1] == "sad" and labels[60] == "happy"
    assert sum(spec.unlabelled.values()) == labels.count("") == 4
    text = output("agreement", "answers", "--order", "sad,happy,angry")
    assert "Cohen's kappa, quadratic weights" in text
    assert "does not have all labels" in refusal("agreement", "answers", "--order", "sad,happy")
    output("import", answers, "--name", "plain", "--label", "Anna")
    assert "import the data again and choose its coders" in refusal("agreement", "plain")
    assert "60 rows, 4 disputed" in output("agreement", "plain", "--coders", "Anna,Ben")


def test_labels_of_one_coder_each_and_in_two_spellings_are_named(tmp_path, output, home):
    with open(tmp_path / "one.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(f"answer {n}", *(("sad", "") if n % 2 else ("", "Sad"))) for n in range(12)]
        csv.writer(file).writerows([("text", "Anna", "Ben"), *rows])
    output("import", tmp_path / "one.csv", "--coders", "Anna,Ben")
    text = output("agreement", "one")
    assert "Anna, Ben: no row has labels of two coders" in text and "undefined" not in text
    assert "“Sad” and “sad” count as two labels; if they are one, correct the file." in text


def test_means_of_numbers_decide_and_coders_without_labels_are_refused(
    tmp_path, output, refusal, home
):
    numbers = [(f"answer {n}", f"{n / 4}", f"{n / 4 + n % 2}", "") for n in range(40)]
    with open(tmp_path / "scores.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "Anna", "Ben", "Cleo"), *numbers])
    output("import", tmp_path / "scores.csv", "--coders", "Anna,Ben,Cleo")
    user = getpass.getuser()
    text = output("agreement", "scores", "--by-majority")
    assert f"20 rows in dispute decided by {user}.\n" in text
    assert open_dataset(home.datasets / "scores" / "2").column("label")[1].as_py() == "0.75"
    with open(tmp_path / "none.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "Anna", "Ben"), *[(r[0], "", "") for r in numbers]])
    output("import", tmp_path / "none.csv", "--coders", "Anna,Ben")
    assert "The coders have no labels: “Anna”, “Ben”." in refusal("agreement", "none")


def test_the_majority_decides_in_a_version_that_says_so(tmp_path, output, refusal, home, answers):
    output("import", answers, "--name", "two", "--coders", "Anna,Ben")
    assert "No row in dispute without a label has a most frequent label" in refusal(
        "agreement", "two", "--by-majority"
    )
    assert "Leave out --coders" in refusal("agreement", "two", "--by-majority", "--coders", "A,B")
    flags = tmp_path / "flags.csv"
    flags.write_text("text,good,bad,A,B\n" + "an answer of some words,1,0,x,y\n" * 9)
    output("import", flags, "--name", "flags", "--flags", "good,bad", "--coders", "A,B")
    assert "single label column" in refusal("agreement", "flags", "--by-majority")
    file = tmp_path / "three.csv"
    rows = [f"answer {n} of many,{a},{b},{c}" for n, (a, b, c) in enumerate(("xxy", "xyz", "yyy"))]
    file.write_text("\n".join(["text,A,B,C", *rows * 5]) + "\n")
    output("import", file, "--name", "three", "--coders", "A,B,C")
    text = output("agreement", "three", "--by-majority")
    user = getpass.getuser()
    assert f"5 rows in dispute decided by {user}; with the label of: “A” 5, “B” 5." in text
    version = open_dataset(home.datasets / "three" / "2")
    assert version.column("label").to_pylist() == ["x", "", "y"] * 5
    assert read_coding(version.folder)[0]["label"].note == "by majority"


def test_tags_of_coders_are_converted_to_bio(tmp_path, output, json_output, home):
    file = tmp_path / "tags.csv"
    rows = [
        "O O S-P,S-P O O,O O S-P",
        "O O O,S-P O O,S-P O O",
        *["S-P O S-P,S-P O S-P,S-P O O"] * 9,
    ]
    lines = ["tokens,tags,tags_A,tags_B", *(f"Ann met Bob,{row}" for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    output("import", file, "--name", "tags", "--tags", "tags", "--coders", "tags_A,tags_B")
    dataset = open_dataset(home.datasets / "tags" / "1")
    assert dataset.column("tags_B").to_pylist()[1] == "B-P O O"
    assert dataset.spec.spans == {"P": 19} and dataset.spec.mapping.tags == "tags"
    report = json_output("agreement", "tags")
    assert report["kind"] == "spans" and list(report["labels"]) == ["P"]
    assert report["overall"]["span_f1"]["value"] == pytest.approx(2 * 10 / (20 + 11))
    named = ["tokens,A,B", *(f"Ann met Bob,{row.partition(',')[2]}" for row in rows)]
    file.write_text("\n".join(named) + "\n")
    output("import", file, "--name", "agreed", "--tags", "A", "--coders", "A,B")
    dataset = open_dataset(home.datasets / "agreed" / "1")
    assert dataset.spec.mapping.tags == "tags" and dataset.spec.spans == {"P": 1}
    assert dataset.column("tags").to_pylist() == ["", "B-P O O", *[""] * 9]


def test_nested_spans_of_coders_are_compared(tmp_path, output, json_output, capsys):
    rng = np.random.default_rng(3)
    words = [f"word{n}" for n in range(12)]
    text, places = " ".join(words), [n for n, letter in enumerate(" ".join(words)) if letter == " "]
    coded: list[list[set[tuple[int, int, str]]]] = []
    for _ in range(40):
        ends = np.sort(rng.choice(places, (4, 2))).tolist()
        shared = [(a, b, label) for (a, b), label in zip(ends, "PQPQ", strict=True) if a < b]
        coded.append([{span for span in shared if rng.random() < 0.7} for _ in range(2)])
    lines = [("text", "coder_1", "coder_2")]
    lines += [
        (f"{text} {n}", *(json.dumps(sorted(s)) for s in both)) for n, both in enumerate(coded)
    ]
    file = tmp_path / "spans.csv"
    with open(file, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(lines)
    assert main(["import", str(file), "--name", "one"]) == 0
    found = capsys.readouterr().err
    assert "`import --coders coder_1,coder_2` reads them as such" in found
    assert "overlap a longer one. They are kept; token classification leaves them out" in found
    output("import", file, "--name", "two", "--tags", "coder_1", "--coders", "coder_1,coder_2")
    report = json_output("agreement", "two")
    for label in (None, "P", "Q"):
        sides: list[tuple[bool, bool]] = []
        for first, second in coded:
            every = {span for span in first | second if label in (None, span[2])}
            sides += [(span in first, span in second) for span in every]
        value = (report["overall"] if label is None else report["labels"][label])["span_f1"][
            "value"
        ]
        assert value == pytest.approx(f1_score(*zip(*sides, strict=True)), abs=1e-9)
    assert report["overall"]["disputed"] == sum(first != second for first, second in coded)
    assert "P  (" in output("codebook", "two") and "spans)" in output("codebook", "two")


def test_missing_cells_of_r_are_not_coded_and_notes_are_no_texts(
    tmp_path, home, json_output, output, capsys
):
    codes = (("food", "food"), ("food", "rent"), ("rent", "NA"), ("NA", "food"), ("NA", "NA"))
    rows = (
        f"a reply with number {n},{','.join(codes[n % 5])},a long remark on row {n}"
        for n in range(60)
    )
    file = write_lines(tmp_path / "r.csv", "q7,coder1,coder2,note_1", *rows)
    assert main(["import", str(file), "--coders", "coder1,coder2"]) == 0
    said = capsys.readouterr().err
    assert "Text: “q7”" in said and "Columns kept, not used: note_1" in said
    assert "“NA” in the columns of coders means that a row was not coded: 48 cells." in said
    overall = json_output("agreement", "r")["overall"]
    assert (overall["rows"], overall["disputed"]) == (24, 12)
    version = open_dataset(home.datasets / "r" / "1")
    assert version.column("label").to_pylist()[:5] == ["food", "", "rent", "food", ""]
    assert len(version.unlabelled()) == 24, "12 in dispute, and 12 that nobody coded"
    # other labels mean that there is none, if these are named
    output("import", file, "--coders", "coder1,coder2", "--name", "asked", "--no-label", "none")
    assert json_output("agreement", "asked")["overall"]["rows"] == 60


def test_two_separators_are_said_and_a_fix_reads_both(tmp_path, home, json_output, output, capsys):
    sets, cities = ("a; b | c", "a", "b", "c | a", "b; c"), ("Austin, TX | Rome, IT", "Rome, IT")
    sentence = (
        "Labels are separated by “|” and by “;”, but only “|” is read as a separator: “a; b” is "
        "one label."
    )
    lines = {
        "two": [f"text {n},{sets[n % 5]}" for n in range(60)],
        "coded": [f"text {n},{sets[n % 5]},{sets[(n + n // 20) % 5]}" for n in range(60)],
        "cities": [f'text {n},"{cities[n % 2]}"' for n in range(60)],
    }
    for name, rows in lines.items():
        is_coded = name == "coded"
        header = "text,coder1,coder2" if is_coded else "text,label"
        file = write_lines(tmp_path / f"{name}.csv", header, *rows)
        assert main(["import", str(file), *(["--coders", "coder1,coder2"] * is_coded)]) == 0
        assert (sentence in capsys.readouterr().err) == (name != "cities")
    (found,) = (f for f in json_output("check", "two")["findings"] if f["check"] == "label_signs")
    assert found["severity"] == "warning" and found["sentence"] == sentence
    output("fix", "two", "label_signs", "both")
    labels = open_dataset(home.datasets / "two" / "2").column("label").to_pylist()
    assert labels[:2] == ['["a", "b", "c"]', '["a"]']
