"""`check`, `job` and `train` refuse what the window refuses, with the same message."""

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.config.dataset import Cleaning, FileData, Mapping, Reading, Split
from engine.config.job import JobSpec
from engine.data.datasets.importing import import_dataset
from tests.engine.cli.test_commands import SIZE
from tests.engine.training import small

VALID = [f"a film {n},{n % 2}" for n in range(20)]
CASES = {
    "a row without a text": (["text,label", *VALID, ",1"], "", "1 of 21 rows have no text"),
    "no label": (["text,label", "a film,", "a book,"], "", "No training row has a label"),
    "too many labels": (
        ["text,label", *(f"a film {n},n{n}" for n in range(99))],
        "text_classification",
        "99 labels in 99 rows, too many",
    ),
    "one label": (["text,label", *["a film,good"] * 9], "", "Only one class, “good”"),
    "no choices": (["text,label", *VALID], "multiple_choice", "needs the choices of each row"),
    "no second text": (["text,label", *VALID], "pair_classification", "a pair needs two"),
    "no numbers": (
        ["text,label", "a film,good", "a film,bad"],
        "regression",
        "2 of 2 rows have no number",
    ),
    "an empty choice": (
        ["text,ending0,ending1,label", "he,runs,sits,0", "she,,reads,1"],
        "",
        "1 of 2 rows have an empty choice",
    ),
}


def write_rows(folder: Path, lines: list[str]) -> Path:
    file = folder / "rows.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_job(folder: Path, file: Path, task: str, cleaning: Cleaning | None = None) -> Path:
    raw = small.classifying(folder, epochs=1).model_dump(mode="json")
    raw["data"] = FileData(path=file, cleaning=cleaning or Cleaning()).model_dump(mode="json")
    raw["task"] = {"kind": task}
    job = folder / "job.json"
    job.write_text(JobSpec.model_validate(raw).model_dump_json())
    return job


@pytest.mark.parametrize("case", CASES)
def test_check_job_and_train_refuse_invalid_data(refusal, case, tmp_path):
    lines, task, message = CASES[case]
    file = write_rows(tmp_path, lines)
    arguments = ["--task", task] if task else []
    assert message in refusal("check", file, *arguments)
    assert message in refusal("job", "--data", file, *arguments, *SIZE)
    kind = task or ("multiple_choice" if "ending0" in lines[0] else "text_classification")
    job = write_job(tmp_path, file, kind)
    assert message in refusal("train", job, "--into", tmp_path / "run")


def test_json_refusals_include_the_findings(capsys, tmp_path):
    file = write_rows(tmp_path, ["text,label", *VALID, ",1", VALID[0]])
    assert main(["check", str(file), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert [problem["problem"] for problem in report["problems"]] == ["1 of 22 rows have no text."]
    assert "exact_duplicates" in [finding["check"] for finding in report["findings"]]
    assert main(["check", str(file)]) == 1
    printed = capsys.readouterr()
    assert "rows: 22" in printed.out and "1 of 22 rows have no text." in printed.err


def test_all_problems_of_data_are_reported_together(capsys, tmp_path):
    lines = ["text,stars", *(f"a film {n},{n % 5}" for n in range(20)), ",3", "b,many"]
    file = write_rows(tmp_path, lines)
    arguments = ["--task", "regression"]
    for command in (
        ["check", str(file), *arguments],
        ["job", "--data", str(file), *arguments, *SIZE],
    ):
        assert main(command) == 1
        stderr = [line for line in capsys.readouterr().err.splitlines() if "bert-studio: " in line]
        for problem, line in zip(("no text", "no number"), stderr, strict=True):
            assert problem in line


def test_answers_missing_from_their_passage_are_counted(refusal, capsys, tmp_path):
    """Columns are recognised by their cells or by the requested task."""
    for answers, arguments in (
        (("Ann", "ann"), []),
        (("Bob", "Eve"), ["--task", "question_answering"]),
    ):
        rows = [f"who is it {n}?,It is Ann at {n}.,{answers[n % 2]}" for n in range(20)]
        file = write_rows(tmp_path, ["question,context,answer", *rows])
        wrong = 10 if "Ann" in answers else 20
        for command in (["check", str(file)], ["job", "--data", str(file), *SIZE]):
            message = refusal(*command, *arguments)
            assert (
                f"{wrong} of 20 rows have an answer that their passage does not contain" in message
            )
            assert "We guessed" not in message, "the column is named “answer”"
        job = write_job(tmp_path, file, "question_answering")
        message = refusal("train", job, "--into", tmp_path / f"run{wrong}")
        assert f"{wrong} of 20 rows have an answer" in message
        assert main(["job", "--data", str(file), "--task", "pretraining", *SIZE]) == 0
        capsys.readouterr()


def test_guessed_columns_are_reported(capsys, home, tmp_path):
    lines = ["opinion,verdict", *(f"a film number {n},{'ab'[n % 2]}" for n in range(20))]
    file = write_rows(tmp_path, lines)
    for named in ([], ["--text", "opinion", "--label", "verdict"]):
        for command in (
            ["check", str(file), *named],
            ["job", "--data", str(file), *named, *SIZE],
            ["import", str(file), *named],
        ):
            assert main(command) == 0
            printed = capsys.readouterr()
            assert ("We guessed" in printed.out + printed.err) == (not named)


def test_yes_no_columns_are_labels_if_the_task_can_have_several(output, tmp_path):
    rows = [f"{n},a film number {n},{n % 2},{n % 3 % 2},{int(n % 5 == 0)}" for n in range(30)]
    file = write_rows(tmp_path, ["id,comment,toxic,obscene,threat", *rows])
    flags = ["toxic", "obscene", "threat"]
    for arguments, label, expected, message in (
        ([], None, flags, "the label columns"),
        (["--task", "multi_label"], None, flags, "the label columns"),
        (["--task", "text_classification"], "toxic", [], "the label column "),
        (["--label", "obscene"], "obscene", [], ""),
        (["--label", "id"], "id", [], ""),
        (["--flags", "toxic,threat"], None, ["toxic", "threat"], ""),
    ):
        report = json.loads(output("check", file, "--json", *arguments))
        assert (report["mapping"]["label"], report["mapping"]["flags"]) == (label, expected)
        assert [message in note for note in report["notes"] if "We guessed" in note] == [
            True
        ] * bool(message)


def test_incomplete_rows_are_skipped_on_request(json_output, capsys, tmp_path):
    file = write_rows(tmp_path, ["text,label", *VALID, "a film,", "another,"])
    report = json_output("check", file, "--skip-empty=label")
    assert report["rows"] == 20
    assert main(["job", "--data", str(file), "--skip-empty=label", *SIZE]) == 0
    printed = capsys.readouterr()
    composed = JobSpec.model_validate_json(printed.out)
    assert isinstance(composed.data, FileData)
    assert composed.data.cleaning == Cleaning(skip_empty=("label",))
    assert "Row without “label” skipped: 2 times, first in line 22." in printed.err


def test_a_label_only_in_validation_rows_is_refused(refusal, tmp_path):
    file, other = write_rows(tmp_path, ["text,label", *VALID]), tmp_path / "dev.csv"
    message = "Validation rows have labels that no training row has: “2”."
    other.write_text("text,label\na film,1\na film,2\n")
    arguments = ["--data", str(file), "--validation", str(other)]
    assert message in refusal("job", *arguments, *SIZE)
    spec = import_dataset(
        "x",
        {"train": file, "validation": other},
        Reading(),
        Mapping(text="text", label="label"),
        Split(),
        tmp_path / "data" / "1",
    )
    assert spec.unseen == ("2",)
    assert message in refusal("job", "--data", tmp_path / "data" / "1", *SIZE)
    other.write_text("text,label\na film,1.0\na film,0\n")
    assert main(["job", *arguments, *SIZE]) == 0, "another spelling is the same label"


def test_the_task_is_recognised_and_selects_its_label_column(output, tmp_path):
    verdicts = ("agrees", "differs", "neither")
    rows = [f"a dog {n},some dog {n},{n % 37 / 10},{verdicts[n % 3]}" for n in range(120)]
    file = write_rows(tmp_path, ["sentence_A,sentence_B,relatedness_score,judgment", *rows])
    pairs = {"text": "sentence_A", "pair": "sentence_B"}
    for arguments, kind, label in (
        ([], "pair_classification", "judgment"),
        (["--task=regression"], "regression", "relatedness_score"),
        (["--label=relatedness_score"], "regression", "relatedness_score"),
    ):
        job = JobSpec.model_validate_json(output("job", "--data", file, *arguments, *SIZE))
        assert job.task.kind == kind
        assert isinstance(job.data, FileData)
        assert job.data.mapping == Mapping(**pairs, label=label)


def test_xml_read_as_text_is_reported(json_output, capsys, tmp_path):
    file = tmp_path / "book.xml"
    file.write_text("<book>\n<p>One line.</p>\n</book>\n")
    report = json_output("check", file)
    assert any("looks like XML" in note for note in report["notes"])
    assert main(["job", "--data", str(file), *SIZE]) == 0
    assert "looks like XML" in capsys.readouterr().err
    file.write_text("a < b\nis no tag\n")
    assert not json_output("check", file)["notes"]


@pytest.mark.parametrize(
    "cells, note",
    [
        (["2,23", "2", "23", "5"], "“2,23” is read as 2 labels: 2 · 23. Text classification reads"),
        (["Austin, TX", "Dallas, TX"], "“Austin, TX” is read as one label."),
        ([f"{n},5" for n in range(30)], "“0,5” is read as the number 0.5."),
        (["a|b", "a", "b;c"], "“a|b” is read as 2 labels: a · b."),
        (["C#", "F"], "“C#” is read as one label."),
        (["yes", "no"], None),
    ],
)
def test_the_reading_of_a_sign_in_labels_is_said(json_output, capsys, tmp_path, cells, note):
    file = tmp_path / "labels.jsonl"
    rows = [{"text": f"a text {n}", "label": cells[n % len(cells)]} for n in range(40)]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    findings = json_output("check", str(file))["findings"]
    signs = [item["sentence"] for item in findings if item["check"] == "label_signs"]
    assert len(signs) == (note is not None)
    assert note is None or signs[0].startswith(note)
    main(["job", "--data", str(file)])
    printed = capsys.readouterr().err
    assert note is None or note in printed
    assert ("`check` lists other readings" in printed) == (note is not None)


def test_the_format_of_a_file_is_chosen_by_options(json_output, refusal, tmp_path):
    file = tmp_path / "rows.txt"
    rows = [f"a text with the number {n}\t{n % 2}\n" for n in range(10)]
    file.write_text("".join(rows), encoding="utf-16")
    options = ["--format", "tsv", "--no-header", "--encoding", "utf-16"]
    report = json_output("check", str(file), *options)
    assert (report["rows"], len(report["columns"]), report["delimiter"]) == (10, 2, "\t")
    assert json_output("check", str(file), *options[:2], "--header")["rows"] == 9
    assert json_output("check", str(file), "--format", "csv", "--delimiter", r"\t")["rows"] == 10
    assert "There is no file format “odd”" in refusal("check", str(file), "--format", "odd")
