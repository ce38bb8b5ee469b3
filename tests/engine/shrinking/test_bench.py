"""Students of a run are runs of their own, measured against it."""

import json

import pytest

from engine.cli import main
from engine.config.job import FromCheckpoint
from engine.errors import StudioError
from engine.export.exporting import export
from engine.messages.exporting import Export
from engine.messages.shrinking import Shrink, Shrunk
from engine.models import checkpoint
from engine.results.store import best_checkpoint
from engine.results.students import POINTS
from engine.runs.folder import RunFolder
from engine.shrinking.bench import shrink


@pytest.fixture
def question(tuned, tmp_path):
    model = tuned("text_classification")
    texts = tmp_path / "texts.txt"
    texts.write_text("a warm film and a happy end\nthe sad cold end\n", encoding="utf-8")
    return Shrink(run=model.run.path, into=tmp_path / "smaller", trials=2, texts=texts, epochs=1)


def test_a_search_measures_students_that_export_and_continues(question, tmp_path):
    emitted = list[object]()
    one = question.model_copy(update={"trials": 1})
    first = shrink(one, emitted.append)
    assert [answer.done for answer in emitted if isinstance(answer, Shrunk)] == [0, 1]
    again = shrink(question, emitted.append)
    assert again.points[: len(first.points)] == first.points  # nothing is repeated
    assert (again.done, again.ended, again.rows) == (2, True, first.rows)
    teacher, *rest = again.points
    assert teacher.is_teacher and teacher.times == 1
    students = [point for point in rest if not point.is_teacher and point.computed == "float32"]
    assert len(students) == 2
    for point in again.points:
        assert 0 <= point.low <= point.score <= point.high <= 1
        assert point.slowest <= point.times <= point.fastest
    for point in students:
        assert point.shape is not None and point.bytes < teacher.bytes
        info = checkpoint.load(point.checkpoint).info
        assert (info.layers, info.intermediate_size) == (
            point.shape.layers,
            point.shape.intermediate_size,
        )
    run = RunFolder(question.into / "student-01")
    job = run.job()
    assert best_checkpoint(run) == students[0].checkpoint
    assert isinstance(job.base_model, FromCheckpoint) and job.teacher == teacher.checkpoint
    (texts,) = question.into.glob("texts-*")
    assert job.data.path == texts / "train.parquet"
    # another file of texts, and another model as a student, count from then on
    other = tmp_path / "other.txt"
    other.write_text("a warm story\n", encoding="utf-8")
    interrupted = RunFolder.create(question.into / "student-03", job)  # of another student
    update = {"trials": 3, "texts": other, "students": (best_checkpoint(run),)}
    third = shrink(question.model_copy(update=update))
    assert [point.shape for point in third.points[len(again.points) :]][:1] == [None]
    assert third.points[len(again.points)].name == "student-01" and not [*interrupted.milestones()]
    newest = RunFolder(question.into / "student-04").job()
    assert newest.data.path.parent != texts
    assert newest.base_model.path == best_checkpoint(run)
    exported = export(Export(checkpoint=students[0].checkpoint, into=tmp_path / "exported"))
    assert exported.report.weights_equal
    with pytest.raises(StudioError, match="same name, “student-01”"):
        shrink(question.model_copy(update={"students": (best_checkpoint(run),) * 2}))
    # another teacher does not get these students
    state = question.into / POINTS
    stored = json.loads(state.read_text())
    stored["points"][0]["checkpoint"] = "/another"
    state.write_text(json.dumps(stored))
    with pytest.raises(StudioError, match="students of another model"):
        shrink(question)


def test_the_command_lists_the_points_and_marks_the_frontier(question, tmp_path, capsys):
    command = ["shrink", str(question.run), "--into", str(tmp_path / "x"), "--trials", "1"]
    assert main([*command, "--epochs", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["frontier"] and answer["metric"] == "accuracy"
    assert main(command) == 0  # reads what is there
    out = capsys.readouterr().out
    assert "Teacher, fp32" in out and "\n*" in f"\n{out}" and "bert-studio export" in out


def test_runs_without_outputs_for_whole_texts_are_refused(tuned, tmp_path):
    run = tuned("token_classification").run.path
    with pytest.raises(StudioError, match="labels or numbers of whole texts"):
        shrink(Shrink(run=run, into=tmp_path / "smaller"))
