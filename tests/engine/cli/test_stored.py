"""Stored data sets: checked, fixed, and relabelled by the commands."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.config.job import JobSpec
from engine.data.datasets.deriving import derive
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.store import Dataset, open_dataset, resolve
from engine.files.home import Home
from engine.files.shipped import starter_model
from tests.engine.data.checks.test_checks import CASES, clean_rows, store
from tests.engine.training import small

CHECKS = ("leaked_rows", "label_spellings", "exact_duplicates")


@pytest.fixture
def films(home: Home, tmp_path: Path) -> Path:
    """The folder of a data set “films” of the home, with one version."""
    dataset = store(tmp_path, clean_rows() + [row for name in CHECKS for row in CASES[name]])
    dataset.folder.parent.rename(home.datasets / "films")
    return home.datasets / "films"


def test_a_stored_data_set_is_checked_by_name_or_folder(output, json_output, films):
    by_name = json_output("check", "films")
    for name in ("films/1", str(films), str(films / "1")):
        assert json_output("check", name) == by_name
    assert by_name["version"] == 1 and by_name["rows"]["test"] == 1
    by_check = {finding["check"]: finding for finding in by_name["findings"]}
    assert set(CHECKS) <= set(by_check)
    assert list(by_check["leaked_rows"]["fixes"]) == ["drop", "move"]
    assert by_check["leaked_rows"]["lines"][:2] == [61, 62]
    printed = output("check", "films")
    assert "fixes: leaked_rows drop (Drop from training)" in printed


def test_model_and_data_set_of_a_job_are_set_by_folder_and_name(output, refusal, films):
    """Also each of several; impossible values are refused."""
    assignments = [f"base_model={starter_model()}", "data=films"]
    job = json.loads(output("job", "--data", "films", *(f"--set={a}" for a in assignments)))
    assert job["base_model"] == {"kind": "checkpoint", "path": str(starter_model())}
    assert job["data"]["folder"] == str(films / "1") and job["data"]["fingerprint"]
    for assignment in ("base_model=5", "task=films", "base_model.kind=scratch"):
        message = refusal("job", "--data", "films", "--set", assignment)
        assert message.startswith("bert-studio: The job is not valid: ")
    assert "no stored data set nothing" in refusal(
        "job", "--data", "films", "--set", "data=nothing"
    )


def saved_to_disk(folder: Path, rows: dict[str, list[dict[str, str]]]) -> Path:
    """A folder as DatasetDict.save_to_disk writes it."""
    for split, part in rows.items():
        (folder / split).mkdir(parents=True)
        table = pa.Table.from_pylist(part)
        with pa.ipc.new_stream(folder / split / "data-00000-of-00001.arrow", table.schema) as out:
            out.write_table(table)
        (folder / split / "state.json").write_text('{"_data_files": []}')
        (folder / split / "dataset_info.json").write_text("{}")
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": [*rows]}))
    return folder


def csv_folder(folder: Path, rows: dict[str, list[dict[str, str]]]) -> Path:
    folder.mkdir()
    for split, part in rows.items():
        with open(folder / f"{split}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(part[0]))
            writer.writeheader()
            writer.writerows(part)
    return folder


def zipped(folder: Path, rows: dict[str, list[dict[str, str]]]) -> Path:
    return Path(shutil.make_archive(str(folder), "zip", csv_folder(folder, rows)))


@pytest.mark.parametrize("write", [saved_to_disk, csv_folder, zipped])
def test_commands_read_files_with_splits(json_output, output, refusal, home, tmp_path, write):
    rows = {
        split: [{"text": f"{split} text {n}", "label": "ab"[n % 2], "id": str(n)} for n in range(m)]
        for split, m in {"test": 4, "train": 12, "validation": 6}.items()
    }
    counts = {"train": 12, "validation": 6, "test": 4}
    source = write(tmp_path / "reviews", rows)
    checked = json_output("check", str(source))
    assert checked["rows"] == counts and [*checked["files"]] == [*counts]
    assert "Columns kept, not used: id." in checked["notes"]
    assert json_output("import", str(source))["rows"] == counts
    assert not open_dataset(home.datasets / "reviews" / "1").spec.unseen
    data = JobSpec.model_validate_json(output("job", "--data", str(source))).data
    assert resolve(data, tmp_path / "run").spec.rows == counts
    if source.is_dir():
        assert "it has 3 files" in refusal("evaluate", str(source), "--model", str(tmp_path))
    single = source / ("train" if write is saved_to_disk else "train.csv")
    assert json_output("check", str(single))["rows"] == 12


@pytest.mark.parametrize("fix", ["leaked_rows drop", "leaked_rows move", "label_spellings merge"])
def test_a_fix_makes_the_next_version(output, json_output, films, fix):
    before = open_dataset(films / "1").spec
    report = json_output("fix", "films", *fix.split())
    assert (report["version"], report["made_from"], report["folder"]) == (2, 1, str(films / "2"))
    assert len(report["changes"]) == 1 and report["changes"][0][0].isdecimal()
    checked = json_output("check", "films")
    assert checked["version"] == 2 and checked["changes"] == report["changes"]
    assert fix.partition(" ")[0] not in {finding["check"] for finding in checked["findings"]}
    assert open_dataset(films / "1").spec == before, "going back is naming the older version"
    printed = output("fix", "films/1", "exact_duplicates", "drop")
    assert "version 3 of “x”, made from version 1" in printed


def test_an_impossible_fix_is_refused(refusal, films, tmp_path):
    assert "no check “ducks”" in refusal("fix", "films", "ducks", "drop")
    assert "finds nothing" in refusal("fix", "films", "mixed_scripts", "drop-mixed")
    message = refusal("fix", "films", "leaked_rows", "repair")
    assert "no fix “repair”" in message and "Choose one of drop, move." in message
    assert "no stored data set songs" in refusal("fix", "songs", "leaked_rows", "drop")
    assert "how a file is read" in refusal("check", "films", "--text=text")
    (films / "1").rename(tmp_path / "copy")
    message = refusal("fix", tmp_path / "copy", "leaked_rows", "drop")
    assert "not a version of a data set" in message


def test_differences_of_two_versions_are_printed_and_written(
    output, refusal, json_output, films, tmp_path
):
    """A fix, edits and a relabelling one after another, each with its lineage and cells."""
    first = open_dataset(films / "1")
    assert "no older version" in refusal("changes", "films")
    output("fix", "films", "exact_duplicates", "drop")
    edits = PendingEdits(
        fingerprint="", rows={0: RowEdit(cells={"text": "a new text"}, split="train")}
    ).edits()
    derive(films / "2", films / "3", 3, edits=edits)
    (tmp_path / "new.csv").write_text(f"row,new_label\n1,{first.page(0, 1)[0]['label']}\n")
    output("relabel", "films", tmp_path / "new.csv")
    report = json_output("changes", "films")
    assert (report["version"], report["since"], report["changed"]) == (4, 3, 1)
    assert [cell["column"] for cell in report["cells"]] == ["label"]
    out = tmp_path / "changes.csv"
    report = json.loads(output("changes", "films", "--since=1", "--json", f"--out={out}"))
    count = len(first) - len(open_dataset(films / "4"))
    assert (report["changed"], report["added"], report["removed"]) == (2, 0, count) and count > 0
    assert [(row["version"], row["made_from"]) for row in report["lineage"]] == [
        (2, 1),
        (3, 2),
        (4, 3),
    ]
    with open(out, encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    text = first.page(0, 1)[0]["text"]
    changed = [cell for cell in cells if cell["change"] == "changed"]
    assert [(row["column"], row["before"], row["after"]) for row in changed[:2]] == [
        ("text", text, "a new text"),
        ("split", "validation", "train"),
    ]
    removed = {int(cell["row_before"]) for cell in cells if cell["change"] == "removed"}
    assert len(removed) == count
    printed = output("changes", "films", "--since=1")
    assert f"Version 2 was made from version 1. {count:,} rows removed." in printed
    assert "Version 4 was made from version 3. 1 row relabelled: “" in printed
    assert f"2 rows changed, 0 added, {count:,} removed" in printed
    assert "~ row 0, text: " in printed and "→ a new text" in printed and "- row " in printed
    reverse = json_output("changes", "films/1", "--since=4")
    assert reverse["added"] == count and reverse["lineage"] == []
    message = refusal("changes", "films", "--since=9")
    assert "no version 9" in message and "Its versions are 1, 2, 3, 4." in message


def films_with_wrong_labels(folder: Path) -> tuple[Dataset, list[int]]:
    """Rows with clear labels, and the indices of those that are wrong."""
    words = {"good": "a fine and lovely film", "bad": "a dull and awful film"}
    rows = [(f"{words[label]} {n}", label, "train") for n in range(30) for label in words]
    wrong = [4, 31, 58]
    for n in wrong:
        rows[n] = (rows[n][0], "bad" if rows[n][1] == "good" else "good", "train")
    rows[7] = ("=a fine and lovely film", *rows[6][1:])
    rows += [(f"{words['good']} of {n}", "good", "validation") for n in range(3)]
    return store(folder, rows), wrong


def test_likely_label_errors_are_listed_and_corrected(output, tmp_path, tuned):
    data, wrong = films_with_wrong_labels(tmp_path)
    out, name = tmp_path / "errors.csv", str(data.folder.parent)
    model = str(tuned("text_classification").checkpoint)
    message = output("label-errors", name, "--out", out, "--model", model, "--json")
    assert json.loads(message)["rows"] == 63
    with open(out, encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    assert sorted(int(row["row"]) for row in listed[:3]) == wrong
    assert list(listed[0]) == ["row", "line", "text", "label", "new_label", "probability"]
    lines = out.read_text(encoding="utf-8").splitlines()[:4]
    out.write_text("\n".join(lines), encoding="utf-8")
    report = json.loads(output("relabel", name, out, "--json"))
    assert (report["version"], report["made_from"]) == (2, 1)
    assert sorted(label["row"] for label in report["labels"]) == wrong
    (change,) = report["changes"]
    assert change.startswith("3 rows relabelled: “")
    new = open_dataset(Path(report["folder"]))
    for item in report["labels"]:
        assert new.page(item["row"], 1)[0]["label"] == item["after"] != item["before"]
    printed = output("relabel", f"{name}/1", out)
    assert "row 4: bad → good  a fine and lovely film 2" in printed


def test_row_numbers_count_within_the_part(output, refusal, tmp_path):
    data, _ = films_with_wrong_labels(tmp_path)
    file = tmp_path / "rows.jsonl"
    file.write_text('{"row": 1, "text": "a fine and lovely film of 1", "label": "bad"}\n')
    assert "another text" in refusal("relabel", data.folder, file)
    printed = output("relabel", data.folder, file, "--part", "validation")
    assert "row 61: good → bad" in printed


@pytest.mark.parametrize(
    "lines, message",
    [
        (["row,new_label", "99,good"], "line 2: no row has the number “99”."),
        (["row,new_label", "x,good"], "line 2: no row has the number “x”."),
        (["row,new_label", "3,good", "4,fine"], "line 3: no row has the label “fine”."),
        (["row,new_label", "3,good", "3,bad"], "line 3: row 3 is also in line 2."),
        (["row,note", "3,good", "4,bad"], "there is no column “label”."),
        (["number,new_label", "3,good", "4,bad"], "there is no column “row”."),
        (["row,new_label", "0,good", "1,"], "No label in new.csv differs from the data set."),
        (["row,text,new_label", "0,another film,bad"], "the row has another text"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(refusal, tmp_path, lines, message):
    data, _ = films_with_wrong_labels(tmp_path)
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    assert message in refusal("relabel", data.folder, tmp_path / "new.csv")
    assert not (data.folder.parent / "2").exists()


def test_an_escaped_text_is_recognised(output, json_output, tmp_path):
    data, _ = films_with_wrong_labels(tmp_path)
    file = tmp_path / "new.csv"
    file.write_text("row,text,new_label\n7,'=a fine and lovely film,bad\n")
    output("relabel", data.folder, file)
    newest = str(data.folder.parent / "2")
    assert json_output("changes", newest)["changed"] == 1


def test_files_are_imported_as_the_data_page_does(output, refusal, json_output, home, tmp_path):
    train = small.sentences(tmp_path / "films.csv", 40)
    test = small.sentences(tmp_path / "test.csv", 10)
    report = json_output("import", train, "--test", test, "--validation-fraction=0.2")
    assert report["folder"] == str(home.datasets / "films" / "1")
    assert report["rows"]["test"] == 10 and sum(report["rows"].values()) == 50
    assert open_dataset(home.datasets / "films" / "1").spec.split.validation == 0.2
    second = json_output("import", train, "--name", "films")
    assert (second["version"], second["rows"]["test"]) == (2, 0)
    assert "version 1 of “Other”" in output("import", train, "--name", "Other")
    job = json.loads(output("job", "--data", "films/1"))
    assert job["data"]["folder"] == report["folder"]
    message = refusal("import", train, "--validation-fraction=0.9", "--test-fraction=0.1")
    assert "leave no rows for training" in message
    assert "no stored data set" in refusal("evaluate", "--data=songs", "--model=x")


def test_a_stored_data_set_is_split_again(output, refusal, json_output, home, tmp_path):
    small.sentences(tmp_path / "films.csv", 40)
    output("import", tmp_path / "films.csv", "--validation-fraction", "10 %")
    (tmp_path / "films.csv").unlink()
    report = json_output("split", "films", "--test-fraction=25%", "--seed=3")
    assert report["rows"] == {"train": 26, "validation": 4, "test": 10}, "validation as before"
    assert report["changes"][0] == "Split again: 65/10/25 at random (seed 3)."
    assert report["folder"] == str(home.datasets / "films" / "2") and report["made_from"] == 1
    assert "Split again: 65/10/25" in output("changes", "films")
    assert "already in this split" in refusal("split", "films", "--test-fraction=25%", "--seed=3")
    assert "no column “author”" in refusal("split", "films", "--split-column=author")
    assert "leave no rows" in refusal("split", "films", "--test-fraction=90")
    assert not (home.datasets / "films" / "3").exists()


@pytest.fixture
def relabel(json_output: Any) -> Any:
    def correct(file: Path, name: str, row: int, new: str) -> Any:
        file.write_text(json.dumps({"row": row, "new_label": new}) + "\n")
        return json_output("relabel", name, file)

    return correct


def test_tags_are_corrected_word_by_word(refusal, json_output, relabel, home, tmp_path):
    data, file = tmp_path / "names.conll", tmp_path / "new.jsonl"
    data.write_text("Ann B-person\nLee I-person\nsings O\n\nOslo B-place\nis O\nfar O\n\n" * 4)
    json_output("import", data)
    file.write_text(json.dumps({"row": 1, "new_label": "S-place O O"}) + "\n")
    assert "No label in new.jsonl differs" in refusal("relabel", "names", file)
    report = relabel(file, "names/1", 1, "O S-place O")
    assert report["labels"][0]["before"] == "B-place O O"
    assert report["labels"][0]["after"] == "O B-place O"
    for new, message in (
        ("O O", "the row has 3 words and needs as many tags, not 2"),
        ("O O B-boat", "no row has the tag “boat”. Use one of person, place."),
        ("O O much", "“much” is not a valid span tag"),
    ):
        file.write_text(json.dumps({"row": 1, "new_label": new}) + "\n")
        assert message in refusal("relabel", "names/1", file)


def test_an_answer_is_corrected(refusal, json_output, relabel, home, tmp_path):
    data, file = small.questions(tmp_path / "asked.json"), tmp_path / "new.jsonl"
    json_output("import", data)
    rows = open_dataset(home.datasets / "asked" / "1").page(0, 48)
    row = next(n for n, item in enumerate(rows) if "rome" in item["context"])
    report = relabel(file, "asked", row, "oslo")
    start = rows[row]["context"].index("oslo")
    assert json.loads(report["labels"][0]["after"]) == [{"text": "oslo", "answer_start": start}]
    assert relabel(file, "asked/2", row, "[]")["labels"][0]["after"] == ""
    file.write_text(json.dumps({"row": row, "new_label": "paris"}) + "\n")
    message = refusal("relabel", "asked", file)
    assert "the passage does not contain its answer “paris”. Copy the answer" in message


def test_a_data_set_is_exported_by_the_suffix_or_the_named_format(
    output, json_output, refusal, films, tmp_path, capsys
):
    facts = json_output("export-data", "films", "--to", tmp_path / "films.doccano.jsonl")
    assert facts["format"] == "doccano" and facts["rows"]["test"] == 1 and facts["note"] == ""
    assert "1 test rows written to" in output(
        "export-data",
        "films",
        "--to",
        tmp_path / "parts",
        "--format",
        "csv",
        "--per-split",
        "--columns",
        "text,split",
    )
    with open(tmp_path / "parts" / "test.csv", encoding="utf-8", newline="") as file:
        assert [*next(csv.DictReader(file))] == ["text"]
    assert "--format: csv, excel, parquet" in refusal("export-data", "films", "--to", "films.x")
    message = refusal("export-data", "films", "--to", "films.conll")
    assert "has no tags. Choose another format" in message
    assert "“nothing”" in refusal("export-data", "films", "--to", "a.csv", "--columns", "nothing")
    assert not Path("films.conll").exists()


def test_the_gain_of_more_labels_is_estimated(output, json_output, refusal, tmp_path, tuned):
    data, _ = films_with_wrong_labels(tmp_path)
    name, model = str(data.folder.parent), str(tuned("regression").checkpoint)
    found = json_output("label-gain", name, "--model", model, "--more", "100")
    assert (found["rows"], found["more"]) == (63, 100) and found["accuracy"] > 0.7
    assert found["low"] <= found["gain"] <= found["high"]
    printed = output("label-gain", name, "--model", model)
    assert "Light model on 63 labelled rows" in printed and "200 more rows: +" in printed
    few = store(tmp_path / "few", [("a film", label, "train") for label in ("good", "bad")])
    message = refusal("label-gain", str(few.folder.parent), "--model", model)
    assert "needs 50 rows with labels" in message
