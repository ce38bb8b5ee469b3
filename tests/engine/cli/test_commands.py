"""The headless commands: output, files and exit codes."""

import csv
import json
import os
import subprocess
import sys
import time
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.cli.options import get_flag
from engine.cli.recommending import recommend_for
from engine.config.dataset import FileData
from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.fields import get_settings
from engine.config.job import RUN_NAME_LENGTH, FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.files.shipped import minilm, starter_model
from engine.messages.events import Ended
from engine.models.checkpoint import load
from engine.runs.folder import RunFolder
from engine.runs.launch import environment
from tests.engine.training import small

SIZE = [
    *("--size=tiny", "--vocab-size=120", "--set=base_model.model.hidden_size=16"),
    *("--set=base_model.model.heads=2", "--set=base_model.model.intermediate_size=32"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder made by the commands."""
    folder = tmp_path_factory.mktemp("trained")
    job = folder / "job.json"
    job.write_text(small.classifying(folder, epochs=6).model_dump_json())
    assert main(["train", str(job), "--into", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def model(trained: Path) -> str:
    return str(RunFolder(trained).checkpoint_folders()[-1])


def test_a_checkpoint_of_a_run_is_exported(output, model, tmp_path, in_process):
    """In half precision, verified on the validation rows of its run."""
    out = tmp_path / "out"
    printed = output("export", model, "--to", out, "--precision", "float16")
    assert "logits: " in printed
    assert f"MB written to {out}" in printed
    written = json.loads((out / "export-report.json").read_text())
    run = Path(model).parents[1].name
    assert written["sources"][1].endswith(f"validation rows of the run {run}")
    assert written["precision"] == "float16"


def test_an_export_reports_impossible_combinations(refusal, model, tmp_path):
    command = ("export", model, "--to", str(tmp_path / "out"))
    assert "does not support int8" in refusal(*command, "--format=tf1", "--precision=int8")
    assert "already exists" in refusal("export", model, "--to", model)
    assert not (tmp_path / "out").exists()


def test_a_job_is_composed_from_options(output, tmp_path):
    data = small.sentences(tmp_path / "reviews.csv")
    options = "--epochs=2 --learning-rate=3e-5 --set=training.max_grad_norm=0.5 --name=Mine"
    printed = output("job", "--data", data, *SIZE, *options.split())
    job = JobSpec.model_validate_json(printed)
    assert (job.name, job.training.epochs, job.training.learning_rate) == ("Mine", 2, 3e-5)
    assert job.training.max_grad_norm == 0.5
    assert isinstance(job.base_model, FromScratch) and job.base_model.model.hidden_size == 16
    assert isinstance(job.data, FileData) and job.data.mapping is not None
    assert (job.data.mapping.text, job.data.mapping.label) == ("text", "label")


@pytest.mark.parametrize("stem", ["reviews", "r" * 240])
def test_an_unnamed_run_is_named_after_its_data_and_task(output, tmp_path, stem):
    data = small.sentences(tmp_path / f"{stem}.csv")
    name = json.loads(output("job", "--data", data, *SIZE))["name"]
    assert name == f"{stem} · Text classification"[:RUN_NAME_LENGTH]


def test_the_default_base_model_depends_on_the_task(output, tmp_path):
    labelled = small.sentences(tmp_path / "rows.csv")
    texts = small.paragraphs(tmp_path / "text.txt")
    for data, task, expected in (
        (labelled, "text_classification", minilm()),
        (texts, "pretraining", starter_model()),
    ):
        job = JobSpec.model_validate_json(output("job", "--task", task, "--data", data))
        assert job.base_model == FromCheckpoint(path=expected)


def test_a_composed_job_trains_and_can_be_resumed(output, tmp_path):
    data = small.paragraphs(tmp_path / "text.txt")
    options = "--task=pretraining --steps=4 --max-length=32 --batch-size=4 --device=cpu --threads=1"
    job = tmp_path / "job.json"
    job.write_text(output("job", "--data", data, *SIZE, *options.split()))
    run = tmp_path / "run"
    assert str(run) in output("train", job, "--into", run)
    events, _ = RunFolder(run).events_after(0)
    assert isinstance(events[-1], Ended) and events[-1].outcome == "finished"
    output("resume", run)


def test_training_gives_advice_if_nothing_was_learned(capsys, tmp_path):
    job = tmp_path / "job.json"
    job.write_text(small.classifying(tmp_path, steps=8, learning_rate=1e-7).model_dump_json())
    assert main(["train", str(job), "--into", str(tmp_path / "run")]) == 0
    stderr = capsys.readouterr().err
    assert (
        "No better than the majority baseline" in stderr or "Hardly anything is learned" in stderr
    )
    assert "Try a learning rate of 5e-4. (--learning-rate 0.0005)" in stderr


def test_a_job_has_the_recommended_settings_by_default(output, capsys, tmp_path):
    data = str(small.sentences(tmp_path / "reviews.csv"))
    assert main(["job", "--data", data, "--epochs=2"]) == 0
    printed = capsys.readouterr()
    job = JobSpec.model_validate_json(printed.out)
    assert recommend_for(job).training.model_copy(update={"epochs": 2}) == job.training
    assert job.training.learning_rate > TrainingSpec().learning_rate
    assert job.training.max_length == 16, "the texts are short"
    rate = f"Learning rate {job.training.learning_rate:g}: "
    assert rate in printed.err and "Epochs" not in printed.err

    probe = ("--set=features.vectors=last", "--set=features.probe=linear")
    for options, rate in (((), 1e-2), (("--set=features.learning_rate=0.001",), 1e-3)):
        printed = output("job", "--data", data, *probe, *options)
        assert JobSpec.model_validate_json(printed).features.learning_rate == rate

    spec = job.model_copy(update={"base_model": FromCheckpoint(path=Path("/nowhere"))})
    assert recommend_for(spec).training == TrainingSpec(), "a model on another machine"


def test_the_quick_recipe_writes_its_values_into_the_job(output, capsys, tmp_path):
    data = small.sentences(tmp_path / "reviews.csv")
    quick, paper = (
        JobSpec.model_validate_json(output("job", "--data", data, "--recipe", recipe, "--seed=7"))
        for recipe in ("quick", "paper")
    )
    assert quick.training == recommend_for(paper, "quick").training.model_copy(update={"seed": 7})
    assert quick.training.frozen_layers and not paper.training.frozen_layers
    printed = output("job", "--data", data, "--recipe", "quick", "--frozen-layers=0")
    training = JobSpec.model_validate_json(printed).training
    assert not training.cache_frozen_layers and training.epochs == quick.training.epochs
    for option in ("--lora-rank=8", "--set=features.vectors=last", "--task=pretraining"):
        assert main(["job", "--data", str(data), "--recipe", "quick", option]) == 1
        assert "Leave out --recipe quick." in capsys.readouterr().err


def test_paths_in_a_job_file_are_relative_to_its_folder(output, tmp_path, monkeypatch):
    job = small.pretraining(tmp_path, steps=2).model_dump(mode="json")
    job["data"]["path"] = "text.txt"
    (tmp_path / "job.json").write_text(json.dumps(job))
    monkeypatch.chdir("/")
    output("train", tmp_path / "job.json", "--into", tmp_path / "run")
    assert load(RunFolder(tmp_path / "run").checkpoint_folders()[-1])


def test_predict_keeps_every_column_and_escapes_formulas(output, model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("id,text,label,note\n7,=1+1 a lovely film,?,@x\n-8,a dull film,,-\n")
    arguments = ("predict", str(data), "--model", model, "--text", "text", "--out")
    output(*arguments, tmp_path / "safe.csv")
    output(*arguments, tmp_path / "raw.csv", "--raw")
    safe = list(csv.reader((tmp_path / "safe.csv").read_text().splitlines()))
    raw = list(csv.reader((tmp_path / "raw.csv").read_text().splitlines()))
    assert safe[0][:6] == ["id", "text", "label", "note", "predicted_label", "probability"]
    assert safe[1][:4] == ["7", "'=1+1 a lovely film", "?", "'@x"]
    assert raw[1][:4] == ["7", "=1+1 a lovely film", "?", "@x"]
    assert safe[2][:4] == raw[2][:4] == ["-8", "a dull film", "", "-"]


def test_predict_marks_unsure_rows_and_resumes_after_a_cancellation(
    output, capsys, model, tmp_path, monkeypatch
):
    data, out = small.sentences(tmp_path / "new.csv", rows=30), tmp_path / "out.csv"
    arguments = ["predict", str(data), "--model", model, "--out", str(out), "--threshold", "1"]
    monkeypatch.setattr("engine.applying.apply.CHUNK_ROWS", 8)
    with monkeypatch.context() as patch:
        patch.setattr(
            "engine.applying.apply.write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        assert main(arguments) == 130
    assert "are in out.csv.part; add --resume" in capsys.readouterr().err and not out.exists()
    monkeypatch.setattr("engine.tasks.predicting.Predictor.predict", None)
    assert "30 rows written" in output(*arguments, "--resume")
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert {row["unsure"] for row in rows} == {"true"} and len(rows) == 30
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


@pytest.mark.parametrize("quick", [True, False])
def test_fast_predictions_agree_with_exact_ones_in_order(
    capsys, model, tmp_path, monkeypatch, quick
):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("engine.tasks.precision_agreement.MIN_SPEEDUP", 0 if quick else 1e9)
    monkeypatch.setattr("engine.tasks.precision_agreement.MIN_EQUAL", 0)
    monkeypatch.setattr("engine.tasks.precision_agreement.MAX_LOSS", 1)
    data, written = small.sentences(tmp_path / "new.csv", rows=40), {}
    for precision in ("exact", "fast"):
        out = tmp_path / f"{precision}.csv"
        arguments = ("predict", str(data), "--model", model, "--out", str(out))
        assert main([*arguments, "--precision", precision]) == 0
        written[precision] = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
        stderr = capsys.readouterr().err
    assert ("of predictions equal to fp32 on 10 validation rows" in stderr) == quick
    assert ("nothing faster agrees" in stderr) != quick
    for fast, exact in zip(written["fast"], written["exact"], strict=True):
        assert fast["text"] == exact["text"]
        assert float(fast["p(good)"]) == pytest.approx(float(exact["p(good)"]), abs=0.02)


def test_attention_is_written_as_an_array(output, model, tmp_path):
    out = tmp_path / "heads.npy"
    printed = output("attention", "a lovely film", "--model", model, "--out", out)
    array = np.load(out)
    assert array.shape[:2] == (2, 2) and array.dtype == np.float32
    assert np.allclose(array.sum(-1), 1, atol=1e-5)
    assert len(printed.splitlines()[0].split()) == array.shape[2]


def test_fill_ranks_words(json_output):
    (mask,) = json_output("fill", "a [MASK] film", "--top=3")["masks"]
    fractions = [guess["probability"] for guess in mask["predictions"]]
    assert len(fractions) == 3 and fractions == sorted(fractions, reverse=True)


def test_truncation_of_a_text_is_reported(capsys, tmp_path):
    text, out = f"[MASK] {'a ' * 600}", tmp_path / "heads.npy"
    for command in (["fill", text, "--top=2"], ["attention", text, "--out", str(out)]):
        assert main(command) == 0
        printed = capsys.readouterr()
        assert "note: truncated to the first 512 tokens" in printed.err and printed.out
    assert np.load(out).shape[2] == 512


def test_check_reports_misleading_data(output, json_output, tmp_path):
    data = tmp_path / "data.csv"
    rows = [f"a film number {n},{'good' if n % 3 else 'bad'}" for n in range(40)]
    data.write_text("\n".join(["text,label", *rows, "twice,good", "Twice ,bad"]))
    report = json_output("check", data)
    (finding,) = report["findings"]
    assert (finding["check"], finding["severity"]) == ("label_conflicts", "problem")
    assert (finding["count"], finding["lines"]) == (2, [42, 43])
    printed = output("check", data)
    assert "problem: 2 rows with the same text and another label" in printed
    assert "  lines 42, 43" in printed


def test_check_names_the_line_of_a_problem(capsys, tmp_path):
    data = tmp_path / "bad.jsonl"
    data.write_text('{"text": "one"}\n{"text": oops}\n')
    assert main(["check", str(data), "--json"]) == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    (problem,) = report["problems"]
    assert (report["ok"], problem["line"]) == (False, 2)
    assert "bad.jsonl, line 2" in printed.err


def test_user_errors_give_one_sentence_and_exit_code_one(refusal, model, trained, tmp_path):
    data = small.sentences(tmp_path / "reviews.csv")
    job = tmp_path / "job.json"
    job.write_text(small.classifying(tmp_path).model_dump_json())
    broken = tmp_path / "broken.json"
    broken.write_text('{"name": "x", "task": {"kind": "cooking"}}')
    assert "no [MASK]" in refusal("fill", "no mask here", "--model", model)
    assert "[MASK] comes after them" in refusal("fill", f"{'a ' * 600}[MASK]")
    assert "MLM" in refusal("fill", "a [MASK]", "--model", model)
    assert "config.json" in refusal("fill", "a [MASK]", "--model", tmp_path)
    assert "already" in refusal("train", job, "--into", trained)
    assert "broken.json" in refusal("train", broken, "--into", tmp_path / "a")
    assert "not a run folder" in refusal("resume", tmp_path)
    assert "stars" in refusal("evaluate", data, "--model", model, "--label=stars", "--json")
    assert "max_grad_norm" in refusal(
        "job", "--data", data, *SIZE, "--set=training.max_grad_norm=much"
    )


def test_wrong_usage_is_exit_code_two(capsys):
    assert main(["fill"]) == 2
    assert main(["cook"]) == 2
    assert main(["fill", "x", "--top", "many"]) == 2
    assert main(["split", "x", "--split-by", "age"]) == 2
    assert "'--split-by': 'age' is not one of 'name'" in capsys.readouterr().err
    assert main(["predict", "x.csv", "--model", "m", "--out", "y.csv", "--batch-size", "0"]) == 2
    assert main(["predict", "x.csv", "--model", "m", "--out", "y.csv", "--max-length", "0"]) == 2
    assert main(["evaluate", "x.csv", "--model", "m", "--max-length", "0"]) == 2
    assert main(["evaluate", "x.csv", "--model", "m", "--batch-size", "-1"]) == 2
    assert main(["calibrate", "m", "--no-answer-threshold", "nan"]) == 2
    assert main(["resume", "run", "--processes", "9999999"]) == 2, "each is a real process"
    assert "--help" in capsys.readouterr().err


def test_a_bug_is_reported_as_a_bug(capsys, monkeypatch, tmp_path):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("engine.cli.check.recognise_files", broken)
    assert main(["check", str(tmp_path)]) == 3
    assert "unexpected error in BERT Studio" in capsys.readouterr().err


def test_help_names_every_command(output):
    printed = output("--help")
    commands = ("job", "train", "resume", "check", "predict", "evaluate", "fill", "attention")
    for command in (*commands, "tour"):
        assert command in printed


def test_a_command_imports_neither_other_commands_nor_the_record():
    code = "from app.__main__ import main; main(['lineage', '--help'])"
    assert loaded_modules(code, "engine.cli.jobs", "sqlalchemy", "torch") == []


def loaded_modules(code: str, *prefixes: str) -> list[str]:
    """The modules a program has loaded when it ends, filtered by prefix."""
    program = f"{code}; import sys; print([m for m in sys.modules if m.startswith({prefixes})])"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    names: list[str] = literal_eval(result.stdout.splitlines()[-1])
    return names


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_stops_and_saves(tmp_path):
    """A training that has imported neither Qt nor the record nor unused libraries."""
    job, out = tmp_path / "job.json", tmp_path / "out"
    job.write_text(small.classifying(tmp_path, epochs=2000).model_dump_json())
    program = (
        "import sys, engine.worker.__main__; from engine.cli import main;"
        "code = main(); print(list(sys.modules)); sys.exit(code)"
    )
    command = [sys.executable, "-c", program, "train", str(job), "--into", str(tmp_path / "run")]
    with out.open("w") as file:
        worker = subprocess.Popen(
            command, env=environment(), stdout=file, stderr=subprocess.DEVNULL
        )
    run = RunFolder(tmp_path / "run")
    while b'"measured"' not in (run.events_file.read_bytes() if run.events_file.exists() else b""):
        assert worker.poll() is None
        time.sleep(0.05)
    worker.send_signal(2)
    assert worker.wait(60) == 0
    events, _ = run.events_after(0)
    assert isinstance(events[-1], Ended) and events[-1].outcome == "stopped"
    assert run.checkpoint_folders()
    unwanted = ("PySide6", "sqlalchemy", "engine.record", "torch._dynamo", "sympy")
    modules = literal_eval(out.read_text().splitlines()[-1])
    assert "torch" in modules
    assert [m for m in modules if m.startswith((*unwanted, "torch.distributed.fsdp"))] == []


@pytest.mark.parametrize("spec", [TrainingSpec, HardwareSpec])
def test_every_setting_is_an_option_with_the_help_of_its_field(output, spec):
    printed = "".join(output("job", "--help").split())  # lines break anywhere
    for name, info in get_settings(spec).items():
        assert get_flag(name) in printed and info.description
        assert "".join(info.description.split()) in printed


ROWS = {  # header and row format of each task
    "sentence_similarity": ("anchor,positive", "a lovely film {n},a good film {n}"),
    "pair_classification": ("text,pair,label", "a film,another,{n}"),
    "hierarchical_classification": ("text,label", "a film,a > {n}"),
    "regression": ("text,score", "a film,{n}.5"),
    "multiple_choice": ("text,ending0,ending1,label", "he,runs,sits,{n}"),
}


def rows_for(kind: str, folder: Path) -> Path:
    """A file that fits the task."""
    if kind == "question_answering":
        return small.questions(folder / "questions.json")
    if kind == "token_classification":
        return small.tagged(folder / "tagged.conll")
    if kind == "span_classification":
        return small.spanned(folder / "spanned.jsonl")
    if kind not in ROWS:
        return small.sentences(folder / "reviews.csv")
    header, row = ROWS[kind]
    file = folder / "rows.csv"
    file.write_text("\n".join([header, *(row.format(n=n % 2) for n in range(40))]))
    return file


@pytest.mark.parametrize(
    "spec, path",
    [
        (TrainingSpec, "training"),
        (HardwareSpec, "hardware"),
        (Features, "features"),
        (BertSpec, "base_model.model"),
        (FromScratch, "base_model"),
        *((task, "task") for task in TASKS.values()),
    ],
)
def test_every_setting_can_be_set_by_its_path(output, tmp_path, spec, path):
    kind = spec.model_fields["kind"].default if path == "task" else "text_classification"
    settings = [name for name in get_settings(spec) if name != "cache"]
    defaults = spec.model_construct().model_dump(mode="json", include=set(settings))
    arguments = [
        f"--set={path}.{name}={json.dumps(defaults[name])}" for name in settings if name in defaults
    ]
    data = str(rows_for(kind, tmp_path))
    printed = output("job", "--data", data, "--task", kind, "--size=tiny", *arguments)
    job = JobSpec.model_validate_json(printed)
    assert job.task.kind == kind


@pytest.mark.parametrize("option", ["--base-model=", "--set=base_model=", "--set=base_model=.,"])
def test_a_base_model_that_does_not_exist_is_refused(option, refusal, tmp_path):
    data = str(small.sentences(tmp_path / "reviews.csv"))
    assert "There is no folder nowhere" in refusal("job", "--data", data, f"{option}/nowhere")


def test_incompatible_options_are_refused(refusal, model, tmp_path):
    data = str(small.sentences(tmp_path / "reviews.csv"))
    assert "--vocab-size is for a model from scratch" in refusal(
        "job", "--data", data, "--vocab-size=100"
    )
    assert "cannot be combined" in refusal(
        "job", "--data", data, "--size=tiny", "--base-model", model
    )
