"""Evaluations of runs and of files."""

import shutil
from pathlib import Path

import pytest

from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.messages.question import Working
from engine.results import store
from engine.results.predictions import read_predictions
from engine.runs.folder import RunFolder
from engine.tasks.scoring import evaluate
from engine.training.loop import train
from tests.engine.training import small


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("made")
    job = small.classifying(folder, epochs=1, evaluate_every=5, save_every=1, keep=9)
    assert isinstance(job.data, FileData)
    data = job.data.model_copy(update={"split": Split(validation=0.2, test=0.2)})
    return small.trained(folder / "run", job.model_copy(update={"data": data}))


@pytest.fixture
def run(run_folder: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(run_folder.path, tmp_path / "run"))


def test_validation_predictions_of_a_run_are_reproduced(run):
    file = store.predictions_file(run.results, "validation")
    before = read_predictions(file)
    file.unlink()
    messages: list[Working] = []
    evaluation = evaluate(store.evaluation_question(run, "validation"), emit=messages.append)
    after = read_predictions(file)
    assert evaluation.file == file and evaluation.rows == len(before) and evaluation.looks == 0
    assert evaluation.metrics == pytest.approx(before.info.metrics, abs=1e-6)
    excluded = {"made", "metrics"}
    assert after.info.model_dump(exclude=excluded) == before.info.model_dump(exclude=excluded)
    for name in ("row", "line", "gold", "predicted", "cell:text", "cell:label"):
        assert after.table[name].equals(before.table[name])
    assert messages[0].stage == "Loading the model"
    assert (messages[-1].stage, messages[-1].done) == ("Predicting", messages[-1].total)


def test_evaluations_on_test_rows_are_counted(run):
    assert not store.logged_evaluations(run.results)
    looks = [evaluate(store.evaluation_question(run, "test")).looks for _ in range(2)]
    assert looks == [1, 2]
    other = min(int(f.name[5:]) for f in run.checkpoint_folders())
    assert other != run.best_step()
    question = store.evaluation_question(run, "test", other)
    assert evaluate(question).looks == 3
    assert question.into == run.results / f"step-{other:08d}"
    parts = [(p.info.part, p.info.step) for p in store.stored_predictions(run.results)]
    assert parts == [("validation", run.best_step()), ("test", run.best_step()), ("test", other)]
    assert [evaluation.step for evaluation in store.logged_evaluations(run.results)] == [
        run.best_step()
    ] * 2 + [other]
    test = read_predictions(store.predictions_file(run.results, "test"))
    dataset = open_dataset(run.dataset)
    assert test.table["cell:text"].to_pylist() == list(dataset.rows("test").texts)


def test_a_file_without_labels_is_scored(run, tmp_path):
    file = tmp_path / "new.csv"
    file.write_text("note,text\nx,a lovely warm film\ny,bad acting\n", encoding="utf-8")
    data = FileData(path=file, reading=Reading(format="csv"), mapping=Mapping(text="text"))
    question = store.evaluation_question(run, "validation").model_copy(
        update={"data": data, "part": "file", "source": "", "into": tmp_path / "results"}
    )
    result = evaluate(question, scratch=tmp_path)
    rows = read_predictions(result.file)
    assert (result.file.name, result.metrics, result.looks) == ("file-new.csv.parquet", {}, 0)
    assert (rows.info.part, rows.info.source, rows.is_labelled) == ("file", "new.csv", False)
    assert rows.cells("note").to_pylist() == ["x", "y"]
    assert rows.table["line"].to_pylist() == [2, 3]
    assert store.stored_predictions(tmp_path / "results")[0].file == result.file
    assert not list(tmp_path.glob("evaluate-*"))


def test_unlabelled_rows_are_skipped_and_reported(run, tmp_path):
    labels = read_predictions(store.predictions_file(run.results, "validation")).info.labels
    file = tmp_path / "some.csv"
    lines = [f"a lovely warm film,{labels[0]}", "bad acting,", f"a bad film,{labels[1]}", "cold, "]
    file.write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    question = store.evaluation_question(run, "validation").model_copy(
        update={
            "data": FileData(path=file),
            "part": "file",
            "source": "",
            "into": tmp_path / "results",
        }
    )
    evaluation = evaluate(question, scratch=tmp_path)
    assert read_predictions(evaluation.file).table["line"].to_pylist() == [2, 4]
    assert evaluation.rows == 2 and "accuracy" in evaluation.metrics
    assert "2 rows without a label left out." in evaluation.notes
    file.write_text("text,label\na film,\nanother film,\n", encoding="utf-8")
    with pytest.raises(StudioError, match="label"):
        evaluate(question, scratch=tmp_path)


def test_missing_checkpoints_and_splits_are_refused(tmp_path):
    job = small.classifying(tmp_path, epochs=1, steps=1)
    run = small.new_run(tmp_path / "run", job)
    with pytest.raises(StudioError, match="no such checkpoint"):
        store.evaluation_question(run, "validation")
    train(job, run, run.append)
    with pytest.raises(StudioError, match="no test rows"):
        evaluate(store.evaluation_question(run, "test"))
    assert not store.logged_evaluations(run.results)
